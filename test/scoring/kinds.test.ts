import { normalCdf } from "../../src/scoring/crps.ts"
import { assert, describe, it } from "@effect/vitest"
import { BigDecimal, DateTime, Schema } from "effect"
import {
  closeScale,
  closingCandle,
  dailyCloses,
  day,
  hour,
  levelsAround,
  scaleOfCount,
  wholeHour
} from "../../src/scoring/candles.ts"
import type { Candle } from "../../src/scoring/candles.ts"
import { noTerms } from "../../src/scoring/kinds/kind.ts"
import type { TermsRow } from "../../src/scoring/kinds/kind.ts"
import { candleKindOf } from "../../src/scoring/kinds/kinds.ts"
import { ruleVersion } from "../../src/scoring/kinds/priceEvent.ts"
import { inUtc } from "../../src/scoring/wording.ts"

const newTerms: TermsRow = { ...noTerms, scale: null, rule_version: ruleVersion }

type CandleQuestion = NonNullable<ReturnType<ReturnType<typeof candleKindOf>["byCandles"]>>

const questionOf = (kind: string, resolveAt: number, terms: Partial<TermsRow>): CandleQuestion => {
  const question = candleKindOf(kind).byCandles({ ...newTerms, ...terms }, resolveAt)
  assert(question !== undefined)
  return question
}

const decide = (question: CandleQuestion, candles: ReadonlyArray<Candle>) => question.decide(candles)

/** The opening times of the candles that can decide a question; for a daily close the last 1-hour candle. */
const candlesOf = (question: CandleQuestion): ReadonlyArray<number> => {
  const input = question.input()
  return input.by === "hours" ? input.opens : input.days.map((end) => end - hour)
}

const decimal = BigDecimal.fromStringUnsafe
/** A whole number of hundredths, as prices are printed. */
const cents = (units: number) => BigDecimal.make(BigInt(units), 2)

/** Monday 2023-01-09. */
const monday = Date.UTC(2023, 0, 9)

const candle = (openTime: number, low: number, high: number, close = low): Candle => ({
  openTime,
  low: cents(low),
  high: cents(high),
  close: cents(close)
})

const closing = (openTime: number, close: number) => candle(openTime, close, close)

const barrier = (hours: number, level: number, version: number = ruleVersion): CandleQuestion =>
  questionOf("barrier", monday + hours * hour, {
    level: BigDecimal.format(cents(level)),
    window_from: monday,
    rule_version: version
  })

const resultOf = (question: CandleQuestion, candles: ReadonlyArray<Candle>) =>
  decide(question, candles)?.result

describe("A barrier", () => {
  it("A barrier is touched by a candle whose low or high is exactly the level", () => {
    for (const touching of [candle(monday, 100, 105), candle(monday, 95, 100), candle(monday, 100, 100)]) {
      assert.strictEqual(resultOf(barrier(1, 100), [touching]), "bullish")
    }
    for (const missing of [candle(monday, 101, 105), candle(monday, 95, 99)]) {
      assert.strictEqual(resultOf(barrier(1, 100), [missing]), "bearish")
    }
  })

  it("A gap between two candles touches no barrier, but for questions made by the first rules", () => {
    const below = [90, 99] as const
    const above = [101, 110] as const
    for (const [first, second] of [
      [below, above],
      [above, below]
    ] as const) {
      const candles = [candle(monday, first[0], first[1]), candle(monday + hour, second[0], second[1])]
      const decision = decide(barrier(9, 100, 1), candles)
      assert.deepStrictEqual([decision?.result, [...(decision?.evidence ?? [])]], ["bullish", candles])
      assert.isUndefined(decide(barrier(9, 100), candles))
      assert.strictEqual(resultOf(barrier(2, 100), candles), "bearish")
    }
  })

  it("A barrier is Yes with one candle and No only with all of them", () => {
    const question = barrier(3, 100)
    const away = [0, 1, 2].map((index) => candle(monday + index * hour, 90, 99 - index))
    assert.isUndefined(decide(question, []))
    assert.isUndefined(decide(question, away.slice(0, 2)))
    assert.isUndefined(decide(question, away.slice(1)))
    assert.strictEqual(resultOf(question, away), "bearish")
    const touch = candle(monday + 2 * hour, 99, 101)
    const early = decide(question, [touch])
    assert.deepStrictEqual([early?.result, early?.evidence], ["bullish", [touch]])
  })

  it("A barrier that is not touched says how near the price came", () => {
    const below = [candle(monday, 90, 99), candle(monday + hour, 80, 97)]
    const nearest = decide(barrier(2, 100), below)?.observation ?? cents(0)
    assert.strictEqual(BigDecimal.format(nearest), "0.99")
    const above = decide(barrier(2, 70), below)?.observation ?? cents(0)
    assert.strictEqual(BigDecimal.format(above), "0.8")
    const around = [candle(monday, 80, 90), candle(monday + hour, 104, 120)]
    const acrossGap = decide(barrier(2, 100), around)?.observation ?? cents(0)
    assert.strictEqual(BigDecimal.format(acrossGap), "1.04")
  })

  const Price = Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 40 }))
  const Range = Schema.Struct({ one: Price, other: Price, known: Schema.Boolean })

  it.prop(
    "A barrier agrees with a walk along every price of its candles, and an early decision stays",
    [Schema.Array(Range).check(Schema.isBetweenLength(1, 12)), Price, Schema.Literals([1, 2])],
    ([ranges, level, version]) => {
      const all = ranges.map(({ one, other }, index) =>
        candle(monday + index * hour, Math.min(one, other), Math.max(one, other))
      )
      // The prices that were passed: within each candle, and by the first rules on the way from one to the next.
      const passed = new Set<number>()
      for (const [index, { one, other }] of ranges.entries()) {
        const next = ranges[index + 1]
        const low = Math.min(one, other)
        const high = Math.max(one, other)
        for (let price = low; price <= high; price++) passed.add(price)
        if (next === undefined || version !== 1) continue
        const [nextLow, nextHigh] = [Math.min(next.one, next.other), Math.max(next.one, next.other)]
        for (let price = high; price <= nextLow; price++) passed.add(price)
        for (let price = nextHigh; price <= low; price++) passed.add(price)
      }
      const question = barrier(ranges.length, level, version)
      const truth = passed.has(level) ? "bullish" : "bearish"
      assert.strictEqual(resultOf(question, all), truth)
      const known = all.filter((_, index) => ranges[index]?.known)
      const early = resultOf(question, known)
      if (early === "bearish") assert.strictEqual(known.length, all.length)
      if (early !== undefined) assert.strictEqual(early, truth)
    }
  )
})

