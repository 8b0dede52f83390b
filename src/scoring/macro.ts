import { BigDecimal } from "effect"

/** An outcome bin of a macro challenge; the first has no low end, the last no high end. */
interface Bin {
  readonly index: number
  readonly low: number | null
  readonly high: number | null
  /** The name of a category. */
  readonly name?: string
}

/** The bins between ascending edges: one more than there are edges. */
export const binsOf = (
  edges: ReadonlyArray<number>,
  categories: ReadonlyArray<string> | null
): ReadonlyArray<Bin> =>
  [null, ...edges].map((low, index) => {
    const name = categories?.[index]
    return { index, low, high: edges[index] ?? null, ...(name !== undefined && { name }) }
  })

/** Edges halfway between the numbers of categories, which begin at 0: so the number of a category is a value in its bin. */
export const edgesOfCategories = (count: number): ReadonlyArray<number> =>
  Array.from({ length: count - 1 }, (_, index) => index + 0.5)

/** The index of the bin that holds a value; "a value on an edge belongs to the bin above it". */
export const binOf = (edges: ReadonlyArray<number>, value: number): number =>
  edges.filter((edge) => edge <= value).length

const zero = BigDecimal.fromBigInt(0n)
const half = BigDecimal.make(5n, 1)
/** The ratio of standard deviation and median absolute deviation of a normal distribution. */
const normalMad = BigDecimal.make(14826n, 4)

const median = (values: ReadonlyArray<BigDecimal.BigDecimal>): BigDecimal.BigDecimal => {
  const sorted = [...values].sort(BigDecimal.Order)
  const low = sorted[Math.floor((sorted.length - 1) / 2)] ?? zero
  const high = sorted[Math.floor(sorted.length / 2)] ?? zero
  return BigDecimal.multiply(BigDecimal.sum(low, high), half)
}

/** No published decimal has more places, and much smaller steps are below any double. */
const maxDecimals = 12

/** The distance between neighbouring published values: a unit of their last decimal. */
export const decimalStep = (prints: ReadonlyArray<BigDecimal.BigDecimal>): BigDecimal.BigDecimal => {
  const decimals = Math.max(0, ...prints.map((print) => BigDecimal.normalize(print).scale))
  return BigDecimal.make(1n, Math.min(decimals, maxDecimals))
}

/** A scale needs this many surprises. */
export const minSurprises = 24

/**
 * The reference scale of a macro series: 1.4826 times the median absolute deviation of the surprises of its first prints
 * against the previous print, and at least half of `step`. Undefined when there are fewer than 24 surprises.
 *
 * @param prints first prints in the order of their release
 */
export const referenceScale = (
  prints: ReadonlyArray<BigDecimal.BigDecimal>,
  step: BigDecimal.BigDecimal
): BigDecimal.BigDecimal | undefined => {
  const surprises = prints.slice(1).map((print, index) => BigDecimal.subtract(print, prints[index] ?? zero))
  if (surprises.length < minSurprises) return undefined
  const centre = median(surprises)
  const deviation = median(surprises.map((surprise) => BigDecimal.abs(BigDecimal.subtract(surprise, centre))))
  return BigDecimal.max(BigDecimal.multiply(normalMad, deviation), BigDecimal.multiply(step, half))
}

/** Half the number of edges around the last print. */
const edgesEachSide = 3

/**
 * Edges of bins around the last print of a series: it is in the middle of the middle bin, and each bin is about a reference scale
 * wide, in whole steps of published values.
 */
export const edgesAround = (
  last: BigDecimal.BigDecimal,
  scale: BigDecimal.BigDecimal,
  step: BigDecimal.BigDecimal
): ReadonlyArray<number> => {
  const ratio = BigDecimal.toNumberUnsafe(scale) / BigDecimal.toNumberUnsafe(step)
  const steps = Math.max(1, Math.round(ratio))
  const width = BigDecimal.multiply(step, BigDecimal.fromNumberUnsafe(steps))
  return Array.from({ length: 2 * edgesEachSide }, (_, index) => {
    const halves = BigDecimal.make(BigInt((2 * (index - edgesEachSide) + 1) * 5), 1)
    return BigDecimal.toNumberUnsafe(BigDecimal.sum(last, BigDecimal.multiply(width, halves)))
  })
}
