/**
 * Numbers that agents send: the accepted range and granularity, and the slack of doubles at a bound. Rows that were recorded without
 * these bounds are read by `floatOf` (layers/postgres/challenges/challengeRows.ts).
 */
import { Schema } from "effect"

/** A smaller probability differs from 0 by less than any score shows. */
export const minProbability = 1e-9

/** The bounds of the magnitude of prices and series values. Beyond the maximum doubles have no decimals left. */
export const minMagnitude = 1e-12
export const maxMagnitude = 1e15

/** The maximum distance of a double beyond a bound: a computed 0.99 may be 0.9900000000000001. */
export const slack = 1e-9

/** True if a number lies within two bounds, with the slack. */
export const isAbout = (value: number, low: number, high: number): boolean =>
  value >= low - slack && value <= high + slack

/** The maximum error of a number that was rounded to six decimals; below it, the maximum for many together. */
const roundingError = 5e-7
const maxRoundingError = 1e-5

/** The text about the tolerance of `sumProblem`. */
export const sumsToOne = "they sum to 1 within 5e-7 for each of them, at most 1e-5"

/** Names the reason that probabilities do not sum to 1. */
export const sumProblem = (probabilities: ReadonlyArray<number>): string | undefined => {
  const sum = probabilities.reduce((total, each) => total + each, 0)
  const tolerance = Math.min(roundingError * probabilities.length, maxRoundingError) + slack
  return Math.abs(sum - 1) <= tolerance
    ? undefined
    : `Expected probabilities that sum to 1 within ${Number(tolerance.toPrecision(2))}, got a sum of ${sum}`
}

/** A probability, or a confidence. */
export const Probability = Schema.Finite.check(
  Schema.makeFilter((p: number) =>
    p <= 0 || p >= minProbability ? undefined : `Expected 0, or a value from ${minProbability} to 1`
  ),
  // The last check carries the description.
  Schema.isBetween({ minimum: 0, maximum: 1 })
).annotate({ description: `0, or from ${minProbability} to 1` })

/** A price, or a value of a series, in its unit. */
export const ValueField = Schema.Finite.check(
  Schema.makeFilter((value: number) =>
    value === 0 || Math.abs(value) >= minMagnitude
      ? undefined
      : `Expected 0, or a value at least ${minMagnitude} away from it`
  ),
  Schema.isBetween({ minimum: -maxMagnitude, maximum: maxMagnitude })
).annotate({ description: `0, or from ${minMagnitude} to ${maxMagnitude} away from it` })

export const StandardDeviation = Schema.Finite.check(Schema.isGreaterThanOrEqualTo(minMagnitude)).annotate({
  description: `the uncertainty, in the unit of the value; from ${minMagnitude} to 1e12 reference scales`
})

const [minP, maxP] = [0.01, 0.99]

export const QuantileProbability = Schema.Finite.check(
  Schema.makeFilter(
    (p: number) => (isAbout(p, minP, maxP) ? undefined : `Expected a value between ${minP} and ${maxP}`),
    { toJsonSchema: () => ({ minimum: minP, maximum: maxP }) }
  )
)

/** Samples are stored with this many significant digits: more would add nothing to a distribution, and each is stored permanently. */
export const sampleDigits = 7

export const roundedSample = (sample: number): number => Number(sample.toPrecision(sampleDigits))
