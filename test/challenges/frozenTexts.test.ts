/** Texts that are frozen with a question give times to the second and numbers in plain decimals, and the question settles by them. */
import { assert, it, layer } from "@effect/vitest"
import { DateTime, Effect, Schema } from "effect"
import { instantOf } from "../../cli/admin/session.ts"
import { direction, practiceCriteria, practiceCriteriaChinese } from "../../src/scoring/kinds/direction.ts"
import { plainDecimal } from "../../src/scoring/wording.ts"
import { Arenas } from "../../src/services/Arenas.ts"
import {
  freshWeek,
  importCandles,
  importQuotes,
  moveTo,
  newChallenge,
  newMacro,
  newPriceEvent,
  plus
} from "../support/challenges.ts"
import { rowsOf } from "../support/database.ts"
import { testServices } from "../support/services.ts"

it.each([
  [1, "1 hour", "1 小时"],
  [1.5, "1 hour 30 minutes", "1 小时 30 分钟"],
  [0.5, "30 minutes", "30 分钟"],
  [5 / 3, "1 hour 40 minutes", "1 小时 40 分钟"],
  [1 / 60, "1 minute", "1 分钟"],
  [45 / 3600, "45 seconds", "45 秒"],
  [24, "24 hours", "24 小时"],
  [25, "25 hours", "25 小时"],
  [48, "2 days", "2 天"],
  [168, "7 days", "7 天"],
  [36.25, "36 hours 15 minutes", "36 小时 15 分钟"],
  [1 + 1 / 3600, "1 hour 1 second", "1 小时 1 秒"]
] as const)("The criteria say a span of %d hours in whole units", (hours, english, chinese) => {
  const terms = { openPrice: "100", deadZonePct: "0.3" }
  const named = { targetName: "Gold", target: "GC" }
  const resolveAt = Date.parse("2026-03-02T14:30:00Z")
  const until = resolveAt + hours * 3_600_000
  const worded = { ...named, terms, resolveAt, closePriceUntil: until, cancelAt: until }
  const practice = { ...named, ...terms, hours }
  assert.include(direction.criteria.en(worded), `at most ${english} after`)
  assert.include(direction.criteria.en(worded), `scoring nobody, ${english} after that time`)
  assert.include(direction.criteria.zh(worded), `不超过其后 ${chinese}；`)
  assert.include(direction.criteria.zh(worded), `之后满 ${chinese}仍无`)
  assert.include(practiceCriteria(practice), `the recorded price ${english} on`)
  assert.include(practiceCriteriaChinese(practice), `中 ${chinese}之后`)
})

/** Numbers as administrators and their programs send them, and as the texts of a question say them. */
const given = [
  [0, "0"],
  [-0, "0"],
  [1, "1"],
  [2.5, "2.5"],
  [0.3, "0.3"],
  [0.1 + 0.2, "0.3"],
  [0.07 * 3, "0.21"],
  [1 - 0.9, "0.1"],
  [4.35 * 100, "435"],
  [1.1 + 2.2, "3.3"],
  [0.000001, "0.000001"],
  [1e-7, "0.0000001"],
  [-1e-7, "-0.0000001"],
  [1.5e-9, "0.0000000015"],
  [1e-12, "0.000000000001"],
  [3e-7 / 3, "0.0000001"],
  [1.234567e-8, "0.00000001234567"],
  [12345.678, "12345.678"],
  [100000, "100000"],
  [3170, "3170"],
  [65_000.5, "65000.5"],
  [0.1 * 3 * 1000, "300"],
  [2613.0802638035816, "2613.08026380358"],
  [1 / 3, "0.333333333333333"],
  [2 / 3, "0.666666666666667"],
  [99.99, "99.99"],
  [123_456_789.123456, "123456789.123456"],
  [999_999_999_999_999, "999999999999999"],
  [1e15, "1000000000000000"],
  [1e21, "1000000000000000000000"],
  [-2.5e21, "-2500000000000000000000"],
  [1e-6 + 2e-6, "0.000003"]
] as const

it.each(given)("plainDecimal writes %d as a plain decimal", (number, text) => {
  assert.strictEqual(plainDecimal(number), text)
})

it.effect.each(["in 40 seconds", "2 hours", "1.5 hours", "0.0001 seconds"])(
  "instantOf makes a whole second of a time from now that an administrator types: %s",
  (text) =>
    Effect.gen(function* () {
      const now = DateTime.makeUnsafe("2026-03-02T18:29:14.414Z")
      const instant = yield* instantOf("resolve-at", text, now)
      assert.strictEqual(DateTime.toEpochMillis(instant) % 1000, 0)
    })
)

const Frozen = Schema.Struct({
  texts: Schema.String,
  scale: Schema.NullOr(Schema.String),
  times: Schema.Array(Schema.DateTimeUtcFromDate)
})

/** The frozen members of questions: the texts, and the times that they give. */
const frozen = rowsOf(
  Frozen,
  (sql) => sql`
    select concat_ws(' ', question, resolution_criteria, resolution_criteria_zh) as texts, reference_scale::text as scale,
           array_remove(array[deadline, resolve_at, close_price_until, cancel_at, window_from], null) as times
      from challenges`
)

