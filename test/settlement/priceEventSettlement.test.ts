/** Price events: settlement by the known candles, and void without them. */
import { assert, layer } from "@effect/vitest"
import { DateTime, Effect } from "effect"
import { inUtc } from "../../src/scoring/wording.ts"
import { SqlClient } from "effect/sql"
import { TestClock } from "effect/testing"
import { Arenas } from "../../src/services/Arenas.ts"
import { Health } from "../../src/services/Health.ts"
import { Prices } from "../../src/services/Prices.ts"
import { Scoring } from "../../src/services/Scoring.ts"
import { claimedAgent } from "../support/agents.ts"
import {
  answerPriceEvent,
  freshWeek,
  importCandles,
  millisBefore,
  moveTo,
  newPriceEvent,
  plus,
  resultsOf,
  settleDue
} from "../support/challenges.ts"
import { firstPage } from "../support/paging.ts"
import { audited } from "../support/loggedFixture.ts"
import { referenceSettlement, day, hour, numbers } from "../support/prices/referenceSettlement.ts"
import { testServices } from "../support/services.ts"
import { createdBefore } from "../support/tampering.ts"
import type { Hour } from "../support/prices/referenceSettlement.ts"

/** Whole prices about 100, from a day before `from` on. Some hours jump. */
const walkOfPrices = (from: number, days: number) => {
  const draw = numbers(20_230_101)
  const candles: Array<Hour> = []
  let price = 100
  for (let index = 0; index < (days + 1) * 24; index++) {
    const open = price + (draw(20) === 0 ? draw(7) - 3 : 0)
    const close = Math.max(50, open + draw(5) - 2)
    candles.push({
      time: from - day + index * hour,
      open,
      high: Math.max(open, close) + draw(2),
      low: Math.min(open, close) - draw(2),
      close
    })
    price = close
  }
  return candles
}

const get = (challenge: { readonly id: string }) =>
  Arenas.use((arenas) => arenas.getOf("price_event", challenge.id))

/** Hourly candles of one price each, from an hour on. */
const importHours = (from: DateTime.Utc, prices: ReadonlyArray<number>) =>
  importCandles(
    "ETH",
    "1h",
    prices.map((price, index) => [plus(from, { hours: index }), price] as const)
  )

