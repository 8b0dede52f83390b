import { enableCompileCache } from "node:module"
import { defineConfig } from "vitest/config"
import { BaseSequencer } from "vitest/node"
import type { TestSpecification } from "vitest/node"

// The same place as in test/support/globalSetup.ts, for what this process loads itself.
enableCompileCache("node_modules/.cache/node")

const longest =
  /\/test\/(log\/(audit|tampering)|ops\/(fuzz|plans|mistakes)|challenges\/openPredictions|cli\/(admin|demo)|site\/(verify|browser|accessibility))\./

/** The files that take longest begin first, so that none of them is left over for one worker at the end. */
class LongestFirst extends BaseSequencer {
  override async sort(files: Array<TestSpecification>) {
    const [first = [], others = []] = [true, false].map((isLong) =>
      files.filter(({ moduleId }) => longest.test(moduleId) === isLong)
    )
    return [...(await super.sort(first)), ...(await super.sort(others))]
  }
}

/** Options of every project, here and in vitest.long.config.ts. */
export const common = {
  pool: "forks",
  // Else every file loads all modules anew, which costs about as much as the tests themselves.
  isolate: false,
  // What takes a second here may take many on a busy machine.
  testTimeout: 180_000,
  hookTimeout: 180_000,
  teardownTimeout: 30_000
} as const

/** Options of the whole run. */
export const run = {
  globalSetup: ["test/support/globalSetup.ts"],
  sequence: { sequencer: LongestFirst }
}

const ofProcesses = "test/**/*.process.test.ts"

export default defineConfig({
  test: {
    ...run,
    provide: { breadth: "usual" },
    projects: [
      {
        test: {
          ...common,
          name: "rules",
          include: ["test/**/*.test.ts"],
          exclude: ["test/**/*.long.test.ts", ofProcesses],
          // One more than processors, for each worker waits for PostgreSQL a good part of its time.
          maxWorkers: 3
        }
      },
      {
        // Programs that start, stop and race load the machine, so they run after all other tests.
        test: {
          ...common,
          name: "process",
          include: [ofProcesses],
          maxWorkers: 2,
          sequence: { groupOrder: 1 }
        }
      }
    ]
  }
})
