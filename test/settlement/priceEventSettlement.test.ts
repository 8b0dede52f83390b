/** Price events: settlement by the known candles, and void without them. */
import { assert, layer } from "@effect/vitest"
import { DateTime, Effect } from "effect"
import { inUtc } from "../../src/scoring/wording.ts"
import { SqlClient } from "effect/sql"
import { TestClock } from "effect/testing"
import { crps, crpsScore } from "../../src/scoring/crps.ts"
import { Amendments } from "../../src/services/Amendments.ts"
import { Arenas } from "../../src/services/Arenas.ts"
import { Health } from "../../src/services/Health.ts"
import { Audit } from "../../src/services/Audit.ts"
import type { PriceEvent } from "../../src/services/domain/Challenge.ts"
import { Prices } from "../../src/services/Prices.ts"
import { Scoring } from "../../src/services/Scoring.ts"
import { claimedAgent, claimedAgents } from "../support/agents.ts"
import {
  answerPriceEvent,
  freshWeek,
  importCandles,
  millisBefore,
  moveTo,
  newPriceEvent,
  plus
} from "../support/challenges.ts"
import { firstPage } from "../support/paging.ts"
import { revealAll } from "../support/loggedFixture.ts"
import { referenceSettlement, day, hour, numbers } from "../support/prices/referenceSettlement.ts"
import { testServices } from "../support/services.ts"
import { createdBefore } from "../support/tampering.ts"
import type { Hour } from "../support/prices/referenceSettlement.ts"

/** Whole prices about 100, from a day before `from` on. Some hours jump, and some, by their index, are missing. */
const walkOfPrices = (from: number, days: number) => {
  const draw = numbers(20_230_101)
  const candles: Array<Hour> = []
  const missing = new Set<number>()
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
  // Three of these hours are no close, and two are the last of their day.
  for (const index of [30, 47 + 24 * 3, 24 * 12 + 5, 24 * 19 + 23, 24 * 30 + 2]) missing.add(index)
  return {
    candles,
    missing,
    /** The price at noon after this many days. */
    levelNear: (passed: number) => candles[passed * 24 + 12]?.close ?? 100
  }
}

const results = (challenge: { readonly id: string }) =>
  Arenas.use((arenas) => arenas.results(challenge.id, firstPage))
const settleDue = Scoring.use((scoring) => scoring.settleDue)
const get = (challenge: { readonly id: string }) =>
  Arenas.use((arenas) => arenas.getOf("price_event", challenge.id))

