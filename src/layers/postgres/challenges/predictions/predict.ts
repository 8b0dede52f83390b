/**
 * Takes predictions: records them, turns those on closed directional challenges into paper-trade signals, and places
 * the stakes that come with an answer.
 */
import { Array as Arr, BigDecimal, DateTime, Effect, Option, Result, Struct } from "effect"
import { SecureRandom } from "effect/crypto"
import { SqlClient } from "effect/sql"
import type {
  Arenas,
  BatchItem,
  BatchOutcome,
  Predicted,
  PredictionRefused,
  Submission
} from "../../../../services/Arenas.ts"
import { reasonOf, valueNames } from "../../../../services/domain/Answer.ts"
import type { AnswerValues } from "../../../../services/domain/Answer.ts"
import { NotFound } from "../../../../services/domain/errors.ts"
import { ChallengeId, PredictionId } from "../../../../services/domain/ids.ts"
import type { AgentId } from "../../../../services/domain/ids.ts"
import { emptyAnswer } from "../../../../services/domain/Prediction.ts"
import { Practice } from "../../../../services/Practice.ts"
import { Pools } from "../../../../services/Pools.ts"
import type { StakeAnswer } from "../../../../services/Pools.ts"
import { failingAtLimits, LimitReached, RateLimiter } from "../../../../services/RateLimiter.ts"
import type { TooManyRequests } from "../../../../services/RateLimiter.ts"
import type { ObservedPrice } from "../../../../services/Prices.ts"
import { cheapSpan } from "../../../cheapSpan.ts"
import { transaction } from "../../sql.ts"
import type { RecordSignal } from "./paperSignals.ts"
import { makeRecordPredictions } from "./predictions.ts"
import type { NewRecord, RecordedPrediction } from "./predictions.ts"

interface Item {
  readonly submission: Submission
  readonly record: NewRecord
}

const recordOf = (submission: Submission, id: string): NewRecord => {
  const { agentId, answer, challengeId, owed, receivedAt, type = null } = submission
  return {
    id: PredictionId.make(id),
    type,
    challengeId,
    agentId,
    values: Struct.pick(answer, valueNames),
    hasStake: isStaked(submission),
    reasoning: reasonOf(answer),
    mayRevise: answer.is_revision === true,
    expectedRevision: answer.expected_revision ?? null,
    receivedAt,
    owed
  }
}

const isStaked = ({ answer }: Submission): boolean => answer.amount !== undefined && answer.amount !== null

const predictedOf = (
  { record, submission }: Item,
  { receipt, revision, type, values }: RecordedPrediction,
  { note, stake }: { readonly note?: string; readonly stake?: StakeAnswer } = {}
): Predicted => ({
  answer: {
    prediction_id: record.id,
    challenge_id: ChallengeId.make(submission.challengeId.toLowerCase()),
    ...emptyAnswer,
    ...values,
    created_at: DateTime.formatIso(submission.receivedAt),
    counts_for_score: receipt !== null,
    note: note ?? null,
    revision_count: revision,
    receipt,
    ...(type === "macro" && { stake: stake ?? null })
  },
  replaced: revision > 0,
  ignored: [
    ...valueNames.filter((name) => record.values[name] !== undefined && values[name] === undefined),
    // A paper-trade signal revises nothing.
    ...(receipt === null ? revisionNames.filter((name) => isSent(submission.answer[name])) : [])
  ]
})

/** The bin on which an answer on categories is staked: that of the likeliest category, the first of equal ones. */
const likeliestBin = (
  { probabilities = {} }: AnswerValues,
  categories: ReadonlyArray<string> | null
): number => {
  const ps = (categories ?? []).map((name) => probabilities[name] ?? 0)
  return ps.indexOf(Math.max(...ps))
}

const revisionNames = ["is_revision", "expected_revision"] as const

const isSent = (value: boolean | number | undefined): boolean => value !== undefined && value !== false

const paperNote = (entry: Option.Option<ObservedPrice>): string =>
  Option.match(entry, {
    onNone: () => "",
    onSome: ({ price }) => ` It takes a virtual position at ${BigDecimal.format(price)}.`
  })

const isUnknown = (outcome: Result.Result<unknown, unknown> | undefined): boolean =>
  outcome !== undefined && Result.isFailure(outcome) && outcome.failure instanceof NotFound

