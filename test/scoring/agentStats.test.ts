import { assert, describe, it } from "@effect/vitest"
import { BigDecimal, Equal, Schema } from "effect"
import { directionalScore } from "../../src/scoring/directional.ts"
import {
  accuracyRate,
  addScore,
  avgScore,
  brierIndex,
  emptyStats,
  meanSkill,
  scoreCi95,
  studentT975
} from "../../src/scoring/agentStats.ts"
import type { AgentStats, SettledScore } from "../../src/scoring/agentStats.ts"

const decimal = BigDecimal.fromStringUnsafe

const statsOf = (scores: ReadonlyArray<SettledScore>) => scores.reduce(addScore, emptyStats)

const isoDay = (index: number) =>
  `2026-${String(1 + Math.floor(index / 28)).padStart(2, "0")}-${String(1 + (index % 28)).padStart(2, "0")}`

const binary = (day: string, correct: boolean, confidence: string): SettledScore => ({
  kind: "binary",
  day,
  correct,
  score: directionalScore(correct, decimal(confidence))
})

const numeric = (day: string, score: string, skill: string): SettledScore => ({
  kind: "numeric",
  day,
  score: decimal(score),
  skill: decimal(skill)
})

const int = (minimum: number, maximum: number) => Schema.Int.check(Schema.isBetween({ minimum, maximum }))

const Draw = Schema.Struct({
  /** Days since the previous score: mostly several scores a day, now and then days without one. */
  gap: Schema.Literals([0, 0, 0, 1, 1, 3]),
  kind: Schema.Literals(["binary", "numeric"]),
  correct: Schema.Boolean,
  units: int(0, 10 ** 9),
  digits: int(0, 9),
  order: int(0, 10 ** 6),
  chunkEnds: Schema.Boolean
})

const Draws = Schema.Array(Draw).check(Schema.isMaxLength(60))

type Draw = typeof Draw.Type

/** Scores with up to nine digits after the point (and none: trailing zeros are kept), days ascending. */
const settled = (draws: ReadonlyArray<Draw>) => {
  let day = 0
  return draws.map((draw) => {
    day += draw.gap
    const share = BigDecimal.scale(BigDecimal.make(BigInt(draw.units), 9), draw.digits)
    const score: SettledScore =
      draw.kind === "binary"
        ? {
            kind: "binary",
            day: isoDay(day),
            correct: draw.correct,
            score: directionalScore(draw.correct, share)
          }
        : {
            kind: "numeric",
            day: isoDay(day),
            score: BigDecimal.multiply(share, decimal("100")),
            skill: BigDecimal.subtract(decimal("1"), BigDecimal.multiply(share, decimal("7.3")))
          }
    return { score, draw }
  })
}

/** The stats as a row of a table keeps them between two settlements: decimals travel as strings. */
const stored = (stats: AgentStats): AgentStats => {
  const throughText = (x: BigDecimal.BigDecimal) => decimal(BigDecimal.format(x))
  return {
    ...stats,
    scoreSum: throughText(stats.scoreSum),
    brierSum: throughText(stats.brierSum),
    skillSum: throughText(stats.skillSum),
    daySum: throughText(stats.daySum),
    sumDaySq: throughText(stats.sumDaySq),
    sumDayCross: throughText(stats.sumDayCross)
  }
}

const days = (scores: ReadonlyArray<SettledScore>) => Map.groupBy(scores, ({ day }) => day)