const audited = Effect.gen(function* () {
  yield* revealAll
  assert.deepStrictEqual((yield* Audit.use(({ verifyLog }) => verifyLog)).differences, [])
  assert.deepStrictEqual((yield* Audit.use(({ verifyStats }) => verifyStats)).differences, [])
})

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
      const shown = yield* results(above)
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
      yield* audited
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
      const { resolution_source, settlement } = yield* results(above)
      assert.strictEqual(resolution_source, "admin 1d candle")
      assert.strictEqual(settlement?.source, "admin 1d candle")
      yield* audited
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
      yield* audited
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
      yield* audited
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
      yield* audited
    })
  )

  it.effect("A barrier settles by candle high and low alone: a gap across the level is no touch", () =>
    Effect.gen(function* () {
      const monday = yield* freshWeek
      const end = plus(monday, "2 hours")
      const [across, touched] = [
        yield* newPriceEvent({ kind: "barrier", level: 105, resolve_at: end }),
        yield* newPriceEvent({ kind: "barrier", level: 110, resolve_at: end })
      ]
      yield* moveTo(plus(end, "1 minute"))
      yield* importHours(monday, [100, 110])
      assert.sameMembers([...(yield* settleDue).resolved], [across.id, touched.id])
      assert.deepInclude(yield* get(across), { result: "bearish" })
      assert.deepInclude(yield* get(touched), { result: "bullish" })
      yield* audited
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
      assert.deepInclude(yield* results(touched), { level: 105, close_price: 105 })
      assert.strictEqual((yield* get(above)).status, "closed")
      yield* audited
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
      assert.deepInclude(yield* results(barrier), { close_price: 96 })
      yield* audited
    })
  )

  it.effect("A barrier settles with the hour that decides it, in whatever order hours become known", () =>
    Effect.gen(function* () {
      const monday = yield* freshWeek
      const begin = DateTime.toEpochMillis(monday)
      const walk = walkOfPrices(begin, 2)
      const week = walk.candles.filter(({ time }) => time >= begin)
      const level = (turn: number) => walk.levelNear(1) + turn
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
      yield* audited
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

  it.effect("A count needs the closes of eight days", () =>
    Effect.gen(function* () {
      const monday = yield* freshWeek
      const count = yield* newPriceEvent({ kind: "count_days" })
      yield* moveTo(plus(monday, "8 days"))
      const closes = [100, 101, 101, 103, 102, 104, 105, 104]
      const closing = closes.map((price, index) => [plus(monday, { hours: 24 * index - 1 }), price] as const)
      yield* importCandles("ETH", "1h", closing.slice(1))
      assert.deepInclude(yield* settleDue, { resolved: [], waiting: 1 })
      yield* importCandles("ETH", "1h", closing.slice(0, 1))
      assert.deepStrictEqual((yield* settleDue).resolved, [count.id])
      assert.deepInclude(yield* get(count), { result: null, actual_value: 4 })
      yield* audited
    })
  )

  it.effect.each([
    ["daily candles alone", "dddddddd"],
    ["last hours alone", "hhhhhhhh"],
    ["either, day by day", "dhdhdhhd"],
    ["both, where they agree", "bbbbbbbb"],
    ["one daily candle among hours", "hhhdhhhh"]
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
      yield* audited
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
        yield* audited
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
      assert.strictEqual((yield* results(threshold)).predictions[0]?.score, 100)
    })
  )

  it.effect("A price event scores by confidence or CRPS, for the category crypto and the target", () =>
    Effect.gen(function* () {
      const scoring = yield* Scoring
      const monday = yield* freshWeek
      const agent = yield* claimedAgent()
      const [close, threshold] = [
        yield* newPriceEvent({ kind: "numeric_close" }),
        yield* newPriceEvent({ kind: "threshold" })
      ]
      yield* answerPriceEvent(agent, close, { predicted_value: 90, predicted_std: 5 })
      yield* answerPriceEvent(agent, close, { predicted_value: 96, predicted_std: 5 })
      yield* answerPriceEvent(agent, threshold, { confidence: 1 })
      yield* answerPriceEvent(agent, threshold, { direction: "bearish", confidence: 0.4, is_revision: true })
      yield* moveTo(plus(monday, "1 day"))
      yield* importHours(plus(monday, "23 hours"), [99])
      yield* settleDue
      const earned = crpsScore(crps({ mean: 96, sd: 5 }, 99), 10)
      assert.deepInclude((yield* results(close)).predictions[0], { ...earned, is_correct: null })
      assert.deepInclude((yield* results(threshold)).predictions[0], { is_correct: true, score: 70 })
      const card = yield* scoring.scorecard(agent, firstPage)
      const crypto = card.categories.find(({ category }) => category === "crypto")
      const eth = card.targets.find(({ target }) => target === "ETH")
      for (const stats of [card.overall, crypto, eth]) {
        assert.deepInclude(stats, { prediction_count: 2, accuracy_rate: 1, mean_skill: earned.skill })
        assert.closeTo(stats?.avg_score ?? 0, (earned.score + 70) / 2, 1e-12)
      }
      assert.sameMembers(
        card.predictions.map(({ type }) => type),
        ["price_event", "price_event"]
      )
      yield* audited
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
      yield* audited
    })
  )

  it.effect("A price event settles once, however many jobs run at the same time", () =>
    Effect.gen(function* () {
      const monday = yield* freshWeek
      const agents = yield* claimedAgents(3)
      const [threshold, close] = [
        yield* newPriceEvent({ kind: "threshold" }),
        yield* newPriceEvent({ kind: "numeric_close" })
      ]
      for (const agent of agents) {
        yield* answerPriceEvent(agent, threshold)
        yield* answerPriceEvent(agent, close)
      }
      yield* moveTo(plus(monday, "1 day"))
      yield* importHours(plus(monday, "23 hours"), [100])
      const reports = yield* Effect.all([settleDue, settleDue, settleDue], { concurrency: 3 })
      assert.sameMembers(
        reports.flatMap(({ resolved }) => resolved),
        [threshold.id, close.id]
      )
      assert.deepStrictEqual(
        reports.flatMap(({ failed }) => failed),
        []
      )
      yield* audited
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
      assert.deepInclude(yield* results(threshold), { result: "bullish", close_price: 101 })
    })
  )

  it.effect("A price event is amended by a price or a value, by its kind, and scored again", () =>
    Effect.gen(function* () {
      const amendments = yield* Amendments
      const monday = yield* freshWeek
      const agent = yield* claimedAgent()
      const [threshold, barrier, close, count] = [
        yield* newPriceEvent({ kind: "threshold" }),
        yield* newPriceEvent({ kind: "barrier", window_from: plus(monday, "-1 hour"), resolve_at: monday }),
        yield* newPriceEvent({ kind: "numeric_close", resolve_at: monday }),
        yield* newPriceEvent({ kind: "count_days", resolve_at: monday })
      ]
      for (const each of [threshold, barrier, close, count]) yield* answerPriceEvent(agent, each)
      const closing = Array.from(
        { length: 9 },
        (_, index) => [plus(monday, { hours: 23 - 24 * index }), 99] as const
      )
      yield* moveTo(plus(monday, "1 day"))
      yield* importCandles("ETH", "1h", closing)
      assert.lengthOf((yield* settleDue).resolved, 4)
      const reason = "the exchange said otherwise"
      for (const [challenge, wrong, right, expected] of [
        [threshold, { actual_value: 1 }, { close_price: 100 }, { result: "bullish", close_price: 100 }],
        [barrier, { actual_value: 1 }, { close_price: 100 }, { result: "bullish", close_price: 100 }],
        [close, { close_price: 1 }, { actual_value: 100 }, { result: null, actual_value: 100 }],
        [count, { actual_value: 2.5 }, { actual_value: 2 }, { result: null, actual_value: 2 }]
      ] as const) {
        const rejected = yield* Effect.flip(amendments.amend(challenge.id, { ...wrong, reason }))
        assert.strictEqual(rejected._tag, "InvalidRequest")
        assert.deepInclude(yield* amendments.amend(challenge.id, { ...right, reason }), expected)
        const shown = yield* results(challenge)
        assert.deepInclude(shown, expected)
        if (expected.result !== null) assert.strictEqual(shown.predictions[0]?.score, 75)
      }
      yield* audited
    })
  )
})