export const makePredict = Effect.fnUntraced(function* (recordSignal: RecordSignal) {
  const inTransaction = transaction(yield* SqlClient.SqlClient)
  const limits = yield* RateLimiter
  const random = yield* SecureRandom.SecureRandom
  const pools = yield* Pools
  const practice = yield* Practice
  const record = yield* makeRecordPredictions

  const onPaper = Effect.fnUntraced(function* (item: Item, recorded: RecordedPrediction) {
    const { confidence = 0, direction = "neutral" } = recorded.values
    const { agentId, challengeId, id, owed, reasoning, receivedAt } = item.record
    const entry = yield* recordSignal({
      id,
      agentId,
      challengeId,
      direction,
      confidence,
      reasoning,
      receivedAt,
      owed
    })
    const note = `The deadline of this challenge has passed: recorded as a paper-trade signal only.${paperNote(entry)}`
    return predictedOf(item, recorded, { note })
  })

  const withStake = Effect.fnUntraced(function* (item: Item, amount: bigint) {
    const { agentId, challengeId, receivedAt } = item.submission
    const recorded = Effect.flatMap(record([item.record]), (recordings) =>
      Effect.fromResult(Arr.getUnsafe(recordings, 0))
    )
    const { before, stake } = yield* pools.stakeAfter(
      { agentId, challengeId, amount, receivedAt },
      recorded,
      ({ outcomes, values }) => values.predicted_value ?? likeliestBin(values, outcomes)
    )
    return predictedOf(item, before, { stake })
  })

  const predict: Arenas["Service"]["predict"] = Effect.fnUntraced(function* (submissions) {
    const items = yield* Effect.forEach(submissions, (submission) =>
      Effect.map(random.uuidV7(), (id): Item => ({ submission, record: recordOf(submission, id) }))
    )
    const outcomes = new Map<Item, Result.Result<Predicted, PredictionRefused | LimitReached>>()
    const plain = items.filter(({ record: { hasStake } }) => !hasStake)
    const staked = items.filter(({ record: { hasStake } }) => hasStake)
    // One transaction may have several stakes: it locks pools first, then the account, and the limits of the agent
    // last.
    if (staked.length > 1) yield* pools.hold(staked.map(({ submission }) => submission))
    for (const item of staked) {
      outcomes.set(item, yield* Effect.result(withStake(item, item.submission.answer.amount ?? 0n)))
    }
    const recordings = yield* record(plain.map((item) => item.record))
    for (const [item, recording] of Arr.zip(plain, recordings)) {
      const isOnPaper = Result.isSuccess(recording) && recording.success.receipt === null
      outcomes.set(
        item,
        isOnPaper
          ? yield* Effect.result(failingAtLimits(onPaper(item, recording.success)))
          : Result.map(recording, (recorded) => predictedOf(item, recorded))
      )
    }
    // An unknown challenge may be a practice question.
    const unknown = items.filter((item) => item.record.type === null && isUnknown(outcomes.get(item)))
    const practised = yield* practice.predict(unknown.map(({ submission }) => submission))
    for (const [item, outcome] of Arr.zip(unknown, practised)) {
      if (Option.isSome(outcome)) outcomes.set(item, outcome.value)
    }
    return items.flatMap((item) => outcomes.get(item) ?? [])
  }, cheapSpan("Arenas.predict"))

  const predictBatch: Arenas["Service"]["predictBatch"] = Effect.fn("Arenas.predictBatch")(function* <E>(
    agentId: AgentId,
    items: ReadonlyArray<BatchItem<E>>
  ) {
    const outcomes = new Map<number, BatchOutcome<E>>()
    let left = items.map(({ submission, uses }, place) => ({ submission, uses, place }))
    while (left.length > 0) {
      const admitted = yield* limits.admitWrites(
        agentId,
        left.map(({ uses }) => uses)
      )
      const submissions = left.map(({ submission }, index) => {
        const full = admitted.refusals[index]
        return full === undefined ? submission : Result.fail<E | TooManyRequests>(full)
      })
      const made = yield* predict(Arr.getSuccesses(submissions))
      let next = 0
      const accepted: Array<number> = []
      left = left.filter(({ place }, index) => {
        const outcome = Result.flatMap(Arr.getUnsafe(submissions, index), () => Arr.getUnsafe(made, next++))
        const wasTried = admitted.refusals[index] === undefined
        if (Result.isSuccess(outcome)) {
          accepted.push(index)
          outcomes.set(place, { outcome: Result.succeed(outcome.success), wasTried })
          return false
        }
        // The window has become full since the item was admitted, so the item is admitted again.
        if (outcome.failure instanceof LimitReached) return true
        outcomes.set(place, { outcome: Result.fail(outcome.failure), wasTried })
        return false
      })
      yield* admitted.accepted(accepted)
    }
    return items.flatMap((_, place) => outcomes.get(place) ?? [])
  }, inTransaction)

  return { predict, predictBatch }
})