/** The sums straight from their definitions, day by day. */
const recomputed = (scores: ReadonlyArray<SettledScore>): AgentStats => {
  const sumOf = (items: ReadonlyArray<SettledScore>) => BigDecimal.sumAll(items.map(({ score }) => score))
  const exact = (n: number) => BigDecimal.fromBigInt(BigInt(n))
  const binaries = scores.filter((score) => score.kind === "binary")
  const numerics = scores.filter((score) => score.kind === "numeric")
  const perDay = [...days(scores)]
  const [lastDay, last] = perDay.at(-1) ?? [null, []]
  const finished = perDay.slice(0, -1).map(([, items]) => items)
  return {
    scoredCount: scores.length,
    scoreSum: sumOf(scores),
    binaryCount: binaries.length,
    correctCount: binaries.filter(({ correct }) => correct).length,
    brierSum: BigDecimal.sumAll(
      binaries.map(({ score }) => {
        const missing = BigDecimal.subtract(decimal("100"), score)
        return BigDecimal.multiply(BigDecimal.multiply(missing, missing), decimal("0.0001"))
      })
    ),
    skillCount: numerics.length,
    skillSum: BigDecimal.sumAll(numerics.map(({ skill }) => skill)),
    lastDay,
    dayCount: last.length,
    daySum: sumOf(last),
    days: finished.length,
    sumDaySq: BigDecimal.sumAll(finished.map((items) => BigDecimal.multiply(sumOf(items), sumOf(items)))),
    sumDayCross: BigDecimal.sumAll(
      finished.map((items) => BigDecimal.multiply(sumOf(items), exact(items.length)))
    ),
    sumDayCountSq: finished.reduce((sum, items) => sum + items.length ** 2, 0)
  }
}

/** The interval by its definition, in floating point, from the list. */
const naiveCi95 = (scores: ReadonlyArray<SettledScore>) => {
  const perDay = [...days(scores).values()].map((items) =>
    items.map(({ score }) => BigDecimal.toNumberUnsafe(score))
  )
  const n = scores.length
  const mean = perDay.flat().reduce((sum, score) => sum + score / n, 0)
  const residuals = perDay.map((items) => items.reduce((sum, score) => sum + (score - mean), 0))
  const squares = residuals.reduce((sum, residual) => sum + residual ** 2, 0)
  const g = perDay.length
  const halfWidth = studentT975(g - 1) * Math.sqrt(((g / (g - 1)) * squares) / n ** 2)
  return { low: Math.max(0, mean - halfWidth), high: Math.min(100, mean + halfWidth) }
}

const runs = { arbitrary: { runs: 500, size: 60 } }

describe("addScore", () => {
  it.prop(
    "addScore() equals a recomputation exactly, in any chunks and any order within a day",
    [Draws],
    ([draws]) => {
      const drawn = settled(draws)
      const shuffledWithinDays = drawn.toSorted(
        (a, b) => a.score.day.localeCompare(b.score.day) || a.draw.order - b.draw.order
      )
      const incremental = shuffledWithinDays.reduce((stats, { score, draw }) => {
        const next = addScore(stats, score)
        return draw.chunkEnds ? stored(next) : next
      }, emptyStats)
      const scores = drawn.map(({ score }) => score)
      assert.isTrue(Equal.equals(incremental, recomputed(scores)))
      assert.isTrue(Equal.equals(incremental, statsOf(scores)))
      assert.deepStrictEqual(scoreCi95(incremental), scoreCi95(recomputed(scores)))
    },
    runs
  )

  it("addScore() does not change the given stats", () => {
    const before = statsOf([binary("2026-03-02", true, "0.4")])
    const copy = stored(before)
    addScore(before, binary("2026-03-03", false, "0.4"))
    assert.isTrue(Equal.equals(before, copy))
    assert.strictEqual(emptyStats.scoredCount, 0)
  })

  it("addScore() rejects a day before the latest one", () => {
    const stats = statsOf([binary("2026-03-02", true, "0.4"), binary("2026-03-05", true, "0.4")])
    assert.throws(() => addScore(stats, binary("2026-03-04", true, "0.4")), RangeError)
    assert.throws(() => addScore(stats, binary("2026-03-02", true, "0.4")), RangeError)
    assert.strictEqual(addScore(stats, binary("2026-03-05", true, "0.4")).dayCount, 2)
  })

  it("addScore() rejects a malformed day and a score outside 0 to 100", () => {
    assert.throws(() => addScore(emptyStats, binary("2026-3-2", true, "0.4")), RangeError)
    assert.throws(() => addScore(emptyStats, binary("2026-03-02T00:00:00Z", true, "0.4")), RangeError)
    assert.throws(() => addScore(emptyStats, numeric("2026-03-02", "100.1", "0.9")), RangeError)
    assert.throws(() => addScore(emptyStats, numeric("2026-03-02", "-0.1", "0.9")), RangeError)
  })
})

