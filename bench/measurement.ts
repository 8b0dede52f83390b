/** What one round of one contender came to. */
export interface Measurement {
  readonly requests: number
  readonly perSecond: number
  /** Milliseconds. */
  readonly mean: number
  readonly p50: number
  readonly p99: number
  readonly longest: number
  /** Microseconds of processor time a request; null where they cannot be known, or there is no such process. */
  readonly serverMicros: number | null
  readonly postgresMicros: number | null
  readonly generatorMicros: number | null
}

export const median = (values: ReadonlyArray<number>): number => {
  const sorted = [...values].sort((one, other) => one - other)
  const middle = sorted.length / 2
  const high = sorted[Math.floor(middle)] ?? Number.NaN
  return Number.isInteger(middle) ? ((sorted[middle - 1] ?? Number.NaN) + high) / 2 : high
}

const medianOrNull = (values: ReadonlyArray<number | null>): number | null => {
  const known = values.filter((value) => value !== null)
  return known.length === 0 ? null : median(known)
}

/** Each figure's median over the rounds. */
export const medians = (rounds: ReadonlyArray<Measurement>): Measurement => ({
  requests: rounds.reduce((sum, round) => sum + round.requests, 0),
  perSecond: median(rounds.map((round) => round.perSecond)),
  mean: median(rounds.map((round) => round.mean)),
  p50: median(rounds.map((round) => round.p50)),
  p99: median(rounds.map((round) => round.p99)),
  longest: Math.max(...rounds.map((round) => round.longest)),
  serverMicros: medianOrNull(rounds.map((round) => round.serverMicros)),
  postgresMicros: medianOrNull(rounds.map((round) => round.postgresMicros)),
  generatorMicros: medianOrNull(rounds.map((round) => round.generatorMicros))
})

const ratios = (
  ones: ReadonlyArray<Measurement>,
  others: ReadonlyArray<Measurement>,
  figure: (round: Measurement) => number
): ReadonlyArray<number> =>
  ones.flatMap((one, round) => {
    const other = others[round]
    return other === undefined ? [] : [figure(one) / figure(other)]
  })

/** The median over the rounds of one's figure divided by the other's in the same round. */
export const ratio = (
  ones: ReadonlyArray<Measurement>,
  others: ReadonlyArray<Measurement>,
  figure: (round: Measurement) => number
): number | null => {
  const each = ratios(ones, others, figure)
  return each.length === 0 ? null : median(each)
}

/**
 * Between which two values the median lies with at least 95 % certainty, whatever the distribution: as many of the
 * sorted values lie outside on each side as tosses of a fair coin may come out at most (binomial). null for fewer than six.
 */
const medianBetween = (values: ReadonlyArray<number>): readonly [low: number, high: number] | null => {
  const count = values.length
  let probability = 0.5 ** count
  let outside = 0
  for (let below = probability; below <= 0.025; below += probability) {
    outside += 1
    probability *= (count - outside + 1) / outside
  }
  const sorted = [...values].sort((one, other) => one - other)
  const [low, high] = [sorted[outside - 1], sorted[count - outside]]
  return low === undefined || high === undefined ? null : [low, high]
}

/** Between which values that ratio lies. */
export const ratioBetween = (
  ones: ReadonlyArray<Measurement>,
  others: ReadonlyArray<Measurement>,
  figure: (round: Measurement) => number
) => medianBetween(ratios(ones, others, figure))

/** The mean of all requests of all rounds. */
export const meanOfAll = (rounds: ReadonlyArray<Measurement>): number =>
  rounds.reduce((sum, { mean, requests }) => sum + mean * requests, 0) /
  rounds.reduce((sum, { requests }) => sum + requests, 0)
