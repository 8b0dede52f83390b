/** Texts that are frozen with a question say times to the second and numbers as people write them, and it settles by them. */
import { assert, it, layer } from "@effect/vitest"
import { DateTime, Effect, Schema } from "effect"
import { instantOf } from "../../cli/admin/session.ts"
import {
  practiceCriteria,
  practiceCriteriaChinese,
  resolutionCriteria,
  resolutionCriteriaChinese
} from "../../src/scoring/criteria.ts"
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
] as const)("a span of %d hours is said in whole units", (hours, english, chinese) => {
  const terms = {
    targetName: "Gold",
    target: "GC",
    openPrice: "100",
    deadZonePct: "0.3",
    resolveAt: "2026-03-02T14:30:00Z",
    closePriceWithinHours: hours,
    cancelAfterHours: hours
  }
  assert.include(resolutionCriteria(terms), `at most ${english} after`)
  assert.include(resolutionCriteria(terms), `scoring nobody, ${english} after that time`)
  assert.include(resolutionCriteriaChinese(terms), `不超过其后 ${chinese}；`)
  assert.include(resolutionCriteriaChinese(terms), `之后满 ${chinese}仍无`)
  assert.include(practiceCriteria({ ...terms, hours }), `the recorded price ${english} on`)
  assert.include(practiceCriteriaChinese({ ...terms, hours }), `中 ${chinese}之后`)
})

it.effect.each(["in 40 seconds", "2 hours", "1.5 hours", "0.0001 seconds"])(
  "a time from now that an administrator types is of a whole second: %s",
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

/** All that is frozen of questions: the texts, and the times that they say. */
const frozen = rowsOf(
  Frozen,
  (sql) => sql`
    select concat_ws(' ', question, resolution_criteria, resolution_criteria_zh) as texts, reference_scale::text as scale,
           array_remove(array[deadline, resolve_at, close_price_until, cancel_at, window_from], null) as times
      from challenges`
)

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
)("What a question is frozen with", (it) => {
  it.effect("has whole seconds and no machine decimals, whatever the moment and the prices are", () =>
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
      yield* arenas.directional.create({ asset: "GC", deadline: late, resolve_at: late })
      yield* newMacro({ deadline: late, release_at: plus(late, "7 millis") })
      yield* newPriceEvent({ kind: "count_days", deadline: late })
      yield* arenas.priceEvents.create({
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
        // What the text says is what is settled by.
        if (scale !== null) assert.include(texts, `the reference scale ${scale}`)
        for (const time of times) assert.strictEqual(DateTime.toEpochMillis(time) % 1000, 0, texts)
      }
    })
  )
})