layer(testServices())("The settlement of a price event", (it) => {
  it.effect("A close or a threshold settles by the day's last 1-hour candle where that is known first", () =>
    Effect.gen(function* () {
      const monday = yield* freshWeek
      const midnight = plus(monday, "1 day")
      const [close, above, below] = [
        yield* newPriceEvent({ kind: "numeric_close" }),
        yield* newPriceEvent({ kind: "threshold", level: 120 }),
        yield* newPriceEvent({ kind: "threshold", level: 120.01 })
      ]
      yield* moveTo(plus(midnight, "1 minute"))
      yield* importHours(plus(midnight, "-2 hours"), [119])
      // The hour after it, and the day before, have other prices.
      yield* importHours(midnight, [130])
      yield* importCandles("ETH", "1d", [[plus(monday, "-1 day"), 130]])
      assert.deepInclude(yield* settleDue, { resolved: [], waiting: 3, failed: [] })
      yield* importHours(plus(midnight, "-1 hour"), [120])
      assert.sameMembers([...(yield* settleDue).resolved], [close.id, above.id, below.id])
      assert.deepInclude(yield* get(close), { status: "resolved", result: null, actual_value: 120 })
      assert.deepInclude(yield* get(above), { status: "resolved", result: "bullish", actual_value: null })
      assert.deepInclude(yield* get(below), { result: "bearish" })
      const shown = yield* resultsOf(above)
      assert.deepInclude(shown, {
        level: 120,
        close_price: 120,
        open_price: null,
        dead_zone_pct: null,
        resolution_source: "admin 1h candle",
        reference_scale: null
      })
      assert.deepStrictEqual((yield* settleDue).resolved, [])
      // Another close that is known later changes nothing.
      yield* importCandles("ETH", "1d", [[monday, 130]])
      assert.deepInclude(yield* settleDue, { resolved: [], waiting: 0 })
      assert.deepInclude(yield* get(close), { actual_value: 120, awaits_decision: false })
    })
  )

  it.effect("A close or a threshold settles by the daily candle where that is known first", () =>
    Effect.gen(function* () {
      const monday = yield* freshWeek
      const midnight = plus(monday, "1 day")
      const [close, above] = [
        yield* newPriceEvent({ kind: "numeric_close" }),
        yield* newPriceEvent({ kind: "threshold", level: 120 })
      ]
      yield* moveTo(plus(midnight, "1 minute"))
      yield* importCandles("ETH", "1d", [[monday, 121]])
      assert.sameMembers([...(yield* settleDue).resolved], [close.id, above.id])
      assert.deepInclude(yield* get(close), { actual_value: 121 })
      const { resolution_source, settlement } = yield* resultsOf(above)
      assert.strictEqual(resolution_source, "admin 1d candle")
      assert.strictEqual(settlement?.source, "admin 1d candle")
    })
  )

  it.effect("A close or a threshold waits for an administrator where the two candles differ", () =>
    Effect.gen(function* () {
      const prices = yield* Prices
      for (const [accept, decided] of [
        [true, 120],
        [false, 121]
      ] as const) {
        const monday = yield* freshWeek
        const midnight = plus(monday, "1 day")
        const close = yield* newPriceEvent({ kind: "numeric_close" })
        yield* moveTo(plus(midnight, "1 minute"))
        yield* importHours(plus(midnight, "-1 hour"), [120])
        yield* importCandles("ETH", "1d", [[monday, 121]])
        assert.deepInclude(yield* settleDue, { resolved: [], waiting: 1, failed: [] })
        yield* settleDue
        assert.deepInclude(yield* get(close), { status: "closed", awaits_decision: true })
        const ready = yield* Effect.andThen(
          TestClock.adjust("2 seconds"),
          Health.use((health) => health.readiness)
        )
        assert.include(
          ready.checks.find(({ name }) => name === "prices")?.reason,
          "candles of ETH wait for a decision (GET /api/v1/admin/prices/quarantine)"
        )
        const { items } = yield* prices.quarantine(firstPage)
        assert.lengthOf(items, 1)
        const [contradiction] = items
        assert.deepInclude(contradiction, {
          interval: "1d",
          stored_close: 121,
          offered_close: 120,
          decision: null
        })
        yield* prices.decide(contradiction?.id ?? "", { accept, reason: "the exchange said so" })
        assert.deepStrictEqual((yield* settleDue).resolved, [close.id])
        assert.deepInclude(yield* get(close), { actual_value: decided, awaits_decision: false })
      }
    })
  )

  it.effect("A close or a threshold prefers the candle of an administrator to that of a source", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const monday = yield* freshWeek
      const midnight = plus(monday, "1 day")
      const close = yield* newPriceEvent({ kind: "numeric_close" })
      yield* moveTo(plus(midnight, "1 minute"))
      const at = DateTime.toDateUtc(midnight)
      for (const [interval, price] of [
        ["1h", 120],
        ["1d", 121]
      ] as const) {
        yield* sql`
          insert into price_points (source, asset, interval, time, open, high, low, close, observed_at, fetched_at)
          select 'aaa', 'ETH', ${interval}, ${at}::timestamptz - case ${interval} when '1h' then interval '1 hour' else interval '1 day' end,
                 ${price}::int, ${price}::int, ${price}::int, ${price}::int, ${at}, ${at}`
      }
      assert.deepStrictEqual((yield* settleDue).resolved, [])
      yield* importCandles("ETH", "1d", [[monday, 122]])
      assert.deepStrictEqual((yield* settleDue).resolved, [close.id])
      assert.deepInclude(yield* get(close), { actual_value: 122 })
    })
  )

  it.effect("A question asked before its rules were frozen keeps the rules that its criteria state", () =>
    Effect.gen(function* () {
      const monday = yield* freshWeek
      const midnight = plus(monday, "1 day")
      const [close, barrier, count] = [
        yield* newPriceEvent({ kind: "numeric_close" }),
        yield* newPriceEvent({ kind: "barrier", level: 105, resolve_at: midnight }),
        yield* newPriceEvent({ kind: "count_days" })
      ]
      for (const { id } of [close, barrier, count]) yield* createdBefore(id)
      yield* moveTo(plus(midnight, "1 minute"))
      yield* importCandles("ETH", "1d", [[monday, 130]])
      yield* importHours(monday, [100, 110])
      // The gap from 100 to 110 decides, and not a daily candle.
      assert.deepStrictEqual((yield* settleDue).resolved, [barrier.id])
      assert.deepInclude(yield* get(barrier), { result: "bullish" })
      yield* importHours(plus(midnight, "-1 hour"), [120])
      assert.deepStrictEqual((yield* settleDue).resolved, [close.id])
      assert.deepInclude(yield* get(close), { actual_value: 120 })
      // Eight daily candles count no days of a question that goes by hours.
      yield* moveTo(plus(monday, "7 days"))
      for (let index = -1; index < 7; index++) {
        yield* importCandles("ETH", "1d", [[plus(monday, { days: index }), 130]])
      }
      assert.deepInclude(yield* settleDue, { resolved: [], waiting: 1 })
    })
  )

  it.effect("A barrier is Yes at its first touch, before the window ends, but not before the deadline", () =>
    Effect.gen(function* () {
      const monday = yield* freshWeek
      const deadline = plus(monday, "3 hours")
      const week = { deadline, resolve_at: plus(monday, "7 days") }
      const [touched, above] = [
        yield* newPriceEvent({ kind: "barrier", level: 105, ...week }),
        yield* newPriceEvent({ kind: "barrier", level: 200, ...week })
      ]
      yield* moveTo(plus(monday, "2 hours"))
      yield* importHours(monday, [100, 105])
      assert.notInclude((yield* settleDue).resolved, touched.id)
      yield* moveTo(deadline)
      const report = yield* settleDue
      assert.deepStrictEqual([report.resolved, report.waiting], [[touched.id], 0])
      assert.deepInclude(yield* get(touched), { status: "resolved", result: "bullish" })
      assert.deepInclude(yield* resultsOf(touched), { level: 105, close_price: 105 })
      assert.strictEqual((yield* get(above)).status, "closed")
    })
  )

  it.effect("A barrier is No only with every candle of the window", () =>
    Effect.gen(function* () {
      const monday = yield* freshWeek
      const end = plus(monday, "1 day")
      const barrier = yield* newPriceEvent({ kind: "barrier", level: 105, resolve_at: end })
      yield* moveTo(plus(end, "1 hour"))
      const hours = Array.from({ length: 24 }, (_, index) => 90 + (index % 7))
      yield* importHours(monday, hours.slice(0, 11))
      yield* importHours(plus(monday, "12 hours"), hours.slice(12))
      // A candle that opens at resolve_at, or that opened before the window, is not part of it.
      yield* importHours(end, [105])
      yield* importHours(plus(monday, "-1 hour"), [105])
      assert.deepInclude(yield* settleDue, { resolved: [], waiting: 1 })
      yield* importHours(plus(monday, "11 hours"), [91])
      assert.deepStrictEqual((yield* settleDue).resolved, [barrier.id])
      assert.deepInclude(yield* get(barrier), { result: "bearish" })
      assert.deepInclude(yield* resultsOf(barrier), { close_price: 96 })
    })
  )

  it.effect("A barrier settles with the hour that decides it, in whatever order hours become known", () =>
    Effect.gen(function* () {
      const monday = yield* freshWeek
      const begin = DateTime.toEpochMillis(monday)
      const walk = walkOfPrices(begin, 2)
      const week = walk.filter(({ time }) => time >= begin)
      const level = (turn: number) => (walk[36]?.close ?? 100) + turn
      const terms = { kind: "barrier", resolve_at: plus(monday, "2 days"), deadline: monday } as const
      const events = yield* Effect.forEach([-12, -4, -1.5, 0.5, 3, 5, 12], (turn) =>
        newPriceEvent({ ...terms, level: level(turn) })
      )
      // Every third hour comes late, and some of them not before all others are there.
      const arrival = (index: number) => (index % 3 === 0 ? index + ((index * 7) % 40) : index)
      const known = new Map<number, (typeof week)[number]>()
      for (let passed = 1; passed <= 90; passed++) {
        yield* moveTo(plus(monday, { hours: passed, minutes: 3 }))
        for (const [index, candle] of week.entries()) {
          if (arrival(index) !== passed - 1) continue
          known.set(candle.time, candle)
          const time = DateTime.makeUnsafe(candle.time)
          yield* Prices.use((prices) =>
            prices.import({ asset: "ETH", interval: "1h", candles: [{ ...candle, time }] })
          )
        }
        yield* settleDue
        for (const event of events) {
          const end = DateTime.toEpochMillis(terms.resolve_at)
          const reference = referenceSettlement(
            { kind: "barrier", level: event.level, from: begin, end },
            known
          )
          assert.strictEqual(
            (yield* get(event)).result,
            reference?.outcome ?? null,
            `${event.level} at ${passed}`
          )
        }
      }
    })
  )

  it.effect("A barrier settles within an hour when a past hour is corrected to a touch", () =>
    Effect.gen(function* () {
      const prices = yield* Prices
      const monday = yield* freshWeek
      const barrier = yield* newPriceEvent({
        kind: "barrier",
        level: 105,
        resolve_at: plus(monday, "3 days")
      })
      yield* moveTo(plus(monday, { hours: 3, minutes: 3 }))
      yield* importHours(monday, [100, 101, 102])
      const { quarantined } = yield* importHours(plus(monday, "1 hour"), [105])
      assert.deepStrictEqual((yield* settleDue).resolved, [])
      yield* prices.decide(quarantined[0]?.id ?? "", { accept: true, reason: "the exchange corrected it" })
      yield* moveTo(plus(monday, { hours: 4, minutes: 3 }))
      assert.deepStrictEqual((yield* settleDue).resolved, [barrier.id])
    })
  )

  it.effect.each([
    ["daily candles alone", "dddddddd"],
    ["either, day by day, and both where they agree", "dhdhbhhb"]
  ] as const)("A count settles by the closes of %s", ([, kinds]) =>
    Effect.gen(function* () {
      const monday = yield* freshWeek
      const count = yield* newPriceEvent({ kind: "count_days" })
      yield* moveTo(plus(monday, "8 days"))
      for (const [index, close] of [100, 101, 101, 103, 102, 104, 105, 104].entries()) {
        assert.deepInclude(yield* settleDue, { resolved: [], failed: [] })
        const kind = kinds.charAt(index)
        if (kind !== "h") yield* importCandles("ETH", "1d", [[plus(monday, { days: index - 1 }), close]])
        if (kind !== "d") yield* importHours(plus(monday, { hours: 24 * index - 1 }), [close])
      }
      assert.deepStrictEqual((yield* settleDue).resolved, [count.id])
      assert.deepInclude(yield* get(count), { actual_value: 4, awaits_decision: false })
    })
  )

  it.effect.each([
    ["the first day, which is only compared with", 0, true, 4],
    ["a day within", 5, false, 3],
    ["the last day", 7, false, 5]
  ] as const)(
    "A count waits for an administrator where the candles of one day differ: of %s",
    ([, differs, accept, counted]) =>
      Effect.gen(function* () {
        const prices = yield* Prices
        const monday = yield* freshWeek
        const count = yield* newPriceEvent({ kind: "count_days" })
        yield* moveTo(plus(monday, "8 days"))
        const closes = [100, 101, 101, 103, 102, 104, 105, 104]
        yield* importCandles(
          "ETH",
          "1h",
          closes.map((close, index) => [plus(monday, { hours: 24 * index - 1 }), close] as const)
        )
        // By the daily candle the first day closes above the next one, the sixth closes down, and the last one up.
        const daily = [150, 0, 0, 0, 0, 90, 0, 106][differs] ?? 0
        yield* importCandles("ETH", "1d", [[plus(monday, { days: differs - 1 }), daily]])
        assert.deepInclude(yield* settleDue, { resolved: [], waiting: 1, failed: [] })
        yield* settleDue
        assert.isTrue((yield* get(count)).awaits_decision)
        const { items } = yield* prices.quarantine(firstPage)
        assert.deepStrictEqual(
          items
            .slice(-1)
            .map(({ interval, offered_close, stored_close }) => [interval, stored_close, offered_close]),
          [["1d", daily, closes[differs]]]
        )
        const ready = yield* Effect.andThen(
          TestClock.adjust("2 seconds"),
          Health.use((health) => health.readiness)
        )
        assert.include(ready.checks.find(({ name }) => name === "prices")?.reason, "candles of ETH wait")
        yield* prices.decide(items.at(-1)?.id ?? "", { accept, reason: "the exchange said so" })
        assert.deepStrictEqual((yield* settleDue).resolved, [count.id])
        assert.deepInclude(yield* get(count), { actual_value: counted, awaits_decision: false })
      })
  )

  it.effect("A price event does not settle before the deadline, also when its window lies in the past", () =>
    Effect.gen(function* () {
      const monday = yield* freshWeek
      const past = plus(monday, "-7 days")
      yield* importHours(plus(past, "-1 hour"), [100])
      const deadline = plus(monday, "1 hour")
      const threshold = yield* newPriceEvent({ kind: "threshold", resolve_at: past, deadline })
      const agent = yield* claimedAgent()
      yield* answerPriceEvent(agent, threshold, { confidence: 1 })
      yield* moveTo(millisBefore(deadline, 1))
      assert.deepStrictEqual((yield* settleDue).resolved, [])
      yield* moveTo(deadline)
      assert.deepStrictEqual((yield* settleDue).resolved, [threshold.id])
      assert.strictEqual((yield* resultsOf(threshold)).predictions[0]?.score, 100)
    })
  )

  it.effect("Calibration spreads a count over its buckets, since counts come in whole numbers", () =>
    Effect.gen(function* () {
      const scoring = yield* Scoring
      const monday = yield* freshWeek
      const agent = yield* claimedAgent()
      const count = yield* newPriceEvent({ kind: "count_days" })
      yield* answerPriceEvent(agent, count, { predicted_value: 3, predicted_std: 1 })
      yield* moveTo(plus(monday, "8 days"))
      const closing = [1, 2, 3, 4, 1, 1, 1, 1].map(
        (price, index) => [plus(monday, { hours: 24 * index - 1 }), price] as const
      )
      yield* importCandles("ETH", "1h", closing)
      yield* settleDue
      const { buckets } = (yield* scoring.calibrationOf(agent)).pit
      // From Phi(-0.5) = 0.3085 to Phi(0.5) = 0.6915.
      assert.deepStrictEqual(
        buckets.map(({ count: share }) => share > 0),
        [false, false, false, true, true, true, true, false, false, false]
      )
      assert.closeTo(buckets[4]?.count ?? 0, 0.1 / 0.38292492254802624, 1e-9)
    })
  )

  it.effect("A price event takes the correction of a candle that an administrator accepted before it", () =>
    Effect.gen(function* () {
      const prices = yield* Prices
      const monday = yield* freshWeek
      const threshold = yield* newPriceEvent({ kind: "threshold" })
      yield* moveTo(plus(monday, "1 day"))
      yield* importHours(plus(monday, "23 hours"), [99])
      const { quarantined } = yield* importHours(plus(monday, "23 hours"), [101])
      yield* prices.decide(quarantined[0]?.id ?? "", { accept: true, reason: "the exchange corrected it" })
      yield* settleDue
      assert.deepInclude(yield* resultsOf(threshold), { result: "bullish", close_price: 101 })
    })
  )

  it.effect("The audits find nothing after the settlements of price events", () => audited)
})

