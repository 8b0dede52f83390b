/**
 * Three ways to predict the next hour, computed from prices that have been shown and nothing else. Each says as its
 * confidence how often its own rule would have been right on those prices, so none pretends to know more than it does.
 */
import type { Direction } from "../../src/services/domain/Challenge.ts"
import type { NewPrediction } from "../../src/services/domain/Prediction.ts"

interface Call {
  readonly direction: Direction
  readonly because: string
}

export interface Strategy {
  readonly name: string
  readonly bio: string
  /** Whether it thinks again once it sees what the others say. */
  readonly reconsiders: boolean
  /** What it says after these prices, oldest first, the last one being the open price of the hour to predict. */
  readonly call: (prices: ReadonlyArray<number>, deadZone: number) => Call
}

const moveOf = (from: number, to: number): number => (to / from - 1) * 100

/** Where a move in percent lies against the dead zone. */
const directionOf = (move: number, deadZone: number): Direction => {
  if (move > deadZone) return "bullish"
  return move < -deadZone ? "bearish" : "neutral"
}

const signed = (percent: number): string => `${percent < 0 ? "" : "+"}${percent.toFixed(2)} %`

const trendHours = 3

const momentum: Strategy = {
  name: "momentum",
  bio: "Expects the last three hours to go on.",
  reconsiders: false,
  call: (prices, deadZone) => {
    const [first, ...later] = prices.slice(-trendHours - 1)
    const last = later.at(-1)
    if (first === undefined || last === undefined) {
      return { direction: "neutral", because: "One price shows no trend." }
    }
    const perHour = moveOf(first, last) / later.length
    return {
      direction: directionOf(perHour, deadZone / 4),
      because: `The last ${later.length} h moved by ${signed(perHour)} an hour, and trends go on.`
    }
  }
}

const meanHours = 6

const contrarian: Strategy = {
  name: "contrarian",
  bio: "Expects prices to return to their mean of six hours.",
  reconsiders: true,
  call: (prices, deadZone) => {
    const window = prices.slice(-meanHours)
    const last = window.at(-1)
    if (last === undefined || window.length < 2) {
      return { direction: "neutral", because: "One price has no mean to return to." }
    }
    const mean = window.reduce((sum, price) => sum + price, 0) / window.length
    const distance = moveOf(mean, last)
    return {
      direction: directionOf(-distance, deadZone / 2),
      because: `The price is ${signed(distance)} from its mean of ${window.length} h, and returns to it.`
    }
  }
}

const cautious: Strategy = {
  name: "cautious",
  bio: "Always says neutral, as confidently as quiet hours are common.",
  reconsiders: false,
  call: () => ({ direction: "neutral", because: "Most hours lead nowhere." })
}

export const strategies = [momentum, contrarian, cautious] as const

/** How often the strategy would have been right on what was shown, with one try of each outcome assumed before. */
const recordOf = ({ call }: Strategy, prices: ReadonlyArray<number>, deadZone: number) => {
  const results = prices.slice(1).map((price, index) => {
    const before = prices.slice(0, index + 1)
    return call(before, deadZone).direction === directionOf(moveOf(before.at(-1) ?? price, price), deadZone)
  })
  const right = results.filter((isRight) => isRight).length
  return { right, tried: results.length, share: (right + 1) / (results.length + 3) }
}

const rounded = (share: number): number => Math.round(share * 100) / 100

/** The prediction for the hour that opens at the last of these prices. */
export const predict = (
  strategy: Strategy,
  prices: ReadonlyArray<number>,
  deadZone: number
): NewPrediction => {
  const { because, direction } = strategy.call(prices, deadZone)
  const { right, share, tried } = recordOf(strategy, prices, deadZone)
  return {
    direction,
    confidence: rounded(share),
    reasoning: `${because} So far this was right in ${right} of ${tried} hours.`
  }
}

/** What everybody can see of a challenge before its deadline. */
export interface Counts {
  readonly bullish_count: number
  readonly bearish_count: number
  readonly neutral_count: number
}

/** Whether fewer say this than something else. */
export const isAlone = (direction: Direction, counts: Counts): boolean => {
  const sides = {
    bullish: counts.bullish_count,
    bearish: counts.bearish_count,
    neutral: counts.neutral_count
  }
  return Object.values(sides).some((count) => count > sides[direction])
}

const doubt = 0.7

/** Second thoughts of one who stands alone: the same direction, less surely. */
export const doubted = (prediction: NewPrediction): NewPrediction => ({
  direction: prediction.direction,
  confidence: rounded(prediction.confidence * doubt),
  reasoning: `${prediction.reasoning ?? ""} More agents say otherwise, so less surely.`.trim(),
  is_revision: true
})