describe("A close", () => {
  const question = questionOf("numeric_close", monday, { reference_scale: "1" })

  it("A close is that of the last 1-hour candle of the UTC day that ends at resolve_at", () => {
    assert.deepStrictEqual(candlesOf(question), [monday - hour])
    const decision = decide(question, [closing(monday - hour, 12345)])
    assert.deepStrictEqual(
      [decision?.result, BigDecimal.format(decision?.observation ?? cents(0))],
      [null, "123.45"]
    )
    assert.isUndefined(decide(question, []))
  })

  it("A close at or above the level is Yes, one below it No", () => {
    const threshold = (level: string) => questionOf("threshold", monday, { level })
    const close = [closing(monday - hour, 12345)]
    assert.strictEqual(resultOf(threshold("123.45"), close), "bullish")
    assert.strictEqual(resultOf(threshold("123.4500"), close), "bullish")
    assert.strictEqual(resultOf(threshold("123.44999999999999999999"), close), "bullish")
    assert.strictEqual(resultOf(threshold("123.45000000000000000001"), close), "bearish")
    assert.isUndefined(decide(threshold("1"), []))
  })
})

describe("A range", () => {
  const range = (low: string, high: string) => questionOf("range", monday, { low, high })
  const close = [closing(monday - hour, 12345)]

  it("A close from the low end to the high end is Yes, both included, and any other is No", () => {
    for (const [low, high, result] of [
      ["123.45", "124", "bullish"],
      ["123", "123.4500", "bullish"],
      ["123.45000000000000000001", "124", "bearish"],
      ["123", "123.44999999999999999999", "bearish"]
    ] as const) {
      assert.strictEqual(resultOf(range(low, high), close), result)
    }
    assert.isUndefined(decide(range("1", "2"), []))
  })

  it("The random walk gives a range the probability between its ends, and no time left its result", () => {
    const row = { ...newTerms, low: "90", high: "110" }
    const walk = candleKindOf("range").of(row, monday)?.walk
    const odds = (price: number, sd: number) =>
      walk?.at({
        at: monday - hour,
        touched: false,
        closes: new Map(),
        price,
        volatility: sd,
        distanceTo: (level) => Math.log(level / price),
        spread: () => sd
      })
    const sd = 0.1
    const yes = normalCdf(Math.log(1.1) / sd) - normalCdf(Math.log(0.9) / sd)
    const found = odds(100, sd)
    assert(found !== undefined && "odds" in found)
    assert.closeTo(found.odds[0] ?? 0, yes, 1e-12)
    assert.closeTo((found.odds[0] ?? 0) + (found.odds[1] ?? 0), 1, 1e-12)
    for (const [price, odd] of [
      [90, 1],
      [110, 1],
      [89.99, 0],
      [110.01, 0]
    ] as const) {
      assert.deepStrictEqual(odds(price, 0), { odds: [odd, 1 - odd] })
    }
  })
})

