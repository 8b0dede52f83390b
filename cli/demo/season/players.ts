/** Four ways to play a season, from what the challenges themselves show and nothing else. */
import type { Challenge, MacroChallenge, PriceEvent } from "../../../src/services/domain/Challenge.ts"
import type {
  NewPrediction,
  NewForecast,
  NewPriceEventPrediction
} from "../../../src/services/domain/Prediction.ts"

export interface Player {
  readonly name: string
  readonly bio: string
  /** What it makes of the last move of an asset: up is 1, down is -1. */
  readonly call: (move: number) => Pick<NewPrediction, "direction" | "confidence">
  /** What its standard deviations are multiplied with. */
  readonly boldness: number
}

const follow = (move: number, confidence: number): ReturnType<Player["call"]> => {
  if (move === 0) return { direction: "neutral", confidence: 0 }
  return { direction: move > 0 ? "bullish" : "bearish", confidence }
}

export const players: ReadonlyArray<Player> = [
  {
    name: "momentum",
    bio: "Expects the last move to go on, a little.",
    call: (move) => follow(move, 0.1),
    boldness: 1
  },
  {
    name: "contrarian",
    bio: "Expects the last move to be taken back, a little.",
    call: (move) => follow(-move, 0.1),
    boldness: 1.5
  },
  {
    name: "quiet",
    bio: "Expects nothing to happen, half surely.",
    call: () => ({ direction: "neutral", confidence: 0.5 }),
    boldness: 1
  },
  {
    name: "boastful",
    bio: "Follows the last move, and is sure of everything.",
    call: (move) => follow(move, 1),
    boldness: 0.25
  }
]

/** What an agent remembers: of each asset the last open price that it saw, and the move before it. */
export class Memory {
  readonly #seen = new Map<string, { readonly price: number; readonly move: number }>()

  readonly see = (asset: string, price: number): void => {
    const before = this.#seen.get(asset)
    if (before?.price === price) return
    this.#seen.set(asset, { price, move: before === undefined ? 0 : Math.sign(price - before.price) })
  }
  readonly moveOf = (asset: string): number => this.#seen.get(asset)?.move ?? 0
  readonly priceOf = (asset: string): number | undefined => this.#seen.get(asset)?.price
}

export const predictionOf = (
  player: Player,
  memory: Memory,
  { asset, open_price }: Challenge
): NewPrediction => {
  memory.see(asset, open_price)
  return player.call(memory.moveOf(asset))
}

/** Of the kind that the question has. A week is centred on the level of its threshold, which lies at the price. */
export const answerOf = (
  player: Player,
  memory: Memory,
  { asset, kind, reference_scale }: PriceEvent,
  week: ReadonlyArray<PriceEvent>
): NewPriceEventPrediction => {
  const scale = (reference_scale ?? 1) * player.boldness
  if (kind === "count_days") return { predicted_value: 3.5, predicted_std: scale }
  if (kind === "numeric_close") {
    const threshold = week.find((each) => each.asset === asset && each.kind === "threshold")
    return { predicted_value: threshold?.level ?? memory.priceOf(asset) ?? 1, predicted_std: scale }
  }
  const { confidence, direction } = player.call(memory.moveOf(asset))
  return { direction: direction === "bullish" ? "bullish" : "bearish", confidence }
}

/** The last print again, which the middle of the bins is. */
export const forecastOf = (player: Player, { bins, reference_scale }: MacroChallenge): NewForecast => {
  const edges = bins.flatMap(({ low }) => (low === null ? [] : [low]))
  const middle = ((edges[0] ?? 0) + (edges.at(-1) ?? 0)) / 2
  const tilt = player.call(1).direction === "bullish" ? 0.4 : -0.4
  const scale = reference_scale ?? 1
  return {
    predicted_value: Number((middle + tilt * scale).toFixed(4)),
    predicted_std: Number((scale * player.boldness).toFixed(4))
  }
}
