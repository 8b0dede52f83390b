/** Rejected predictions: the reasons of the statement, and the errors that agents get. */
import { Schema } from "effect"
import type { DateTime } from "effect"
import { countedDays } from "../../../../scoring/candles.ts"
import { formProblems, noPool } from "../../../../services/domain/Answer.ts"
import type { AnswerValues } from "../../../../services/domain/Answer.ts"
import {
  ChallengeCancelled,
  ChallengeClosed,
  ChallengeType,
  notRecordedInTime
} from "../../../../services/domain/Challenge.ts"
import type { NotRecordedInTime } from "../../../../services/domain/Challenge.ts"
import {
  DuplicatePrediction,
  ProvisionalLimit,
  RevisionConflict,
  RevisionLimit,
  ScopeNotSubscribed
} from "../../../../services/domain/Prediction.ts"
import { InvalidRequest } from "../../../../services/domain/errors.ts"
import type { FieldProblem, NotFound } from "../../../../services/domain/errors.ts"
import type { TooManyRequests } from "../../../../services/RateLimiter.ts"
import { bytesUsedUp, claimHint } from "./agentBytes.ts"

/** The columns that name the form of answer that a challenge takes, beside each outcome. */
export const questionFields = {
  type: ChallengeType,
  outcomes: Schema.NullOr(Schema.Array(Schema.String))
}

export const Rejected = Schema.Struct({
  outcome: Schema.Literals([
    "no_pool",
    "form_problems",
    "out_of_range",
    "tied",
    "too_wide",
    "not_subscribed",
    "cancelled",
    "closed",
    "overtaken",
    "unread_form",
    "unread_ties",
    "duplicate",
    "other_revision",
    "revised_often",
    "capped",
    "over_budget"
  ]),
  ...questionFields,
  kind: Schema.String,
  current_revision: Schema.NullOr(Schema.Int),
  target: Schema.NullOr(Schema.String),
  prediction_limit: Schema.NullOr(Schema.Int),
  max_revisions: Schema.NullOr(Schema.Int),
  max_bytes: Schema.NullOr(Schema.Int),
  is_provisional: Schema.NullOr(Schema.Boolean),
  max_std: Schema.NullOr(Schema.Finite)
})

export const cancelledChallenge = () =>
  new ChallengeCancelled({
    detail: "The challenge is cancelled: it takes no submission, live or paper-trade."
  })

/** The nouns for a prediction in error messages, by the type of the challenge. */
const nouns = { directional: "submission", macro: "forecast", price_event: "prediction" }

export type PredictionRejected =
  | NotFound
  | ScopeNotSubscribed
  | ChallengeCancelled
  | ChallengeClosed
  | NotRecordedInTime
  | InvalidRequest
  | DuplicatePrediction
  | RevisionConflict
  | RevisionLimit
  | TooManyRequests
  | ProvisionalLimit

const invalid = (errors: ReadonlyArray<FieldProblem>): InvalidRequest =>
  new InvalidRequest({ detail: errors.map(({ message, path }) => `${path}: ${message}`).join("; "), errors })

/** The field in which a number was sent. */
const numberField = (
  { quantiles, samples }: AnswerValues,
  otherwise: "predicted_value" | "predicted_std"
) => {
  if (quantiles !== undefined) return "quantiles"
  return samples === undefined ? otherwise : "samples"
}

const tooWide = (values: AnswerValues, max: number | null): FieldProblem => ({
  path: numberField(values, "predicted_std"),
  message: `Expected a standard deviation of at most ${max}, which is 1e12 times the reference scale of the challenge`
})

/** The reason for rejecting values until the previous version is gone, which could not score them. */
const whileUpgraded =
  "while the service is upgraded: an instance of the version before, which could not score them, was seen in the last 10 minutes"

const unreadForm = (values: AnswerValues, outcomes: ReadonlyArray<string> | null): FieldProblem =>
  outcomes === null
    ? {
        path: numberField(values, "predicted_value"),
        message: `Expected predicted_value and predicted_std in their place ${whileUpgraded}`
      }
    : { path: "probabilities", message: `Expected direction and confidence in their place ${whileUpgraded}` }

export const rejection = (
  { receivedAt, values }: { readonly receivedAt: DateTime.Utc; readonly values: AnswerValues },
  { kind, outcome, outcomes, type, ...why }: typeof Rejected.Type
): PredictionRejected => {
  switch (outcome) {
    case "no_pool":
      return InvalidRequest.of("amount", noPool)
    case "form_problems":
      return invalid(formProblems({ type, kind, outcomes }, values))
    case "out_of_range":
      return invalid([
        {
          path: numberField(values, "predicted_value"),
          message: `Expected ${values.predicted_value === undefined ? "values" : "a value"} from 0 to ${countedDays}, as days are counted${values.predicted_value === undefined ? "" : `, got ${values.predicted_value}`}`
        },
        ...((values.predicted_std ?? 0) > (why.max_std ?? Infinity) ? [tooWide(values, why.max_std)] : [])
      ])
    case "tied":
      return InvalidRequest.of(
        "quantiles",
        "Expected each value to be above the one before it: equal ones are taken where outcomes come in steps, of series and of counts of days"
      )
    case "too_wide":
      return invalid([tooWide(values, why.max_std)])
    case "not_subscribed":
      return new ScopeNotSubscribed({
        detail: `The scope ${why.target} is not subscribed: POST /api/v1/agent/prediction-scope/${why.target} first.`
      })
    case "cancelled":
      return type === "directional"
        ? cancelledChallenge()
        : new ChallengeCancelled({ detail: `The challenge is void: it takes no ${nouns[type]}.` })
    case "closed":
      return new ChallengeClosed({
        detail: `The deadline of this challenge has passed: it takes no ${nouns[type]}.`
      })
    case "overtaken":
      return notRecordedInTime(nouns[type], receivedAt)
    case "unread_form":
      return invalid([unreadForm(values, outcomes)])
    case "unread_ties":
      return InvalidRequest.of(
        "quantiles",
        `Expected each value to be above the one before it, and no equal ones, ${whileUpgraded}`
      )
    case "duplicate":
      return new DuplicatePrediction({
        detail:
          "This agent has predicted this challenge: send is_revision true to change the prediction before the deadline."
      })
    case "other_revision":
      return new RevisionConflict({
        detail:
          why.current_revision === null
            ? "This agent has no prediction on the challenge yet: leave expected_revision out."
            : `The prediction that stands has revision_count ${why.current_revision}: read it at GET /api/v1/agent/predictions, and send that as expected_revision to replace it.`,
        current_revision: why.current_revision
      })
    case "revised_often":
      return new RevisionLimit({
        detail: `A prediction is revised at most ${why.max_revisions} times${why.is_provisional === true ? " while its agent is unclaimed" : ""}: the one that stands counts.`,
        ...(why.is_provisional === true && { hint: claimHint })
      })
    case "over_budget":
      return bytesUsedUp(receivedAt, why)
    case "capped":
      return new ProvisionalLimit({
        detail: `A provisional agent predicts at most ${why.prediction_limit ?? 0} challenges; once its operator has claimed it there is no such limit.`,
        hint: claimHint
      })
  }
}
