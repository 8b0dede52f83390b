/**
 * The forecast of a random walk when a question was answered. Skill compares an answer with this reference, so a wait until the price
 * has moved earns nothing. The walk has no drift: the logarithm of the price is normal around that of the last known price, with the
 * volatility that was frozen with the question and the time that was left since that price.
 *
 * Times are milliseconds since 1970, UTC; volatility is that of the logarithm of the price per square root of an hour.
 */
import { crps, normalCdf } from "./crps.ts"
import { expectedRps, rps } from "./ordered.ts"
import { day, hour } from "./candles.ts"

/** Probabilities of the outcomes in their order (bullish, neutral, bearish; without neutral; 0 to 7 days), or a distribution of the close. */
export type Reference =
  | { readonly odds: ReadonlyArray<number> }
  | { readonly mean: number; readonly sd: number }
  | { readonly counts: ReadonlyArray<number> }

/** A price and the time from which it was known: a quote, or the close of a candle with its range. */
export interface KnownPrice {
  readonly at: number
  readonly price: number
  readonly low?: number | undefined
  readonly high?: number | undefined
}

/** A reference that holds from its time until the next one. */
export interface ReferenceStep extends KnownPrice {
  readonly reference: Reference
}

/** A return weighs 0.94 times as much as one a day later (RiskMetrics Technical Document 1996). */
const decayPerDay = 0.94
/** A volatility needs this many returns. */
const minReturns = 20

/** The length in hours of the returns for a question that runs this many hours. */
export const returnHours = (hours: number): 1 | 4 | 24 => {
  if (hours <= 2) return 1
  return hours <= 12 ? 4 : 24
}

/**
 * Exponentially weighted volatility: the square root of sum w r^2 / (hours sum w), over all pairs of prices that lie
 * this many hours apart, r the logarithm of their quotient and w = 0.94^(age in days). Undefined with fewer than 20
 * pairs, or if nothing moved.
 * @param prices in the order of time; those of 0 or less make no return
 */
export const ewmaVolatility = (
  prices: ReadonlyArray<KnownPrice>,
  hours: number,
  now: number
): number | undefined => {
  const at = new Map(prices.filter(({ price }) => price > 0).map((each) => [each.at, each.price]))
  let [squares, weights, returns] = [0, 0, 0]
  for (const [time, price] of at) {
    const before = at.get(time - hours * hour)
    if (before === undefined) continue
    const weight = decayPerDay ** ((now - time) / day)
    squares += weight * Math.log(price / before) ** 2
    weights += weight
    returns += 1
  }
  return returns < minReturns || squares === 0 ? undefined : Math.sqrt(squares / (hours * weights))
}

/** A third of all normal variables lie within this many standard deviations: 2 Phi(z) - 1 = 1 / 3. */
const thirdOfAll = 0.4307272992954576

/**
 * The dead zone, in percent, that contains about every third move, so that the other two thirds are bullish and bearish. It follows
 * from the volatility and the hours of a move, and has at most three significant digits, as people would say it.
 */
export const deadZoneOf = (volatility: number, hours: number): number =>
  Number((100 * Math.expm1(thirdOfAll * volatility * Math.sqrt(hours))).toPrecision(3))

/** P(X >= threshold) of a normal variable around 0; without spread it is 0 or 1. */
export const above = (threshold: number, sd: number): number =>
  sd > 0 ? normalCdf(-threshold / sd) : Number(threshold <= 0)

/** The probability, by the reflection principle, that a walk from 0 touches a level at this distance: 2 (1 - Phi(distance / sd)). */
const touching = (distance: number, sd: number): number => {
  if (distance === 0) return 1
  return sd > 0 ? 2 * normalCdf(-Math.abs(distance) / sd) : 0
}

const density = (z: number): number => Math.exp((-z * z) / 2) / Math.sqrt(2 * Math.PI)

/** Simpson's rule over an even number of stretches. */
const integral = (of: (x: number) => number, from: number, to: number, stretches = 512): number => {
  const width = (to - from) / stretches
  let sum = of(from) + of(to)
  for (let index = 1; index < stretches; index++) sum += (index % 2 === 0 ? 2 : 4) * of(from + index * width)
  return (sum * width) / 3
}

/** Beyond this many standard deviations a normal variable has no probability left in a double. */
const reach = 9

/**
 * The probability that a walk touches the level within a window that begins later: the probability of a touch from the walk's place
 * at the beginning, over all places. The integral is split where the window begins at the level, since the integrand bends there.
 */
export const touchingLater = (distance: number, before: number, within: number): number => {
  if (!(before > 0)) return touching(distance, within)
  const bend = Math.max(-reach, Math.min(reach, distance / before))
  const of = (z: number) => density(z) * touching(distance - before * z, within)
  return integral(of, -reach, bend) + integral(of, bend, reach)
}

