/** Stored decimals beside the numbers that they are of, compared exactly. */
import { BigDecimal, Option } from "effect"

/** Whether two texts are one number, however they write it. */
export const isSameDecimal = (one: string | null, other: string): boolean => {
  if (one === null) return false
  if (one === other) return true
  const [first, second] = [BigDecimal.fromString(one), BigDecimal.fromString(other)]
  return Option.isSome(first) && Option.isSome(second) && BigDecimal.Equivalence(first.value, second.value)
}

/** A stored decimal as the number that an agent sent; text, when no number has exactly this value. */
export const sentNumber = (decimal: string): number | string => {
  const value = Number(decimal)
  return isSameDecimal(decimal, String(value)) ? value : decimal
}
