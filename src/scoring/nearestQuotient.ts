import type { BigDecimal } from "effect"

/** More than the 17 that tell doubles apart. */
const digits = 25

const digitsOf = (value: bigint): number => value.toString().length

/**
 * The double nearest to `numerator / denominator` (above 0), rounded once. The quotient is cut after 25 digits; when
 * something is left, another digit says so, and a decimal that is not exactly half way between two doubles is read as the
 * nearer of them (ECMAScript, StringToNumber).
 */
export const nearestQuotient = (numerator: BigDecimal.BigDecimal, denominator: bigint): number => {
  if (numerator.value === 0n) return 0
  const shift = Math.max(0, digits + digitsOf(denominator) - digitsOf(numerator.value))
  const shifted = numerator.value * 10n ** BigInt(shift)
  const quotient = shifted / denominator
  const exponent = -(numerator.scale + shift)
  return Number(shifted % denominator === 0n ? `${quotient}e${exponent}` : `${quotient}1e${exponent - 1}`)
}
