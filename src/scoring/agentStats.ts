import { BigDecimal } from "effect"
import { nearestQuotient } from "./nearestQuotient.ts"

/**
 * The sums behind one agent's leaderboard statistics (in one category, or over all). Each score is added to them, so nothing is
 * recomputed by a scan. Sums are exact decimals: adding one by one, in any order within a day, equals a recomputation from the list
 * exactly (`Equal.equals`).
 */
export interface AgentStats {
  /** The number of scored predictions of every type. */
  readonly scoredCount: number
  /** The sum of their scores in points. */
  readonly scoreSum: BigDecimal.BigDecimal
  /** The number of scored directional, barrier and threshold predictions. */
  readonly binaryCount: number
  /** The number of correct ones among them. */
  readonly correctCount: number
  /** The sum of (1 - score/100)^2 over the binary ones, each in [0, 1]: the Brier score of p = (1 + c) / 2. */
  readonly brierSum: BigDecimal.BigDecimal
  /** The number of scored numeric predictions (macro, numeric_close, count_days). */
  readonly skillCount: number
  /** The sum of their unclipped skills, each at most 1, without a unit. */
  readonly skillSum: BigDecimal.BigDecimal
  /** The latest settlement day, ISO date in UTC; null before the first score. */
  readonly lastDay: string | null
  /** The number of predictions settled on `lastDay` so far. */
  readonly dayCount: number
  /** The sum of their scores in points. */
  readonly daySum: BigDecimal.BigDecimal
  /** The number of finished settlement days: those before `lastDay` on which something was scored. */
  readonly days: number
  /** The sum of S_d^2 in points^2 over the finished days d, with n_d predictions and score sum S_d. */
  readonly sumDaySq: BigDecimal.BigDecimal
  /** The sum of S_d n_d in points over the finished days. */
  readonly sumDayCross: BigDecimal.BigDecimal
  /** The sum of n_d^2 over the finished days. */
  readonly sumDayCountSq: number
}

interface Settled {
  /** The settlement day, an ISO date in UTC (2026-03-05), never before the latest one in the sums. */
  readonly day: string
  /** The score, 0 to 100 points. */
  readonly score: BigDecimal.BigDecimal
}

/** A settled directional, barrier or threshold prediction. */
interface BinaryScore extends Settled {
  readonly kind: "binary"
  readonly correct: boolean
}

/** A settled macro, numeric_close or count_days prediction. */
interface NumericScore extends Settled {
  readonly kind: "numeric"
  /** The skill 1 - CRPS / CRPS_ref, unclipped. */
  readonly skill: BigDecimal.BigDecimal
}

/** One settled prediction. */
export type SettledScore = BinaryScore | NumericScore

const zero = BigDecimal.fromBigInt(0n)
const one = BigDecimal.fromBigInt(1n)
const hundred = BigDecimal.fromBigInt(100n)
const hundredth = BigDecimal.make(1n, 2)

/** The sums of an agent without scores. */
export const emptyStats: AgentStats = {
  scoredCount: 0,
  scoreSum: zero,
  binaryCount: 0,
  correctCount: 0,
  brierSum: zero,
  skillCount: 0,
  skillSum: zero,
  lastDay: null,
  dayCount: 0,
  daySum: zero,
  days: 0,
  sumDaySq: zero,
  sumDayCross: zero,
  sumDayCountSq: 0
}

const exact = (count: number) => BigDecimal.fromBigInt(BigInt(count))

const square = (x: BigDecimal.BigDecimal) => BigDecimal.multiply(x, x)

const assertAddable = (stats: AgentStats, { day, score }: Settled) => {
  if (!/^\d{4}-\d{2}-\d{2}$/.test(day)) {
    throw new RangeError(`settlement day must be an ISO date such as 2026-03-05, got ${day}`)
  }
  if (stats.lastDay !== null && day < stats.lastDay) {
    throw new RangeError(`settlement day ${day} is before ${stats.lastDay}, whose scores are already in`)
  }
  if (!BigDecimal.between(score, { minimum: zero, maximum: hundred })) {
    throw new RangeError(`score must be from 0 to 100, got ${BigDecimal.format(score)}`)
  }
}

