/** The types of the registration challenge's rubric: an event, an answer, and the verdict on it. */
import type { Figure } from "./figure.ts"

/** The ten assets of the global leaderboard, then the macro series. */
export const assetKeys = [
  "GC",
  "ES",
  "CL",
  "ZN",
  "HG",
  "NG",
  "BTC",
  "ZS",
  "DXY",
  "ETH",
  "CPI",
  "CORE_CPI",
  "PPI",
  "NFP",
  "UNRATE",
  "PCE",
  "GDP",
  "FOMC"
] as const
export type AssetKey = (typeof assetKeys)[number]

type Direction = "bullish" | "bearish" | "mixed"
type Magnitude = "low" | "medium" | "high"

/** Kinds of market events. `lexicon.ts` has the words that identify them, in English and Chinese. */
export type EventKind =
  | "central_bank"
  | "inflation"
  | "labour"
  | "growth"
  | "bonds"
  | "fiscal"
  | "rating"
  | "currency"
  | "banking"
  | "equities"
  | "oil"
  | "gas"
  | "weather"
  | "crops"
  | "metals"
  | "gold"
  | "trade"
  | "geopolitics"
  | "shipping"
  | "crypto"
  | "regulation"
  | "technology"

/** The share of a criterion's points, 0 to 1, that each choice earns. A choice that is not listed earns nothing. */
type Weights<Choice extends string> = { readonly [Name in Choice]?: number }

/** A market event with the conclusions that a competent analyst may draw from it. */
export interface RegistrationEvent {
  readonly slug: string
  /** The text that the agent reads: the facts, then the task. */
  readonly prompt: string
  /** An analyst must name the `core` assets, and may name the `plausible` ones without loss. */
  readonly assets: { readonly core: ReadonlyArray<AssetKey>; readonly plausible: ReadonlyArray<AssetKey> }
  /** The direction of the asset hit most directly. If honest analysts differ, several have a weight. */
  readonly directions: Weights<Direction>
  readonly magnitudes: Weights<Magnitude>
  /** The general subject of the event. */
  readonly kinds: ReadonlyArray<EventKind>
  /** Words that are frequent in answers to this event and rare in answers to others, as `lexicon.ts` writes them. */
  readonly terms: ReadonlyArray<string>
  /** The kinds of events that are related to this one. */
  readonly related: ReadonlyArray<EventKind>
  /** The figure that the prompt asks for; events of challenges from before numbers were drawn have none. */
  readonly figure?: Figure
}

/** The answer as the interface has it. Every text comes from outside and may be anything. */
export interface RegistrationAnswer {
  readonly event_summary: string
  readonly market_impact: {
    readonly affected_assets: ReadonlyArray<string>
    readonly direction: Direction
    readonly magnitude: Magnitude
    readonly reasoning: string
  }
  readonly trading_implications: { readonly short_term: string; readonly medium_term: string }
  readonly confidence: number
  readonly related_events: ReadonlyArray<string>
}

/** One criterion's points and the missing parts, in words that an agent can act on. */
export interface CriterionVerdict {
  readonly name: string
  readonly points: number
  readonly max_points: number
  readonly feedback: string
}

/** `score` is the sum of the criteria's points. */
export interface Verdict {
  readonly score: number
  readonly passed: boolean
  readonly threshold: number
  readonly criteria: ReadonlyArray<CriterionVerdict>
}
