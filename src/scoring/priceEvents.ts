/**
 * How a price-event question is decided, by candles. Of every question it is known beforehand which candles can decide it;
 * what is given are those of them that are known. More candles can decide what was open, and never decide otherwise.
 *
 * A question keeps the rules that it was made with, as its criteria say. By the first rules a gap between two candles
 * touches the levels within it, and a day closes with its last 1-hour candle; by the second ones the days of a count do.
 */
import { BigDecimal } from "effect"

export type PriceEventKind = "numeric_close" | "barrier" | "count_days" | "threshold"

/** Times are milliseconds since 1970, UTC. */
export const hour = 3_600_000
export const day = 24 * hour

/** Days of a `count_days` question: "how many of 7 UTC days from Monday close up". */
export const countedDays = 7

export interface Candle {
  readonly openTime: number
  readonly high: BigDecimal.BigDecimal
  readonly low: BigDecimal.BigDecimal
  readonly close: BigDecimal.BigDecimal
}

/** The rules of new questions. */
export const ruleVersion = 3

export type PriceEventQuestion =
  | { readonly kind: "numeric_close" | "count_days"; readonly resolveAt: number }
  | { readonly kind: "threshold"; readonly resolveAt: number; readonly level: BigDecimal.BigDecimal }
  | {
      readonly kind: "barrier"
      readonly ruleVersion: number
      readonly windowFrom: number
      readonly resolveAt: number
      readonly level: BigDecimal.BigDecimal
    }

export interface Decision<C> {
  /** Yes is bullish, No is bearish; null of numeric questions. */
  readonly result: "bullish" | "bearish" | null
  /** The close; the count; of a barrier the price nearest to the level. */
  readonly observation: BigDecimal.BigDecimal
  /** The candles that decided it, in the order of time. */
  readonly evidence: readonly [C, ...ReadonlyArray<C>]
}

/** Every `step` from `from` until before `until`. */
const timesBetween = (from: number, until: number, step: number): ReadonlyArray<number> =>
  Array.from({ length: Math.max(0, Math.ceil((until - from) / step)) }, (_, index) => from + index * step)

/** The first whole hour at or after a time. */
export const wholeHour = (time: number): number => Math.ceil(time / hour) * hour

/** When the candle opens whose close is the daily close of the UTC day that ends at `end`. */
const lastHourOf = (end: number): number => end - hour

/** When the candles open whose closes are the daily closes of so many UTC days, the last of which ends at `end`. */
export const dailyCloses = (end: number, days: number): ReadonlyArray<number> =>
  timesBetween(lastHourOf(end) - (days - 1) * day, end, day)

/** When the days end whose closes decide a question, in order. */
export const closingDays = ({ kind, resolveAt }: PriceEventQuestion): ReadonlyArray<number> => {
  if (kind === "barrier") return []
  // The first day of a count is compared with the one before it.
  return dailyCloses(resolveAt, kind === "count_days" ? countedDays + 1 : 1).map((opens) => opens + hour)
}

/** Whether the close of a day is that of its last 1-hour candle, whatever its daily one says. */
export const closesByHours = (kind: PriceEventKind, version: number): boolean =>
  version < (kind === "count_days" ? 3 : 2)

/** When the candles open that can decide a question, in order; of a close the last 1-hour one of its day. */
export const candlesOf = (question: PriceEventQuestion): ReadonlyArray<number> => {
  switch (question.kind) {
    case "numeric_close":
    case "threshold":
    case "count_days":
      return closingDays(question).map(lastHourOf)
    case "barrier":
      return timesBetween(question.windowFrom, question.resolveAt, hour)
  }
}

const isNonEmpty = <C>(candles: ReadonlyArray<C>): candles is readonly [C, ...ReadonlyArray<C>] =>
  candles.length > 0

/**
 * What an observation says beside the level of a yes-or-no question: of a threshold whether "the close is at or above" it,
 * of a barrier whether the price nearest to it is it.
 */
