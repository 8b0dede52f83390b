/** Two instances on one database, against the rule written as plainly as it can be: a list of the times of all uses. */
import { randomUUID } from "node:crypto"
import { assert, describe, it } from "@effect/vitest"
import { Clock, Context, Effect, Layer, Result, Schema } from "effect"
import type { Redacted } from "effect"
import { SqlClient } from "effect/sql"
import { TestClock } from "effect/testing"
import * as PostgresLimiter from "../../src/layers/postgres/RateLimiter.ts"
import { RateLimiter } from "../../src/services/RateLimiter.ts"
import type { AdmittedWrite } from "../../src/services/RateLimiter.ts"
import { breadth } from "../support/breadth.ts"
import { times } from "../support/concurrently.ts"
import { freshDatabase, poolOn } from "../support/database.ts"
import { settings } from "../support/settings.ts"

const environment = { AUSPEX_LIMIT_STAKES: "3/second,7/minute", AUSPEX_LIMIT_REFUSED_WRITES: "4/minute" }
const stakes = [
  { count: 3, window: 1000 },
  { count: 7, window: 60_000 }
]
const refusals = { count: 4, window: 60_000 }

interface Window {
  readonly count: number
  readonly window: number
}

/** Milliseconds until this window has room, given when its uses were. */
const waitIn = (uses: ReadonlyArray<number>, { count, window }: Window, now: number): number => {
  const within = uses.filter((at) => at > now - window).toSorted((a, b) => b - a)
  const leaving = within[count - 1]
  return leaving === undefined ? 0 : leaving + window - now
}

const secondsOf = (millis: number): number => Math.max(1, Math.ceil(millis / 1000))

/** Two limiters as two instances have them: each with a pool and batches of its own. */
const instancesOn = Effect.fnUntraced(function* (url: Redacted.Redacted) {
  const instance = PostgresLimiter.layer.pipe(
    Layer.provide(Layer.mergeAll(poolOn(url), settings(environment)))
  )
  const made = yield* Effect.all(times(2, () => Layer.build(Layer.fresh(instance))))
  return made.map((context) => Context.get(context, RateLimiter))
})

const instances = Effect.flatMap(freshDatabase, instancesOn)

const Step = Schema.Struct({
  wait: Schema.Union([
    Schema.Literals([0, 1, 999, 1000, 1001, 59_000, 59_999, 60_000]),
    Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 20_000 }))
  ]),
  instance: Schema.Literals([0, 1]),
  /** What becomes of the write: at once, or of the oldest that is still under way. */
  does: Schema.Literals([
    "accept",
    "accept",
    "accept",
    "refuse",
    "undo",
    "begin",
    "refuse begun",
    "undo begun"
  ])
})

describe("The limits of two instances", () => {
  it.effect.prop(
    "let through exactly what a list of all times says, and name the moment at which there is room",
    [Schema.Array(Step).check(Schema.isMinLength(20), Schema.isMaxLength(80))],
    ([steps]) =>
      Effect.gen(function* () {
        const limiters = yield* instances
        const agent = randomUUID()
        let accepted: ReadonlyArray<number> = []
        let refused: ReadonlyArray<number> = []
        const begun: Array<{ readonly write: AdmittedWrite; readonly at: number }> = []

        const without = (at: number) => accepted.toSpliced(accepted.indexOf(at), 1)
        const refuse = Effect.fnUntraced(function* (write: AdmittedWrite, at: number) {
          const now = yield* Clock.currentTimeMillis
          accepted = without(at)
          const told = yield* Effect.result(write.refused)
          const wait = waitIn(refused, refusals, now)
          assert.strictEqual(Result.isFailure(told), wait > 0)
          if (wait === 0) refused = [...refused, now]
        })
        const undo = Effect.fnUntraced(function* (write: AdmittedWrite, at: number) {
          accepted = without(at)
          yield* write.undone
        })

        for (const { does, instance, wait } of steps) {
          yield* TestClock.adjust(wait)
          const now = yield* Clock.currentTimeMillis
          const limiter = limiters[instance]
          assert(limiter !== undefined)
          if (does === "refuse begun" || does === "undo begun") {
            const oldest = begun.shift()
            if (oldest === undefined) continue
            yield* does === "undo begun" ? undo(oldest.write, oldest.at) : refuse(oldest.write, oldest.at)
            continue
          }
          const admitted = yield* Effect.result(limiter.admitWrite(agent, [["stakes", agent]]))
          const expected = Math.max(
            ...stakes.map((window) => waitIn(accepted, window, now)),
            waitIn(refused, refusals, now)
          )
          assert.strictEqual(
            Result.isFailure(admitted) ? admitted.failure.retry_after : 0,
            expected === 0 ? 0 : secondsOf(expected)
          )
          if (Result.isFailure(admitted)) continue
          accepted = [...accepted, now]
          if (does === "begin") begun.push({ write: admitted.success, at: now })
          if (does === "refuse") yield* refuse(admitted.success, now)
          if (does === "undo") yield* undo(admitted.success, now)
        }
      }).pipe(Effect.scoped),
    { arbitrary: { runs: breadth(12, 60), size: 80 } }
  )

  it.effect("keep no more times of a window than it has uses, however many were taken back", () =>
    Effect.gen(function* () {
      const url = yield* freshDatabase
      const [limiter] = yield* instancesOn(url)
      assert(limiter !== undefined)
      const agent = randomUUID()
      for (let again = 0; again < 50; again++) {
        const write = yield* limiter.admitWrite(agent, [["stakes", agent]])
        yield* write.undone
        yield* TestClock.adjust("1 second")
      }
      yield* limiter.admitWrite(agent, [["stakes", agent]])
      const kept = SqlClient.SqlClient.use(
        (sql) =>
          sql`select distinct cardinality(times) as times from limit_windows where key like ${`stakes:%${agent}`}`
      )
      assert.deepStrictEqual(yield* Effect.provide(kept, poolOn(url)), [{ times: 1 }])
    }).pipe(Effect.scoped)
  )

  it.effect("never let more through than the limit, however many ask of both at once", () =>
    Effect.gen(function* () {
      const limiters = yield* instances
      for (let round = 0; round < breadth(5, 40); round++) {
        const agents = times(6, () => randomUUID())
        const asked = times(20, (index) => limiters[index % 2]).flatMap((limiter) =>
          limiter === undefined
            ? []
            : agents.map((agent) =>
                limiter.admitWrite(agent, [["stakes", agent]]).pipe(
                  Effect.result,
                  Effect.map((result) => ({ agent, passed: Result.isSuccess(result) }))
                )
              )
        )
        const answers = yield* Effect.all(asked, { concurrency: "unbounded" })
        for (const agent of agents) {
          assert.lengthOf(
            answers.filter((answer) => answer.agent === agent && answer.passed),
            3
          )
        }
      }
    }).pipe(Effect.scoped)
  )
})
