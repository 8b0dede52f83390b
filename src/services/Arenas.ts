/**
 * Challenges of every type, and the predictions of agents on them. A prediction counts when it was received before the
 * deadline. The check and the insert are one statement that excludes the resolver, so neither a race nor a slow client gets a
 * late prediction in.
 */
import { Context, Schema } from "effect"
import type { DateTime, Effect, Result } from "effect"
import { SettlementRecord, SettlementVersion } from "./Amendments.ts"
import type { NewAnswer } from "./domain/Answer.ts"
import { AnyStatus, ChallengeType, Direction, MacroBin, levelFields } from "./domain/Challenge.ts"
import type {
  ActiveChallenges,
  AnyChallenge,
  ChallengeCancelled,
  ChallengeOf,
  NewChallengeOf,
  NotCreated,
  ChallengeClosed,
  NotRecordedInTime,
  ListCounts,
  ListFilter,
  ChallengeSummary,
  Outcomes
} from "./domain/Challenge.ts"
import { criteriaTexts } from "./domain/language.ts"
import { NameTag } from "./domain/names.ts"
import { LogPlace, PredictionValues, PredictionVerdict, Receipt } from "./domain/Prediction.ts"
import type {
  PaperSignals,
  OwnPredictions,
  ScopeNotSubscribed,
  DuplicatePrediction,
  ProvisionalLimit,
  RevisionConflict,
  RevisionLimit
} from "./domain/Prediction.ts"
import { Credit } from "./Credits.ts"
import { FieldProblem } from "./domain/errors.ts"
import type { InvalidRequest, NotFound } from "./domain/errors.ts"
import { AgentId, ChallengeId, PredictionId } from "./domain/ids.ts"
import type { EventId } from "./domain/ids.ts"
import type { LimitReached, TooManyRequests, Use } from "./RateLimiter.ts"
import type { Page, PageOf } from "./domain/paging.ts"
import { PoolResult, StakeAnswer } from "./Pools.ts"
import type { StakeRefused } from "./Pools.ts"
import { Timestamp } from "./domain/text.ts"

/** The recorded prediction; members of a form that the challenge does not take are null. */
export const PredictionAnswer = Schema.Struct({
  prediction_id: PredictionId,
  challenge_id: ChallengeId,
  ...PredictionValues.fields,
  created_at: Timestamp,
  counts_for_score: Schema.Boolean.annotate({ description: "false for paper-trade signals and practice" }),
  note: Schema.NullOr(Schema.String),
  revision_count: Schema.Int.annotate({ description: "0 for the first" }),
  receipt: Schema.NullOr(Receipt).annotate({ description: "null for paper-trade signals" }),
  stake: Schema.optionalKey(Schema.NullOr(StakeAnswer)).annotate({
    description: "of macro challenges; null without an amount"
  })
}).annotate({ identifier: "PredictionAnswer" })
export type PredictionAnswer = typeof PredictionAnswer.Type

const Refusal = Schema.Struct({
  detail: Schema.String,
  code: Schema.String,
  hint: Schema.optionalKey(Schema.String),
  errors: Schema.optionalKey(Schema.Array(FieldProblem)),
  current_revision: Schema.optionalKey(Schema.NullOr(Schema.Int)),
  retry_after: Schema.optionalKey(Schema.Int)
}).annotate({ identifier: "Refusal" })
export type Refusal = typeof Refusal.Type

/** The outcomes of the answers of a batch, in their order. */
export const PredictionOutcomes = Schema.Struct({
  items: Schema.Array(
    Schema.Union([
      Schema.Struct({
        outcome: Schema.Literals(["recorded", "revised", "paper_trade"]),
        ...PredictionAnswer.fields,
        ignored_fields: Schema.optionalKey(Schema.Array(Schema.String)).annotate({
          description: "fields that are not known, or that the challenge does not take"
        })
      }).annotate({ identifier: "AcceptedAnswer" }),
      Schema.Struct({
        outcome: Schema.Literal("refused"),
        challenge_id: Schema.NullOr(Schema.String).annotate({ description: "as sent" }),
        status: Schema.Int.annotate({ description: "that of the error" }),
        error: Refusal.annotate({ description: "the body that the error would have had alone" })
      }).annotate({ identifier: "RefusedAnswer" })
    ])
  )
}).annotate({ identifier: "PredictionOutcomes" })
export type PredictionOutcomes = typeof PredictionOutcomes.Type

export interface Submission {
  readonly agentId: AgentId
  readonly challengeId: string
  /** A challenge of another type counts as unknown; without a type, every challenge is known. */
  readonly type?: ChallengeType
  readonly answer: NewAnswer
  /** The time at which the body had been read. */
  readonly receivedAt: DateTime.Utc
  /** The limits that the answer uses once it is recorded. */
  readonly owed: ReadonlyArray<Use>
}

