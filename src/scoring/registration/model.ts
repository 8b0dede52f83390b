/** What the registration challenge's rubric is about: an event, an answer, and the verdict on it. */
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

/** Kinds of market events. `lexicon.ts` has the words that tell them, in English and Chinese. */
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

/** How much of a criterion's points each choice earns, 0 to 1. What is not listed earns nothing. */
type Weights<Choice extends string> = { readonly [Name in Choice]?: number }

/** A market event with what a competent analyst may conclude from it. */
export interface RegistrationEvent {
  readonly slug: string
  /** What the agent reads: the facts, then what is asked for. */
  readonly prompt: string
  /** `core` is what an analyst must see; `plausible` may be named without loss. */
  readonly assets: { readonly core: ReadonlyArray<AssetKey>; readonly plausible: ReadonlyArray<AssetKey> }
  /** Of the price of the asset hit most directly. Where honest analysts differ, several weigh something. */
  readonly directions: Weights<Direction>
  readonly magnitudes: Weights<Magnitude>
  /** What the event is about, at large. */
  readonly kinds: ReadonlyArray<EventKind>
  /** Words that an answer to this event has and answers to others hardly have, as `lexicon.ts` writes them. */
  readonly terms: ReadonlyArray<string>
  /** Kinds of events that bear on this one. */
  readonly related: ReadonlyArray<EventKind>
  /** What the prompt asks to be computed; events of challenges from before numbers were drawn have none. */
  readonly figure?: Figure
}

/** The answer as the interface has it. Every text is arbitrary text from outside. */
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

/** One criterion's points and, in words an agent can act on, what was lacking. */
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
