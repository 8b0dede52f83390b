/**
 * Evidence that an agent beats the reference. It may be examined on any day without losing its level. It is made of daily scores
 * between -1 and 1: answers that were settled on one day share shocks, so a day is one observation.
 */
import { studentT975 } from "./agentStats.ts"

export interface Evidence {
  /** The number of days with an answer. */
  readonly days: number
  /** The number of answers that a day is expected to have. */
  readonly volume: number
  /** The sum of the daily scores. */
  readonly sum: number
  /** The sum of (y - mean so far)^2, with y = (score + 1) / 2. */
  readonly deviation: number
  /** Sums of the confidence sequence: of lambda, of lambda y, and of v psi(lambda). */
  readonly weight: number
  readonly weighted: number
  readonly penalty: number
  /** The natural logarithm of the e-value. */
  readonly logWealth: number
}

export const noEvidence: Evidence = {
  days: 0,
  volume: 0,
  sum: 0,
  deviation: 0,
  weight: 0,
  weighted: 0,
  penalty: 0,
  logWealth: 0
}

/** The level that lambda is tuned to; the sequence holds at any other, too. */
export const level = 0.05
/** A bet on a day risks at most this share of the wealth. */
export const maxBet = 0.9
/** The maximum lambda of the confidence sequence. */
export const maxLambda = 0.75
/** A day is expected to have at least this share of the answers of the day before. */
export const volumeDecay = 0.98

/**
 * Adds one day, with the sum of the bounded scores of its answers and their number.
 *
 * The daily score is the sum over the volume: the answers that the day was expected to have, 0.98 times those of the day before, or
 * its own number if that is higher. A sum below 0 is divided by the expected number even then. Otherwise an agent that stops for the
 * day once it is ahead, and goes on while it is behind, would seem to have an edge.
 *
 * The confidence sequence is the predictable plug-in empirical Bernstein one (Waudby-Smith and Ramdas 2024, JRSS B 86:1, theorem 2),
 * and the e-value the wealth of somebody who bets each day on the agent: the product of 1 + bet score, each bet from the days before
 * (the same, section 4; against 0 or less it is a supermartingale since no bet is below 0).
 */
export const addDay = (
  evidence: Evidence,
  scores: { readonly sum: number; readonly count: number }
): Evidence => {
  const t = evidence.days + 1
  const expected = evidence.days === 0 ? scores.count : evidence.volume * volumeDecay
  const volume = Math.max(scores.count, expected)
  const score = Math.max(-1, scores.sum / (scores.sum < 0 ? expected : volume))
  const y = (score + 1) / 2
  const sumBefore = (evidence.sum + evidence.days) / 2
  const meanBefore = (0.5 + sumBefore) / t
  const mean = (0.5 + sumBefore + y) / (t + 1)
  const varianceBefore = (0.25 + evidence.deviation) / t
  const lambda = Math.min(
    Math.sqrt((2 * Math.log(2 / level)) / (varianceBefore * t * Math.log(1 + t))),
    maxLambda
  )
  const edge = 2 * meanBefore - 1
  const bet = Math.max(0, Math.min(maxBet, edge / (4 * varianceBefore + edge * edge)))
  return {
    days: t,
    volume,
    sum: evidence.sum + score,
    deviation: evidence.deviation + (y - mean) ** 2,
    weight: evidence.weight + lambda,
    weighted: evidence.weighted + lambda * y,
    penalty: evidence.penalty + (y - meanBefore) ** 2 * (-Math.log1p(-lambda) - lambda),
    logWealth: evidence.logWealth + Math.log1p(bet * score)
  }
}

/** An agent without an owner counts as one try. */
const atLeastOne = (tries: number): number => Math.max(1, tries)

/**
 * The confidence sequence of the mean daily score, -1 to 1: at this level it contains the mean on all days at once.
 * Null before the first day. Its days have other weights than those of the plain mean so far, so it is widened to
 * contain that, too.
 * @param tries the number of agents of the owner, which divides the level
 */
export const confidenceSequence = (
  {
    days,
    penalty,
    sum,
    weight,
    weighted
  }: Pick<Evidence, "days" | "sum" | "weight" | "weighted" | "penalty">,
  tries = 1
): readonly [low: number, high: number] | null => {
  if (!(weight > 0)) return null
  const radius = (Math.log((2 * atLeastOne(tries)) / level) + penalty) / weight
  const bound = (y: number) => 2 * Math.max(0, Math.min(1, y)) - 1
  const mean = sum / days
  return [
    Math.min(mean, bound(weighted / weight - radius)),
    Math.max(mean, bound(weighted / weight + radius))
  ]
}

/** The e-value, as far as a double can hold it. */
export const eValue = ({ logWealth }: Pick<Evidence, "logWealth">): number =>
  Number(Math.exp(Math.min(logWealth, 700)).toPrecision(12))

/** The e-value that distinguishes an agent from the reference at the level, for an owner with this many agents. */
export const neededValue = (tries = 1): number => atLeastOne(tries) / level

/** A century: an agent whose lead needs longer does not lead. */
const maxDays = 36_500

/**
 * The approximate number of further days until the agent is distinguished from the reference, if it goes on as before: the rest of
 * the logarithm over its growth a day at the best bet. It is 0 once it is distinguished, and null if it does not lead or a century
 * would not suffice.
 */
export const daysNeeded = (
  evidence: Pick<Evidence, "days" | "sum" | "deviation" | "logWealth">,
  tries = 1
) => {
  const rest = Math.log(neededValue(tries)) - evidence.logWealth
  if (rest <= 0) return 0
  if (evidence.days === 0 || evidence.sum <= 0) return null
  const mean = evidence.sum / evidence.days
  const variance = (4 * evidence.deviation) / evidence.days
  const bet = Math.min(maxBet, mean / (variance + mean * mean))
  const growth = bet * mean - (bet * bet * (variance + mean * mean)) / 2
  const days = growth > 0 ? Math.ceil(rest / growth) : Number.POSITIVE_INFINITY
  return days > maxDays ? null : days
}

/** The values settled on one day: their number and their sum. */
export interface DaySum {
  readonly count: number
  readonly sum: number
}

/** The mean of all values and its 95 % interval for one look, clustered by day as in `scoreCi95` (agentStats.ts); null under two days. */
export const clusteredMean = (days: ReadonlyArray<DaySum>) => {
  const count = days.reduce((sum, each) => sum + each.count, 0)
  if (count === 0) return null
  const mean = days.reduce((sum, each) => sum + each.sum, 0) / count
  const groups = days.length
  if (groups < 2) return { mean, interval: null }
  const squares = days.reduce((sum, each) => sum + (each.sum - each.count * mean) ** 2, 0)
  const half = studentT975(groups - 1) * (Math.sqrt((groups / (groups - 1)) * squares) / count)
  return { mean, interval: [mean - half, mean + half] as const }
}