describe("The candle that closes a day", () => {
  const known = (interval: "1d" | "1h", close: string, knownAt: number, isUpheld = false) => ({
    interval,
    knownAt,
    isUpheld,
    openTime: monday,
    low: decimal(close),
    high: decimal(close),
    close: decimal(close)
  })

  it("The daily candle or the last 1-hour one closes a day, whichever was known first", () => {
    const [daily, hourly] = [known("1d", "100", 7), known("1h", "100.0", 8)]
    assert.strictEqual(closingCandle([daily]), daily)
    assert.strictEqual(closingCandle([hourly]), hourly)
    assert.strictEqual(closingCandle([daily, hourly]), daily)
    const earlier = known("1h", "100", 6)
    assert.strictEqual(closingCandle([daily, earlier]), earlier)
    assert.isUndefined(closingCandle([]))
  })

  it("A close is contested while both candles are known and differ, until an administrator upholds the daily one", () => {
    const hourly = known("1h", "100.01", 6)
    assert.strictEqual(closingCandle([known("1d", "100", 7), hourly]), "contested")
    const upheld = known("1d", "100", 7, true)
    assert.strictEqual(closingCandle([upheld, hourly]), upheld)
  })
})

describe("A count of days", () => {
  const end = monday + 7 * day
  const question = questionOf("count_days", end, { reference_scale: "1" })
  const daily = (closes: ReadonlyArray<number>) =>
    candlesOf(question).map((openTime, index) => closing(openTime, closes[index] ?? 0))
  const count = (candles: ReadonlyArray<Candle>) => {
    const decision = decide(question, candles)
    return decision && BigDecimal.toNumberUnsafe(decision.observation)
  }

  it("A count compares the seven days from Monday each with the day before, the first with Sunday", () => {
    assert.deepStrictEqual(
      candlesOf(question).map((time) => DateTime.formatIso(DateTime.makeUnsafe(time))),
      [8, 9, 10, 11, 12, 13, 14, 15].map((date) => `2023-01-${String(date).padStart(2, "0")}T23:00:00.000Z`)
    )
    assert.strictEqual(count(daily([1, 2, 3, 4, 5, 6, 7, 8])), 7)
    assert.strictEqual(count(daily([8, 7, 6, 5, 4, 3, 2, 1])), 0)
    assert.strictEqual(count(daily([1, 2, 1, 1, 1, 1, 1, 1])), 1)
  })

  it("A day that closes where the one before it closed does not count", () => {
    assert.strictEqual(count(daily([5, 5, 5, 5, 5, 5, 5, 5])), 0)
  })

  it("A count takes all eight closes", () => {
    const all = daily([1, 2, 3, 4, 5, 6, 7, 8])
    for (let missing = 0; missing < 8; missing++) {
      assert.isUndefined(decide(question, all.toSpliced(missing, 1)))
    }
  })

  const Close = Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 5 }))

  it.prop(
    "A count agrees with counting whole numbers",
    [Schema.Array(Close).check(Schema.isBetweenLength(8, 8))],
    ([closes]) => {
      let up = 0
      for (let index = 1; index < 8; index++) {
        if ((closes[index] ?? 0) > (closes[index - 1] ?? 0)) up += 1
      }
      assert.strictEqual(count(daily(closes)), up)
    }
  )
})

describe("The reference scale", () => {
  it("The scale of a count is that of seven fair coins", () => {
    assert.closeTo(scaleOfCount(7), Math.sqrt(7 * 0.25), 1e-15)
  })

  it("The scale of a close is the open price, the standard deviation of 60 log returns, and the root of the days ahead", () => {
    // Returns of +1 % and -1 % in turn: their mean is 0, their sample variance 60 / 59 of a square of 0.01.
    const closes = Array.from({ length: 61 }, (_, index) => (index % 2 === 0 ? 100 : 100 * Math.exp(0.01)))
    const daily = 0.01 * Math.sqrt(60 / 59)
    assert.closeTo(closeScale(2000, closes, 24) ?? 0, 2000 * daily, 1e-9)
    assert.closeTo(closeScale(2000, closes, 96) ?? 0, 2 * 2000 * daily, 1e-9)
  })

  it("The scale of a close needs 61 closes that move", () => {
    const closes = Array.from({ length: 61 }, (_, index) => 100 + index)
    assert.isDefined(closeScale(100, closes, 24))
    assert.isUndefined(closeScale(100, closes.slice(1), 24))
    assert.isUndefined(closeScale(100, closes.with(30, 0), 24))
    assert.isUndefined(
      closeScale(
        100,
        closes.map(() => 100),
        24
      )
    )
  })
})