export interface Predicted {
  readonly answer: PredictionAnswer
  /** True if it replaced an earlier prediction (200); false for a new record (201). */
  readonly replaced: boolean
  /** Values that the challenge does not take. */
  readonly ignored: ReadonlyArray<string>
}

export type PredictionRefused =
  | NotFound
  | InvalidRequest
  | ScopeNotSubscribed
  | DuplicatePrediction
  | RevisionConflict
  | RevisionLimit
  | ChallengeClosed
  | NotRecordedInTime
  | ChallengeCancelled
  | ProvisionalLimit
  | StakeRefused
  | TooManyRequests

export const Results = Schema.Struct({
  challenge_id: ChallengeId,
  type: ChallengeType,
  kind: Schema.String,
  question: Schema.String,
  ...criteriaTexts,
  status: AnyStatus,
  deadline: Timestamp,
  release_at: Schema.NullOr(Timestamp).annotate({ description: "macro: when the value is expected" }),
  result: Schema.NullOr(Direction).annotate({ description: "null for numeric questions" }),
  ...levelFields,
  open_price: Schema.NullOr(Schema.Finite),
  close_price: Schema.NullOr(Schema.Finite).annotate({
    description: "of a barrier the price nearest to its level"
  }),
  dead_zone_pct: Schema.NullOr(Schema.Finite),
  actual_value: Schema.NullOr(Schema.Finite).annotate({ description: "of numeric questions" }),
  unit: Schema.NullOr(Schema.String).annotate({ description: "macro: of the values" }),
  bins: Schema.NullOr(Schema.Array(MacroBin)).annotate({ description: "macro: the bins of outcomes" }),
  bin: Schema.NullOr(Schema.Int).annotate({
    description: "macro: the index of the bin that holds actual_value"
  }),
  reference_scale: Schema.NullOr(Schema.Finite).annotate({
    description: "numeric questions: what their forecasts are scored with"
  }),
  resolution_source: Schema.NullOr(Schema.String),
  resolved_at: Schema.NullOr(Timestamp),
  cancel_reason: Schema.NullOr(Schema.String),
  void_reason: Schema.NullOr(Schema.String),
  settlement: Schema.NullOr(SettlementRecord).annotate({ description: "the version that counts" }),
  versions: Schema.Array(SettlementVersion).annotate({
    description: "every version of the settlement, the first one first; later ones are amendments"
  }),
  pool: Schema.NullOr(PoolResult).annotate({
    description:
      "macro: what came of the credit pool, by the first version for ever; null before, and where there was none"
  }),
  consensus: Schema.NullOr(
    Schema.Struct({
      owners: Schema.Int,
      odds: Schema.NullOr(Schema.Array(Schema.Finite)).annotate({
        description:
          "in the order of the outcomes: bullish, neutral, bearish, or bullish, bearish, or the categories"
      }),
      value: Schema.NullOr(Schema.Finite).annotate({ description: "of a number" })
    })
  ).annotate({
    description:
      "what all claimed agents said together, one voice an owner; null until it is reckoned after the settlement"
  }),
  prediction_count: Schema.Int.annotate({ description: "of agents, without those of references" }),
  predictions: Schema.Array(
    Schema.Struct({
      agent_id: AgentId,
      agent_name: Schema.String,
      name_tag: NameTag,
      reference: Schema.NullOr(Schema.String).annotate({
        description:
          "the method of an agent of the instance itself, which no count includes; null of all others"
      }),
      ...PredictionValues.fields,
      reasoning: Schema.NullOr(Schema.String).annotate({ description: "of a macro forecast its rationale" }),
      ...PredictionVerdict.fields,
      stake: Schema.NullOr(Credit).annotate({ description: "macro: null without one" }),
      stake_bin: Schema.NullOr(Schema.Int).annotate({
        description: "macro: the index of the bin that is staked on; null without a stake"
      }),
      reward: Schema.NullOr(Credit).annotate({
        description: "macro: null without a stake, and until the pool is settled"
      }),
      ...LogPlace.fields
    })
  ),
  log: Schema.Struct({
    settlement_proof: Schema.NullOr(Schema.String).annotate({
      description:
        "where the proof of the settlement, or of the cancellation, is; null before, and until the signed log has it"
    })
  }),
  next_cursor: Schema.NullOr(Schema.String)
}).annotate({ identifier: "Results" })
export type Results = typeof Results.Type

export interface ChallengeFilter {
  readonly status?: AnyStatus | undefined
  readonly eventId?: EventId | undefined
  readonly asset?: string | undefined
}

export interface OwnPredictionFilter {
  readonly challengeId?: string | undefined
  readonly type?: ChallengeType | undefined
  readonly status?: AnyStatus | undefined
}

