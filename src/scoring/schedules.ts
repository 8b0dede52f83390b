/** What scheduled challenges are about: weeks, and levels around a price that are as uncertain as they can be. */
import { BigDecimal } from "effect"
import { day } from "./sessions.ts"

/** The Monday midnight (UTC) that comes after `time`. 1970-01-05 was a Monday. */
export const nextMonday = (time: number): number => {
  const week = 7 * day
  const first = 4 * day
  return first + (Math.floor((time - first) / week) + 1) * week
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

export interface Levels {
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

/** Half the number of edges around the last print. */
const edgesEachSide = 3

/**
 * Edges of bins around the last print of a series: the middle bin has it in its middle, and each is about a reference scale
 * wide, in whole steps of what is published.
 */
export const edgesAround = (
  last: BigDecimal.BigDecimal,
  scale: BigDecimal.BigDecimal,
  step: BigDecimal.BigDecimal
): ReadonlyArray<number> => {
  const ratio = BigDecimal.toNumberUnsafe(scale) / BigDecimal.toNumberUnsafe(step)
  const steps = Math.max(1, Math.round(ratio))
  const width = BigDecimal.multiply(step, BigDecimal.fromNumberUnsafe(steps))
  return Array.from({ length: 2 * edgesEachSide }, (_, index) => {
    const halves = BigDecimal.make(BigInt((2 * (index - edgesEachSide) + 1) * 5), 1)
    return BigDecimal.toNumberUnsafe(BigDecimal.sum(last, BigDecimal.multiply(width, halves)))
  })
}
