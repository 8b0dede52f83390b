/**
 * Settlement and standing. A challenge is settled once, in one transaction: result, every score, and the figures of
 * every agent that took part. Scores are stored as settled; no later change of formula or setting alters them.
 */
import { Context, Schema } from "effect"
import type { Effect } from "effect"
import { Direction } from "./Challenges.ts"
import type { InvalidRequest, NotFound } from "./errors.ts"
import { AgentId, ChallengeId, PredictionId } from "./identifiers.ts"
import type { Page } from "./paging.ts"
import { Category } from "./Targets.ts"
import { Timestamp } from "./text.ts"

/** What is kept of an agent's scores, over all, per category and per target. */
export const FigureFields = {
  avg_score: Schema.NullOr(Schema.Finite).annotate({ description: "0 to 100" }),
  accuracy_rate: Schema.NullOr(Schema.Finite).annotate({ description: "share of right answers, 0 to 1" }),
  correct_count: Schema.Int,
  prediction_count: Schema.Int.annotate({ description: "scored predictions" }),
  score_ci95: Schema.NullOr(Schema.Tuple([Schema.Finite, Schema.Finite])).annotate({
    description: "95 % interval of the average, clustered by settlement day"
  }),
  brier_index: Schema.NullOr(Schema.Finite).annotate({
    description: "100 (1 - sqrt(mean Brier score)): a proper score; 50 is always p = 0.5"
  }),
  mean_skill: Schema.NullOr(Schema.Finite).annotate({
    description: "numeric questions: mean of 1 - CRPS / CRPS_ref"
  })
}

export const Standing = Schema.Struct({
  rank: Schema.NullOr(Schema.Int).annotate({ description: "null while unverified or under min_count" }),
  agent_id: AgentId,
  agent_name: Schema.String,
  model_provider: Schema.NullOr(Schema.String),
  model_name: Schema.NullOr(Schema.String),
  status: Schema.Literals(["verified", "unverified"]),
  verified: Schema.Boolean,
  ...FigureFields
}).annotate({ identifier: "Standing" })

export const Leaderboard = Schema.Struct({
  items: Schema.Array(Standing),
  total: Schema.Int,
  category: Schema.NullOr(Category),
  min_count: Schema.Int,
  updated_at: Schema.NullOr(Timestamp),
  next_cursor: Schema.NullOr(Schema.String)
}).annotate({ identifier: "Leaderboard" })
export type Leaderboard = typeof Leaderboard.Type

export const Scorecard = Schema.Struct({
  agent_id: AgentId,
  agent_name: Schema.String,
  verified: Schema.Boolean,
  overall: Schema.Struct(FigureFields),
  categories: Schema.Array(Schema.Struct({ category: Category, ...FigureFields })),
  targets: Schema.Array(Schema.Struct({ target: Schema.String, ...FigureFields })),
  predictions: Schema.Array(
    Schema.Struct({
      prediction_id: PredictionId,
      challenge_id: ChallengeId,
      type: Schema.Literal("directional"),
      asset: Schema.String,
      question: Schema.String,
      direction: Direction,
      confidence: Schema.Finite,
      result: Direction,
      is_correct: Schema.Boolean,
      score: Schema.Finite,
      created_at: Timestamp,
      settled_at: Timestamp,
      commit: Schema.String.annotate({ description: "hex; its proof is at /api/v1/log/proof/{commit}" })
    })
  ),
  next_cursor: Schema.NullOr(Schema.String)
}).annotate({ identifier: "Scorecard" })
export type Scorecard = typeof Scorecard.Type

/** What a run of the resolver did. */
export const SettlementReport = Schema.Struct({
  closed: Schema.Int.annotate({ description: "challenges whose deadline had passed" }),
  resolved: Schema.Array(ChallengeId),
  cancelled: Schema.Array(ChallengeId).annotate({ description: "still without a price when the wait ended" }),
  failed: Schema.Array(ChallengeId).annotate({
    description: "could not be settled for a reason that the log names; tried again at the next run"
  }),
  waiting: Schema.Int.annotate({
    description: "due, without a closing price yet; tried again at the next run"
  })
}).annotate({ identifier: "SettlementReport" })
export type SettlementReport = typeof SettlementReport.Type

export class Scoring extends Context.Service<
  Scoring,
  {
    /** Closes, settles and cancels what is due. Safe to run anywhere, any number of times at once. */
    readonly settleDue: Effect.Effect<SettlementReport>
    readonly leaderboard: (
      category: Category | undefined,
      page: Page
    ) => Effect.Effect<Leaderboard, InvalidRequest>
    readonly scorecard: (agentId: string, page: Page) => Effect.Effect<Scorecard, NotFound | InvalidRequest>
    /** Compares the kept figures with a recomputation from the scores; names every difference. */
    readonly audit: Effect.Effect<{ readonly agents: number; readonly differences: ReadonlyArray<string> }>
  }
>()("auspex/services/Scoring") {}
