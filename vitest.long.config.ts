import { globSync, readFileSync } from "node:fs"
import { defineConfig } from "vitest/config"
import { common, run } from "./vitest.config.ts"

/** The files of which `npm test` runs a share of the cases. */
const broad = globSync("test/**/*.test.ts").filter((file) =>
  readFileSync(file, "utf8").includes("support/breadth.ts")
)

/** What takes minutes: faults, endurance, scale. Run before a release. */
export default defineConfig({
  test: {
    ...common,
    ...run,
    include: ["test/**/*.long.test.ts", ...broad],
    exclude: [],
    provide: { breadth: "full" },
    maxWorkers: 3,
    testTimeout: 1_800_000,
    hookTimeout: 1_800_000
  }
})