describe("Averages", () => {
  it("An average of nothing is null", () => {
    for (const statistic of [avgScore, accuracyRate, brierIndex, meanSkill, scoreCi95]) {
      assert.isNull(statistic(emptyStats))
    }
    const numericOnly = statsOf([numeric("2026-03-02", "75", "0.5")])
    assert.isNull(accuracyRate(numericOnly))
    assert.isNull(brierIndex(numericOnly))
    assert.isNull(meanSkill(statsOf([binary("2026-03-02", true, "0.4")])))
  })

  it("Averages count numeric scores, which accuracy and Brier index do not", () => {
    const stats = statsOf([
      binary("2026-03-02", true, "0.4"),
      binary("2026-03-02", false, "0.5"),
      numeric("2026-03-03", "0", "-4.2"),
      numeric("2026-03-03", "91.4", "0.828")
    ])
    assert.strictEqual(avgScore(stats), (70 + 25 + 0 + 91.4) / 4)
    assert.strictEqual(accuracyRate(stats), 0.5)
    assert.closeTo(brierIndex(stats) ?? Number.NaN, 100 * (1 - Math.sqrt((0.09 + 0.5625) / 2)), 1e-12)
    assert.strictEqual(meanSkill(stats), -1.686)
  })

  it("Averages do not drift: a hundred scores of 50.1 average to 50.1", () => {
    const stats = statsOf(Array.from({ length: 100 }, (_, i) => binary(isoDay(i), true, "0.002")))
    assert.strictEqual(avgScore(stats), 50.1)
    assert.deepStrictEqual(scoreCi95(stats), [50.1, 50.1])
  })
})

describe("brierIndex", () => {
  /** Ten questions, six of which have the believed outcome. */
  const atBelief60 = (confidence: string) =>
    statsOf(Array.from({ length: 10 }, (_, i) => binary("2026-03-02", i < 6, confidence)))

  it.each([
    ["an honest 0.2", "0.2", 51.0, 52],
    ["all-in", "1", 36.8, 60],
    ["always p = 0.5", "0", 50.0, 50]
  ])(
    "At a belief of 0.6 %s (confidence %s) has a Brier index of %d, and an average of %d",
    (_, confidence, index, average) => {
      const stats = atBelief60(confidence)
      assert.closeTo(brierIndex(stats) ?? Number.NaN, index, 0.05)
      assert.strictEqual(avgScore(stats), average)
    }
  )

  it("brierIndex() is 100 for always right with full confidence, and 0 for always wrong", () => {
    assert.strictEqual(brierIndex(statsOf([binary("2026-03-02", true, "1")])), 100)
    assert.strictEqual(brierIndex(statsOf([binary("2026-03-02", false, "1")])), 0)
  })
})

