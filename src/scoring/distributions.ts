/**
 * Forecasts of a number, in each of their forms, as distributions for scores, calibration and pages. All values are in the unit of
 * the forecast number.
 */
import { crps, normalCdf } from "./crps.ts"

export interface Distribution {
  /** The single number that represents it: the mean of a normal distribution and of samples, the median of quantiles. */
  readonly centre: number
  /** The standard deviation; 0 if all samples, or all quantiles, are the same. */
  readonly spread: number
  /** F(y), the probability of at most y, and F(y-), that of less: they differ at samples, and where several quantiles coincide. */
  readonly cdf: (y: number) => number
  readonly cdfBelow: (y: number) => number
  /** The continuous ranked probability score of an outcome: the integral of (F(x) - 1{x >= y})^2. */
  readonly crps: (y: number) => number
}

/** @param sd above 0, else its `crps` throws a RangeError */
export const normalDistribution = (mean: number, sd: number): Distribution => {
  const cdf = (y: number) => normalCdf((y - mean) / sd)
  return { centre: mean, spread: sd, cdf, cdfBelow: cdf, crps: (y) => crps({ mean, sd }, y) }
}

/** The value that is not exceeded with probability p. */
export interface Quantile {
  readonly p: number
  readonly value: number
}

/** The integral of a squared linear function over a stretch of this width, from one end to the other. */
const squared = (width: number, from: number, to: number): number =>
  (width * (from * from + from * to + to * to)) / 3

/**
 * The integral of (1{x >= y} - G(x))^2 over x >= 0, where 1 - G(x) = tail exp(-x / scale): the upper tail, with an outcome y inside
 * it (above 0) or not.
 */
const tailScore = (tail: number, scale: number, y: number): number => {
  const whole = (scale * tail * tail) / 2
  if (y <= 0) return whole
  return y + 2 * scale * tail * Math.expm1(-y / scale) + whole
}

/** A straight stretch of the distribution function. */
interface Stretch {
  readonly from: Quantile
  readonly to: Quantile
}

const stretchScore = ({ from, to }: Stretch, y: number): number => {
  const width = to.value - from.value
  if (y >= to.value) return squared(width, from.p, to.p)
  if (y <= from.value) return squared(width, 1 - from.p, 1 - to.p)
  const at = from.p + ((to.p - from.p) * (y - from.value)) / width
  return squared(y - from.value, from.p, at) + squared(to.value - y, 1 - at, 1 - to.p)
}

/**
 * The distribution whose function is straight between the quantiles and has exponential tails beyond the outermost, whose
 * density goes on from that of the stretch beside them: with (p1, x1) and (p2, x2) the lowest,
 *
 *     F(x) = p1 exp((x - x1) / a) for x < x1, a = p1 (x2 - x1) / (p2 - p1)
 *
 * and the same from above. Quantiles of one value hold the probability between them, and an outermost stretch without width has a
 * tail without width: the outermost value then holds that tail, too. docs/scoring.md derives the closed form of its CRPS; all of its
 * terms are at least 0.
 *
 * @param quantiles three or more, p in (0, 1) strictly ascending and no value below the one before it (else RangeError)
 */