/** An item of a batch: an answer that was read, or the error that rejects it. */
export interface BatchItem<E> {
  readonly submission: Result.Result<Submission, E>
  /** The limits that the item uses, also if it is rejected. */
  readonly uses: ReadonlyArray<Use>
}

export interface BatchOutcome<E> {
  readonly outcome: Result.Result<Predicted, E | PredictionRefused>
  /** False for an item that a full limit kept from being tried. */
  readonly wasTried: boolean
}

export class Arenas extends Context.Service<
  Arenas,
  {
    readonly get: (challengeId: string) => Effect.Effect<AnyChallenge, NotFound>
    /** A challenge of another type is not found. */
    readonly getOf: <Type extends ChallengeType>(
      type: Type,
      challengeId: string
    ) => Effect.Effect<ChallengeOf<Type>, NotFound>
    /** The challenges of a type, newest first; of every status without one. */
    readonly list: <Type extends ChallengeType>(
      type: Type,
      filter: ChallengeFilter,
      page: Page
    ) => Effect.Effect<PageOf<ChallengeOf<Type>>, InvalidRequest>
    /** The number of challenges of a type that pass the filter. */
    readonly total: (type: ChallengeType, filter: ChallengeFilter) => Effect.Effect<number>
    /** Open directional challenges of the agent's subscribed scopes. */
    readonly active: (agentId: AgentId, page: Page) => Effect.Effect<ActiveChallenges, InvalidRequest>
    /** Administrators and schedules create challenges. */
    readonly create: <Type extends ChallengeType>(
      type: Type,
      challenge: NewChallengeOf<Type>
    ) => Effect.Effect<ChallengeOf<Type>, NotCreated<Type>>
    /**
     * Records predictions and their revisions, or, if a directional challenge is closed or resolved, paper-trade
     * signals. Each submission has an outcome of its own, as if they had come one after the other. A submission with an
     * amount is recorded with its stake or not at all. One statement writes those of one caller.
     */
    readonly predict: (
      submissions: ReadonlyArray<Submission>
    ) => Effect.Effect<ReadonlyArray<Result.Result<Predicted, PredictionRefused | LimitReached>>>
    /**
     * Records the answers of one agent as `predict` does, each within its limits, in the order of the items. All are
     * recorded together, or, if the database is lost meanwhile, not at all.
     */
    readonly predictBatch: <E>(
      agentId: AgentId,
      items: ReadonlyArray<BatchItem<E>>
    ) => Effect.Effect<ReadonlyArray<BatchOutcome<E>>>
    /** The agent's signals on a directional challenge, with their virtual positions. */
    readonly paperSignals: (
      agentId: AgentId,
      challengeId: string,
      page: Page
    ) => Effect.Effect<typeof PaperSignals.Type, NotFound | InvalidRequest>
    /** Challenges of every type in one list: open ones by the next deadline, closed ones by the last, the others newest first. */
    readonly listSummaries: (
      filter: ListFilter,
      page: Page
    ) => Effect.Effect<PageOf<ChallengeSummary>, InvalidRequest>
    readonly counts: (filter: Omit<ListFilter, "status">) => Effect.Effect<ListCounts>
    /** The outcomes of the last directional challenges on an asset, at most 250. */
    readonly outcomes: (asset: string) => Effect.Effect<Outcomes>
    /** Challenges with a result, the last one settled first. */
    readonly lastSettled: (limit: number) => Effect.Effect<ReadonlyArray<ChallengeSummary>>
    /** The newest challenges that refer to an event, whatever their status. */
    readonly listByEvent: (eventId: EventId) => Effect.Effect<ReadonlyArray<ChallengeSummary>>
    /** The summaries of these challenges, in no order; unknown ones are left out. */
    readonly summaries: (
      challengeIds: ReadonlyArray<ChallengeId>
    ) => Effect.Effect<ReadonlyArray<ChallengeSummary>>
    /** The summary of one challenge. */
    readonly summary: (challengeId: string) => Effect.Effect<ChallengeSummary, NotFound>
    readonly typeOf: (challengeId: string) => Effect.Effect<ChallengeType, NotFound>
    /** The results of a challenge of any type. They have individual predictions from the deadline on, and scores after the settlement. */
    readonly results: (challengeId: string, page: Page) => Effect.Effect<Results, NotFound | InvalidRequest>
    /**
     * The agent's predictions on challenges of every type, also open ones, newest first. With a type or a status, a
     * page reads a limited number of predictions and may be short; the next pages have the matches further down.
     */
    readonly ownPredictions: (
      agentId: AgentId,
      page: Page,
      filter?: OwnPredictionFilter
    ) => Effect.Effect<typeof OwnPredictions.Type, InvalidRequest>
    /** Publishes the counts by direction of the open challenges that are due for a step. */
    readonly publishCounts: Effect.Effect<void>
  }
>()("auspex/services/Arenas") {}
