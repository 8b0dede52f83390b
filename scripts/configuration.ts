/** Writes docs/configuration.md from the settings of src/config.ts. A test holds the two together. */
import { writeFileSync } from "node:fs"
import { configurationPage } from "./configurationPage.ts"

writeFileSync(new URL("../docs/configuration.md", import.meta.url), configurationPage())
