import type { Distribution } from "./distributions.ts"

/** The number of buckets of equal width for the probability integral transform. */
export const pitBuckets = 10

/**
 * The maximum distance in standard deviations, the same as the maximum width of a forecast in reference scales: an overflow could not
 * be added.
 */
const maxZ = 1e12

/** The addition of one settled forecast to the sums of calibration. */
export interface CalibrationRow {
  /** The shares of the buckets, 1 in all. */
  readonly pit: ReadonlyArray<number>
  readonly within50: boolean
  readonly within80: boolean
  readonly within95: boolean
  /** The distance of the outcome from the centre of the forecast, in its standard deviations. */
  readonly absZ: number
  /** The standard deviation, in reference scales. */
  readonly sharpness: number
}

const bucketOf = (u: number): number => Math.min(pitBuckets - 1, Math.floor(u * pitBuckets))

const onlyIn = (bucket: number): ReadonlyArray<number> =>
  Array.from({ length: pitBuckets }, (_, index) => (index === bucket ? 1 : 0))

/** The interval from `low` to `high`, spread over the buckets by its part in each. */
const spread = (low: number, high: number): ReadonlyArray<number> =>
  onlyIn(0).map((_, index) => {
    const from = Math.max(low, index / pitBuckets)
    const to = Math.min(high, (index + 1) / pitBuckets)
    return Math.max(0, to - from) / (high - low)
  })

/**
 * A forecast beside its outcome. The probability integral transform is u = F(y), the last bucket closed at 1; where F jumps, and
 * for an outcome that comes in steps, it is the non-randomised form (Czado, Gneiting and Held 2009, Biometrics 65:1254): the
 * interval of F over the jump, or from half a step below the outcome to half a step above it.
 *
 * @param referenceScale s_ref, frozen before any forecast
 * @param step the distance between neighbouring outcomes; null when they are as good as continuous
 */
export const calibrationRow = (
  { cdf, cdfBelow, centre, spread: sd }: Distribution,
  outcome: number,
  referenceScale: number,
  step: number | null
): CalibrationRow => {
  const error = Math.abs(outcome - centre)
  const [below, until] = [cdfBelow(outcome), cdf(outcome)]
  const [low, high] = step === null ? [below, until] : [cdfBelow(outcome - step / 2), cdf(outcome + step / 2)]
  const isWithin = (level: number) => below <= (1 + level) / 2 && until >= (1 - level) / 2
  return {
    // Far in a tail the interval has no width that a double could hold.
    pit: high > low ? spread(low, high) : onlyIn(bucketOf(until)),
    within50: isWithin(0.5),
    within80: isWithin(0.8),
    within95: isWithin(0.95),
    absZ: error === 0 ? 0 : Math.min(error / sd, maxZ),
    sharpness: sd / referenceScale
  }
}

/** With fewer rows, shares and means are chance and are not published. */
export const minCalibrated = 20

const z95 = 1.959963984540054

/** The Wilson 95 % interval of a share (Wilson 1927, JASA 22:209). */
export const wilsonInterval = (hits: number, count: number): readonly [low: number, high: number] => {
  const share = hits / count
  const z2 = z95 * z95
  const centre = (share + z2 / (2 * count)) / (1 + z2 / count)
  const margin =
    (z95 / (1 + z2 / count)) * Math.sqrt((share * (1 - share)) / count + z2 / (4 * count * count))
  return [Math.max(0, centre - margin), Math.min(1, centre + margin)]
}

/** The range that holds a bucket's count 95 times in 100 if forecasts are calibrated: n/10 +- 1.96 sqrt(0.09 n). */
export const pitBand = (count: number): readonly [low: number, high: number] => {
  const margin = 1.96 * Math.sqrt(0.09 * count)
  return [Math.max(0, count / pitBuckets - margin), count / pitBuckets + margin]
}
