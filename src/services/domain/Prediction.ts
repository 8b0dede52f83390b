/** Predictions of each type: as they were recorded, and as they were scored. */
import { Schema } from "effect"
import { apiError, apiErrorWith, errorCode } from "./errors.ts"
import { ChallengeId, PredictionId } from "./ids.ts"
import { pageSchema } from "./paging.ts"
import { Timestamp } from "./text.ts"
import { Direction, ChallengeType, AnyStatus } from "./Challenge.ts"

/** The values of a prediction of any type; members of the other form are null. */
export const PredictionValues = Schema.Struct({
  direction: Schema.NullOr(Direction).annotate({
    description: "null for numeric forecasts; of probabilities the likeliest"
  }),
  confidence: Schema.NullOr(Schema.Finite).annotate({
    description: "of probabilities max(0, 2 p - 1) of the likeliest"
  }),
  probabilities: Schema.NullOr(Schema.Record(Schema.String, Schema.Finite)).annotate({
    description: "by outcome; null unless the answer was sent so"
  }),
  predicted_value: Schema.NullOr(Schema.Finite).annotate({
    description: "null for directions; of quantiles the median, of samples the mean"
  }),
  predicted_std: Schema.NullOr(Schema.Finite).annotate({
    description: "of quantiles and samples the standard deviation of what they say"
  }),
  quantiles: Schema.NullOr(Schema.Array(Schema.Struct({ p: Schema.Finite, value: Schema.Finite }))).annotate({
    description: "null unless the answer was sent so"
  }),
  samples: Schema.NullOr(Schema.Array(Schema.Finite)).annotate({
    description: "null unless the answer was sent so"
  })
})

export const emptyAnswer: typeof PredictionValues.Type = {
  direction: null,
  confidence: null,
  probabilities: null,
  predicted_value: null,
  predicted_std: null,
  quantiles: null,
  samples: null
}

/** The scores of a prediction of any type; all null before its settlement. */
export const PredictionVerdict = Schema.Struct({
  is_correct: Schema.NullOr(Schema.Boolean).annotate({ description: "null for numeric forecasts" }),
  crps: Schema.NullOr(Schema.Finite).annotate({
    description: "in the unit of the value; null for directions; of categories the RPS"
  }),
  skill: Schema.NullOr(Schema.Finite).annotate({
    description: "1 - CRPS / CRPS_ref, or 1 - RPS / RPS_ref, unclipped; null for directions"
  }),
  score: Schema.NullOr(Schema.Finite).annotate({ description: "0 to 100" })
})

/** The place of a prediction in the public log: `GET /api/v1/log/proof/{commit}` proves it. */
export const LogPlace = Schema.Struct({
  commit: Schema.String.annotate({ description: "hex" }),
  leaf_index: Schema.NullOr(Schema.Int).annotate({ description: "null until it stands in the public log" })
})

/** The receipt by which an agent proves later what it sent, and when: `commit` is SHA-256("auspex/commit/v1" 0x00 salt body). */
export const Receipt = Schema.Struct({
  commit: LogPlace.fields.commit,
  salt: Schema.String.annotate({ description: "32 random bytes, hex" }),
  body: Schema.String.annotate({ description: "the canonical JSON (RFC 8785) that was committed to" }),
  leaf_index: LogPlace.fields.leaf_index
}).annotate({ identifier: "Receipt" })

/** An agent's own prediction, as it alone can see it before the deadline. */
export const OwnPrediction = Schema.Struct({
  prediction_id: PredictionId,
  challenge_id: ChallengeId,
  type: ChallengeType,
  asset: Schema.String,
  question: Schema.String,
  challenge_status: AnyStatus,
  deadline: Timestamp,
  ...PredictionValues.fields,
  reasoning: Schema.NullOr(Schema.String),
  revision_count: Schema.Int,
  created_at: Timestamp,
  ...PredictionVerdict.fields,
  receipt: Receipt
}).annotate({ identifier: "OwnPrediction" })

export const OwnPredictions = pageSchema(OwnPrediction)

/** The virtual position that a paper-trade signal took; an agent has one at a time on a challenge. */
export const PaperPosition = Schema.Struct({
  status: Schema.Literals(["open", "replaced", "closed", "void"]).annotate({
    description:
      "replaced: closed by the agent's next signal; closed: by the closing price; void: the challenge was cancelled first"
  }),
  size: Schema.Finite.annotate({
    description: "the confidence, above 0 long (bullish) and below 0 short (bearish); 0 for neutral"
  }),
  entry_price: Schema.Finite.annotate({ description: "the latest price when the signal came" }),
  entry_observed_at: Timestamp,
  entry_source: Schema.String,
  exit_price: Schema.NullOr(Schema.Finite).annotate({
    description: "what the next signal enters at, or the closing price; null while open, and when void"
  }),
  exit_observed_at: Schema.NullOr(Timestamp),
  exit_source: Schema.NullOr(Schema.String),
  pnl_pct: Schema.NullOr(Schema.Finite).annotate({
    description: "100 size (exit - entry) / entry: percent of a stake of 1; null without an exit"
  })
})
export type PaperPosition = typeof PaperPosition.Type

export const PaperSignal = Schema.Struct({
  prediction_id: Schema.String,
  challenge_id: ChallengeId,
  direction: Direction,
  confidence: Schema.Finite,
  reasoning: Schema.NullOr(Schema.String),
  created_at: Timestamp,
  position: Schema.NullOr(PaperPosition).annotate({
    description: "null where the signal is recorded only: of GC and ES it takes a position until resolve_at"
  })
}).annotate({ identifier: "PaperSignal" })
export type PaperSignal = typeof PaperSignal.Type

export const PaperSignals = pageSchema(PaperSignal)

/** 400: an agent predicts an open challenge once; changing it takes `is_revision`. */
export class DuplicatePrediction extends apiError("DuplicatePrediction", 400, "duplicate_prediction") {}

/** 409: the agent's current prediction is not the expected revision. */
export class RevisionConflict extends apiErrorWith("RevisionConflict", 409, {
  code: errorCode("revision_conflict"),
  current_revision: Schema.NullOr(Schema.Int).annotate({
    description: "the revision_count of the prediction that stands; null where there is none"
  })
}) {}

/** 403: the prediction has been revised as often as it may be. */
export class RevisionLimit extends apiError("RevisionLimit", 403, "revision_limit") {}

/** 403: the provisional agent has used its predictions. */
export class ProvisionalLimit extends apiError("ProvisionalLimit", 403, "provisional_limit") {}

/** 403: "the asset scope (e.g. BTC) must be subscribed". */
export class ScopeNotSubscribed extends apiError("ScopeNotSubscribed", 403, "scope_not_subscribed") {}
