/**
 * Where prices come from: exchanges, a data vendor, or recorded files. A source says what it saw; whether that becomes a
 * price that settles things is decided by `PriceIngestion`.
 */
import { Context, Data } from "effect"
import type { DateTime, Duration, Effect } from "effect"
import type { Candle } from "./Prices.ts"

/** The candles of one asset that a source offers. */
export interface Feed {
  readonly asset: string
  readonly interval: "1h" | "1d"
  /** Whom it is asked from: one that hangs holds up no feed of another. */
  readonly place: string
  /** Traded at all hours: a candle that is missing is a gap. Otherwise it is a market that was closed. */
  readonly continuous: boolean
  /** How long after its end a candle is there: vendors hold back what exchanges sell. */
  readonly lag: Duration.Duration
}

/** From the open time of the first candle until the end of the last one. */
export interface Window {
  readonly from: DateTime.Utc
  readonly until: DateTime.Utc
}

/** What one place said of a window. Candles ascend, each has a time of its own. */
export interface Reading {
  /** For example `kraken BTC/USD`. */
  readonly source: string
  readonly candles: ReadonlyArray<Candle>
  readonly fetchedAt: DateTime.Utc
  /** SHA-256 of the bytes of the answer. */
  readonly payloadHash: Uint8Array
}

export interface Answer {
  /** Of the first place that answered, and of the others for the candles that it lacks. Each candle is in one of them. */
  readonly readings: ReadonlyArray<Reading>
  /**
   * Whether a candle that is in none of them is there at no place at all: every place could be asked, and all that it shows of
   * such an hour could be used.
   */
  readonly complete: boolean
  /** Open times of candles that no place shows, though the market trades then by its calendar: they are waited for. */
  readonly missing?: ReadonlyArray<DateTime.Utc>
}

/** No place answered. */
export class SourceFailed extends Data.TaggedError("SourceFailed")<{
  /** Without addresses or keys: it stands in logs. */
  readonly reason: string
  /**
   * `unknown`: there is no such symbol there, which asking again at once does not change. `resting`: it was not asked,
   * after it failed several times.
   */
  readonly kind: "unavailable" | "unknown" | "resting"
}> {}

/** What is configured cannot be a source; the message is all an operator needs. */
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
