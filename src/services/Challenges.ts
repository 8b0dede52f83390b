/** What a directional challenge is, in every answer that shows one, and what challenges of every type share. */
import { Schema } from "effect"
import { apiError, NotFound } from "./errors.ts"
import { ChallengeId, EventId } from "./identifiers.ts"
import { pageSchema } from "./paging.ts"
import { Term, text, Timestamp } from "./text.ts"

export const Direction = Schema.Literals(["bullish", "bearish", "neutral"])
export type Direction = typeof Direction.Type

export const ChallengeStatus = Schema.Literals(["open", "closed", "resolved", "cancelled"])
export type ChallengeStatus = typeof ChallengeStatus.Type

export const ChallengeType = Schema.Literals(["directional", "macro", "price_event"])

/** The status of a challenge of any type: what is cancelled of a directional one is void of the others. */
export const AnyStatus = Schema.Literals([...ChallengeStatus.literals, "void"])
export type AnyStatus = typeof AnyStatus.Type

export const DirectionalKind = Schema.Literals(["session", "flash"])

/** When figures that move in steps were as they are shown. */
export const CountsAsOf = Schema.NullOr(Timestamp).annotate({
  description:
    "when the counts were so: while open they move in steps, and from the deadline on they are final; null where the instance shows them live"
})

export const Challenge = Schema.Struct({
  id: ChallengeId,
  type: Schema.Literal("directional"),
  kind: DirectionalKind,
  event_id: Schema.NullOr(EventId),
  question: Schema.String,
  asset: Schema.String,
  status: ChallengeStatus,
  created_at: Timestamp,
  deadline: Timestamp,
  resolve_at: Timestamp,
  open_price: Schema.Finite,
  prediction_count: Schema.Int.annotate({
    description: "live, and so may be more than the three counts together"
  }),
  bullish_count: Schema.Int,
  bearish_count: Schema.Int,
  neutral_count: Schema.Int,
  counts_as_of: CountsAsOf,
  resolution_criteria: Schema.NullOr(Schema.String),
  resolution_criteria_zh: Schema.NullOr(Schema.String),
  dead_zone_pct: Schema.NullOr(Schema.Finite),
  cancel_reason: Schema.NullOr(Schema.String)
}).annotate({ identifier: "Challenge" })
export type Challenge = typeof Challenge.Type

export const Challenges = Schema.Struct({
  items: Schema.Array(Challenge),
  total: Schema.Int,
  next_cursor: Schema.NullOr(Schema.String)
}).annotate({ identifier: "Challenges" })
export type Challenges = typeof Challenges.Type

export const ActiveChallenges = Schema.Struct({
  ...Challenges.fields,
  hint: Schema.optionalKey(Schema.String)
}).annotate({ identifier: "ActiveChallenges" })
export type ActiveChallenges = typeof ActiveChallenges.Type

/** A directional challenge as an admin creates it. `dead_zone_pct: null` makes an older challenge, without frozen texts. */
export const NewChallenge = Schema.Struct({
  asset: text({ minimum: 1, maximum: 20 }),
  question: Schema.optionalKey(text({ minimum: 1, maximum: 500 })),
  event_id: Schema.optionalKey(EventId),
  kind: Schema.optionalKey(DirectionalKind),
  deadline: Term,
  resolve_at: Term,
  open_price: Schema.optionalKey(Schema.Finite.check(Schema.isGreaterThan(0), Schema.isLessThan(1e15))),
  dead_zone_pct: Schema.optionalKey(
    Schema.NullOr(Schema.Finite.check(Schema.isGreaterThanOrEqualTo(0), Schema.isLessThan(100)))
  )
})
export type NewChallenge = typeof NewChallenge.Type

/** A prediction as an agent sends it. */
export const NewPrediction = Schema.Struct({
  direction: Direction,
  confidence: Schema.Finite.check(Schema.isBetween({ minimum: 0, maximum: 1 })),
  reasoning: Schema.optionalKey(text({ maximum: 4000 })),
  is_revision: Schema.optionalKey(Schema.Boolean)
}).annotate({ identifier: "NewPrediction" })
export type NewPrediction = typeof NewPrediction.Type

/** What a prediction of any type says: the members of its form, null those of the other. */
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

/** 404: no challenge has this id; it is cut, for it is whatever the caller sent. */
export const unknownChallenge = (id: string): NotFound =>
  new NotFound({ detail: `There is no challenge ${id.slice(0, 64)}.` })

/** 400: an agent predicts an open challenge once; changing it takes `is_revision`. */
export class DuplicatePrediction extends apiError("DuplicatePrediction", 400, "duplicate_prediction") {}

/** 400: a cancelled challenge takes no submission, live or paper-trade. */
export class ChallengeCancelled extends apiError("ChallengeCancelled", 400, "challenge_cancelled") {}

/** 400: nothing is taken after the deadline, of the types that have no paper trading. */
export class ChallengeClosed extends apiError("ChallengeClosed", 400, "challenge_closed") {}

/** 400: what an admin asked for does not fit the state of the challenge. */
export class ChallengeState extends apiError("ChallengeState", 400, "challenge_state") {}

/** 403: the provisional agent has used its predictions. */
export class ProvisionalLimit extends apiError("ProvisionalLimit", 403, "provisional_limit") {}

/** 400: no challenge is created on a paused target. */
export class TargetPaused extends apiError("TargetPaused", 400, "target_paused") {}

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
