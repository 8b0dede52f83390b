import { BigDecimal } from "effect"

/** A predicted direction, or the market's. Barrier and threshold have no `neutral`. */
export type Direction = "bullish" | "bearish" | "neutral"

const zero = BigDecimal.fromBigInt(0n)
const one = BigDecimal.fromBigInt(1n)
const fifty = BigDecimal.fromBigInt(50n)
const hundred = BigDecimal.fromBigInt(100n)

/**
 * The result of a directional challenge: "greater than +X% is bullish, less than -X% is bearish, otherwise
 * neutral; exactly +X% or -X% is neutral".
 *
 * Exact: (close - open) * 100 is compared with X * open. Dividing instead would round, and then 0.3 % of 100
 * could come out on the wrong side.
 *
 * @param openPrice in the asset's unit, > 0 (a percentage of nothing or of less is not defined; else RangeError)
 * @param closePrice in the same unit; may be zero or negative, as crude oil was in April 2020
 * @param deadZonePct X in percent (0.3 is 0.3 %), >= 0 (else RangeError); with 0 every move counts
 */
export const directionalResult = (
  openPrice: BigDecimal.BigDecimal,
  closePrice: BigDecimal.BigDecimal,
  deadZonePct: BigDecimal.BigDecimal
): Direction => {
  if (!BigDecimal.isPositive(openPrice)) {
    throw new RangeError(`open price must be above 0, got ${BigDecimal.format(openPrice)}`)
  }
  if (BigDecimal.isNegative(deadZonePct)) {
    throw new RangeError(`dead zone must be 0 % or more, got ${BigDecimal.format(deadZonePct)}`)
  }
  const change = BigDecimal.multiply(BigDecimal.subtract(closePrice, openPrice), hundred)
  const deadZone = BigDecimal.multiply(deadZonePct, openPrice)
  if (BigDecimal.isGreaterThan(change, deadZone)) return "bullish"
  if (BigDecimal.isLessThan(change, BigDecimal.negate(deadZone))) return "bearish"
  return "neutral"
}

/** True if a prediction names the result. `neutral` is right when the result is neutral. */
export const isCorrect = (direction: Direction, result: Direction): boolean => direction === result

/**
 * The score of a directional, barrier or threshold prediction, 0 to 100 points, exact:
 * `50 + 50 c` when right, `50 - 50 c` when wrong.
 *
 * The reference of the formula: settlement computes the same in SQL NUMERIC, and tests compare the two.
 *
 * @param confidence c in [0, 1], no unit (else RangeError)
 */
export const directionalScore = (
  correct: boolean,
  confidence: BigDecimal.BigDecimal
): BigDecimal.BigDecimal => {
  if (!BigDecimal.between(confidence, { minimum: zero, maximum: one })) {
    throw new RangeError(`confidence must be from 0 to 1, got ${BigDecimal.format(confidence)}`)
  }
  const points = BigDecimal.multiply(fifty, confidence)
  return correct ? BigDecimal.sum(fifty, points) : BigDecimal.subtract(fifty, points)
}

/** The order among equal probabilities. */
const ofEqual = ["neutral", "bullish", "bearish"] as const

/**
 * The direction of a vector of probabilities: the likeliest one (among equal ones neutral, then bullish), with the confidence max(0,
 * 2 p - 1) at which (1 + c) / 2 is its probability. It is exact on the decimals that were sent.
 */
export const likeliest = (
  probabilities: Readonly<Partial<Record<Direction, number>>>
): { readonly direction: Direction; readonly confidence: number } => {
  const direction = ofEqual.reduce((best, each) =>
    (probabilities[each] ?? -1) > (probabilities[best] ?? -1) ? each : best
  )
  const p = BigDecimal.fromNumberUnsafe(probabilities[direction] ?? 0)
  const confidence = BigDecimal.subtract(BigDecimal.sum(p, p), one)
  return { direction, confidence: BigDecimal.toNumberUnsafe(BigDecimal.max(zero, confidence)) }
}
