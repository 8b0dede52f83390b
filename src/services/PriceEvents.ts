/**
 * Price-event questions on crypto assets: a close, a barrier, a count of days, a threshold. Each is decided by 1-hour
 * candles, by a job, without anybody's judgement (`src/scoring/priceEvents.ts`). A yes-or-no answer is revised with
 * `is_revision`; a numeric one is replaced by sending another before the deadline.
 */
import { Schema } from "effect"
import type { DateTime, Effect } from "effect"
import type {
  ChallengeCancelled,
  ChallengeClosed,
  ChallengeState,
  DuplicatePrediction,
  ProvisionalLimit
} from "./Challenges.ts"
import { PredictionValues, Receipt } from "./Challenges.ts"
import { apiError } from "./errors.ts"
import type { InvalidRequest, NotFound } from "./errors.ts"
import { ChallengeId, PredictionId } from "./identifiers.ts"
import type { AgentId } from "./identifiers.ts"
import { MacroValueField, StandardDeviation } from "./MacroArena.ts"
import { pageSchema } from "./paging.ts"
import type { Page } from "./paging.ts"
import { Term, text, Timestamp } from "./text.ts"

export const PriceEventKind = Schema.Literals(["numeric_close", "barrier", "count_days", "threshold"])
export type PriceEventKind = typeof PriceEventKind.Type

export const PriceEventStatus = Schema.Literals(["open", "closed", "resolved", "void"])
export type PriceEventStatus = typeof PriceEventStatus.Type

/** What a yes-or-no question is answered by: Yes is bullish, No is bearish. */
export const YesOrNo = Schema.Literals(["bullish", "bearish"])
export type YesOrNo = typeof YesOrNo.Type

export const PriceEvent = Schema.Struct({
  id: ChallengeId,
  kind: PriceEventKind,
  asset: Schema.String,
  question: Schema.String,
  level: Schema.NullOr(Schema.Finite).annotate({ description: "of barrier and threshold" }),
  status: PriceEventStatus,
  created_at: Timestamp,
  deadline: Timestamp,
  window_from: Schema.NullOr(Timestamp).annotate({
    description: "barrier: when the first candle opens that counts"
  }),
  resolve_at: Timestamp,
  reference_scale: Schema.NullOr(Schema.Finite).annotate({
    description: "of numeric_close and count_days, frozen at creation"
  }),
  prediction_count: Schema.Int,
  resolution_criteria: Schema.String,
  resolution_criteria_zh: Schema.String,
  result: Schema.NullOr(YesOrNo).annotate({
    description: "bullish is Yes, bearish is No; null for numeric kinds, which have actual_value"
  }),
  actual_value: Schema.NullOr(Schema.Finite),
  void_reason: Schema.NullOr(Schema.String)
}).annotate({ identifier: "PriceEvent" })
export type PriceEvent = typeof PriceEvent.Type

export const PriceEventList = pageSchema(PriceEvent)

const largest = 1e15

/** A question as an admin creates it. Its window may lie in the past: predictions are bound by the deadline alone. */
export const NewPriceEvent = Schema.Struct({
  kind: PriceEventKind,
  asset: text({ minimum: 1, maximum: 20 }).annotate({ description: "a crypto asset: BTC or ETH" }),
  question: Schema.optionalKey(text({ minimum: 1, maximum: 500 })),
  level: Schema.optionalKey(
    Schema.Finite.check(Schema.isGreaterThan(0), Schema.isLessThan(largest))
  ).annotate({ description: "barrier and threshold: required; the others have none" }),
  deadline: Term,
  window_from: Schema.optionalKey(Term).annotate({
    description:
      "barrier: a whole hour, at most 100 000 before resolve_at; default: the first one from now on, or, of a window in the past, 7 days before resolve_at"
  }),
  resolve_at: Term.annotate({
    description:
      "barrier: a whole hour; numeric_close and threshold: the midnight (UTC) that ends the day; count_days: the Monday midnight that ends the week"
  }),
  reference_scale: Schema.optionalKey(
    Schema.Finite.check(Schema.isBetween({ minimum: 1e-12, maximum: largest }))
  ).annotate({
    description:
      "numeric_close and count_days; default: of a close from the last 60 daily log returns, of a count sqrt(7) / 2"
  })
})
export type NewPriceEvent = typeof NewPriceEvent.Type

/** An answer as an agent sends it: a direction with its confidence, or a value with its standard deviation. */
export const NewPriceEventPrediction = Schema.Struct({
  direction: Schema.optionalKey(YesOrNo).annotate({
    description: "barrier and threshold: bullish is Yes, bearish is No"
  }),
  confidence: Schema.optionalKey(Schema.Finite.check(Schema.isBetween({ minimum: 0, maximum: 1 }))).annotate({
    description: "barrier and threshold"
  }),
  is_revision: Schema.optionalKey(Schema.Boolean).annotate({
    description: "barrier and threshold: true changes an earlier answer"
  }),
  predicted_value: Schema.optionalKey(MacroValueField).annotate({
    description: "numeric_close and count_days; of a count 0 to 7"
  }),
  predicted_std: Schema.optionalKey(StandardDeviation).annotate({
    description: "numeric_close and count_days; at most 1e12 reference scales"
  }),
  reasoning: Schema.optionalKey(text({ maximum: 4000 }))
}).annotate({ identifier: "NewPriceEventPrediction" })
export type NewPriceEventPrediction = typeof NewPriceEventPrediction.Type

export const PriceEventAnswer = Schema.Struct({
  prediction_id: PredictionId,
  challenge_id: ChallengeId,
  ...PredictionValues.fields,
  created_at: Timestamp,
  revision_count: Schema.Int.annotate({ description: "0 for the first" }),
  receipt: Receipt
}).annotate({ identifier: "PriceEventAnswer" })
export type PriceEventAnswer = typeof PriceEventAnswer.Type

/** 403: "the asset scope (e.g. BTC) must be subscribed". */
export class ScopeNotSubscribed extends apiError("ScopeNotSubscribed", 403, "scope_not_subscribed") {}

export interface PriceEventSubmission {
  readonly agentId: AgentId
  readonly challengeId: string
  readonly prediction: NewPriceEventPrediction
  /** When the body had been read. */
  readonly receivedAt: DateTime.Utc
}

export interface PriceEventArena {
  readonly get: (challengeId: string) => Effect.Effect<PriceEvent, NotFound>
  /** Newest first; of every status without one. */
  readonly list: (
    status: PriceEventStatus | undefined,
    page: Page
  ) => Effect.Effect<typeof PriceEventList.Type, InvalidRequest>
  /** Records an answer, or replaces the agent's earlier one: `replaced` tells a replacement (200) from a new record (201). */
  readonly predict: (
    submission: PriceEventSubmission
  ) => Effect.Effect<
    { readonly answer: PriceEventAnswer; readonly replaced: boolean },
    | NotFound
    | InvalidRequest
    | ScopeNotSubscribed
    | DuplicatePrediction
    | ChallengeClosed
    | ChallengeCancelled
    | ProvisionalLimit
  >
  /** Administration. */
  readonly create: (challenge: NewPriceEvent) => Effect.Effect<PriceEvent, InvalidRequest>
  /** Administration. Nobody is scored by a void question. */
  readonly void: (challengeId: string, reason: string) => Effect.Effect<PriceEvent, NotFound | ChallengeState>
}
