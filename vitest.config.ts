import { defineConfig } from "vitest/config"
import { BaseSequencer } from "vitest/node"
import type { TestSpecification } from "vitest/node"

const longest =
  /\/test\/(log\/(audit|tampering)|ops\/(fuzz|start|embedded|plans|mistakes)|challenges\/openPredictions|cli\/(admin|demo)|site\/(verify|browser|accessibility)|[a-z]+\/[a-z]+\.process)\./

/** The files that take longest begin first, so that none of them is left over for one worker at the end. */
class LongestFirst extends BaseSequencer {
  override async sort(files: Array<TestSpecification>) {
    const [first = [], others = []] = [true, false].map((isLong) =>
      files.filter(({ moduleId }) => longest.test(moduleId) === isLong)
    )
    return [...(await super.sort(first)), ...(await super.sort(others))]
  }
}

export default defineConfig({
  test: {
    include: ["test/**/*.test.ts"],
    exclude: ["test/**/*.long.test.ts"],
    provide: { breadth: "usual" },
    globalSetup: ["test/support/globalSetup.ts"],
    pool: "forks",
    // Else every file loads all modules anew, which costs about as much as the tests themselves.
    isolate: false,
    sequence: { sequencer: LongestFirst },
    // One more than processors, for each worker waits for PostgreSQL a good part of its time.
    maxWorkers: 3,
    // What takes a second here may take many on a busy machine.
    testTimeout: 180_000,
    hookTimeout: 180_000,
    teardownTimeout: 30_000
  }
})
