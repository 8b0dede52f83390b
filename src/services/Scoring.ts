/**
 * Settlements and leaderboards. A challenge is settled once, in one transaction: its result, all scores, and the sums of all
 * agents that took part. Scores stay as they were settled; no later change of a formula or a setting alters them.
 */
import { Context, Schema } from "effect"
import type { Effect } from "effect"
import { ChallengeType, Direction, OutcomeName } from "./domain/Challenge.ts"
import type { ChallengeOf, ChallengeState, MacroChallenge, MacroValue } from "./domain/Challenge.ts"
import { PredictionValues, PredictionVerdict } from "./domain/Prediction.ts"
import type { InvalidRequest, NotFound } from "./domain/errors.ts"
import { AgentId, ChallengeId, PredictionId } from "./domain/ids.ts"
import { NameTag } from "./domain/names.ts"
import type { Page } from "./domain/paging.ts"
import { SkillFields } from "./Skill.ts"
import { Category } from "./Targets.ts"
import { Timestamp, text } from "./domain/text.ts"

/** The statistics of an agent's scores, over all, of a category or of a target. */
export const AgentStatsFields = {
  avg_score: Schema.NullOr(Schema.Finite).annotate({ description: "0 to 100" }),
  accuracy_rate: Schema.NullOr(Schema.Finite).annotate({ description: "share of right answers, 0 to 1" }),
  correct_count: Schema.Int,
  prediction_count: Schema.Int.annotate({ description: "scored predictions" }),
  score_ci95: Schema.NullOr(Schema.Tuple([Schema.Finite, Schema.Finite])).annotate({
    description: "95 % interval of the average, clustered by settlement day; null before the second one"
  }),
  brier_index: Schema.NullOr(Schema.Finite).annotate({
    description: "100 (1 - sqrt(mean Brier score)): a proper score; 50 is always p = 0.5"
  }),
  mean_skill: Schema.NullOr(Schema.Finite).annotate({
    description: "numeric questions: mean of 1 - CRPS / CRPS_ref"
  })
}

export const LeaderboardOrder = Schema.Literals(["average", "skill", "peer"])

/** The time that a question runs after its deadline: up to 2 hours, 8 hours, 2 days, or longer. */
export const Horizon = Schema.Literals(["1h", "4h", "1d", "1w"])

/** The provider of a model, as agents name it. */
export const Provider = text({ minimum: 1, maximum: 200 })

/** A month, for example 2026-03. */
export const Month = Schema.String.check(
  Schema.isPattern(/^20\d{2}-(0[1-9]|1[0-2])$/, { expected: "a month, for example 2026-03" })
)

/** The choice of a leaderboard. Horizons and months apply to skill alone, and so not to the order by average. */
export interface LeaderboardQuery {
  readonly category?: Category | undefined
  /** The order; by default by average, and by skill beside a horizon or a month. */
  readonly order?: typeof LeaderboardOrder.Type | undefined
  readonly horizon?: typeof Horizon.Type | undefined
  /** The first month that counts, for example 2026-03. */
  readonly since?: string | undefined
  /** The provider of the agents' models, in any case; ranks are then among these agents. */
  readonly provider?: string | undefined
  /**
   * True as on pages: agents without a rank yet stand after all others, which are ranked among themselves. An agent is
   * ranked by average from `min_count` scored predictions on, by skill from a number of days on.
   */
  readonly rankedFirst?: boolean
}

export const LeaderboardRow = Schema.Struct({
  rank: Schema.NullOr(Schema.Int).annotate({
    description: "among claimed agents with a scored prediction; null while unverified"
  }),
  established: Schema.Boolean.annotate({ description: "has min_count scored predictions" }),
  agent_id: AgentId,
  agent_name: Schema.String,
  name_tag: NameTag,
  model_provider: Schema.NullOr(Schema.String),
  model_name: Schema.NullOr(Schema.String),
  status: Schema.Literals(["verified", "unverified", "reference"]).annotate({
    description: "a reference is a method of ours that answers every question; it has no rank"
  }),
  verified: Schema.Boolean,
  owner_agents: Schema.NullOr(Schema.Int).annotate({
    description: "agents of its owner, itself among them: many tries find luck; null while unverified"
  }),
  ...SkillFields,
  group: Schema.NullOr(Schema.Int).annotate({
    description: "null: what tells two agents apart is /eval/compare"
  }),
  ...AgentStatsFields
}).annotate({ identifier: "Standing" })

export const Leaderboard = Schema.Struct({
  items: Schema.Array(LeaderboardRow),
  total: Schema.Int.annotate({ description: "rows of the board, references among them" }),
  agents: Schema.Int.annotate({ description: "the same without references" }),
  category: Schema.NullOr(Category),
  order: LeaderboardOrder,
  horizon: Schema.NullOr(Horizon),
  since: Schema.NullOr(Schema.String),
  provider: Schema.NullOr(Schema.String),
  min_count: Schema.Int,
  updated_at: Schema.NullOr(Timestamp),
  next_cursor: Schema.NullOr(Schema.String)
}).annotate({ identifier: "Leaderboard" })
export type Leaderboard = typeof Leaderboard.Type