/** The knowledge of a walk at a time: the price and its history. */
export interface Known {
  readonly at: number
  readonly price: number
  readonly volatility: number
  /** The logarithm of a level over the price. */
  readonly distanceTo: (level: number) => number
  /** The standard deviation of the logarithm of the price at a later time. */
  readonly spread: (until: number) => number
  /** True once a price touched the level of the walk. */
  readonly touched: boolean
  /** The closes of past UTC days, by their ends. */
  readonly closes: ReadonlyMap<number, number>
}

/** A random walk that forecasts a question. */
export interface Walk {
  readonly at: (known: Known) => Reference
  /** A level whose touch counts from this time on. */
  readonly touches?: { readonly level: number; readonly from: number }
  /** The time from which the latest price alone no longer decides; left out if it always does. */
  readonly begins?: number
}

/**
 * The successive references: one for each known price above 0, from the time at which it was known.
 * @param prices in the order of time, the first the last one that was known when the question was made
 */
export const referenceSteps = (
  { at: referenceAt, touches }: Walk,
  volatility: number,
  prices: ReadonlyArray<KnownPrice>
): ReadonlyArray<ReferenceStep> => {
  let touched = false
  const closes = new Map<number, number>()
  return prices
    .filter(({ price }) => price > 0)
    .map((known) => {
      const { at, high = known.price, low = known.price, price } = known
      if (at % day === 0) closes.set(at, price)
      if (touches !== undefined && at > touches.from)
        touched ||= low <= touches.level && touches.level <= high
      const reference = referenceAt({
        at,
        price,
        volatility,
        touched,
        closes,
        distanceTo: (level) => Math.log(level / price),
        spread: (until) => volatility * Math.sqrt(Math.max(0, until - at) / hour)
      })
      return { ...known, reference }
    })
}

/** The step that an answer of this time is compared with; the first step for any earlier time. */
export const stepAt = <Step extends { readonly at: number }>(
  steps: ReadonlyArray<Step>,
  time: number
): Step | undefined => steps.findLast(({ at }) => at <= time) ?? steps[0]

/** The Brier score of a vector: the sum over the outcomes of (p - 1)^2 for the one that came and p^2 for the others, from 0 to 2. */
export const brierScore = (odds: ReadonlyArray<number>, outcome: number): number =>
  odds.reduce((sum, p, index) => sum + (p - Number(index === outcome)) ** 2, 0)

/** The loss of a reference for an outcome: the Brier score, the CRPS of the close, or the ranked probability score of the count. */
export const referenceLoss = (reference: Reference, outcome: number): number => {
  if ("odds" in reference) return brierScore(reference.odds, outcome)
  if ("counts" in reference) return rps(reference.counts, outcome)
  return reference.sd > 0 ? crps(reference, outcome) : Math.abs(outcome - reference.mean)
}

/** The loss that a reference expects if it is right: sum q (1 - q), sd / sqrt(pi), or the sum of Q (1 - Q). */
export const expectedLoss = (reference: Reference): number => {
  if ("odds" in reference) return reference.odds.reduce((sum, q) => sum + q * (1 - q), 0)
  return "counts" in reference ? expectedRps(reference.counts) : reference.sd / Math.sqrt(Math.PI)
}

/** A reference with a lower expected loss is nearly certain of its outcome, and leaves no room for skill. */
export const minExpectedLoss = 0.1

/** If no price is known, the outcomes of at most `max` last periods are counted; with fewer than `min` all are taken as equally likely. */
export const basePeriods = { max: 250, min: 60 }

/** The frequency of each outcome in the last periods, or equal shares. */
export const baseRates = (counts: ReadonlyArray<number>): ReadonlyArray<number> => {
  const total = counts.reduce((sum, each) => sum + each, 0)
  return counts.map((each) => (total < basePeriods.min ? 1 / counts.length : each / total))
}

/** The vector of a direction with a confidence: p = (1 + c) / 2, and the others share the rest. */
export const oddsOf = (predicted: number, confidence: number, outcomes: number): ReadonlyArray<number> => {
  const p = (1 + confidence) / 2
  return Array.from({ length: outcomes }, (_, index) => (index === predicted ? p : (1 - p) / (outcomes - 1)))
}

/**
 * The skill of an answer: how much less it lost than the reference, divided by the reference's expected loss when the question was
 * made.
 */
export const referenceSkill = (loss: number, reference: number, expected: number): number =>
  (reference - loss) / expected

/** An answer counts in evidence with at least this span, so that answers close to the reference weigh little. */
export const minSpan = 0.25

/**
 * The bounded score of an answer, -1 to 1, as evidence uses it: its skill divided by its span, the most that it could
 * have won or lost by any outcome. The span is known before the outcome, so a mean that is at most 0 stays so.
 * @param skills the skill that each outcome would have given
 */
export const boundedSkill = (skill: number, skills: ReadonlyArray<number>): number =>
  skill / Math.max(minSpan, ...skills.map(Math.abs))

/** Forecasts of a number have no maximum loss, so their skill is bounded here. */
export const maxNumericSkill = 4

export const boundedNumericSkill = (skill: number): number =>
  Math.max(-1, Math.min(1, skill / maxNumericSkill))
