/** Predictions of each type: as agents send them, as they were recorded, and as they were scored. */
import { Schema } from "effect"
import { apiError, apiErrorWith, errorCode } from "./errors.ts"
import { ChallengeId, PredictionId } from "./ids.ts"
import { pageSchema } from "./paging.ts"
import { text, Timestamp } from "./text.ts"
import { Direction, ChallengeType, AnyStatus, MacroValueField, YesOrNo } from "./Challenge.ts"

/** The values of a prediction of any type; members of the other form are null. */
export const PredictionValues = Schema.Struct({
  direction: Schema.NullOr(Direction).annotate({ description: "null for numeric forecasts" }),
  confidence: Schema.NullOr(Schema.Finite),
  predicted_value: Schema.NullOr(Schema.Finite).annotate({ description: "null for directions" }),
  predicted_std: Schema.NullOr(Schema.Finite)
})

/** How a prediction of any type was scored; all null before its settlement. */
export const PredictionVerdict = Schema.Struct({
  is_correct: Schema.NullOr(Schema.Boolean).annotate({ description: "null for numeric forecasts" }),
  crps: Schema.NullOr(Schema.Finite).annotate({
    description: "in the unit of the value; null for directions"
  }),
  skill: Schema.NullOr(Schema.Finite).annotate({
    description: "1 - CRPS / CRPS_ref, unclipped; null for directions"
  }),
  score: Schema.NullOr(Schema.Finite).annotate({ description: "0 to 100" })
})

/** Where a prediction stands in the public log: `GET /api/v1/log/proof/{commit}` proves it. */
export const LogPlace = Schema.Struct({
  commit: Schema.String.annotate({ description: "hex" }),
  leaf_index: Schema.NullOr(Schema.Int).annotate({ description: "null until it stands in the public log" })
})

/**
 * What lets an agent prove later what it sent, and when: `commit` is SHA-256("auspex/commit/v1" 0x00 salt body).
 */
export const Receipt = Schema.Struct({
  commit: LogPlace.fields.commit,
  salt: Schema.String.annotate({ description: "32 random bytes, hex" }),
  body: Schema.String.annotate({ description: "the canonical JSON (RFC 8785) that was committed to" }),
  leaf_index: LogPlace.fields.leaf_index
}).annotate({ identifier: "Receipt" })

const reason = Schema.optionalKey(text({ maximum: 4000 }))

/** What a prediction of any type may say besides its values. */
const besides = {
  reasoning: reason,
  rationale: reason.annotate({ description: "another name for reasoning" }),
  expected_revision: Schema.optionalKey(
    Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 2 ** 31 - 1 }))
  ).annotate({
    description:
      "the revision_count of the prediction that this one replaces: where another one stands, or none, it is 409 revision_conflict"
  })
}

interface Reasons {
  readonly reasoning?: string
  readonly rationale?: string
}

/** Why the agent predicts so, under either name. */
export const reasonOf = ({ rationale, reasoning }: Reasons): string | null => reasoning ?? rationale ?? null

const twoReasons = "Expected reasoning and rationale to be the same: they are two names of one field"

export const oneReason = Schema.makeFilter<Reasons>(({ rationale, reasoning }) =>
  rationale === undefined || reasoning === undefined || rationale === reasoning
    ? undefined
    : ["reasoning", "rationale"].map((name) => ({ path: [name], issue: twoReasons }))
)

/** A prediction as an agent sends it. */
export const NewPrediction = Schema.Struct({
  direction: Direction,
  confidence: Schema.Finite.check(Schema.isBetween({ minimum: 0, maximum: 1 })),
  ...besides,
  is_revision: Schema.optionalKey(Schema.Boolean)
})
  .check(oneReason)
  .annotate({ identifier: "NewPrediction" })
export type NewPrediction = typeof NewPrediction.Type

export const PredictionAnswer = Schema.Struct({
  prediction_id: PredictionId,
  challenge_id: ChallengeId,
  direction: Direction,
  confidence: Schema.Finite,
  created_at: Timestamp,
  counts_for_score: Schema.Boolean,
  note: Schema.NullOr(Schema.String),
  revision_count: Schema.Int.annotate({ description: "0 for the first" }),
  receipt: Schema.NullOr(Receipt).annotate({ description: "null for paper-trade signals" })
}).annotate({ identifier: "PredictionAnswer" })
export type PredictionAnswer = typeof PredictionAnswer.Type

/** Smaller doubles are subnormal. */
const minNormal = 2.2250738585072014e-308

/** The standard deviation of a forecast. */
const StandardDeviation = Schema.Finite.check(
  Schema.isGreaterThan(0),
  Schema.makeFilter((std: number) =>
    std <= 0 || std >= minNormal ? undefined : `Expected a value of at least ${minNormal}`
  )
)

/** A forecast as an agent sends it: the normal distribution N(predicted_value, predicted_std). */
export const NewForecast = Schema.Struct({
  predicted_value: MacroValueField,
  predicted_std: StandardDeviation.annotate({
    description: "the uncertainty, in the unit of the value; at most 1e12 reference scales"
  }),
  ...besides
})
export type NewForecast = typeof NewForecast.Type

export const ForecastAnswer = Schema.Struct({
  prediction_id: PredictionId,
  challenge_id: ChallengeId,
  predicted_value: Schema.Finite,
  predicted_std: Schema.Finite,
  created_at: Timestamp,
  revision_count: Schema.Int.annotate({ description: "0 for the first" }),
  receipt: Receipt
})
export type ForecastAnswer = typeof ForecastAnswer.Type

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
  ...besides
})
  .check(oneReason)
  .annotate({ identifier: "NewPriceEventPrediction" })
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

/** An agent's own prediction, as it alone can see it before the deadline. */
const OwnPrediction = Schema.Struct({
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

/** 409: the prediction that stands is another one than was expected. */
export class RevisionConflict extends apiErrorWith("RevisionConflict", 409, {
  code: errorCode("revision_conflict"),
  current_revision: Schema.NullOr(Schema.Int).annotate({
    description: "the revision_count of the prediction that stands; null where there is none"
  })
}) {}

/** 403: the provisional agent has used its predictions. */
export class ProvisionalLimit extends apiError("ProvisionalLimit", 403, "provisional_limit") {}

/** 403: "the asset scope (e.g. BTC) must be subscribed". */
export class ScopeNotSubscribed extends apiError("ScopeNotSubscribed", 403, "scope_not_subscribed") {}
