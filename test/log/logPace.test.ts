import { assert, describe, it } from "@effect/vitest"
import { Duration } from "effect"
import { pauseAfter } from "../../src/jobs/logPace.ts"

const millis = (entries: number, gathered: number) =>
  Duration.toMillis(pauseAfter(entries, Duration.millis(gathered)))

describe("The next pass over the queue of the log", () => {
  it("comes after a second where nothing waited, or little", () => {
    assert.strictEqual(millis(0, 1000), 1000)
    assert.strictEqual(millis(0, 0), 1000)
    assert.strictEqual(millis(100, 1000), 1000)
  })

  it("comes as soon as a full batch will wait, as fast as entries came last", () => {
    assert.strictEqual(millis(2048, 1000), 500)
    assert.strictEqual(millis(2000, 1000), 512)
    assert.strictEqual(millis(1024, 320), 320)
  })

  it("comes after a quarter of a second however much there is", () => {
    assert.strictEqual(millis(4096, 250), 250)
    assert.strictEqual(millis(1, 0), 250)
  })
})
