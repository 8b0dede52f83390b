/**
 * Skill: how much better than a random walk agents answer, and whether that can be told from luck. Days are counted once they are
 * over, from the scores that settlements wrote (docs/scoring.md).
 */
import { Context, Schema } from "effect"
import type { Effect } from "effect"
import { ReferenceForecast } from "./domain/Challenge.ts"
import type { InvalidRequest, NotFound } from "./domain/errors.ts"
import { AgentId, ChallengeId } from "./domain/ids.ts"
import type { OperatorId } from "./domain/ids.ts"
import { NameTag } from "./domain/names.ts"
import { Timestamp } from "./domain/text.ts"

/** The reference with which the answers to a question are compared. */
export const QuestionReference = Schema.Struct({
  challenge_id: ChallengeId,
  volatility: Schema.NullOr(Schema.Finite).annotate({
    description:
      "of the logarithm of the price, per square root of an hour; null where too few prices were known"
  }),
  expected_loss: Schema.NullOr(Schema.Finite).annotate({
    description: "of the reference when the question was made; null of a question without skill"
  }),
  final: Schema.Boolean.annotate({ description: "stored with the settlement; before it, as of now" }),
  steps: Schema.Array(ReferenceForecast)
}).annotate({ identifier: "QuestionReference" })
export type QuestionReference = typeof QuestionReference.Type

const Interval = Schema.Tuple([Schema.Finite, Schema.Finite])

/** The skill of an agent on a board, and its evidence. Days count once they are over. */
export const SkillFields = {
  skill: Schema.NullOr(Schema.Finite).annotate({
    description:
      "mean skill of its answers since it was claimed: 0 is what a random walk knew at the moment of each answer, 1 is perfect"
  }),
  peer: Schema.NullOr(Schema.Finite).annotate({
    description: "mean of its skill less that of the other owners' agents on the same question"
  }),
  coverage: Schema.NullOr(Schema.Finite).annotate({
    description:
      "share of the questions that it answered, of those that ended after the day of its claim, 0 to 1"
  }),
  evidence: Schema.NullOr(
    Schema.Struct({
      answers: Schema.Int,
      days: Schema.Int.annotate({ description: "settlement days with an answer" }),
      score: Schema.Finite.annotate({ description: "mean of its bounded daily scores, -1 to 1" }),
      sequence: Interval.annotate({
        description:
          "confidence sequence of that: at 95 %, divided by the agents of its owner, it is right on all days at once"
      }),
      e_value: Schema.Finite.annotate({
        description: "1 at first; skill of 0 or less reaches x with a chance of at most 1 in x"
      }),
      told: Schema.Boolean.annotate({
        description:
          "whether it beats the reference: the e-value is 20 or more for each agent of its owner; false of references, of which nothing is told"
      })
    })
  ),
  needed: Schema.NullOr(Schema.Int).annotate({
    description:
      "about how many more settlement days until it is told from the reference; null where it does not lead or a century would not do"
  })
} as const

const SkillOfBoard = { answers: Schema.Int, ...SkillFields }

/** The skill of an agent, from the days that are over; the parts by hour, by day and of directions come from its newest 5 000 answers. */
export const SkillProfile = Schema.Struct({
  agent_id: AgentId,
  agent_name: Schema.String,
  name_tag: NameTag,
  reference: Schema.NullOr(Schema.String).annotate({
    description: "the method of an agent of the instance itself; null of all others"
  }),
  overall: Schema.NullOr(Schema.Struct(SkillOfBoard)),
  categories: Schema.Array(Schema.Struct({ category: Schema.String, ...SkillOfBoard })),
  horizons: Schema.Array(Schema.Struct({ horizon: Schema.String, ...SkillOfBoard })),
  targets: Schema.Array(Schema.Struct({ target: Schema.String, ...SkillOfBoard })),
  hours: Schema.Array(
    Schema.Struct({
      hour: Schema.Int.annotate({ description: "of the day at which it answered, UTC" }),
      answers: Schema.Int,
      skill: Schema.Finite
    })
  ),
  directions: Schema.Array(
    Schema.Struct({
      low: Schema.Finite,
      high: Schema.Finite,
      answers: Schema.Int,
      stated: Schema.Finite.annotate({ description: "mean probability of the direction that it named" }),
      right: Schema.Finite.annotate({ description: "share that came so" }),
      right_ci95: Interval.annotate({ description: "Wilson's" })
    })
  ).annotate({ description: "calibration of directions: calibrated answers are right as often as stated" }),
  by_day: Schema.Array(
    Schema.Struct({
      day: Schema.String,
      answers: Schema.Int,
      skill: Schema.Finite,
      e_value: Schema.Finite,
      sequence: Interval
    })
  ).annotate({ description: "what its newest 5 000 answers say, at the end of each of the last 400 days" })
}).annotate({ identifier: "SkillProfile" })
export type SkillProfile = typeof SkillProfile.Type

