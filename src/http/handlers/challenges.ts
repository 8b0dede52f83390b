/** Predictions on challenges of every type, and stakes. */
import {
  Array as Arr,
  DateTime,
  Effect,
  Layer,
  Option,
  Order,
  Predicate,
  Result,
  Schema,
  Struct
} from "effect"
import { HttpServerResponse } from "effect/http"
import { HttpApiBuilder } from "effect/http-api"
import { Arenas, PredictionAnswer } from "../../services/Arenas.ts"
import type {
  Predicted,
  PredictionOutcomes,
  PredictionRefused,
  Refusal,
  Submission
} from "../../services/Arenas.ts"
import { OpenQuestions } from "../../services/OpenQuestions.ts"
import { Pools } from "../../services/Pools.ts"
import { OwedUses, TooManyRequests } from "../../services/RateLimiter.ts"
import type { Use } from "../../services/RateLimiter.ts"
import { Schedules } from "../../services/Schedules.ts"
import { Targets } from "../../services/Targets.ts"
import { allows } from "../../services/Scopes.ts"
import type { Scope } from "../../services/Scopes.ts"
import { AnswerTo, decodeAnswerTo } from "../../services/domain/Answer.ts"
import type { NewAnswer } from "../../services/domain/Answer.ts"
import type { ChallengeType } from "../../services/domain/Challenge.ts"
import { inLanguage } from "../../services/domain/language.ts"
import { pageOf } from "../../services/domain/paging.ts"
import { Api } from "../api/Api.ts"
import { needsOfAnswer } from "../api/challenges.ts"
import { errorStatus, isRefusal } from "../errors.ts"
import type { MissingScope } from "../errors.ts"
import { invalidRequest, withUnknownNames } from "../fieldProblems.ts"
import { missingScope } from "../missingScope.ts"
import { Registry } from "../../services/Registry.ts"
import { BatchAdmission, CurrentAgent, Reader, ReceivedAt } from "../api/middleware.ts"
import { presentMembersOf, unknownMembersOf } from "../unknownFields.ts"

const encodeAnswer = Schema.encodeSync(PredictionAnswer)

/** Predicts on one challenge; a given `type` accepts only challenges of that type. */
const makePredictOne = Effect.gen(function* () {
  const arenas = yield* Arenas
  return Effect.fnUntraced(function* (challengeId: string, answer: NewAnswer, type?: ChallengeType) {
    const receivedAt = yield* ReceivedAt
    const owed = yield* OwedUses
    const { agentId } = yield* CurrentAgent
    const submission = { agentId, challengeId, answer, receivedAt, owed, ...(type !== undefined && { type }) }
    const outcomes = yield* arenas.predict([submission])
    const {
      answer: made,
      ignored,
      replaced
    } = yield* Effect.fromResult(Arr.getUnsafe(outcomes, 0)).pipe(Effect.catchTag("LimitReached", Effect.die))
    return HttpServerResponse.jsonUnsafe(
      { ...encodeAnswer(made), ...(ignored.length > 0 && { ignored_fields: ignored }) },
      { status: replaced ? 200 : 201 }
    )
  })
})

/** The answer includes a stake, and the agent lacks the scope for it. */
const needsScope = (sent: unknown, scopes: ReadonlySet<Scope>): boolean =>
  needsOfAnswer(sent).some(({ scope }) => !allows(scopes, scope))

type PredictionOutcome = PredictionOutcomes["items"][number]

const acceptedAs = ({ answer: { receipt }, replaced }: Predicted) => {
  if (receipt === null) return "paper_trade"
  return replaced ? "revised" : "recorded"
}

const toRefusal = (error: Refusal): Refusal => {
  const { code, detail } = error
  const others = ["hint", "errors", "current_revision", "retry_after"] as const
  return {
    detail,
    code,
    ...Struct.pick(
      error,
      others.filter((name) => error[name] !== undefined)
    )
  }
}

const unknownIn = unknownMembersOf(AnswerTo)
const presentIn = presentMembersOf(AnswerTo)

/** The decoded item, or the problems of its fields. */
const read = (sent: unknown) =>
  Result.mapError(decodeAnswerTo(presentIn(sent)), (error) =>
    withUnknownNames(invalidRequest(error.issue, sent), unknownIn(sent))
  )

const acceptedItem = (sent: unknown, predicted: Predicted): PredictionOutcome => {
  const ignored_fields = [...predicted.ignored, ...unknownIn(sent).map(({ path }) => path)]
  return {
    outcome: acceptedAs(predicted),
    ...predicted.answer,
    ...(ignored_fields.length > 0 && { ignored_fields })
  }
}

const refusedItem = (sent: unknown, status: number, error: Refusal): PredictionOutcome => {
  const challenge_id = Predicate.hasProperty(sent, "challenge_id") ? sent.challenge_id : null
  return {
    outcome: "refused",
    challenge_id: typeof challenge_id === "string" ? challenge_id : null,
    status,
    error: toRefusal(error)
  }
}

type Refused = PredictionRefused | MissingScope