describe("scoreCi95", () => {
  it("scoreCi95() is null under two predictions and under two days", () => {
    assert.isNull(scoreCi95(statsOf([binary("2026-03-02", true, "0.4")])))
    assert.isNull(scoreCi95(statsOf([binary("2026-03-02", true, "0.4"), binary("2026-03-02", false, "0.4")])))
  })

  it("scoreCi95() with one prediction a day is the textbook t interval", () => {
    const confidences = ["0.1", "0.2", "0.05", "0.12", "0.16"]
    const scores = [55, 60, 52.5, 56, 58]
    const [low, high] = scoreCi95(statsOf(confidences.map((c, i) => binary(isoDay(i), true, c)))) ?? []
    const mean = scores.reduce((sum, score) => sum + score, 0) / 5
    const sd = Math.sqrt(scores.reduce((sum, score) => sum + (score - mean) ** 2, 0) / 4)
    assert.closeTo(low ?? Number.NaN, mean - (2.776445105 * sd) / Math.sqrt(5), 1e-8)
    assert.closeTo(high ?? Number.NaN, mean + (2.776445105 * sd) / Math.sqrt(5), 1e-8)
  })

  it("scoreCi95() is not narrowed by repeating each day's prediction", () => {
    const once = ["0.1", "0.2", "0.05", "0.12"].map((c, i) => binary(isoDay(i), true, c))
    assert.deepStrictEqual(
      scoreCi95(statsOf(once.flatMap((score) => [score, score, score]))),
      scoreCi95(statsOf(once))
    )
  })

  it("scoreCi95() is clipped to 0 and 100", () => {
    assert.deepStrictEqual(
      scoreCi95(statsOf([binary("2026-03-02", true, "1"), binary("2026-03-03", false, "1")])),
      [0, 100]
    )
  })

  it.prop(
    "scoreCi95() agrees with the naive computation per day",
    [Draws],
    ([draws]) => {
      const scores = settled(draws).map(({ score }) => score)
      const interval = scoreCi95(statsOf(scores))
      if (days(scores).size < 2) {
        assert.isNull(interval)
        return
      }
      const naive = naiveCi95(scores)
      const [low, high] = interval ?? []
      assert.closeTo(low ?? Number.NaN, naive.low, 1e-9)
      assert.closeTo(high ?? Number.NaN, naive.high, 1e-9)
    },
    runs
  )
})

/** P(|T| <= t) for whole degrees of freedom: the finite sums of Abramowitz and Stegun 26.7.3 and 26.7.4. */
const centralProbability = (t: number, df: number): number => {
  const sine = t / Math.sqrt(df + t * t)
  const cosineSq = df / (df + t * t)
  const even = df % 2 === 0
  let term = even ? 1 : Math.sqrt(cosineSq)
  let sum = df === 1 ? 0 : term
  for (let k = even ? 1 : 2; k < df - 2; k += 2) {
    term *= (cosineSq * k) / (k + 1)
    sum += term
  }
  return even ? sine * sum : (2 / Math.PI) * (Math.atan(t / Math.sqrt(df)) + sine * sum)
}

describe("studentT975", () => {
  it.each([
    [1, 12.706204736],
    [2, 4.30265273],
    [5, 2.570581836],
    [10, 2.228138852],
    [30, 2.042272456],
    [100, 1.983971519]
  ])("studentT975() is the published quantile for df %i", (df, quantile) => {
    assert.closeTo(studentT975(df), quantile, 5.1e-10)
  })

  it.each([
    [31, 2.039513446396408],
    [60, 2.00029782201426],
    [365, 1.966484596376788],
    [1000, 1.962339080826408]
  ])("studentT975() keeps 12 digits beyond the table, df %i", (df, quantile) => {
    assert.closeTo(studentT975(df), quantile, 1e-12)
  })

  it("studentT975() leaves 2.5 % above it for every df to 2000", () => {
    for (let df = 1; df <= 2000; df++) {
      assert.closeTo(centralProbability(studentT975(df), df), 0.95, 1e-13 * Math.max(10, df / 10), `df ${df}`)
    }
  })

  it("studentT975() falls towards the normal quantile", () => {
    for (let df = 1; df < 2000; df++) assert.isAbove(studentT975(df), studentT975(df + 1))
    assert.closeTo(studentT975(1e12), 1.959963984540054, 1e-11)
  })

  it("studentT975() refuses degrees of freedom that are not a whole number from 1 on", () => {
    for (const df of [0, -1, 1.5, Number.NaN, Number.POSITIVE_INFINITY]) {
      assert.throws(() => studentT975(df), RangeError)
    }
  })
})
