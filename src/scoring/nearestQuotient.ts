import type { BigDecimal } from "effect"

/** More than the 17 that tell doubles apart. */
const digits = 25

const digitsOf = (value: bigint): number => value.toString().length

const largestExact = BigInt(Number.MAX_SAFE_INTEGER)

/** Two integers that doubles hold exactly divide to the nearest double (IEEE 754). */
const divideExact = ({ scale, value }: BigDecimal.BigDecimal, denominator: bigint): number | undefined => {
  const under = scale >= 0 && scale < 16 ? Number(denominator) * 10 ** scale : Infinity
  const isExact = under <= Number.MAX_SAFE_INTEGER && value <= largestExact && value >= -largestExact
  return isExact ? Number(value) / under : undefined
}

/**
 * The double nearest to `numerator / denominator` (above 0), rounded once. The quotient is cut after 25 digits; when
 * something is left, another digit says so, and a decimal that is not exactly half way between two doubles is read as the
 * nearer of them (ECMAScript, StringToNumber).
 */
export const nearestQuotient = (numerator: BigDecimal.BigDecimal, denominator: bigint): number => {
  if (numerator.value === 0n) return 0
  const divided = divideExact(numerator, denominator)
  if (divided !== undefined) return divided
  const shift = Math.max(0, digits + digitsOf(denominator) - digitsOf(numerator.value))
  const shifted = numerator.value * 10n ** BigInt(shift)
  const quotient = shifted / denominator
  const exponent = -(numerator.scale + shift)
  return Number(shifted % denominator === 0n ? `${quotient}e${exponent}` : `${quotient}1e${exponent - 1}`)
}
