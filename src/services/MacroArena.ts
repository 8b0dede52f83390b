/**
 * The macro arena: challenges on a figure that a statistical office or a central bank will publish, and the forecasts
 * that agents make of it, each a value with its standard deviation. A forecast is replaced by sending another one before
 * the deadline. The first print decides; an administrator records it.
 */
import { Schema } from "effect"
import type { DateTime, Effect } from "effect"
import type { ChallengeCancelled, ChallengeClosed, ChallengeState, ProvisionalLimit } from "./Challenges.ts"
import { Receipt } from "./Challenges.ts"
import type { InvalidRequest, NotFound } from "./errors.ts"
import { ChallengeId, PredictionId } from "./identifiers.ts"
import type { AgentId } from "./identifiers.ts"
import { list, Term, text, Timestamp } from "./text.ts"
import type { Page } from "./paging.ts"

export const MacroStatus = Schema.Literals(["open", "closed", "resolved", "void"])
export type MacroStatus = typeof MacroStatus.Type

export const MacroBin = Schema.Struct({
  index: Schema.Int,
  low: Schema.NullOr(Schema.Finite).annotate({
    description: "null: no low end. A value on it belongs to this bin"
  }),
  high: Schema.NullOr(Schema.Finite).annotate({ description: "null: no high end" })
})

export const MacroChallenge = Schema.Struct({
  id: ChallengeId,
  asset: Schema.String.annotate({ description: "a macro series of the target catalog, for example CPI" }),
  period: Schema.String.annotate({ description: "what the figure is of, for example 2026-03" }),
  question: Schema.String,
  status: MacroStatus,
  created_at: Timestamp,
  deadline: Timestamp,
  release_at: Timestamp,
  unit: Schema.NullOr(Schema.String),
  reference_scale: Schema.NullOr(Schema.Finite).annotate({
    description:
      "frozen at creation; null in older challenges, which are scored with the spread of their bins"
  }),
  decimal_step: Schema.NullOr(Schema.Finite).annotate({
    description: "the distance between neighbouring values as they are published, for calibration"
  }),
  bins: Schema.Array(MacroBin),
  reward_pool: Schema.Finite.annotate({ description: "credits" }),
  prediction_count: Schema.Int,
  resolution_criteria: Schema.String,
  resolution_criteria_zh: Schema.String,
  actual_value: Schema.NullOr(Schema.Finite),
  void_reason: Schema.NullOr(Schema.String)
}).annotate({ identifier: "MacroChallenge" })
export type MacroChallenge = typeof MacroChallenge.Type

export const MacroChallenges = Schema.Struct({
  challenges: Schema.Array(MacroChallenge),
  next_cursor: Schema.NullOr(Schema.String)
}).annotate({ identifier: "MacroChallenges" })

/** Beyond it no series has a figure, and doubles have no decimals left. */
const maxValue = 1e15
/** A value of a series, in its unit. */
export const MacroValueField = Schema.Finite.check(
  Schema.isBetween({ minimum: -maxValue, maximum: maxValue })
)
/** Of distances between two values: scores by a scale outside would be beyond doubles. */
export const scaleBounds = { minimum: 1e-12, maximum: maxValue }
const scale = Schema.Finite.check(Schema.isBetween(scaleBounds))

const ascending = Schema.makeFilter((edges: ReadonlyArray<number>) =>
  edges.every((edge, index) => index === 0 || edge > (edges[index - 1] ?? edge))
    ? undefined
    : "Expected each edge to be above the one before it"
)

/** Credits have six decimals at most. */
const wholeMicroCredits = Schema.makeFilter((credits: number) =>
  Math.round(credits * 1e6) / 1e6 === credits ? undefined : "Expected at most 6 decimals"
)

