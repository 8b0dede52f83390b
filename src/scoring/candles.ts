/** The candles that decide price events: hourly ones, and those that close UTC days. */
import { BigDecimal } from "effect"

/** A candle; its times are milliseconds since 1970, UTC. */
export interface Candle {
  readonly openTime: number
  readonly high: BigDecimal.BigDecimal
  readonly low: BigDecimal.BigDecimal
  readonly close: BigDecimal.BigDecimal
}

/** An hour in milliseconds. */
export const hour = 3_600_000
export const day = 24 * hour

/** The days of a `count_days` question: "how many of 7 UTC days from Monday close up". */
export const countedDays = 7

/** The times every `step` from `from` until before `until`. */
export const timesBetween = (from: number, until: number, step: number): ReadonlyArray<number> =>
  Array.from({ length: Math.max(0, Math.ceil((until - from) / step)) }, (_, index) => from + index * step)

/** The first whole hour at or after a time. */
export const wholeHour = (time: number): number => Math.ceil(time / hour) * hour

/** The opening time of the 1-hour candle whose close is the daily close of the UTC day that ends at `end`. */
const lastHourOf = (end: number): number => end - hour

/** The opening times of the candles with the daily closes of this many UTC days, the last of which ends at `end`. */
export const dailyCloses = (end: number, days: number): ReadonlyArray<number> =>
  timesBetween(lastHourOf(end) - (days - 1) * day, end, day)

/** A candle that a UTC day ends with: its daily one, or its last 1-hour one. */
export interface ClosingCandle extends Candle {
  readonly interval: "1d" | "1h"
  /** The time from which it was known, in milliseconds since 1970, UTC. */
  readonly knownAt: number
  /** True for a daily candle that an administrator decided to count instead of the 1-hour one. */
  readonly isUpheld: boolean
}

/** The first known candle of one source that closes a day; "contested" if both are known and differ, until an administrator decides. */
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

/** The number of daily log returns that make a scale; they take one close more. */
export const scaleReturns = 60

/** The standard deviation of a count of this many events that are each as likely as not. */
export const scaleOfCount = (max: number): number => Math.sqrt(max) / 2

/**
 * The reference scale of a close: the open price times the standard deviation of the last 60 daily log returns, times
 * the square root of the number of days ahead. Undefined without 61 closes above 0, or if they did not move.
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

/** 1, 2 or 5 times a power of ten, at most `max`. */
const roundStep = (max: number): number => {
  const power = 10 ** Math.floor(Math.log10(max))
  const factor = [5, 2, 1].find((each) => each * power <= max) ?? 1
  return factor * power
}

/** Removes the rounding noise of binary fractions. */
const clean = (value: number): number => Number(value.toPrecision(12))

/**
 * A barrier at this many standard deviations of the week is touched by about every second driftless path: by the reflection principle
 * P(touch) = 2 (1 - Phi(0.6745)).
 */
const evenOdds = 0.6745
/** Rounding moves a level by at most a tenth of a standard deviation, which changes its odds little. */
const roundingShare = 0.2

interface Levels {
  /** A level near the price: the close is about as likely above as below. */
  readonly threshold: number
  readonly up: number
  readonly down: number
}

/**
 * Levels around a price that moves by `deviation` in their time, rounded as people would say them. `down` lies below the price and
 * `up` above it. Undefined if the price moves so much that a level would not be above 0.
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