export const Scorecard = Schema.Struct({
  agent_id: AgentId,
  agent_name: Schema.String,
  name_tag: NameTag,
  verified: Schema.Boolean,
  overall: Schema.Struct(AgentStatsFields),
  categories: Schema.Array(Schema.Struct({ category: Category, ...AgentStatsFields })),
  targets: Schema.Array(Schema.Struct({ target: Schema.String, ...AgentStatsFields })),
  predictions: Schema.Array(
    Schema.Struct({
      prediction_id: PredictionId,
      challenge_id: ChallengeId,
      type: ChallengeType,
      asset: Schema.String,
      question: Schema.String,
      ...PredictionValues.fields,
      result: Schema.NullOr(Direction),
      actual_value: Schema.NullOr(Schema.Finite).annotate({ description: "of numeric questions" }),
      outcome_name: Schema.optionalKey(OutcomeName),
      ...PredictionVerdict.fields,
      score: Schema.Finite,
      created_at: Timestamp,
      settled_at: Timestamp.annotate({ description: "of the settlement that counts" }),
      amended: Schema.Boolean.annotate({
        description: "its challenge was settled anew; every version is in its results"
      }),
      commit: Schema.String.annotate({ description: "hex; its proof is at /api/v1/log/proof/{commit}" })
    })
  ),
  next_cursor: Schema.NullOr(Schema.String)
}).annotate({ identifier: "Scorecard" })
export type Scorecard = typeof Scorecard.Type

const Interval = Schema.Tuple([Schema.Finite, Schema.Finite])

/** The fit between the uncertainty of numeric forecasts and the outcomes, of challenges with a frozen reference scale only. */
export const Calibration = Schema.Struct({
  count: Schema.Int.annotate({ description: "settled forecasts" }),
  min_count: Schema.Int.annotate({ description: "under so many, shares and means are null" }),
  pit: Schema.Struct({
    buckets: Schema.Array(
      Schema.Struct({
        low: Schema.Finite,
        high: Schema.Finite,
        count: Schema.Finite.annotate({
          description: "not whole where outcomes come in steps: each is spread over the buckets it covers"
        })
      })
    ),
    band95: Interval.annotate({ description: "where a bucket's count lies when forecasts are calibrated" })
  }).annotate({
    description:
      "the probability that forecasts gave to at most what came: flat is calibrated, a U too narrow, a hump too wide"
  }),
  coverage: Schema.Array(
    Schema.Struct({
      level: Schema.Finite.annotate({ description: "of the central interval: 0.5, 0.8, 0.95" }),
      share: Schema.NullOr(Schema.Finite).annotate({ description: "of the outcomes that fell within it" }),
      interval_ci95: Schema.NullOr(Interval).annotate({ description: "Wilson's" })
    })
  ),
  mean_abs_z: Schema.NullOr(Schema.Finite).annotate({ description: "calibrated is 0.797885" }),
  sharpness: Schema.NullOr(Schema.Finite).annotate({ description: "mean of predicted_std / reference_scale" })
}).annotate({ identifier: "Calibration" })
export type Calibration = typeof Calibration.Type

/** The result of a settlement run. */
export const SettlementReport = Schema.Struct({
  closed: Schema.Int.annotate({ description: "challenges whose deadline had passed" }),
  resolved: Schema.Array(ChallengeId),
  cancelled: Schema.Array(ChallengeId).annotate({
    description:
      "still without a price when the wait ended, or, of macro challenges and price events, without a value or candles: these are void"
  }),
  failed: Schema.Array(ChallengeId).annotate({
    description: "could not be settled for a reason that the log names; tried again at the next run"
  }),
  waiting: Schema.Int.annotate({
    description: "due, without a closing price or all candles yet; tried again at the next run"
  })
}).annotate({ identifier: "SettlementReport" })
export type SettlementReport = typeof SettlementReport.Type

export class Scoring extends Context.Service<
  Scoring,
  {
    /**
     * Settles a macro challenge by its first print, for administrators. The same value again changes nothing; another
     * one is rejected, and so is one that looks mistyped, unless it is confirmed.
     */
    readonly resolveMacro: (
      challengeId: string,
      actualValue: number,
      options?: Pick<MacroValue, "confirm">
    ) => Effect.Effect<MacroChallenge, NotFound | InvalidRequest | ChallengeState>
    /**
     * Ends a challenge of a type without a result, for administrators: nobody is scored by it, and stakes return. A
     * directional challenge ends at any time and is then called cancelled; the others end after their deadline only.
     */
    readonly void: <Type extends ChallengeType>(
      type: Type,
      challengeId: string,
      reason: string
    ) => Effect.Effect<ChallengeOf<Type>, NotFound | ChallengeState>
    /** Closes, settles and voids challenges that are due. Any number of replicas may run it at once. */
    readonly settleDue: Effect.Effect<SettlementReport>
    readonly leaderboard: (query: LeaderboardQuery, page: Page) => Effect.Effect<Leaderboard, InvalidRequest>
    readonly scorecard: (agentId: string, page: Page) => Effect.Effect<Scorecard, NotFound | InvalidRequest>
    /** The calibration of the numeric forecasts of all agents, without references. */
    readonly calibration: Effect.Effect<Calibration>
    readonly calibrationOf: (agentId: string) => Effect.Effect<Calibration, NotFound>
  }
>()("auspex/services/Scoring") {}