export const answerOf = (
  kind: "barrier" | "threshold",
  observation: BigDecimal.BigDecimal,
  level: BigDecimal.BigDecimal
): "bullish" | "bearish" => {
  const isYes =
    kind === "threshold"
      ? BigDecimal.isGreaterThanOrEqualTo(observation, level)
      : BigDecimal.Equivalence(observation, level)
  return isYes ? "bullish" : "bearish"
}

/** A candle that a UTC day ends with: its daily one, or its last 1-hour one. */
export interface ClosingCandle extends Candle {
  readonly interval: "1d" | "1h"
  /** Milliseconds since 1970, UTC. */
  readonly knownAt: number
  /** Of a daily candle: an administrator decided that it counts against the 1-hour one. */
  readonly isUpheld: boolean
}

/**
 * Which of one source's candles closes a day: the one that was known first. "contested" where both are known and differ,
 * until an administrator decides.
 */
export const closingCandle = <C extends ClosingCandle>(
  candles: ReadonlyArray<C>
): C | "contested" | undefined => {
  const daily = candles.find(({ interval }) => interval === "1d")
  const hourly = candles.find(({ interval }) => interval === "1h")
  if (daily === undefined || hourly === undefined) return daily ?? hourly
  if (daily.isUpheld) return daily
  if (!BigDecimal.Equivalence(daily.close, hourly.close)) return "contested"
  return daily.knownAt < hourly.knownAt ? daily : hourly
}

/** The candle that closes each day, in the order of time, and the candles of each day that is contested. */
export const closingCandles = <C extends ClosingCandle & { readonly endTime: number }>(
  candles: ReadonlyArray<C>
): { readonly counting: ReadonlyArray<C>; readonly contested: ReadonlyArray<ReadonlyArray<C>> } => {
  const days = [...Map.groupBy(candles, ({ endTime }) => endTime)]
    .toSorted(([one], [other]) => one - other)
    .map(([, ofDay]) => ({ ofDay, close: closingCandle(ofDay) }))
  return {
    counting: days.flatMap(({ close }) => (close === undefined || close === "contested" ? [] : [close])),
    contested: days.filter(({ close }) => close === "contested").map(({ ofDay }) => ofDay)
  }
}

const closesUp = (candles: ReadonlyArray<Candle>): number =>
  candles.filter((candle, index) => {
    const before = candles[index - 1]
    return before !== undefined && BigDecimal.isGreaterThan(candle.close, before.close)
  }).length

/** Of two prices the one nearer to the level. */
const nearer = (
  level: BigDecimal.BigDecimal,
  one: BigDecimal.BigDecimal,
  other: BigDecimal.BigDecimal
): BigDecimal.BigDecimal => {
  const distance = (price: BigDecimal.BigDecimal) => BigDecimal.abs(BigDecimal.subtract(price, level))
  return BigDecimal.isLessThan(distance(other), distance(one)) ? other : one
}

/**
 * "Touch judged on 1-hour candle high/low", and "exactly equal to the level counts as a touch". So one candle is enough for a
 * touch, and that there was none needs every one.
 */
const barrier = <C extends Candle>(
  { level }: { readonly level: BigDecimal.BigDecimal },
  candles: readonly [C, ...ReadonlyArray<C>],
  isComplete: boolean
): Decision<C> | undefined => {
  const touching = candles.find(({ high, low }) => BigDecimal.between(level, { minimum: low, maximum: high }))
  if (touching !== undefined) return { result: "bullish", observation: level, evidence: [touching] }
  if (!isComplete) return undefined
  const nearest = ({ high, low }: Candle) => nearer(level, high, low)
  return {
    result: "bearish",
    observation: candles.map(nearest).reduce((one, other) => nearer(level, one, other)),
    evidence: candles
  }
}

/** By the first rules: a level is touched when it lies within what the candles span. */
const barrierWithGaps = <C extends Candle>(
  { level }: { readonly level: BigDecimal.BigDecimal },
  candles: readonly [C, ...ReadonlyArray<C>],
  isComplete: boolean
): Decision<C> | undefined => {
  let { high, low } = candles[0]
  for (const [index, candle] of candles.entries()) {
    const before = candles[index - 1]
    high = BigDecimal.max(high, candle.high)
    low = BigDecimal.min(low, candle.low)
    if (BigDecimal.between(level, { minimum: low, maximum: high })) {
      const within = BigDecimal.between(level, { minimum: candle.low, maximum: candle.high })
      return {
        result: "bullish",
        observation: level,
        evidence: within || before === undefined ? [candle] : [before, candle]
      }
    }
  }
  if (!isComplete) return undefined
  return {
    result: "bearish",
    observation: BigDecimal.isGreaterThan(level, high) ? high : low,
    evidence: candles
  }
}