describe("The times of candles", () => {
  it("Windows begin at the first whole hour at or after a moment", () => {
    assert.strictEqual(wholeHour(monday), monday)
    assert.strictEqual(wholeHour(monday + 1), monday + hour)
  })

  it("The candles of a barrier open at all hours from its window's start until before resolve_at", () => {
    assert.deepStrictEqual(candlesOf(barrier(3, 1)), [monday, monday + hour, monday + 2 * hour])
    assert.deepStrictEqual(candlesOf(barrier(0, 1)), [])
  })

  it("Daily closes are those of the last hours of as many days", () => {
    assert.deepStrictEqual(dailyCloses(monday, 2), [monday - day - hour, monday - hour])
  })
})

describe("The settlement text", () => {
  const terms = {
    ...newTerms,
    window_from: Date.UTC(2026, 2, 2),
    level: "70000",
    low: "60000",
    high: "80000",
    reference_scale: "1.25"
  }
  const unworded = {
    targetName: "Bitcoin",
    target: "BTC",
    resolveAt: Date.UTC(2026, 2, 9),
    closePriceUntil: Date.UTC(2026, 2, 12),
    cancelAt: Date.UTC(2026, 2, 12)
  }

  /** The times in the form of the two texts. */
  const times = {
    from: ["00:00 UTC on 2 March 2026", "2026年3月2日 00:00（UTC）"],
    resolve: ["00:00 UTC on 9 March 2026", "2026年3月9日 00:00（UTC）"],
    end: ["00:00 UTC on 12 March 2026", "2026年3月12日 00:00（UTC）"]
  } as const

  it.each([
    ["numeric_close", ["2026-03-08", "1.25"], [times.resolve, times.end]],
    ["threshold", ["2026-03-08", "70000"], [times.resolve, times.end]],
    ["range", ["2026-03-08", "60000", "80000"], [times.resolve, times.end]],
    ["barrier", ["70000"], [times.from, times.resolve, times.end]],
    ["count_days", ["2026-03-02", "2026-03-08", "1.25"], [times.end]]
  ] as const)("The criteria of %s say in both languages what decides it", (kind, phrases, moments) => {
    const texts = candleKindOf(kind).texts(terms, unworded)
    for (const [text, times] of [
      [texts.resolution_criteria ?? "", moments.map(([english]) => english)],
      [texts.resolution_criteria_zh ?? "", moments.map(([, chinese]) => chinese)]
    ] as const) {
      for (const each of ["BTC", ...phrases, ...times]) assert.include(text, each)
      assert.notInclude(text, "null")
      assert.notMatch(text, /\d{4}-\d\d-\d\dT/)
    }
  })

  it("A text says an instant exactly, with seconds only where there are any", () => {
    assert.strictEqual(inUtc(Date.parse("2026-11-23T03:43:15.766Z")), "03:43:15.766 UTC on 23 November 2026")
    assert.strictEqual(inUtc(Date.parse("2026-11-23T03:43:15.000Z")), "03:43:15 UTC on 23 November 2026")
    assert.strictEqual(inUtc(Date.parse("2026-11-23T10:20:00Z")), "10:20 UTC on 23 November 2026")
    assert.strictEqual(inUtc(Date.parse("2026-01-01T00:00:00.120Z")), "00:00:00.12 UTC on 1 January 2026")
  })
})

const Price = Schema.Finite.check(Schema.isBetween({ minimum: 0.01, maximum: 1e6 }))
/** A share of the price; a week that moves a price by half is beyond what crypto showed. */
const Share = Schema.Finite.check(Schema.isBetween({ minimum: 0.001, maximum: 0.5 }))

describe("Levels around a price", () => {
  it("Levels are rounded to numbers that people would say", () => {
    assert.deepStrictEqual(levelsAround(87_431, 4619), { threshold: 87_500, up: 91_000, down: 84_000 })
    assert.deepStrictEqual(levelsAround(0.6123, 0.04), { threshold: 0.61, up: 0.64, down: 0.585 })
  })

  it.prop(
    "Levels lie on both sides of the price, and within a standard deviation",
    [Price, Share],
    ([price, share]) => {
      const deviation = price * share
      const levels = levelsAround(price, deviation)
      assert(levels !== undefined)
      assert.isTrue(levels.down > 0 && levels.down < price && levels.up > price)
      assert.isTrue(levels.up - price < deviation && price - levels.down < deviation)
      assert.isTrue(Math.abs(levels.threshold - price) <= deviation * 0.11)
    }
  )

  it("No levels exist where the lower one would not be above 0", () => {
    assert.isUndefined(levelsAround(100, 200))
  })
})
