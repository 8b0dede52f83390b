/**
 * Turns what price sources say into price points. Only a candle that is over, and that its source showed twice alike,
 * some time apart, becomes a point; what was shown in two ways waits for an administrator, and settles nothing.
 */
import { Context } from "effect"
import type { Effect } from "effect"

/** What a run did, in candles. */
export interface IngestionReport {
  /** Seen for the first time. */
  readonly read: number
  /** Seen again, the same: now price points. */
  readonly settled: number
  /** Seen again, different. */
  readonly contested: number
  /** Not traded, or not recorded anywhere. */
  readonly absent: number
  /** Assets of which no place answered. */
  readonly failed: ReadonlyArray<string>
}

export class PriceIngestion extends Context.Service<
  PriceIngestion,
  {
    /** Whom the source asks, each to be asked by itself. */
    readonly places: ReadonlyArray<string>
    /**
     * Asks one place for every candle of it that is due. What is to be done is read from rows, so any number of replicas may
     * run it, at once or killed halfway; after an outage it goes on where it was.
     */
    readonly ingestDue: (place: string) => Effect.Effect<IngestionReport>
    /** Keeps the metric of how late prices are. */
    readonly measure: Effect.Effect<void>
  }
>()("auspex/services/PriceIngestion") {}