/**
 * What the known candles say, or `undefined` while they leave it open.
 *
 * @param candles of `candlesOf(question)` those that are known, in order, one for each time
 */
export const decide = <C extends Candle>(
  question: PriceEventQuestion,
  candles: ReadonlyArray<C>
): Decision<C> | undefined => {
  if (!isNonEmpty(candles)) return undefined
  const isComplete = candles.length === candlesOf(question).length
  if (question.kind === "barrier") {
    return question.ruleVersion === 1
      ? barrierWithGaps(question, candles, isComplete)
      : barrier(question, candles, isComplete)
  }
  if (!isComplete) return undefined
  const [{ close }] = candles
  switch (question.kind) {
    case "numeric_close":
      return { result: null, observation: close, evidence: candles }
    case "threshold":
      return { result: answerOf("threshold", close, question.level), observation: close, evidence: candles }
    case "count_days":
      return { result: null, observation: BigDecimal.fromNumberUnsafe(closesUp(candles)), evidence: candles }
  }
}

/** So many daily log returns make a scale, of one close more. */
export const scaleReturns = 60

/** What a forecaster of a count knows who knows nothing else: seven days, each up as likely as not. */
export const countScale = Math.sqrt(countedDays) / 2

/**
 * The reference scale of a close: the open price times the standard deviation of the last 60 daily log returns, times the
 * square root of how many days are ahead. Undefined without 61 closes above 0, or when they did not move.
 *
 * @param closes daily closes in the order of time
 */
export const closeScale = (
  openPrice: number,
  closes: ReadonlyArray<number>,
  hours: number
): number | undefined => {
  if (closes.length !== scaleReturns + 1 || closes.some((close) => close <= 0)) return undefined
  const returns = closes.slice(1).map((close, index) => Math.log(close / (closes[index] ?? close)))
  const mean = returns.reduce((sum, each) => sum + each, 0) / returns.length
  const squares = returns.reduce((sum, each) => sum + (each - mean) ** 2, 0)
  const scale = openPrice * Math.sqrt(squares / (returns.length - 1)) * Math.sqrt(hours / 24)
  return scale > 0 ? scale : undefined
}

/** 1, 2 or 5 times a power of ten, at most `most`. */
const roundStep = (most: number): number => {
  const power = 10 ** Math.floor(Math.log10(most))
  const factor = [5, 2, 1].find((each) => each * power <= most) ?? 1
  return factor * power
}

/** Without the noise that binary fractions leave. */
const clean = (value: number): number => Number(value.toPrecision(12))

/**
 * A barrier at this many standard deviations of the week is touched by about every second driftless path: by the reflection
 * principle P(touch) = 2 (1 - Phi(0.6745)).
 */
const evenOdds = 0.6745
/** Rounding moves a level by at most a tenth of a standard deviation, which changes its odds little. */
const roundingShare = 0.2

interface Levels {
  /** Near the price: the close is about as likely above as below. */
  readonly threshold: number
  readonly up: number
  readonly down: number
}

/**
 * Levels around a price that moves by `deviation` in the time they are for, rounded to what people would say. `down` lies
 * below the price and `up` above it. Undefined when the price moves so much that a level would not be above 0.
 */
export const levelsAround = (price: number, deviation: number): Levels | undefined => {
  const step = roundStep(deviation * roundingShare)
  const levels = {
    threshold: clean(Math.max(1, Math.round(price / step)) * step),
    up: clean(Math.ceil((price + evenOdds * deviation) / step) * step),
    down: clean(Math.floor((price - evenOdds * deviation) / step) * step)
  }
  return levels.down > 0 ? levels : undefined
}
