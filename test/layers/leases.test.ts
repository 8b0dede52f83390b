/** Uses counted before they happen: never more than the limit, and none lost. */
import { assert, layer } from "@effect/vitest"
import { Effect, Fiber, Layer, Result, Schedule } from "effect"
import { SqlClient } from "effect/sql"
import { TestClock } from "effect/testing"
import * as LimitsLayer from "../../src/layers/postgres/Limits.ts"
import { Limits } from "../../src/services/Limits.ts"
import { held, meeting } from "../support/locking.ts"
import { testServices } from "../support/services.ts"

const hundred = testServices({ AUSPEX_LIMIT_GATEWAY_CALLS: "100/minute" })

const take = (subject: string) =>
  Limits.use((limits) => limits.take("gateway_calls", subject)).pipe(Effect.result)

const taken = (subject: string, times: number, concurrency: number | "unbounded") =>
  Effect.forEach(Array.from({ length: times }), () => take(subject), { concurrency }).pipe(
    Effect.map((results) => results.filter(Result.isSuccess).length)
  )

const counted = Effect.fnUntraced(function* (subject: string) {
  const sql = yield* SqlClient.SqlClient
  const [row] = yield* sql`select current from rate_limits where key like ${`%${subject}`}`
  return row?.["current"]
})

/** What statements do in the background is done in real time. */
const until = <E, R>(isSo: Effect.Effect<boolean, E, R>) =>
  TestClock.withLive(
    Effect.repeat(isSo, { until: (holds) => holds, schedule: Schedule.spaced("5 millis"), times: 400 })
  )

layer(hundred)("Leases of a limit", (it) => {
  it.effect("let through exactly the limit, one after the other and all at once", () =>
    Effect.gen(function* () {
      assert.strictEqual(yield* taken("steady", 300, 1), 100)
      assert.strictEqual(yield* taken("burst", 300, "unbounded"), 100)
    })
  )

  it.effect("that were not used are given back", () =>
    Effect.gen(function* () {
      assert.strictEqual(yield* taken("few", 11, 1), 11)
      assert.isAbove(Number(yield* counted("few")), 11)
      yield* TestClock.adjust("1 second")
      // The statement runs in real time.
      yield* Effect.promise(() => new Promise((resolve) => setTimeout(resolve, 100)))
      assert.strictEqual(yield* counted("few"), 11)
      assert.strictEqual(yield* taken("few", 300, 1), 89)
    })
  )

  it.effect("that were counted for somebody who has left are others' to use, and none is lost", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      assert.strictEqual(yield* taken("left", 11, 1), 11)
      yield* TestClock.adjust("500 millis")
      yield* until(Effect.map(counted("left"), (count) => count === 11))
      const before = yield* held(sql`select 1 from rate_limits where key like '%left' for update`)
      const asked = yield* meeting(take("left"))
      yield* Effect.forkChild(Fiber.interrupt(asked))
      yield* before.commit
      yield* Fiber.await(asked)
      const leased = yield* counted("left")
      assert.strictEqual(leased, 16)
      assert.strictEqual(yield* taken("left", 2, 1), 2)
      assert.strictEqual(yield* counted("left"), leased)
      yield* TestClock.adjust("1 second")
      yield* until(Effect.map(counted("left"), (count) => count !== leased))
      assert.strictEqual(yield* counted("left"), 14)
    })
  )

  it.effect("of what comes steadily are filled up before they are asked for, and given back after it", () =>
    Effect.gen(function* () {
      const limits = yield* Limits
      assert.strictEqual(yield* taken("often", 5, 1), 5)
      yield* TestClock.adjust("500 millis")
      yield* until(Effect.map(counted("often"), (count) => count === 5))
      assert.strictEqual(yield* taken("often", 5, 1), 5)
      yield* TestClock.adjust("500 millis")
      // A twentieth of the limit, whatever was left before.
      yield* until(Effect.map(counted("often"), (count) => count === 15))
      yield* until(Effect.sync(() => limits.takeLeased("gateway_calls", "often")))
      yield* TestClock.adjust("500 millis")
      yield* until(Effect.map(counted("often"), (count) => count === 11))
      assert.strictEqual(yield* counted("often"), 11)
      assert.isFalse(limits.takeLeased("gateway_calls", "often"))
    })
  )

  it.effect("never add up to more than the limit on two replicas", () =>
    Effect.gen(function* () {
      const here = yield* Limits
      const there = yield* Layer.build(Layer.fresh(LimitsLayer.layer)).pipe(
        Effect.flatMap((context) => Effect.provideContext(Limits, context))
      )
      let passed = 0
      for (let turn = 0; turn < 200; turn++) {
        for (const replica of [here, there]) {
          if (Result.isSuccess(yield* Effect.result(replica.take("gateway_calls", "shared")))) passed++
        }
      }
      assert.strictEqual(passed, 100)
    })
  )
})