/** The sums over all days, the latest one taken as finished. */
const closeDay = (stats: AgentStats): AgentStats =>
  stats.dayCount === 0
    ? stats
    : {
        ...stats,
        dayCount: 0,
        daySum: zero,
        days: stats.days + 1,
        sumDaySq: BigDecimal.sum(stats.sumDaySq, square(stats.daySum)),
        sumDayCross: BigDecimal.sum(
          stats.sumDayCross,
          BigDecimal.multiply(stats.daySum, exact(stats.dayCount))
        ),
        sumDayCountSq: stats.sumDayCountSq + stats.dayCount ** 2
      }

const addKind = (stats: AgentStats, scored: SettledScore): AgentStats => {
  switch (scored.kind) {
    case "binary": {
      const loss = BigDecimal.subtract(one, BigDecimal.multiply(scored.score, hundredth))
      return {
        ...stats,
        binaryCount: stats.binaryCount + 1,
        correctCount: stats.correctCount + Number(scored.correct),
        brierSum: BigDecimal.sum(stats.brierSum, square(loss))
      }
    }
    case "numeric":
      return {
        ...stats,
        skillCount: stats.skillCount + 1,
        skillSum: BigDecimal.sum(stats.skillSum, scored.skill)
      }
  }
}

/**
 * The sums with one more settled prediction. A reducer: `scores.reduce(addScore, emptyStats)` recomputes them from a list in order of
 * settlement day.
 *
 * Days never go backwards: a day that is finished is kept as its squares only and cannot take another score, so an earlier day throws
 * a RangeError, as do a malformed day and a score outside [0, 100].
 */
export const addScore = (stats: AgentStats, scored: SettledScore): AgentStats => {
  assertAddable(stats, scored)
  const open = scored.day === stats.lastDay ? stats : closeDay(stats)
  return addKind(
    {
      ...open,
      scoredCount: open.scoredCount + 1,
      scoreSum: BigDecimal.sum(open.scoreSum, scored.score),
      lastDay: scored.day,
      dayCount: open.dayCount + 1,
      daySum: BigDecimal.sum(open.daySum, scored.score)
    },
    scored
  )
}

const mean = (sum: BigDecimal.BigDecimal, count: number): number | null =>
  count === 0 ? null : nearestQuotient(sum, BigInt(count))

/** `avg_score`: mean score in points, 0 to 100; null without any. */
export const avgScore = (stats: AgentStats): number | null => mean(stats.scoreSum, stats.scoredCount)

/** `accuracy_rate`: share of directional, barrier and threshold predictions that were right, 0 to 1; null without any. */
export const accuracyRate = (stats: AgentStats): number | null =>
  mean(exact(stats.correctCount), stats.binaryCount)

/**
 * `brier_index` = 100 (1 - sqrt(mean((1 - s/100)^2))) over the directional, barrier and threshold predictions,
 * 0 to 100: 100 is perfect, 50 is always p = 0.5, and honesty is optimal, as it is not for the linear score.
 * The Brier Index of ForecastBench. Null without any.
 */
export const brierIndex = (stats: AgentStats): number | null => {
  const brier = mean(stats.brierSum, stats.binaryCount)
  return brier === null ? null : 100 * (1 - Math.sqrt(brier))
}

/**
 * `mean_skill` of the numeric predictions, unclipped: 1 is perfect, 0 is a calibrated forecaster who knows only
 * the reference scale, negative is worse. Null without any.
 */
export const meanSkill = (stats: AgentStats): number | null => mean(stats.skillSum, stats.skillCount)

