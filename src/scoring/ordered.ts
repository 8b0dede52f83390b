/** Scores of questions on ordered categories, answered by a vector of probabilities. */

/** F_k: the probability of category k or one before it, without the last category, whose value is 1. */
const cumulated = (probabilities: ReadonlyArray<number>): ReadonlyArray<number> => {
  let sum = 0
  return probabilities.slice(0, -1).map((p) => (sum += p))
}

/**
 * The ranked probability score, the sum over the categories of (F_k - O_k)^2, where O_k is 1 from the outcome on; 0 is
 * perfect (Epstein 1969, J. Appl. Meteor. 8:985; Murphy 1971). It is proper: honest probabilities have the lowest
 * average.
 * @param outcome the number of the category that came, 0 the first
 */
export const rps = (probabilities: ReadonlyArray<number>, outcome: number): number =>
  cumulated(probabilities).reduce((sum, each, k) => sum + (each - Number(outcome <= k)) ** 2, 0)

/** RPS_ref: the reference vector's expectation of its own RPS, the sum of Q_k (1 - Q_k). It is 0 if the vector is certain. */
export const expectedRps = (reference: ReadonlyArray<number>): number =>
  cumulated(reference).reduce((sum, each) => sum + each * (1 - each), 0)

/**
 * Skill 1 - RPS / RPS_ref, unclipped, and the score 50 + 50 skill, clipped to 0..100: 100 is perfect, 50 the
 * reference's average, 0 twice its RPS or more.
 * @param referenceRps RPS_ref, above 0 (else RangeError), fixed before any answer
 */
export const rpsScore = (
  value: number,
  referenceRps: number
): { readonly skill: number; readonly score: number } => {
  if (!(referenceRps > 0)) throw new RangeError(`the reference RPS must be above 0, got ${referenceRps}`)
  const ratio = value / referenceRps
  return { skill: 1 - ratio, score: 100 * Math.max(0, 1 - ratio / 2) }
}
