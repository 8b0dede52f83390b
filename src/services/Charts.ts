/**
 * Data of the charts on the pages. A chart shows only as much as eyes can distinguish, so each method reads a bounded number of rows,
 * however many there are, and reports if it left some out.
 */
import { Context, Schema } from "effect"
import type { DateTime, Effect } from "effect"
import type { PredictionValues } from "./domain/Prediction.ts"
import { Timestamp } from "./domain/text.ts"

/** The last price of a stretch of time, with the range of its candle; for a quote both ends are the price. */
export const PricePoint = Schema.Struct({
  time: Timestamp.annotate({ description: "when it was observed" }),
  price: Schema.Finite,
  high: Schema.Finite,
  low: Schema.Finite
})
export type PricePoint = typeof PricePoint.Type

export interface PriceSeries {
  /** The start, which is earlier than requested if the requested time has few prices. */
  readonly from: DateTime.Utc
  readonly points: ReadonlyArray<PricePoint>
  /** Each point stands for the stretch of time before it; its length in milliseconds. */
  readonly stretch: number
}

/** The last prediction of each agent; references are left out. */
export interface Answers {
  readonly values: ReadonlyArray<typeof PredictionValues.Type>
  /** If false, they are those of the oldest agents. */
  readonly isAll: boolean
}

/** The scores that were settled on one day. */
export const TrackDay = Schema.Struct({
  day: Schema.String.annotate({ description: "UTC, for example 2026-03-02" }),
  count: Schema.Int,
  mean_score: Schema.Finite
})

/** Answers with about the same probability of being right. */
export const ConfidenceBucket = Schema.Struct({
  /** The tenth of probability at which the bucket begins: 5 is 0.5 to 0.6. */
  tenth: Schema.Int,
  count: Schema.Int,
  right: Schema.Int,
  mean_probability: Schema.Finite
})

export interface TrackRecord {
  /** The days are oldest first. */
  readonly days: ReadonlyArray<typeof TrackDay.Type>
  /** Answers by implied probability: a confidence c implies the probability (1 + c) / 2 of being right, and the score is linear in it. */
  readonly confidence: ReadonlyArray<typeof ConfidenceBucket.Type>
  /** If false, the record has the latest settled predictions only. */
  readonly isAll: boolean
}

export class Charts extends Context.Service<
  Charts,
  {
    /** Prices observed in (from, until], as known now; earlier ones are added if these are few. */
    readonly prices: (asset: string, from: DateTime.Utc, until: DateTime.Utc) => Effect.Effect<PriceSeries>
    /** The prices of each asset in the last two days, 24 values at most; assets without prices are left out. */
    readonly lines: (
      assets: ReadonlyArray<string>
    ) => Effect.Effect<Readonly<Record<string, ReadonlyArray<number>>>>
    /** The answers are empty before the deadline. */
    readonly answers: (challengeId: string) => Effect.Effect<Answers>
    readonly trackRecord: (agentId: string) => Effect.Effect<TrackRecord>
  }
>()("auspex/services/Charts") {}
