/** Two instances on one database, against the rule written as plainly as it can be: a list of the times of all uses. */
import { randomUUID } from "node:crypto"
import { assert, describe, it } from "@effect/vitest"
import { Clock, Context, Effect, Layer, Result, Schema } from "effect"
import type { Redacted } from "effect"
import { SqlClient } from "effect/sql"
import { TestClock } from "effect/testing"
import * as PostgresLimiter from "../../src/layers/postgres/RateLimiter.ts"
import { execute } from "../../src/layers/postgres/sql.ts"
import { LimitReached, RateLimiter } from "../../src/services/RateLimiter.ts"
import type { Use } from "../../src/services/RateLimiter.ts"
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

/** Milliseconds until this window has room, by the times of its uses. */
const waitIn = (uses: ReadonlyArray<number>, { count, window }: Window, now: number): number => {
  const within = uses.filter((at) => at > now - window).toSorted((a, b) => b - a)
  const leaving = within[count - 1]
  return leaving === undefined ? 0 : leaving + window - now
}

const secondsOf = (millis: number): number => Math.max(1, Math.ceil(millis / 1000))

/** An instance: a pool and batches of its own. */
const instanceOn = Effect.fnUntraced(function* (url: Redacted.Redacted) {
  const layers = PostgresLimiter.layer.pipe(
    Layer.provideMerge(Layer.mergeAll(poolOn(url), settings(environment)))
  )
  const context = yield* Layer.build(Layer.fresh(layers))
  const limiter = Context.get(context, RateLimiter)
  const sql = Context.get(context, SqlClient.SqlClient)
  const accept = yield* Effect.provideContext(PostgresLimiter.makeAcceptance, context)
  const owed = (agent: string): ReadonlyArray<Use> => [["stakes", agent]]
  return {
    admit: (agent: string) => Effect.result(limiter.admitWrite(agent, owed(agent))),
    /** The statement that would record the write; answers whether it did. */
    accept: (agent: string) =>
      accept({ owed: [owed(agent)], recorded: sql`select 1` }).pipe(
        Effect.flatMap(execute),
        Effect.as(true),
        Effect.catchDefect((defect) =>
          defect instanceof LimitReached ? Effect.succeed(false) : Effect.die(defect)
        )
      ),
    refuse: (agent: string) => Effect.result(limiter.consume("refused_writes", agent))
  }
})

const instances = Effect.flatMap(freshDatabase, (url) => Effect.all([instanceOn(url), instanceOn(url)]))

const Step = Schema.Struct({
  wait: Schema.Union([
    Schema.Literals([0, 1, 999, 1000, 1001, 59_000, 59_999, 60_000]),
    Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 20_000 }))
  ]),
  instance: Schema.Literals([0, 1]),
  /** The end of the write: at once, or of one that is still under way. */
  does: Schema.Literals([
    "accept",
    "accept",
    "accept",
    "refuse",
    "fail",
    "begin",
    "begin",
    "accept begun",
    "refuse begun"
  ])
})

describe("The limits of two instances", () => {
  it.effect.prop(
    "Two instances let through exactly what a list of all times says, and name when there is room",
    [Schema.Array(Step).check(Schema.isMinLength(20), Schema.isMaxLength(80))],
    ([steps]) =>
      Effect.gen(function* () {
        const both = yield* instances
        const agent = randomUUID()
        const accepted: Array<number> = []
        const refused: Array<number> = []
        /** Writes that were let in, and neither accepted nor refused: they use nothing. */
        let begun = 0

        for (const { does, instance, wait } of steps) {
          yield* TestClock.adjust(wait)
          const now = yield* Clock.currentTimeMillis
          const { accept, admit, refuse } = both[instance]
          const untilAccepted = Math.max(...stakes.map((window) => waitIn(accepted, window, now)))
          const untilRefused = waitIn(refused, refusals, now)
          if (does.endsWith(" begun")) {
            if (begun === 0) continue
            begun -= 1
          } else {
            const admitted = yield* admit(agent)
            const expected = Math.max(untilAccepted, untilRefused)
            assert.strictEqual(
              Result.isFailure(admitted) ? admitted.failure.retry_after : 0,
              expected === 0 ? 0 : secondsOf(expected)
            )
            if (Result.isFailure(admitted)) continue
          }
          if (does === "begin") begun += 1
          if (does.startsWith("accept")) {
            assert.strictEqual(yield* accept(agent), untilAccepted === 0)
            if (untilAccepted === 0) accepted.push(now)
          }
          if (does.startsWith("refuse")) {
            assert.strictEqual(Result.isSuccess(yield* refuse(agent)), untilRefused === 0)
            if (untilRefused === 0) refused.push(now)
          }
        }
      }).pipe(Effect.scoped),
    { arbitrary: { runs: breadth(12, 60), size: 80 } }
  )

  it.effect("Two instances accept as many as there is room for, however many others ask and fail", () =>
    Effect.gen(function* () {
      const both = yield* instances
      for (let round = 0; round < breadth(5, 40); round++) {
        const agents = times(6, () => randomUUID())
        const requests = times(20, (index) => ({ index, instance: both[index % 2 === 0 ? 0 : 1] })).flatMap(
          ({ index, instance }) =>
            agents.map((agent) =>
              Effect.gen(function* () {
                const admitted = yield* instance.admit(agent)
                // Three writes have room; of the last agent more would be accepted.
                const isRight = index % 7 === 3 || agent === agents.at(-1)
                return {
                  agent,
                  isRight,
                  isAccepted: Result.isSuccess(admitted) && isRight && (yield* instance.accept(agent))
                }
              })
            )
        )
        const answers = yield* Effect.all(requests, { concurrency: "unbounded" })
        for (const agent of agents) {
          assert.lengthOf(
            answers.filter((answer) => answer.agent === agent && answer.isAccepted),
            3
          )
        }
      }
    }).pipe(Effect.scoped)
  )
})
