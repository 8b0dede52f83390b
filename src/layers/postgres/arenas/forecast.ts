/** Recording a forecast: the first one, or what replaces it. */
import { DateTime, Effect } from "effect"
import { SecureRandom } from "effect/crypto"
import { SqlClient } from "effect/sql"
import { ChallengeCancelled, ChallengeClosed } from "../../../services/Challenges.ts"
import { InvalidRequest } from "../../../services/errors.ts"
import { ChallengeId, PredictionId, isUuid } from "../../../services/identifiers.ts"
import type { MacroArena } from "../../../services/MacroArena.ts"
import { ForecastOutcome, recordForecast } from "./forecasts.ts"
import { makeRecordOne, provisionalLimit } from "./races.ts"
import { unknownChallenge } from "./unknownChallenge.ts"

const lostRace: ForecastOutcome = { outcome: "raced", prediction_limit: null, widest: null }

export const makeForecast = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const random = yield* SecureRandom.SecureRandom
  const record = makeRecordOne(ForecastOutcome, lostRace)

  const predict: MacroArena["Service"]["predict"] = Effect.fn("MacroArena.predict")(function* (submission) {
    const { agentId, challengeId, forecast, receivedAt } = submission
    yield* Effect.annotateCurrentSpan({ "challenge.id": challengeId.slice(0, 64), "agent.id": agentId })
    if (!isUuid(challengeId)) return yield* unknownChallenge(challengeId)
    const id = PredictionId.make(yield* random.uuidV7())
    const outcome = yield* record(recordForecast(sql, id, submission))
    yield* Effect.annotateCurrentSpan({ "prediction.outcome": outcome.outcome })
    switch (outcome.outcome) {
      case "unknown":
        return yield* unknownChallenge(challengeId)
      case "void":
        return yield* new ChallengeCancelled({ detail: "The challenge is void: it takes no forecast." })
      case "closed":
        return yield* new ChallengeClosed({
          detail: "The deadline of this challenge has passed: it takes no forecast."
        })
      case "too wide":
        return yield* InvalidRequest.of(
          "predicted_std",
          `Expected a value of at most ${outcome.widest}, which is 1e12 times the reference scale of the challenge`
        )
      case "capped":
        return yield* provisionalLimit(outcome.prediction_limit)
      case "recorded":
      case "replaced":
        return {
          answer: {
            prediction_id: id,
            challenge_id: ChallengeId.make(challengeId.toLowerCase()),
            predicted_value: forecast.predicted_value,
            predicted_std: forecast.predicted_std,
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