interface Texts {
  readonly resolution_criteria?: string | null
  readonly resolution_criteria_zh?: string | null
}

/** More than six digits after a point, or times with fractions of a second. */
const machineDecimal = /\d\.\d{7,}/
const fraction = /\d:\d\d\.\d/

layer(
  testServices({
    AUSPEX_CLOSE_PRICE_WITHIN: "90.01 minutes",
    AUSPEX_DIRECTIONAL_CANCEL_AFTER: "100 minutes",
    AUSPEX_PRICE_EVENT_VOID_AFTER: "1234567 millis",
    AUSPEX_MACRO_VOID_AFTER: "86400001 millis"
  })
)("The frozen terms of a question", (it) => {
  it.effect("The frozen terms have whole seconds and no machine decimals, at any moment and price", () =>
    Effect.gen(function* () {
      const monday = yield* freshWeek
      yield* importCandles(
        "ETH",
        "1h",
        Array.from(
          { length: 62 },
          (_, index) => [plus(monday, { hours: -24 * index - 1 }), 2000 + Math.sin(index) * 97.123] as const
        )
      )
      const now = plus(monday, "9.095 seconds")
      yield* moveTo(now)
      yield* importQuotes("GC", [[now, 2712.2]])
      const late = plus(now, "10000123 millis")
      const arenas = yield* Arenas
      const gold = yield* newChallenge({ deadline: now, resolve_at: late })
      yield* arenas.create("directional", { asset: "GC", deadline: late, resolve_at: late })
      yield* newMacro({ deadline: late, release_at: plus(late, "7 millis") })
      yield* newPriceEvent({ kind: "count_days", deadline: late })
      yield* arenas.create("price_event", {
        kind: "numeric_close",
        asset: "ETH",
        deadline: late,
        resolve_at: plus(monday, "2 days")
      })
      yield* newPriceEvent({ kind: "barrier", deadline: late, level: 2100 })
      assert.deepInclude(gold, {
        deadline: "2026-03-02T00:00:10.000Z",
        resolve_at: "2026-03-02T02:46:50.000Z"
      })
      assert.include(
        gold.resolution_criteria ?? "",
        "02:46:50 UTC on 2 March 2026, at most 1 hour 30 minutes after"
      )
      assert.include(gold.resolution_criteria ?? "", "1 hour 40 minutes after that time")
      const rows = yield* frozen
      assert.lengthOf(rows, 6)
      for (const { scale, texts, times } of rows) {
        assert.notMatch(texts, machineDecimal)
        assert.notMatch(texts, fraction)
        // The question settles by the numbers of its text.
        if (scale !== null) assert.include(texts, `the reference scale ${scale}`)
        for (const time of times) assert.strictEqual(DateTime.toEpochMillis(time) % 1000, 0, texts)
      }
    })
  )

  it.effect("The frozen terms write numbers as plain decimals, and the question settles by them", () =>
    Effect.gen(function* () {
      const monday = yield* freshWeek
      const deadline = plus(monday, "1 hour")
      const arenas = yield* Arenas
      const isSaid = (
        { resolution_criteria: english, resolution_criteria_zh: chinese }: Texts,
        text: string
      ) => {
        assert.match(english ?? "", new RegExp(`[^\\d.]${text}([^\\d.]|\\.( |$))`))
        assert.include(chinese ?? "", text)
        assert.notMatch(`${english} ${chinese}`, /\d[eE][+-]?\d/)
      }
      for (const [number, text] of given.filter(([each]) => each >= 1e-12 && each <= 1e15)) {
        const scored = yield* newMacro({ deadline, reference_scale: number })
        isSaid(scored, text)
        assert.strictEqual(scored.reference_scale, Number(text))
        isSaid(yield* newPriceEvent({ kind: "count_days", deadline, reference_scale: number }), text)
        if (number < 1e15) {
          const barrier = yield* newPriceEvent({ kind: "barrier", deadline, level: number })
          isSaid(barrier, text)
          assert.include(barrier.question, `touch ${text} before`)
          assert.strictEqual(barrier.level, Number(text))
          isSaid(yield* newChallenge({ deadline, resolve_at: deadline, open_price: number }), text)
        }
        if (number >= 100) continue
        const direction = yield* newChallenge({ deadline, resolve_at: deadline, dead_zone_pct: number })
        assert.include(direction.resolution_criteria ?? "", `+${text} % is bullish`)
        assert.include(direction.resolution_criteria_zh ?? "", `涨幅大于 ${text}%`)
        assert.strictEqual(direction.dead_zone_pct, Number(text))
      }
      for (const [small, text] of given.filter(([each]) => each >= 1e-9 && each < 0.5)) {
        const ordered = yield* arenas.create("macro", {
          asset: "FOMC",
          period: "2026-03",
          deadline,
          categories: [
            { name: "cut", probability: small },
            { name: "hold", probability: 0.5 },
            { name: "raise", probability: 0.5 - small }
          ],
          reward_pool: 0
        })
        assert.include(ordered.resolution_criteria, `cut ${text},`)
        isSaid(ordered, text)
      }
    })
  )
})