layer(testServices())("A price event without its candles", (it) => {
  it.effect("A price event about a past window is void 72 h after its deadline, as its criteria say", () =>
    Effect.gen(function* () {
      const monday = yield* freshWeek
      const barrier = yield* newPriceEvent({ kind: "barrier", resolve_at: plus(monday, "-1 day") })
      const end = plus(monday, "73 hours")
      assert.include(barrier.resolution_criteria, inUtc(DateTime.toEpochMillis(end)))
      yield* moveTo(millisBefore(end, 1))
      assert.deepStrictEqual((yield* settleDue).cancelled, [])
      yield* moveTo(end)
      assert.deepStrictEqual((yield* settleDue).cancelled, [barrier.id])
    })
  )

  it.effect("A price event is void also when its candles come later and no job ran between", () =>
    Effect.gen(function* () {
      const monday = yield* freshWeek
      const [close, barrier] = [
        yield* newPriceEvent({ kind: "numeric_close" }),
        yield* newPriceEvent({ kind: "barrier", level: 105, resolve_at: plus(monday, "2 hours") })
      ]
      yield* moveTo(plus(monday, { hours: 96, minutes: 1 }))
      yield* importHours(plus(monday, "23 hours"), [100])
      yield* importHours(monday, [105, 105])
      const report = yield* settleDue
      assert.deepStrictEqual(report.resolved, [])
      assert.sameMembers([...report.cancelled], [close.id, barrier.id])
      for (const each of [close, barrier]) assert.strictEqual((yield* get(each)).status, "void")
    })
  )

  it.effect("A price event settles when its candles were known in time, though no job ran in time", () =>
    Effect.gen(function* () {
      const monday = yield* freshWeek
      const close = yield* newPriceEvent({ kind: "numeric_close" })
      yield* moveTo(plus(monday, "95 hours"))
      yield* importHours(plus(monday, "23 hours"), [100])
      yield* moveTo(plus(monday, "200 hours"))
      assert.deepStrictEqual((yield* settleDue).resolved, [close.id])
    })
  )

  it.effect("The audits find nothing after price events without candles", () => audited)
})