const ComparedAgent = Schema.Struct({
  agent_id: AgentId,
  agent_name: Schema.String,
  name_tag: NameTag,
  reference: Schema.NullOr(Schema.String).annotate({
    description: "the method of an agent of the instance itself; null of all others"
  }),
  skill: Schema.NullOr(Schema.Finite).annotate({ description: "mean over the common questions" })
})

/**
 * A comparison of two agents on the questions that both answered since they were claimed. Beside the reference "random
 * walk" it covers all answers of the agent, each compared with the walk at its own moment, as the agent's own page
 * does.
 */
export const Comparison = Schema.Struct({
  a: ComparedAgent,
  b: ComparedAgent,
  questions: Schema.Int.annotate({ description: "that both answered" }),
  days: Schema.Int,
  difference: Schema.NullOr(Schema.Finite).annotate({ description: "mean skill of a less that of b" }),
  difference_ci95: Schema.NullOr(Interval).annotate({
    description: "of the difference, clustered by settlement day; for one look"
  }),
  sequence: Schema.NullOr(Interval).annotate({
    description: "confidence sequence of the bounded daily difference, -1 to 1: right on all days at once"
  }),
  e_value: Schema.NullOr(Schema.Finite).annotate({
    description: "evidence that the two differ; beside the random walk, that the agent beats it"
  }),
  told_from: Schema.Finite.annotate({
    description:
      "the e-value that tells at the level of 5 %: 20; beside the random walk 20 for each agent of the owner"
  }),
  told: Schema.NullOr(Schema.Literals(["a", "b"])).annotate({
    description: "which one is better, once that can be told; null of two references"
  }),
  by_day: Schema.Array(
    Schema.Struct({
      day: Schema.String,
      questions: Schema.Int,
      difference: Schema.Finite,
      sequence: Interval
    })
  ).annotate({ description: "the last 400 days" })
}).annotate({ identifier: "Comparison" })
export type Comparison = typeof Comparison.Type

/** An agent's rank on the leaderboard by skill. */
export const Rank = Schema.Struct({
  rank: Schema.Int,
  rank_before: Schema.NullOr(Schema.Int).annotate({ description: "a week before; null without one" }),
  of: Schema.Int.annotate({ description: "how many have a rank; of more than 10 000 that number" })
})
export type Rank = typeof Rank.Type

/** The record of an owner's agent. */
export const OwnRecord = Schema.Struct({
  agent_id: AgentId,
  rank: Schema.NullOr(Schema.Int).annotate({ description: "by skill; null without one" }),
  rank_before: Schema.NullOr(Schema.Int).annotate({ description: "a week before; null without one" }),
  skill: Schema.NullOr(Schema.Finite),
  avg_score: Schema.NullOr(Schema.Finite),
  scored: Schema.Int,
  last_answer_at: Schema.NullOr(Timestamp),
  open: Schema.Int.annotate({ description: "challenges that take an answer now" }),
  open_answered: Schema.Int.annotate({ description: "those of them that it has answered" }),
  form: Schema.Array(Schema.Boolean).annotate({
    description: "its last ten scored answers, the newest first: whether right, or of a number above 50"
  })
})
export type OwnRecord = typeof OwnRecord.Type

export class Skill extends Context.Service<
  Skill,
  {
    /** Counts the settlement days that are over, and those that were amended, anew. Returns the number of days that it counted. */
    readonly countDue: Effect.Effect<number>
    readonly compare: (a: string, b: string) => Effect.Effect<Comparison, NotFound | InvalidRequest>
    readonly profile: (agentId: string) => Effect.Effect<SkillProfile, NotFound>
    /** The rank of an agent; null if it is unclaimed, suspended, not scored yet, or behind the first 10 000. */
    readonly rank: (agentId: string) => Effect.Effect<Rank | null>
    readonly ofOwner: (operatorId: OperatorId) => Effect.Effect<ReadonlyArray<OwnRecord>>
    /** The reference of a question, until now or until its deadline. */
    readonly referenceOf: (challengeId: string) => Effect.Effect<QuestionReference, NotFound>
  }
>()("auspex/services/Skill") {}