/**
 * `score_ci95`: 95 % interval [low, high] of the mean score in points, clipped to [0, 100]; null under two
 * predictions or under two settlement days.
 *
 * Predictions settled on one day share shocks, so the variance is the cluster-robust one (Liang and Zeger 1986,
 * Biometrika 73:13) with settlement days as clusters: for G days with n_d predictions and score sum S_d, and
 * m = S / n,
 *
 *     Var(m) = G / (G - 1) * sum_d (S_d - n_d m)^2 / n^2            interval: m +- t(0.975, G - 1) sqrt(Var(m))
 *
 * This is CR1: its factor G / (G - 1) * (n - 1) / (n - k) is G / (G - 1) for a mean, where k = 1. The kept sums
 * give the same without a scan:
 *
 *     n^2 sum_d (S_d - n_d m)^2 = n^2 sum S_d^2 - 2 n S sum S_d n_d + S^2 sum n_d^2
 *
 * whose right side nearly cancels, and is therefore computed in whole numbers and rounded once.
 */
export const scoreCi95 = (stats: AgentStats): readonly [low: number, high: number] | null => {
  const average = avgScore(stats)
  const all = closeDay(stats)
  if (average === null || all.days < 2) return null
  const digits = Math.max(all.scoreSum.scale, all.sumDayCross.scale, Math.ceil(all.sumDaySq.scale / 2))
  const n = BigInt(all.scoredCount)
  const s = BigDecimal.scale(all.scoreSum, digits).value
  const cross = BigDecimal.scale(all.sumDayCross, digits).value
  const squares = BigDecimal.scale(all.sumDaySq, 2 * digits).value
  const spread = n * (n * squares - 2n * s * cross) + s * s * BigInt(all.sumDayCountSq)
  const variance = nearestQuotient(
    BigDecimal.make(spread * BigInt(all.days), 2 * digits),
    n ** 4n * BigInt(all.days - 1)
  )
  const halfWidth = studentT975(all.days - 1) * Math.sqrt(variance)
  return [Math.max(0, average - halfWidth), Math.min(100, average + halfWidth)]
}

/*
 * The 0.975 quantile of Student's t by degrees of freedom: the closed form of the distribution (Abramowitz and Stegun
 * 1964, 26.7.3 and 26.7.4) solved to 40 digits, rounded to a double.
 */
const table = [
  12.706204736174705, 4.302652729749464, 3.1824463052837095, 2.7764451051977943, 2.5705818356363155,
  2.44691185114497, 2.3646242515927853, 2.3060041352041667, 2.2621571627982053, 2.228138851986275,
  2.2009851600916397, 2.178812829667229, 2.1603686564627926, 2.144786687917804, 2.1314495455597755,
  2.1199052992212546, 2.109815577833317, 2.1009220402410387, 2.0930240544083096, 2.085963447265865,
  2.0796138447276804, 2.0738730679040263, 2.0686576104190486, 2.063898561628026, 2.0595385527532977,
  2.055529438642873, 2.0518305164802855, 2.048407141795245, 2.0452296421327043, 2.042272456301238
]

/*
 * Beyond the table: t = z + g1(z) / df + g2(z) / df^2 + ..., the Cornish-Fisher expansion (Abramowitz and Stegun
 * 26.7.5, there up to g4) with z = 1.959963984540054. The polynomials g1 to g8 were derived in rational
 * arithmetic (g1 to g4 are those of 26.7.5) and are given as their values at z, highest first, z last.
 */
const expansion = [
  -1.7139281826235218, 0.12881285359619749, 0.6274804609510736, 0.7328982119816057, 1.5895340533938236,
  2.5558496795077232, 2.8224986157396117, 2.372271230298563, 1.9599639845400543
]

/**
 * The 0.975 quantile of Student's t distribution: the half-width of a 95 % interval in standard errors.
 *
 * Against 40-digit values the error is below 1e-12 for every df: rounding of the double in the table (df to
 * 30), at most 1e-13 beyond it (largest at df 31).
 *
 * @param df degrees of freedom, a whole number >= 1 (else RangeError)
 */
export const studentT975 = (df: number): number => {
  if (!Number.isInteger(df) || df < 1) {
    throw new RangeError(`degrees of freedom must be a whole number from 1 on, got ${df}`)
  }
  return table[df - 1] ?? expansion.reduce((sum, coefficient) => sum / df + coefficient, 0)
}
