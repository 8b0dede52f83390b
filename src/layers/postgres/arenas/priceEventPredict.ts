/** Recording an answer to a price-event question: the first one, or what replaces it. */
import { DateTime, Effect, Option, Schema } from "effect"
import { SecureRandom } from "effect/crypto"
import { SqlClient } from "effect/sql"
import { countedDays } from "../../../scoring/priceEvents.ts"
import { ChallengeCancelled, ChallengeClosed } from "../../../services/Challenges.ts"
import { InvalidRequest } from "../../../services/errors.ts"
import type { FieldProblem } from "../../../services/errors.ts"
import { ChallengeId, PredictionId, isUuid } from "../../../services/identifiers.ts"
import { PriceEventKind, ScopeNotSubscribed } from "../../../services/PriceEvents.ts"
import type { NewPriceEventPrediction, PriceEvents } from "../../../services/PriceEvents.ts"
import { maybe } from "../query.ts"
import { AnswerOutcome, recordAnswer } from "./priceEventAnswers.ts"
import { duplicatePrediction, makeRecordOne, provisionalLimit } from "./races.ts"
import type { Values } from "./recording.ts"
import { unknownChallenge } from "./unknownChallenge.ts"

const lostRace: AnswerOutcome = { outcome: "raced", prediction_limit: null }

/** What of a question never changes. */
const Asked = Schema.Struct({
  kind: PriceEventKind,
  target: Schema.String,
  reference_scale: Schema.NullOr(Schema.Finite)
})

/** A standard deviation is at most so many reference scales. */
const widest = 1e12

const refused = (errors: ReadonlyArray<FieldProblem>): InvalidRequest =>
  new InvalidRequest({ detail: errors.map(({ message, path }) => `${path}: ${message}`).join("; "), errors })

/** What a question takes, in the form of its kind; members of the other form are not looked at. */
const valuesFor = (
  { kind, reference_scale }: typeof Asked.Type,
  prediction: NewPriceEventPrediction
): Effect.Effect<Values, InvalidRequest> => {
  const missing = (paths: ReadonlyArray<keyof NewPriceEventPrediction>) =>
    refused(
      paths
        .filter((path) => prediction[path] === undefined)
        .map((path) => ({
          path,
          message: `Missing key: a ${kind} question is answered by ${paths.join(" and ")}`
        }))
    )
  if (reference_scale === null) {
    const { confidence, direction } = prediction
    return direction === undefined || confidence === undefined
      ? Effect.fail(missing(["direction", "confidence"]))
      : Effect.succeed({ direction, confidence })
  }
  const { predicted_std, predicted_value } = prediction
  if (predicted_value === undefined || predicted_std === undefined) {
    return Effect.fail(missing(["predicted_value", "predicted_std"]))
  }
  const isOutside = kind === "count_days" && (predicted_value < 0 || predicted_value > countedDays)
  const isTooWide = predicted_std > reference_scale * widest
  const errors = [
    ...(isOutside
      ? [
          {
            path: "predicted_value",
            message: `Expected a value from 0 to ${countedDays}, as days are counted`
          }
        ]
      : []),
    ...(isTooWide
      ? [
          {
            path: "predicted_std",
            message: `Expected a value of at most ${reference_scale * widest}, which is 1e12 times the reference scale of the question`
          }
        ]
      : [])
  ]
  return errors.length > 0 ? Effect.fail(refused(errors)) : Effect.succeed({ predicted_value, predicted_std })
}

const nothingSaid = { direction: null, confidence: null, predicted_value: null, predicted_std: null }

export const makeAnswer = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const random = yield* SecureRandom.SecureRandom
  const asked = maybe(Asked)
  const record = makeRecordOne(AnswerOutcome, lostRace)

  const predict: PriceEvents["Service"]["predict"] = Effect.fn("PriceEvents.predict")(function* (submission) {
    const { agentId, challengeId, prediction, receivedAt } = submission
    yield* Effect.annotateCurrentSpan({ "challenge.id": challengeId.slice(0, 64), "agent.id": agentId })
    if (!isUuid(challengeId)) return yield* unknownChallenge(challengeId)
    const found = yield* asked(sql`
      select kind, target, reference_scale::float8 as reference_scale
        from challenges where id = ${challengeId}::uuid and type = 'price_event'`)
    if (Option.isNone(found)) return yield* unknownChallenge(challengeId)
    const values = yield* valuesFor(found.value, prediction)
    const id = PredictionId.make(yield* random.uuidV7())
    const outcome = yield* record(recordAnswer(sql, id, submission, values))
    yield* Effect.annotateCurrentSpan({ "prediction.outcome": outcome.outcome })
    const { target } = found.value
    switch (outcome.outcome) {
      case "unknown":
        return yield* unknownChallenge(challengeId)
      case "not subscribed":
        return yield* new ScopeNotSubscribed({
          detail: `The scope ${target} is not subscribed: POST /api/v1/agent/prediction-scope/${target} first.`
        })
      case "void":
        return yield* new ChallengeCancelled({ detail: "The challenge is void: it takes no prediction." })
      case "closed":
        return yield* new ChallengeClosed({
          detail: "The deadline of this challenge has passed: it takes no prediction."
        })
      case "duplicate":
        return yield* duplicatePrediction()
      case "capped":
        return yield* provisionalLimit(outcome.prediction_limit)
      case "recorded":
      case "replaced":
        return {
          answer: {
            prediction_id: id,
            challenge_id: ChallengeId.make(challengeId.toLowerCase()),
            ...nothingSaid,
            ...values,
            created_at: DateTime.formatIso(receivedAt),
            revision_count: outcome.revision,
            receipt: { commit: outcome.commit, salt: outcome.salt, body: outcome.body, leaf_index: null }
          },
          replaced: outcome.outcome === "replaced"
        }
    }
  })
  return predict
})
