import erfc from "@stdlib/math-base-special-erfc"

/** A forecast: the normal distribution N(mean, sd), in the unit of what is forecast. */
export interface NormalForecast {
  readonly mean: number
  /** The standard deviation, above 0. */
  readonly sd: number
}

/** Phi: the probability that a standard normal variable is at most `z`. It is accurate far into both tails. */
export const normalCdf = (z: number): number => erfc(-z / Math.SQRT2) / 2

const inverseSqrtPi = 1 / Math.sqrt(Math.PI)
const inverseSqrt2Pi = 1 / Math.sqrt(2 * Math.PI)

/**
 * The continuous ranked probability score of a normal forecast, in the unit of the outcome; 0 is perfect. Gneiting,
 * Raftery, Westveld and Goldman 2005, MWR 133:1098. With a = |y - mu| / sigma,
 *
 *     CRPS = sigma (a - 1/sqrt(pi) + 2 phi(a) - a erfc(a / sqrt(2)))
 *
 * This form loses no digits for large a, where z (2 Phi(z) - 1) does; for a that overflows CRPS is |y - mu|.
 */
export const crps = ({ mean, sd }: NormalForecast, outcome: number): number => {
  if (!(sd > 0)) throw new RangeError(`the standard deviation must be above 0, got ${sd}`)
  const error = Math.abs(outcome - mean)
  const a = error / sd
  if (a === Infinity) return error
  return sd * (a - inverseSqrtPi + 2 * inverseSqrt2Pi * Math.exp((-a * a) / 2) - a * erfc(a / Math.SQRT2))
}

/** The skill and score of a CRPS. */
export interface CrpsScore {
  /** 1 - CRPS / CRPS_ref, unclipped: 1 is perfect, 0 equals the reference, below 0 is worse. */
  readonly skill: number
  /** 0 to 100: 50 + 50 skill, clipped. */
  readonly score: number
}

/**
 * Skill and score of a CRPS on the scale of its challenge. CRPS_ref = s_ref / sqrt(pi) is the average of a calibrated
 * forecaster who knows only the reference scale, so perfect is 100, the reference 50, and twice the reference's CRPS or
 * more is 0. The score is affine in CRPS, and so proper where the clip is not reached.
 * @param referenceScale s_ref, in the unit of the CRPS, above 0 (else RangeError), fixed before any forecast
 */
export const crpsScore = (value: number, referenceScale: number): CrpsScore => {
  if (!(referenceScale > 0))
    throw new RangeError(`the reference scale must be above 0, got ${referenceScale}`)
  const ratio = (value / referenceScale) * Math.sqrt(Math.PI)
  return { skill: 1 - ratio, score: 100 * Math.max(0, 1 - ratio / 2) }
}
