/**
 * The credit pools of macro challenges. An agent with a forecast may stake credit on one outcome bin until the deadline. When the
 * value is known, the stakers on its bin share the reward pool, and every stake returns in full.
 */
import { Context, Schema } from "effect"
import type { DateTime, Effect } from "effect"
import { CountsAsOf, MacroBin, PoolOwnerRule } from "./domain/Challenge.ts"
import type { ChallengeCancelled, ChallengeClosed, NotRecordedInTime } from "./domain/Challenge.ts"
import { Credit, CreditAmount } from "./Credits.ts"
import { apiErrorWith } from "./domain/errors.ts"
import type { NotFound } from "./domain/errors.ts"
import { ChallengeId } from "./domain/ids.ts"
import type { AgentId } from "./domain/ids.ts"
import { ValueField } from "./domain/agentNumbers.ts"

export const NewStake = Schema.Struct({
  predicted_value: ValueField.annotate({ description: "its bin is the one that is staked on" }),
  amount: CreditAmount.annotate({ description: "credits" })
}).annotate({ identifier: "NewStake" })
export type NewStake = typeof NewStake.Type

export const StakeAnswer = Schema.Struct({
  stake_id: Schema.String,
  challenge_id: ChallengeId,
  bin: Schema.Int,
  amount: Credit,
  available: Credit.annotate({ description: "of the agent, after the stake" }),
  frozen: Credit.annotate({ description: "of the agent, with the stake" })
}).annotate({ identifier: "StakeAnswer" })
export type StakeAnswer = typeof StakeAnswer.Type

/** The share of a pool on each bin: a distribution of participation, not priced odds. */
export const PoolOdds = Schema.Struct({
  challenge_id: ChallengeId,
  total: Credit.annotate({ description: "staked on all bins" }),
  stakers: Schema.Int,
  counts_as_of: CountsAsOf,
  pool_owner_rule: PoolOwnerRule,
  bins: Schema.Array(
    Schema.Struct({
      ...MacroBin.fields,
      share: Schema.Finite.annotate({ description: "of the total, 0 to 1; 0 while nobody has staked" }),
      staked: Credit,
      stakers: Schema.Int
    })
  )
}).annotate({ identifier: "PoolOdds" })
export type PoolOdds = typeof PoolOdds.Type

export const PoolResult = Schema.Struct({
  outcome: Schema.Literals(["paid", "void"]).annotate({
    description: "void: nobody had staked on the bin that holds the value, or there is no value"
  }),
  winning_bin: Schema.NullOr(Schema.Int).annotate({ description: "null where there is no value" }),
  reward_pool: Credit,
  staked: Credit.annotate({ description: "on all bins; all of it returned" }),
  paid: Credit.annotate({ description: "all rewards together" }),
  stakers: Schema.Int
}).annotate({ identifier: "PoolResult" })

/** The reasons to reject a stake, in the order of the checks, once the challenge is known and open. */
export const StakeRejection = Schema.Literals([
  "no_prediction",
  "already_staked",
  "stake_too_small",
  "insufficient_credit",
  "bin_concentration"
])
export type StakeRejection = typeof StakeRejection.Type

/** 400: the stake breaks a rule of the pool. */
export class StakeRefused extends apiErrorWith("StakeRefused", 400, { code: StakeRejection }) {}

export interface StakeSubmission {
  readonly agentId: AgentId
  readonly challengeId: string
  readonly stake: NewStake
  /** The time at which the body had been read. */
  readonly receivedAt: DateTime.Utc
}

export class Pools extends Context.Service<
  Pools,
  {
    /** Freezes the amount until the pool is settled. */
    readonly stake: (
      submission: StakeSubmission
    ) => Effect.Effect<
      StakeAnswer,
      NotFound | ChallengeClosed | NotRecordedInTime | ChallengeCancelled | StakeRefused
    >
    /**
     * Takes a stake in one transaction with the work before it, which determines the value: both are done or neither.
     * `before` may be run again, and must do nothing that a rollback does not undo.
     */
    readonly stakeAfter: <A, E>(
      submission: Omit<StakeSubmission, "stake"> & { readonly amount: bigint },
      before: Effect.Effect<A, E>,
      valueOf: (done: A) => number
    ) => Effect.Effect<
      { readonly before: A; readonly stake: StakeAnswer },
      E | NotFound | ChallengeClosed | NotRecordedInTime | ChallengeCancelled | StakeRefused
    >
    /** Locks the pools of several stakes of the caller's transaction before it locks anything else, in the same order as a settlement. */
    readonly hold: (
      stakes: ReadonlyArray<Pick<StakeSubmission, "challengeId" | "receivedAt">>
    ) => Effect.Effect<void>
    /** Moves the reward, in micro-credits, from the treasury to the pool of a challenge that is being created. */
    readonly fund: (challengeId: string, reward: bigint) => Effect.Effect<void>
    readonly odds: (challengeId: string) => Effect.Effect<PoolOdds, NotFound>
    /** Publishes the odds of open pools whose next step is due. */
    readonly publishOdds: Effect.Effect<void>
  }
>()("auspex/services/Pools") {}