const answersHandlers = HttpApiBuilder.group(
  Api,
  "answers",
  Effect.fnUntraced(function* (handlers) {
    const arenas = yield* Arenas
    const registry = yield* Registry
    return handlers.handleAll({
      predictAll: Effect.fnUntraced(function* ({ payload: { predictions } }) {
        const receivedAt = yield* ReceivedAt
        const { agentId, scopes } = yield* CurrentAgent
        const { conclude, usesOf } = yield* BatchAdmission
        // A missing scope is reported before wrong fields, as for a single answer.
        const submissionOf = Effect.fnUntraced(function* (sent: unknown, owed: ReadonlyArray<Use>) {
          if (needsScope(sent, scopes)) return yield* missingScope(registry, agentId, "credits:stake")
          const { challenge_id: challengeId, ...answer } = yield* Effect.fromResult(read(sent))
          return { agentId, challengeId, answer, receivedAt, owed }
        })

        const answers = yield* Effect.forEach(predictions, (sent) => {
          const uses = usesOf(sent)
          const decoded = Effect.result<Submission, Refused, never>(submissionOf(sent, uses))
          return Effect.map(decoded, (submission) => ({ submission, uses }))
        })
        const limited: Array<TooManyRequests> = []
        const refused = { tried: 0, untried: 0 }
        const outcomes = yield* arenas.predictBatch(agentId, answers)
        const items = Arr.zip(predictions, outcomes).map(([sent, { outcome, wasTried }]) => {
          if (Result.isSuccess(outcome)) return acceptedItem(sent, outcome.success)
          const { failure } = outcome
          if (failure instanceof TooManyRequests) limited.push(failure)
          const status = errorStatus(failure)
          if (isRefusal(status)) refused[wasTried ? "tried" : "untried"] += 1
          return refusedItem(sent, status, failure)
        })
        // A batch whose items all exceed a limit fails as a whole. It then counts as a refused write, and its answer is not stored.
        const soonest = Arr.sortWith(limited, ({ retry_after }) => retry_after, Order.Number)[0]
        if (soonest !== undefined && limited.length === predictions.length) {
          conclude(refused.tried)
          return yield* soonest
        }
        conclude(refused.tried + refused.untried)
        return { items }
      })
    })
  })
)

const questionsHandlers = HttpApiBuilder.group(
  Api,
  "questions",
  Effect.fnUntraced(function* (handlers) {
    const questions = yield* OpenQuestions
    const schedules = yield* Schedules
    const targets = yield* Targets
    const reader = Effect.map(Reader, (agent) => Option.getOrUndefined(agent)?.agentId)
    return handlers.handleAll({
      open: Effect.fnUntraced(function* ({ query }) {
        const { asset, category, closing_before: closingBefore, kind, type } = query
        const practice = query.practice === undefined ? undefined : query.practice === "true"
        const filter = { asset, category, type, kind, practice }
        const { items, next_cursor } = yield* questions.list(
          { ...filter, closingBefore },
          pageOf(query),
          yield* reader
        )
        const isNothingOpen =
          practice !== true &&
          query.cursor === undefined &&
          next_cursor === null &&
          items.every((item) => item.practice)
        if (items.length === 0) yield* targets.checkFilter(asset)
        const next = isNothingOpen ? yield* schedules.nextExpected(filter) : Option.none()
        return {
          items: items.map(inLanguage(query.lang)),
          next_cursor,
          next_expected_at: Option.match(next, { onNone: () => null, onSome: DateTime.formatIso })
        }
      }),
      openQuestion: Effect.fnUntraced(function* ({ params, query }) {
        return inLanguage(query.lang)(yield* questions.get(params.challenge_id, yield* reader))
      })
    })
  })
)

const directionalHandlers = HttpApiBuilder.group(
  Api,
  "arena",
  Effect.fnUntraced(function* (handlers) {
    const arenas = yield* Arenas
    const predictOne = yield* makePredictOne
    return handlers.handleAll({
      active: ({ query }) =>
        Effect.flatMap(CurrentAgent, ({ agentId }) => arenas.active(agentId, pageOf(query))).pipe(
          Effect.map((page) => ({ ...page, items: page.items.map(inLanguage(query.lang)) }))
        ),
      predict: ({ params, payload }) => predictOne(params.challenge_id, payload),
      paperSignals: ({ params, query }) =>
        Effect.flatMap(CurrentAgent, ({ agentId }) =>
          arenas.paperSignals(agentId, params.challenge_id, pageOf(query))
        )
    })
  })
)

const macroHandlers = HttpApiBuilder.group(
  Api,
  "macro",
  Effect.fnUntraced(function* (handlers) {
    const pools = yield* Pools
    const predictOne = yield* makePredictOne
    return handlers.handleAll({
      forecast: ({ params, payload }) => predictOne(params.challenge_id, payload, "macro"),
      stake: Effect.fnUntraced(function* ({ params, payload }) {
        const receivedAt = yield* ReceivedAt
        const { agentId } = yield* CurrentAgent
        return yield* pools.stake({ agentId, challengeId: params.challenge_id, stake: payload, receivedAt })
      })
    })
  })
)

const priceEventsHandlers = HttpApiBuilder.group(
  Api,
  "priceEvents",
  Effect.fnUntraced(function* (handlers) {
    const predictOne = yield* makePredictOne
    return handlers.handleAll({
      answer: ({ params, payload }) => predictOne(params.challenge_id, payload, "price_event")
    })
  })
)

export const layer = Layer.mergeAll(
  questionsHandlers,
  answersHandlers,
  directionalHandlers,
  macroHandlers,
  priceEventsHandlers
)
