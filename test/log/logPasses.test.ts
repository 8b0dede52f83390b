/** The sequencer's job as it runs in production. */
import { assert, layer } from "@effect/vitest"
import { Clock, Context, Effect, Layer, References } from "effect"
import { TestClock } from "effect/testing"
import * as Jobs from "../../src/jobs/Jobs.ts"
import { LogSequencer, maxPerPass } from "../../src/services/LogSequencer.ts"
import { testServices } from "../support/services.ts"

class Passes extends Context.Service<
  Passes,
  {
    /** The sizes of the next passes; nothing from then on. */
    readonly takes: Array<number>
    /** The times at which passes came. */
    readonly times: Array<number>
  }
>()("auspex/test/Passes") {}

const sequencer = Layer.effect(
  LogSequencer,
  Effect.gen(function* () {
    const { takes, times } = yield* Passes
    return yield* LogSequencer.use((real) =>
      Effect.succeed(
        LogSequencer.of({
          ...real,
          sequence: Effect.map(Clock.currentTimeMillis, (now) => {
            times.push(now)
            return takes.shift() ?? 0
          }),
          publish: Effect.void,
          revealDue: Effect.succeed(0)
        })
      )
    )
  })
)

const world = sequencer.pipe(
  Layer.provideMerge(testServices()),
  Layer.provideMerge(Layer.sync(Passes, () => ({ takes: [], times: [] }))),
  Layer.provide(Layer.succeed(References.MinimumLogLevel, "Error"))
)

layer(world)("Passes of the sequencer", (it) => {
  it.effect("Passes of the sequencer follow one another while full, and come once a second otherwise", () =>
    Effect.gen(function* () {
      const { takes, times } = yield* Passes
      const begun = yield* Clock.currentTimeMillis
      yield* Layer.build(Jobs.layer)
      yield* TestClock.adjust("999 millis")
      takes.push(maxPerPass, maxPerPass, maxPerPass, maxPerPass, 100, 0)
      yield* TestClock.adjust("1001 millis")
      assert.deepStrictEqual(
        times.map((time) => time - begun),
        [0, 1000, 1000, 1000, 1000, 1000, 2000]
      )
    })
  )
})
