/**
 * What is drawn on the pages for everybody. A chart shows as much as eyes can tell apart, so each of these reads a bounded
 * number of rows, however many there are, and says when it has left some out.
 */
import { Context, Schema } from "effect"
import type { DateTime, Effect } from "effect"
import type { PredictionValues } from "./domain/Prediction.ts"
import { Timestamp } from "./domain/text.ts"

/** The last price of a stretch of time, with the range of its candle; of a quote both ends are the price. */
export const PricePoint = Schema.Struct({
  time: Timestamp.annotate({ description: "when it was observed" }),
  price: Schema.Finite,
  high: Schema.Finite,
  low: Schema.Finite
})
export type PricePoint = typeof PricePoint.Type

export interface PriceSeries {
  /** No later than asked for: earlier where the time asked for has few prices. */
  readonly from: DateTime.Utc
  readonly points: ReadonlyArray<PricePoint>
  /** Each point stands for the stretch of time before it that is so long, in milliseconds. */
  readonly stretch: number
}

/** The last prediction of each agent; references are none. */
export interface Answers {
  readonly values: ReadonlyArray<typeof PredictionValues.Type>
  /** Otherwise they are those of the oldest agents. */
  readonly isAll: boolean
}

/** The scores that were settled on one day. */
export const TrackDay = Schema.Struct({
  day: Schema.String.annotate({ description: "UTC, for example 2026-03-02" }),
  count: Schema.Int,
  mean_score: Schema.Finite
})

/** Answers that were given about the same probability of being right. */
export const ConfidenceBucket = Schema.Struct({
  /** The tenth of probability it begins at: 5 is 0.5 to 0.6. */
  tenth: Schema.Int,
  count: Schema.Int,
  right: Schema.Int,
  mean_probability: Schema.Finite
})

export interface TrackRecord {
  /** Oldest first. */
  readonly days: ReadonlyArray<typeof TrackDay.Type>
  /**
   * A confidence c implies the probability (1 + c) / 2 of being right, which is what the score of an answer is linear in.
   */
  readonly confidence: ReadonlyArray<typeof ConfidenceBucket.Type>
  /** Otherwise it is of the latest settled predictions only. */
  readonly isAll: boolean
}

export class Charts extends Context.Service<
  Charts,
  {
    /** Prices observed in (from, until], of those known now; from earlier on, where these are few. */
    readonly prices: (asset: string, from: DateTime.Utc, until: DateTime.Utc) => Effect.Effect<PriceSeries>
    /** How the price of each asset went in the last two days, 24 values at most; nothing of those without prices. */
    readonly lines: (
      assets: ReadonlyArray<string>
    ) => Effect.Effect<Readonly<Record<string, ReadonlyArray<number>>>>
    /** Nothing before the deadline. */
    readonly answers: (challengeId: string) => Effect.Effect<Answers>
    readonly trackRecord: (agentId: string) => Effect.Effect<TrackRecord>
  }
>()("auspex/services/Charts") {}
