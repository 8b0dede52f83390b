import { assert, layer } from "@effect/vitest"
import { Effect, Result } from "effect"
import { TestClock } from "effect/testing"
import { RateLimiter } from "../../src/services/RateLimiter.ts"
import { testServices } from "../support/services.ts"

const fiveAMinute = testServices({ AUSPEX_LIMIT_PREDICTIONS: "5/minute,8/hour" })

layer(fiveAMinute)("Limits", (it) => {
  const take = (subject: string) =>
    RateLimiter.use((limits) => limits.consume("predictions", subject)).pipe(Effect.result)

  it.effect("lets through exactly the limit of a burst of 40", () =>
    Effect.gen(function* () {
      const results = yield* Effect.all(
        Array.from({ length: 40 }, () => take("burst")),
        { concurrency: "unbounded" }
      )
      assert.strictEqual(results.filter(Result.isSuccess).length, 5)
    })
  )

  it.effect("waiting retry_after seconds is enough, one second less is not", () =>
    Effect.gen(function* () {
      yield* TestClock.adjust("10 minutes")
      yield* TestClock.adjust("7 seconds")
      for (let used = 0; used < 5; used++) assert.isTrue(Result.isSuccess(yield* take("patient")))
      const refused = yield* Effect.flip(
        RateLimiter.use((limits) => limits.consume("predictions", "patient"))
      )
      yield* TestClock.adjust(`${refused.retry_after - 1} seconds`)
      assert.isTrue(Result.isFailure(yield* take("patient")))
      yield* TestClock.adjust("1 second")
      assert.isTrue(Result.isSuccess(yield* take("patient")))
    })
  )

  it.effect("every window of a limit must have room", () =>
    Effect.gen(function* () {
      let passed = 0
      for (let minute = 0; minute < 10; minute++) {
        yield* TestClock.adjust("2 minutes")
        for (let again = 0; again < 3; again++) if (Result.isSuccess(yield* take("steady"))) passed++
      }
      assert.strictEqual(passed, 8)
    })
  )

  it.effect(
    "a clock that lags behind another replica's neither empties a window nor gets more out of it",
    () =>
      Effect.gen(function* () {
        const boundary = 29_000_000 * 60_000
        const passed: Array<boolean> = []
        for (let turn = 0; turn < 100; turn++) {
          yield* TestClock.setTime(boundary + (turn % 2 === 0 ? 100 : -100))
          passed.push(Result.isSuccess(yield* take("drifting")))
        }
        assert.strictEqual(passed.filter(Boolean).length, 5)
      })
  )

  it.effect("subjects do not share a window", () =>
    Effect.gen(function* () {
      for (const subject of ["a", "b", "c"]) assert.isTrue(Result.isSuccess(yield* take(subject)))
    })
  )
})
