/** Recording a submission: a prediction before the deadline, a paper-trade signal after it. */
import { Array as Arr, BigDecimal, DateTime, Effect, Option, Schema } from "effect"
import { SecureRandom } from "effect/crypto"
import type { SqlClient } from "effect/sql"
import type { Arenas } from "../../../services/Arenas.ts"
import { ChallengeId, PredictionId, isUuid } from "../../../services/identifiers.ts"
import type { ObservedPrice } from "../../../services/Prices.ts"
import { Settings } from "../../../services/Settings.ts"
import { hotSpan } from "../../hotSpan.ts"
import * as naturalBatch from "../naturalBatch.ts"
import { orDefect } from "../query.ts"
import { cancelledChallenge } from "./paperSignals.ts"
import type { makePaperSignals } from "./paperSignals.ts"
import { duplicatePrediction, isProvisionalLimit, provisionalLimit, unraced } from "./races.ts"
import { SubmissionOutcome, recordPredictions } from "./submissions.ts"
import type { SubmissionItem } from "./submissions.ts"
import { unknownChallenge } from "./unknownChallenge.ts"

const lostRace: SubmissionOutcome = { position: 1, outcome: "raced", prediction_limit: null }

const positionNote = (entry: Option.Option<ObservedPrice>): string =>
  Option.match(entry, {
    onNone: () => "",
    onSome: ({ price }) => ` It takes a virtual position at ${BigDecimal.format(price)}.`
  })

export const makePredict = Effect.fnUntraced(function* (
  paperSignals: Effect.Success<typeof makePaperSignals>
) {
  const settings = yield* Settings
  const random = yield* SecureRandom.SecureRandom
  const outcomesOf = Schema.decodeUnknownEffect(Schema.Array(SubmissionOutcome))

  const recordAll = (
    items: Arr.NonEmptyReadonlyArray<SubmissionItem>,
    client: SqlClient.SqlClient
  ): Effect.Effect<ReadonlyArray<SubmissionOutcome>> =>
    recordPredictions(client, items).pipe(
      Effect.flatMap(outcomesOf),
      // In company it is not known whose last prediction it was.
      Effect.catchReason("SqlError", "ConstraintError", (reason) =>
        items.length === 1 && isProvisionalLimit(reason.cause)
          ? Effect.succeed([lostRace])
          : Effect.die(reason)
      ),
      orDefect
    )

  const record = yield* naturalBatch.make({
    run: recordAll,
    exclusive: (item: SubmissionItem) => item.agentId,
    largest: settings.largestBatch
  })

  const predict: Arenas["Service"]["predict"] = Effect.fnUntraced(function* (submission) {
    const { agentId, challengeId, prediction, receivedAt } = submission
    yield* Effect.annotateCurrentSpan({ "challenge.id": challengeId.slice(0, 64), "agent.id": agentId })
    if (!isUuid(challengeId)) return yield* unknownChallenge(challengeId)
    const id = PredictionId.make(yield* random.uuidV7())
    const item: SubmissionItem = {
      id,
      challengeId,
      agentId,
      direction: prediction.direction,
      confidence: prediction.confidence,
      reasoning: prediction.reasoning ?? null,
      isRevision: prediction.is_revision === true,
      receivedAt
    }
    const outcome = yield* unraced(record(item))
    yield* Effect.annotateCurrentSpan({ "prediction.outcome": outcome.outcome })
    const answer = {
      prediction_id: id,
      challenge_id: ChallengeId.make(challengeId.toLowerCase()),
      direction: prediction.direction,
      confidence: prediction.confidence,
      created_at: DateTime.formatIso(receivedAt)
    }
    switch (outcome.outcome) {
      case "unknown":
        return yield* unknownChallenge(challengeId)
      case "cancelled":
        return yield* cancelledChallenge()
      case "duplicate":
        return yield* duplicatePrediction()
      case "capped":
        return yield* provisionalLimit(outcome.prediction_limit)
      case "closed": {
        const entry = yield* paperSignals.record(id, submission)
        return {
          answer: {
            ...answer,
            counts_for_score: false,
            note: `The deadline of this challenge has passed: recorded as a paper-trade signal only.${positionNote(entry)}`,
            revision_count: 0,
            receipt: null
          },
          replaced: false
        }
      }
      case "recorded":
      case "revised":
        return {
          answer: {
            ...answer,
            counts_for_score: true,
            note: null,
            revision_count: outcome.revision,
            receipt: { commit: outcome.commit, salt: outcome.salt, body: outcome.body, leaf_index: null }
          },
          replaced: outcome.outcome === "revised"
        }
    }
  }, hotSpan("Arenas.predict"))

  return predict
})
