import { defineConfig } from "vitest/config"
import base from "./vitest.config.ts"

/** What takes minutes: faults, endurance, scale. Run before a release. */
export default defineConfig({
  test: {
    ...base.test,
    include: ["test/**/*.long.test.ts"],
    exclude: [],
    testTimeout: 600_000,
    hookTimeout: 120_000
  }
})
