/** Recording a submission: a prediction before the deadline, a paper-trade signal after it. */
import { Array as Arr, DateTime, Duration, Effect, Schema } from "effect"
import { SecureRandom } from "effect/crypto"
import { SqlClient } from "effect/sql"
import type { Arenas, Submission } from "../../../services/Arenas.ts"
import { ChallengeCancelled, DuplicatePrediction, ProvisionalLimit } from "../../../services/Challenges.ts"
import { ChallengeId, PredictionId, isUuid } from "../../../services/identifiers.ts"
import { TooManyRequests } from "../../../services/Limits.ts"
import { Settings } from "../../../services/Settings.ts"
import { hotSpan } from "../../hotSpan.ts"
import * as naturalBatch from "../naturalBatch.ts"
import { at, decimal, maybe, orDefect } from "../query.ts"
import { isProvisionalLimit, mostLooks } from "./races.ts"
import { SubmissionOutcome, recordPredictions } from "./submissions.ts"
import type { SubmissionItem } from "./submissions.ts"
import { unknownChallenge } from "./unknownChallenge.ts"

const lostRace: SubmissionOutcome = { position: 1, outcome: "raced", prediction_limit: null }

export const makePredict = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const settings = yield* Settings
  const random = yield* SecureRandom.SecureRandom
  const outcomesOf = Schema.decodeUnknownEffect(Schema.Array(SubmissionOutcome))
  const lastSignal = maybe(Schema.Struct({ last_at: Schema.DateTimeUtcFromDate }))

  const cancelled = () =>
    new ChallengeCancelled({
      detail: "The challenge is cancelled: it takes no submission, live or paper-trade."
    })

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

  const settled = Effect.fnUntraced(function* (item: SubmissionItem) {
    let outcome = yield* record(item)
    for (let look = 1; outcome.outcome === "raced" && look < mostLooks; look++) outcome = yield* record(item)
    return outcome
  })

  const paperSignal = Effect.fnUntraced(function* (id: PredictionId, submission: Submission) {
    const { agentId, challengeId, prediction, receivedAt } = submission
    const spacing = settings.paperSignalSpacing
    const earliest = DateTime.subtractDuration(receivedAt, spacing)
    const written = yield* sql`
      with gate as (
        insert into paper_signal_spacing as s (challenge_id, agent_id, last_at)
        select c.id, ${agentId}::uuid, ${at(receivedAt)}
          from challenges c where c.id = ${challengeId}::uuid and c.cancelled_at is null
           for key share
        on conflict (challenge_id, agent_id) do update set last_at = excluded.last_at
          where s.last_at <= ${at(earliest)}
        returning challenge_id, agent_id
      )
      insert into paper_signals (id, challenge_id, agent_id, direction, confidence, reasoning, received_at)
      select ${id}::uuid, challenge_id, agent_id, ${prediction.direction}, ${decimal(prediction.confidence)}::numeric,
             ${prediction.reasoning ?? null}, ${at(receivedAt)}
        from gate
      returning 1`.pipe(orDefect)
    if (written.length > 0) return
    const last = yield* lastSignal(sql`
      select last_at from paper_signal_spacing
       where challenge_id = ${challengeId}::uuid and agent_id = ${agentId}::uuid`)
    if (last._tag === "None" || DateTime.isLessThanOrEqualTo(last.value.last_at, earliest))
      return yield* cancelled()
    const wait = DateTime.distance(receivedAt, DateTime.addDuration(last.value.last_at, spacing))
    const seconds = Math.max(1, Math.ceil(Duration.toSeconds(wait)))
    return yield* new TooManyRequests({
      detail: `Paper-trade signals on one challenge are at least ${Duration.format(spacing)} apart. Try again in ${seconds} s.`,
      retry_after: seconds
    })
  })

  const predict: Arenas["Service"]["predict"] = Effect.fnUntraced(function* (submission) {
    const { agentId, challengeId, prediction, receivedAt } = submission
    yield* Effect.annotateCurrentSpan({ "challenge.id": challengeId.slice(0, 64), "agent.id": agentId })
    if (!isUuid(challengeId)) return yield* unknownChallenge(challengeId)
    const id = PredictionId.make(yield* random.uuidV7())
    const outcome = yield* settled({
      id,
      challengeId,
      agentId,
      direction: prediction.direction,
      confidence: prediction.confidence,
      reasoning: prediction.reasoning ?? null,
      isRevision: prediction.is_revision === true,
      receivedAt
    })
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
        return yield* cancelled()
      case "duplicate":
        return yield* new DuplicatePrediction({
          detail:
            "This agent has predicted this challenge: send is_revision true to change the prediction before the deadline."
        })
      case "capped":
        return yield* new ProvisionalLimit({
          detail: `A provisional agent predicts at most ${outcome.prediction_limit ?? 0} challenges; once its operator has claimed it there is no such limit.`
        })
      case "closed": {
        yield* paperSignal(id, submission)
        return {
          answer: {
            ...answer,
            counts_for_score: false,
            note: "The deadline of this challenge has passed: recorded as a paper-trade signal only.",
            revision_count: 0,
            receipt: null
          },
          replaced: false
        }
      }
      case "raced":
        return yield* Effect.die(new Error("a submission lost too many races"))
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
