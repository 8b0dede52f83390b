/**
 * Sources of prices: exchanges, a data vendor, or recorded files. A source reports its readings; `PriceIngestion` decides if they
 * become prices that settle questions.
 */
import { Context, Data } from "effect"
import type { DateTime, Duration, Effect } from "effect"
import type { Candle } from "./Prices.ts"

/** The candles of one asset that a source offers. */
export interface Feed {
  readonly asset: string
  readonly interval: "1h" | "1d"
  /** The place that is asked: a place that hangs delays no feed of another. */
  readonly place: string
  /** True for a market that trades at all hours, where a missing candle is a gap. Otherwise the market may have been closed. */
  readonly continuous: boolean
  /** The time from its end until a candle is available: vendors delay prices that exchanges sell. */
  readonly lag: Duration.Duration
}

/** The time from the open of the first candle until the end of the last one. */
export interface Window {
  readonly from: DateTime.Utc
  readonly until: DateTime.Utc
}

/** The answer of one place for a window. Candles ascend, each with a time of its own. */
export interface Reading {
  /** The source, for example `kraken BTC/USD`. */
  readonly source: string
  readonly candles: ReadonlyArray<Candle>
  readonly fetchedAt: DateTime.Utc
  /** SHA-256 of the bytes of the answer. */
  readonly payloadHash: Uint8Array
}

export interface Answer {
  /** The reading of the first place that answered, and those of others for the candles that it lacks. Each candle is in one of them. */
  readonly readings: ReadonlyArray<Reading>
  /**
   * True if a candle that is in no reading is at no place either: every place was asked, and every answer about such an hour was
   * usable.
   */
  readonly complete: boolean
  /** The open times of candles that no place shows although the market trades then by its calendar: they are waited for. */
  readonly missing?: ReadonlyArray<DateTime.Utc>
}

/** No place answered. */
export class SourceFailed extends Data.TaggedError("SourceFailed")<{
  /** The reason, without addresses or keys, since it is logged. */
  readonly reason: string
  /**
   * `unknown`: the place has no such symbol, and an immediate retry would not help. `circuit_open`: the place was not asked,
   * after it failed several times.
   */
  readonly kind: "unavailable" | "unknown" | "circuit_open"
}> {}

/** The configured source is unusable; the message is all that an operator needs. */
export class PriceSourceUnusable extends Data.TaggedError("PriceSourceUnusable")<{
  readonly message: string
}> {}

export class PriceSource extends Context.Service<
  PriceSource,
  {
    readonly feeds: ReadonlyArray<Feed>
    readonly read: (feed: Feed, window: Window) => Effect.Effect<Answer, SourceFailed>
  }
>()("auspex/services/PriceSource") {}