/** A macro challenge as an admin creates it. `reference_scale: null` makes an older challenge, without a frozen scale. */
export const NewMacroChallenge = Schema.Struct({
  asset: text({ minimum: 1, maximum: 20 }),
  period: text({ minimum: 1, maximum: 40 }),
  question: Schema.optionalKey(text({ minimum: 1, maximum: 500 })),
  deadline: Term.annotate({
    description: "one in the past is of an earlier period, whose first print counts for reference scales"
  }),
  release_at: Schema.optionalKey(Term).annotate({
    description: "when the figure is published; default: deadline"
  }),
  unit: Schema.optionalKey(text({ minimum: 1, maximum: 40 })),
  reference_scale: Schema.optionalKey(Schema.NullOr(scale)).annotate({
    description:
      "default: 1.4826 MAD of the surprises of the series' earlier first prints, of which 25 must be known"
  }),
  decimal_step: Schema.optionalKey(scale).annotate({
    description:
      "default: that of the series' earlier first prints, if the reference scale is computed from them"
  }),
  bin_edges: list(MacroValueField, {
    minimum: 1,
    maximum: 200,
    description: "ascending; the first bin lies below the first edge, the last from the last one on"
  }).check(ascending),
  reward_pool: Schema.Finite.check(
    Schema.isBetween({ minimum: 0, maximum: 1e9 }),
    wholeMicroCredits
  ).annotate({
    description: "credits, 6 decimals at most"
  })
})
export type NewMacroChallenge = typeof NewMacroChallenge.Type

/** The first print of the figure. */
export const MacroValue = Schema.Struct({
  actual_value: MacroValueField,
  confirm: Schema.optionalKey(Schema.Boolean).annotate({
    description:
      "true takes a value that looks mistyped: one that is no multiple of decimal_step, or lies more than 100 reference scales beyond the outermost bin edges"
  })
})
export type MacroValue = typeof MacroValue.Type

/** Smaller doubles are subnormal, and no spread that anybody means. */
const minNormal = 2.2250738585072014e-308

/** The standard deviation of a forecast. */
export const StandardDeviation = Schema.Finite.check(
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
  rationale: Schema.optionalKey(text({ maximum: 4000 }))
}).annotate({ identifier: "NewForecast" })
export type NewForecast = typeof NewForecast.Type

export const ForecastAnswer = Schema.Struct({
  prediction_id: PredictionId,
  challenge_id: ChallengeId,
  predicted_value: Schema.Finite,
  predicted_std: Schema.Finite,
  created_at: Timestamp,
  revision_count: Schema.Int.annotate({ description: "0 for the first" }),
  receipt: Receipt
}).annotate({ identifier: "ForecastAnswer" })
export type ForecastAnswer = typeof ForecastAnswer.Type

export interface ForecastSubmission {
  readonly agentId: AgentId
  readonly challengeId: string
  readonly forecast: NewForecast
  /** When the body had been read. */
  readonly receivedAt: DateTime.Utc
}

export interface MacroArena {
  readonly get: (challengeId: string) => Effect.Effect<MacroChallenge, NotFound>
  /** Newest first; of every status without one. */
  readonly list: (
    status: MacroStatus | undefined,
    page: Page
  ) => Effect.Effect<typeof MacroChallenges.Type, InvalidRequest>
  /** Records a forecast, or replaces the agent's earlier one: `replaced` tells a replacement (200) from a new record (201). */
  readonly predict: (
    submission: ForecastSubmission
  ) => Effect.Effect<
    { readonly answer: ForecastAnswer; readonly replaced: boolean },
    NotFound | InvalidRequest | ChallengeClosed | ChallengeCancelled | ProvisionalLimit
  >
  /** Administration. */
  readonly create: (challenge: NewMacroChallenge) => Effect.Effect<MacroChallenge, InvalidRequest>
  /**
   * Administration. Settles the challenge; the same value again changes nothing, another one is refused, and so is one
   * that looks mistyped, unless it is confirmed.
   */
  readonly resolve: (
    challengeId: string,
    actualValue: number,
    options?: Pick<MacroValue, "confirm">
  ) => Effect.Effect<MacroChallenge, NotFound | InvalidRequest | ChallengeState>
  /** Administration. Nobody is scored by a void challenge. */
  readonly void: (
    challengeId: string,
    reason: string
  ) => Effect.Effect<MacroChallenge, NotFound | ChallengeState>
}
