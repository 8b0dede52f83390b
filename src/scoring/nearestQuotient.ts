import type { BigDecimal } from "effect"

/** These are more than the 53 bits of a double, so that the last one only tells that a rest is left. */
const bits = 64

/** This is at least the number of bits of `value`, and at most three more. */
const bitsOf = (value: bigint): number => value.toString(16).length * 4

const tenTo = (exponent: number): bigint => 10n ** BigInt(exponent)

/**
 * The double nearest to `numerator / denominator` (above 0), rounded once; for quotients above 1e-250, as all of ours are. The
 * quotient is cut after more bits than a double has, and a rest sets its last bit. The number of such a whole number is the nearest
 * double (ECMAScript, Number called with a BigInt), and a power of two scales it without rounding.
 */
export const nearestQuotient = (numerator: BigDecimal.BigDecimal, denominator: bigint): number => {
  if (numerator.value === 0n) return 0
  const { scale } = numerator
  const value = numerator.value < 0n ? -numerator.value : numerator.value
  const over = scale < 0 ? value * tenTo(-scale) : value
  const under = scale > 0 ? denominator * tenTo(scale) : denominator
  const shift = Math.max(0, bits + bitsOf(under) - bitsOf(over))
  const shifted = over << BigInt(shift)
  const quotient = shifted / under
  const nearest = Number(quotient * under === shifted ? quotient : quotient | 1n) * 2 ** -shift
  return numerator.value < 0n ? -nearest : nearest
}
