import { BigDecimal } from "effect"
import type { Direction } from "./directional.ts"
import { nearestQuotient } from "./nearestQuotient.ts"

const hundred = BigDecimal.fromBigInt(100n)
const sides = { bullish: 1n, bearish: -1n, neutral: 0n } as const

/**
 * The virtual position that a paper-trade signal takes, as a share of the whole stake: "bullish +1, bearish -1, neutral 0, sized by
 * confidence". Above 0 it is long, below 0 short.
 */
export const positionSize = (
  direction: Direction,
  confidence: BigDecimal.BigDecimal
): BigDecimal.BigDecimal => BigDecimal.multiply(BigDecimal.fromBigInt(sides[direction]), confidence)

/**
 * The profit of a position from its entry to its exit, in percent of the whole stake: `100 * size * (exit - entry) /
 * entry`, the double nearest to that, rounded once.
 * @param entryPrice > 0 (a return on nothing or on less is not defined; else RangeError)
 * @param exitPrice in the same unit; may be zero or negative, as crude oil was in April 2020
 */
export const profitPct = (
  size: BigDecimal.BigDecimal,
  entryPrice: BigDecimal.BigDecimal,
  exitPrice: BigDecimal.BigDecimal
): number => {
  if (!BigDecimal.isPositive(entryPrice)) {
    throw new RangeError(`entry price must be above 0, got ${BigDecimal.format(entryPrice)}`)
  }
  const change = BigDecimal.subtract(exitPrice, entryPrice)
  const gain = BigDecimal.multiply(BigDecimal.multiply(size, change), hundred)
  return nearestQuotient(BigDecimal.make(gain.value, gain.scale - entryPrice.scale), entryPrice.value)
}
