/** Price-event questions from their creation to their answers, on a real database. */
import { Scoring } from "../../src/services/Scoring.ts"
import { assert, layer } from "@effect/vitest"
import { DateTime, Effect } from "effect"
import { Arenas } from "../../src/services/Arenas.ts"
import { Audit } from "../../src/services/Audit.ts"
import type { NewPriceEvent } from "../../src/services/domain/Challenge.ts"
import { Prices } from "../../src/services/Prices.ts"
import { Targets } from "../../src/services/Targets.ts"
import { claimedAgent } from "../support/agents.ts"
import {
  answerPriceEvent,
  freshWeek,
  importCandles,
  importQuotes,
  moveTo,
  newPriceEvent,
  plus,
  resultsOf
} from "../support/challenges.ts"
import { testServices } from "../support/services.ts"

const pathsOf = (error: {
  readonly errors: ReadonlyArray<{ readonly path: string }>
}): ReadonlyArray<string> => error.errors.map(({ path }) => path)

layer(testServices())("Price-event questions", (it) => {
  it.effect("Price-event questions are on crypto assets, also on one paused for other challenges", () =>
    Effect.gen(function* () {
      yield* freshWeek
      assert.isTrue((yield* Targets.use((targets) => targets.get("BTC"))).paused)
      assert.strictEqual((yield* newPriceEvent({ kind: "barrier", asset: "BTC" })).asset, "BTC")
      for (const asset of ["GC", "CPI", "XX"]) {
        const error = yield* Effect.flip(newPriceEvent({ kind: "barrier", asset }))
        assert.deepStrictEqual(pathsOf(error), ["asset"])
      }
    })
  )

  it.effect("A range is asked on every asset with daily closes, and decided by them", () =>
    Effect.gen(function* () {
      const monday = yield* freshWeek
      const onGold = newPriceEvent({ kind: "range", asset: "GC", low: 4700.5, high: 4712.25 })
      const unknown = yield* Effect.flip(onGold)
      assert.deepStrictEqual(unknown.errors, [{ path: "asset", message: "No daily closes of GC are known" }])
      const day = (time: DateTime.Utc, close: number) =>
        Prices.use((prices) =>
          prices.import({
            asset: "GC",
            interval: "1d",
            candles: [{ time, open: close, high: close, low: close, close }]
          })
        )
      yield* day(plus(monday, "-3 days"), 4690)
      const question = yield* onGold
      assert.deepInclude(question, { low: 4700.5, high: 4712.25, level: null, reference_scale: null })
      const agent = yield* claimedAgent()
      yield* answerPriceEvent(agent, question)
      yield* moveTo(plus(monday, "1 day"))
      yield* day(monday, 4712.25)
      yield* Scoring.use((scoring) => scoring.settleDue)
      assert.deepStrictEqual((yield* Audit.use((audit) => audit.verifyStats)).differences, [])
      assert.deepInclude(yield* resultsOf(question), {
        result: "bullish",
        close_price: 4712.25,
        low: 4700.5,
        high: 4712.25
      })
    })
  )

  it.effect("Price-event questions end where candles do: at midnight, on a Monday, or at any hour", () =>
    Effect.gen(function* () {
      const monday = yield* freshWeek
      const refused = [
        { kind: "threshold", resolve_at: plus(monday, "25 hours") },
        { kind: "numeric_close", resolve_at: plus(monday, "23 hours") },
        { kind: "count_days", resolve_at: plus(monday, "8 days") },
        { kind: "count_days", resolve_at: plus(monday, { hours: 169 }) },
        { kind: "barrier", resolve_at: plus(monday, "90 minutes") }
      ] as const
      for (const terms of refused) {
        assert.deepStrictEqual(pathsOf(yield* Effect.flip(newPriceEvent(terms))), ["resolve_at"])
      }
      yield* newPriceEvent({ kind: "barrier", resolve_at: plus(monday, "25 hours") })
    })
  )

  it.effect("A question takes a level or a scale, by its kind, and every misfit field is named", () =>
    Effect.gen(function* () {
      const monday = yield* freshWeek
      const make = (terms: Omit<NewPriceEvent, "asset" | "deadline">) =>
        Arenas.use((arenas) =>
          arenas.create("price_event", { asset: "ETH", deadline: plus(monday, "1 hour"), ...terms })
        )
      const resolve_at = plus(monday, "7 days")
      const window_from = plus(monday, "1 hour")
      for (const [terms, paths] of [
        [{ kind: "barrier", resolve_at }, ["level"]],
        [
          { kind: "threshold", resolve_at, reference_scale: 1, window_from },
          ["level", "reference_scale", "window_from"]
        ],
        [{ kind: "numeric_close", resolve_at, level: 1, reference_scale: 1 }, ["level"]],
        [{ kind: "range", resolve_at, level: 1 }, ["level", "low", "high"]],
        [{ kind: "range", resolve_at, low: 2 }, ["high"]],
        [{ kind: "range", resolve_at, low: 2, high: 2 }, ["high"]],
        [{ kind: "range", resolve_at, low: 0.1, high: 0.1 + 2 ** -56 }, ["high"]],
        [{ kind: "range", resolve_at, low: 1, high: 2, reference_scale: 1 }, ["reference_scale"]],
        [{ kind: "threshold", resolve_at, level: 1, low: 1 }, ["low"]],
        [{ kind: "count_days", resolve_at: window_from, level: 1 }, ["level", "resolve_at"]],
        [{ kind: "barrier", resolve_at, level: 1, window_from: resolve_at }, ["window_from"]],
        [{ kind: "barrier", resolve_at, level: 1, window_from: plus(monday, "1 minute") }, ["window_from"]]
      ] as const) {
        assert.deepStrictEqual(pathsOf(yield* Effect.flip(make(terms))), paths)
      }
    })
  )

  it.effect("A question may be about a past window: a barrier's is then the last seven days of it", () =>
    Effect.gen(function* () {
      const monday = yield* freshWeek
      const past = plus(monday, "-30 days")
      const barrier = yield* newPriceEvent({ kind: "barrier", resolve_at: past })
      assert.strictEqual(barrier.window_from, DateTime.formatIso(plus(past, "-7 days")))
      const given = yield* newPriceEvent({
        kind: "barrier",
        resolve_at: past,
        window_from: plus(past, "-1 hour")
      })
      assert.strictEqual(given.window_from, DateTime.formatIso(plus(past, "-1 hour")))
      assert.strictEqual(given.status, "open")
      yield* moveTo(plus(monday, "1 minute"))
      const later = yield* newPriceEvent({ kind: "barrier", resolve_at: plus(monday, "1 day") })
      assert.strictEqual(later.window_from, DateTime.formatIso(plus(monday, "1 hour")))
    })
  )

  it.effect("A barrier needs a whole hour that is still to come, unless its window is given or past", () =>
    Effect.gen(function* () {
      const monday = yield* freshWeek
      yield* moveTo(plus(monday, "90 minutes"))
      const end = plus(monday, "2 hours")
      // A part of the current hour is known.
      const error = yield* Effect.flip(newPriceEvent({ kind: "barrier", resolve_at: end }))
      assert.deepStrictEqual(pathsOf(error), ["resolve_at"])
      const given = yield* newPriceEvent({
        kind: "barrier",
        resolve_at: end,
        window_from: plus(monday, "1 hour")
      })
      assert.strictEqual(given.window_from, DateTime.formatIso(plus(monday, "1 hour")))
      yield* moveTo(end)
      const past = yield* newPriceEvent({ kind: "barrier", resolve_at: end })
      assert.strictEqual(past.window_from, DateTime.formatIso(plus(end, "-7 days")))
    })
  )

  it.effect("A question looks at 100 000 hours at most", () =>
    Effect.gen(function* () {
      const monday = yield* freshWeek
      const longest = plus(monday, { hours: 100_000 })
      const beyond = plus(longest, "1 hour")
      const ahead = yield* Effect.flip(newPriceEvent({ kind: "barrier", resolve_at: beyond }))
      assert.deepStrictEqual(pathsOf(ahead), ["resolve_at"])
      const past = yield* Effect.flip(
        newPriceEvent({ kind: "barrier", window_from: DateTime.makeUnsafe(0), resolve_at: longest })
      )
      assert.deepStrictEqual(pathsOf(past), ["window_from"])
      yield* newPriceEvent({ kind: "barrier", resolve_at: longest })
    })
  )

  it.effect("A question without a scale gets that of the last 60 daily returns, if they are known", () =>
    Effect.gen(function* () {
      const monday = yield* freshWeek
      const resolve_at = plus(monday, "4 days")
      const unscaled = (asset: string, until = resolve_at) =>
        Arenas.use((arenas) =>
          arenas.create("price_event", {
            kind: "numeric_close",
            asset,
            deadline: plus(monday, "1 hour"),
            resolve_at: until
          })
        )
      const close = (daysAgo: number) =>
        [plus(monday, { hours: -1 - 24 * daysAgo }), daysAgo % 2 ? 100 : 110] as const
      const closes = Array.from({ length: 61 }, (_, daysAgo) => close(daysAgo))
      yield* importCandles("ETH", "1h", closes.slice(0, 60))
      const error = yield* Effect.flip(unscaled("ETH"))
      assert.deepStrictEqual(pathsOf(error), ["reference_scale"])
      assert.include(error.detail, "of which 60 are known")
      yield* importCandles("ETH", "1h", closes.slice(60))
      const daily = Math.log(1.1) * Math.sqrt(60 / 59)
      const sixDigits = (scale: number) => Number(scale.toPrecision(6))
      assert.strictEqual((yield* unscaled("ETH")).reference_scale, sixDigits(110 * daily * 2))
      // The open price is the latest known one.
      yield* importQuotes("ETH", [[monday, 220]])
      assert.strictEqual((yield* unscaled("ETH")).reference_scale, sixDigits(220 * daily * 2))
      // A question about a past day takes the price a day before: the close of the day that ended at midnight, 110.
      yield* moveTo(plus(monday, "30 days"))
      const past = yield* unscaled("ETH", plus(monday, "1 day"))
      assert.strictEqual(past.reference_scale, sixDigits(110 * daily))
      assert.deepStrictEqual(pathsOf(yield* Effect.flip(unscaled("BTC"))), ["reference_scale"])
      const count = yield* Arenas.use((arenas) =>
        arenas.create("price_event", {
          kind: "count_days",
          asset: "BTC",
          deadline: resolve_at,
          resolve_at: plus(monday, "35 days")
        })
      )
      assert.strictEqual(count.reference_scale, 1.32288)
    })
  )
})