layer(testServices())("A price event without its candles", (it) => {
  it.effect("A price event is void 72 h after its resolve time or its deadline, and scores nobody", () =>
    Effect.gen(function* () {
      const monday = yield* freshWeek
      const [ahead, past] = [
        yield* newPriceEvent({ kind: "threshold" }),
        yield* newPriceEvent({ kind: "barrier", resolve_at: plus(monday, "-1 day") })
      ]
      const agent = yield* claimedAgent()
      for (const each of [ahead, past]) yield* answerPriceEvent(agent, each)
      const ends = [
        [past, plus(monday, "73 hours")],
        [ahead, plus(monday, "96 hours")]
      ] as const
      for (const [challenge, end] of ends) {
        assert.include(challenge.resolution_criteria, inUtc(DateTime.toEpochMillis(end)))
        yield* moveTo(millisBefore(end, 1))
        assert.notInclude((yield* settleDue).cancelled, challenge.id)
        yield* moveTo(end)
        assert.deepStrictEqual((yield* settleDue).cancelled, [challenge.id])
        const shown = yield* results(challenge)
        assert.deepInclude(shown, { status: "void", result: null, settlement: null, cancel_reason: null })
        assert.include(shown.void_reason, inUtc(DateTime.toEpochMillis(end)))
        assert.isNull(shown.predictions[0]?.score)
      }
      // Candles that come later are too late.
      yield* importHours(plus(monday, "23 hours"), [100])
      assert.deepInclude(yield* settleDue, { resolved: [], cancelled: [], waiting: 0 })
      yield* audited
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
      yield* audited
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

  it.effect("A price event settles when its candles come in the last moment of the wait", () =>
    Effect.gen(function* () {
      const monday = yield* freshWeek
      const threshold = yield* newPriceEvent({ kind: "threshold" })
      yield* moveTo(plus(monday, "96 hours"))
      yield* importHours(plus(monday, "23 hours"), [100])
      assert.deepStrictEqual((yield* settleDue).resolved, [threshold.id])
    })
  )

  it.effect("An administrator voids a price event with a reason, from the deadline to the settlement", () =>
    Effect.gen(function* () {
      const monday = yield* freshWeek
      const scoring = yield* Scoring
      const [one, other] = [
        yield* newPriceEvent({ kind: "threshold" }),
        yield* newPriceEvent({ kind: "threshold" })
      ]
      assert.strictEqual(
        (yield* Effect.flip(scoring.void("price_event", one.id, "early"))).code,
        "challenge_state"
      )
      yield* moveTo(plus(monday, "1 day"))
      assert.deepInclude(yield* scoring.void("price_event", one.id, "a wrong level"), {
        status: "void",
        void_reason: "a wrong level"
      })
      assert.strictEqual(
        (yield* Effect.flip(scoring.void("price_event", one.id, "again"))).code,
        "challenge_state"
      )
      yield* importHours(plus(monday, "23 hours"), [100])
      assert.deepStrictEqual((yield* settleDue).resolved, [other.id])
      assert.strictEqual(
        (yield* Effect.flip(scoring.void("price_event", other.id, "late"))).code,
        "challenge_state"
      )
      yield* audited
    })
  )
})

layer(testServices())("Five weeks of price events of all kinds", (it) => {
  it.effect("Price events end as computed by hand, and are void only where candles are missing", () =>
    Effect.gen(function* () {
      const monday = yield* freshWeek
      const days = 35
      const walk = walkOfPrices(DateTime.toEpochMillis(monday), days)
      const made: Array<PriceEvent> = []
      for (let day = 1; day <= days; day++) {
        const resolve_at = plus(monday, { days: day })
        const level = walk.levelNear(day)
        made.push(yield* newPriceEvent({ kind: "numeric_close", resolve_at }))
        made.push(yield* newPriceEvent({ kind: "threshold", resolve_at, level }))
        if (day % 7 !== 0) continue
        made.push(yield* newPriceEvent({ kind: "count_days", resolve_at }))
        for (const away of [-40, 0, 40]) {
          const window_from = plus(resolve_at, "-7 days")
          made.push(yield* newPriceEvent({ kind: "barrier", resolve_at, window_from, level: level + away }))
        }
      }
      const [agent] = yield* claimedAgents(1)
      const [first] = made
      if (agent !== undefined && first !== undefined) yield* answerPriceEvent(agent, first)

      // Before they are over, so that each is known in time.
      const known = walk.candles.filter((_, index) => !walk.missing.has(index))
      yield* Prices.use((prices) =>
        prices.import({
          asset: "ETH",
          interval: "1h",
          candles: known.map((candle) => ({
            ...candle,
            time: DateTime.makeUnsafe(candle.time)
          }))
        })
      )
      yield* moveTo(plus(monday, { days: days + 1 }))
      const report = yield* settleDue
      assert.deepStrictEqual(report.failed, [])
      const hours = new Map(known.map((candle) => [candle.time, candle]))
      const reference = ({ kind, level, resolve_at, window_from }: PriceEvent) =>
        referenceSettlement(
          {
            kind,
            level,
            from: window_from === null ? null : Date.parse(window_from),
            end: Date.parse(resolve_at)
          },
          hours
        )?.outcome
      const expected = new Map(made.map((event) => [event.id, reference(event)]))
      const decided = made.filter(({ id }) => expected.get(id) !== undefined)
      assert.sameMembers(
        [...report.resolved],
        decided.map(({ id }) => id)
      )
      yield* moveTo(plus(monday, { days: days + 4 }))
      yield* settleDue
      for (const event of made) {
        const { actual_value, kind, result, status } = yield* get(event)
        const outcome = expected.get(event.id)
        const title = `${kind} ${event.question}`
        if (outcome === undefined) {
          assert.deepStrictEqual([status, result, actual_value], ["void", null, null], title)
        } else {
          assert.deepStrictEqual([status, result ?? actual_value], ["resolved", outcome], title)
        }
      }
      // The walk is such that every kind ends in every way.
      const outcomes = new Set(made.map((event) => `${event.kind} ${String(expected.get(event.id))}`))
      for (const way of [
        "barrier bullish",
        "barrier bearish",
        "barrier undefined",
        "threshold bullish",
        "threshold bearish",
        "threshold undefined",
        "numeric_close undefined",
        "count_days undefined"
      ]) {
        assert.include([...outcomes], way)
      }
      yield* audited
    })
  )
})
