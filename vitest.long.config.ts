import { globSync, readFileSync } from "node:fs"
import { defineConfig } from "vitest/config"
import base from "./vitest.config.ts"

/** Those that `npm test` runs with a share of their cases. */
const broad = globSync("test/**/*.test.ts").filter((file) =>
  readFileSync(file, "utf8").includes("support/breadth.ts")
)

/** What takes minutes: faults, endurance, scale. Run before a release. */
export default defineConfig({
  test: {
    ...base.test,
    include: ["test/**/*.long.test.ts", ...broad],
    exclude: [],
    provide: { breadth: "full" },
    testTimeout: 1_800_000,
    hookTimeout: 180_000
  }
})