export const quantileDistribution = (quantiles: ReadonlyArray<Quantile>): Distribution => {
  const stretches = quantiles
    .slice(1)
    .flatMap((to, index) => quantiles.slice(index, index + 1).map((from): Stretch => ({ from, to })))
  const [first, last] = [stretches[0], stretches.at(-1)]
  if (first === undefined || last === undefined) throw new RangeError("two or more quantiles are needed")
  if (stretches.some(({ from, to }) => !(to.p > from.p && to.value >= from.value))) {
    throw new RangeError("quantiles must ascend")
  }
  const low = { ...first.from, scale: (first.from.p * width(first)) / share(first) }
  const high = { ...last.to, scale: ((1 - last.to.p) * width(last)) / share(last) }

  const within = (y: number, stretch: Stretch): number =>
    stretch.from.p + (share(stretch) * (y - stretch.from.value)) / width(stretch)
  const upper = (y: number): number =>
    high.scale === 0 ? 1 : 1 - (1 - high.p) * Math.exp((high.value - y) / high.scale)
  const cdf = (y: number): number => {
    if (y < low.value) return low.p * Math.exp((y - low.value) / low.scale)
    return y >= high.value ? upper(y) : within(y, stretches.find(({ to }) => y < to.value) ?? last)
  }
  /** F(y-) comes from the stretch that ends at y, or from the lower tail. */
  const cdfBelow = (y: number): number => {
    if (y > high.value) return upper(y)
    if (y > low.value) return within(y, stretches.findLast(({ from }) => y > from.value) ?? first)
    return low.scale === 0 ? 0 : low.p * Math.exp((y - low.value) / low.scale)
  }
  const valueAt = (p: number): number => {
    if (p < low.p) return low.value + low.scale * Math.log(p / low.p)
    if (p >= high.p) return high.value - high.scale * Math.log((1 - p) / (1 - high.p))
    const { from, to } = stretches.find(({ to: end }) => p < end.p) ?? last
    return from.value + ((to.value - from.value) * (p - from.p)) / (to.p - from.p)
  }
  return {
    centre: valueAt(0.5),
    spread: Math.sqrt(varianceOf(low, high, stretches)),
    cdf,
    cdfBelow,
    crps: (y) =>
      tailScore(low.p, low.scale, low.value - y) +
      stretches.reduce((sum, each) => sum + stretchScore(each, y), 0) +
      tailScore(1 - high.p, high.scale, y - high.value)
  }
}

const width = ({ from, to }: Stretch): number => to.value - from.value
const share = ({ from, to }: Stretch): number => to.p - from.p

type Tail = Quantile & { readonly scale: number }

/** The variance of a mixture of two exponential tails and uniform stretches. */
const varianceOf = (low: Tail, high: Tail, stretches: ReadonlyArray<Stretch>): number => {
  const parts = [
    { share: low.p, mean: low.value - low.scale, variance: low.scale ** 2 },
    { share: 1 - high.p, mean: high.value + high.scale, variance: high.scale ** 2 },
    ...stretches.map((each) => ({
      share: share(each),
      mean: each.from.value + width(each) / 2,
      variance: width(each) ** 2 / 12
    }))
  ]
  const origin = low.value
  const mean = parts.reduce((sum, part) => sum + part.share * (part.mean - origin), 0)
  return parts.reduce((sum, part) => sum + part.share * ((part.mean - origin - mean) ** 2 + part.variance), 0)
}

/**
 * The empirical distribution of samples. Its CRPS is mean |x - y| - half the mean |x - x'| (Gneiting and Raftery 2007); the
 * latter is summed over the gaps between neighbours, 2 k (n - k) / n^2 of each, which loses no digits far from 0.
 *
 * @param samples one or more, finite, in any order
 */
export const sampleDistribution = (samples: ReadonlyArray<number>): Distribution => {
  const sorted = samples.toSorted((a, b) => a - b)
  const count = sorted.length
  const [origin] = sorted
  if (origin === undefined) throw new RangeError("one sample or more is needed")
  const meanOf = (of: (value: number) => number) => sorted.reduce((sum, value) => sum + of(value), 0) / count
  const shift = meanOf((value) => value - origin)
  const difference = sorted
    .slice(1)
    .reduce(
      (sum, value, index) => sum + (index + 1) * (count - index - 1) * (value - (sorted[index] ?? value)),
      0
    )
  return {
    centre: origin + shift,
    spread: Math.sqrt(meanOf((value) => (value - origin - shift) ** 2)),
    cdf: (y) => meanOf((value) => Number(value <= y)),
    cdfBelow: (y) => meanOf((value) => Number(value < y)),
    crps: (y) => meanOf((value) => Math.abs(value - y)) - difference / count ** 2
  }
}
