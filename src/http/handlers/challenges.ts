/** Predictions of each type, and stakes. */
import { Effect, Layer, Predicate, Schema } from "effect"
import { HttpServerResponse } from "effect/http"
import { HttpApiBuilder } from "effect/http-api"
import { Arenas } from "../../services/Arenas.ts"
import { Pools, StakedForecastAnswer } from "../../services/Pools.ts"
import { allows } from "../../services/Scopes.ts"
import { inLanguage } from "../../services/domain/language.ts"
import { pageOf } from "../../services/domain/paging.ts"
import { Api } from "../api/Api.ts"
import { missingScope } from "../missingScope.ts"
import { Registry } from "../../services/Registry.ts"
import { CurrentAgent, ReceivedAt } from "../middleware/definitions.ts"

/** What an answer tells of known fields that said something, and have no meaning here. */
const ignoring = (names: ReadonlyArray<string>, payload: object) => {
  const sent = names.filter(
    (name) => Predicate.hasProperty(payload, name) && payload[name] !== undefined && payload[name] !== false
  )
  return sent.length === 0 ? {} : { ignored_fields: sent }
}

/** A paper-trade signal revises nothing. */
const revisionNames = ["is_revision", "expected_revision"]

const directionalHandlers = HttpApiBuilder.group(
  Api,
  "arena",
  Effect.fnUntraced(function* (handlers) {
    const arenas = yield* Arenas
    return handlers.handleAll({
      active: ({ query }) =>
        Effect.flatMap(CurrentAgent, ({ agentId }) => arenas.directional.active(agentId, pageOf(query))).pipe(
          Effect.map((page) => ({ ...page, items: page.items.map(inLanguage(query.lang)) }))
        ),
      predict: Effect.fnUntraced(function* ({ params, payload }) {
        const receivedAt = yield* ReceivedAt
        const { agentId } = yield* CurrentAgent
        const { answer, replaced } = yield* arenas.directional.predict({
          agentId,
          challengeId: params.challenge_id,
          prediction: payload,
          receivedAt
        })
        return HttpServerResponse.jsonUnsafe(
          { ...answer, ...ignoring(answer.counts_for_score ? [] : revisionNames, payload) },
          { status: replaced ? 200 : 201 }
        )
      }),
      paperSignals: ({ params, query }) =>
        Effect.flatMap(CurrentAgent, ({ agentId }) =>
          arenas.directional.paperSignals(agentId, params.challenge_id, pageOf(query))
        )
    })
  })
)

const encodeAnswer = (answer: StakedForecastAnswer) =>
  Effect.orDie(Schema.encodeEffect(StakedForecastAnswer)(answer))

const macroHandlers = HttpApiBuilder.group(
  Api,
  "macro",
  Effect.fnUntraced(function* (handlers) {
    const { macro } = yield* Arenas
    const pools = yield* Pools
    const registry = yield* Registry
    return handlers.handleAll({
      forecast: Effect.fnUntraced(function* ({ params, payload }) {
        const receivedAt = yield* ReceivedAt
        const { agentId, scopes } = yield* CurrentAgent
        if (payload.amount !== undefined && !allows(scopes, "credits:stake")) {
          return yield* missingScope(registry, agentId, "credits:stake")
        }
        const { answer, replaced } = yield* macro.predict({
          agentId,
          challengeId: params.challenge_id,
          forecast: payload,
          receivedAt
        })
        const json = answer.stake === null ? answer : yield* encodeAnswer(answer)
        return HttpServerResponse.jsonUnsafe(json, { status: replaced ? 200 : 201 })
      }),
      stake: Effect.fnUntraced(function* ({ params, payload }) {
        const receivedAt = yield* ReceivedAt
        const { agentId } = yield* CurrentAgent
        return yield* pools.stake({ agentId, challengeId: params.challenge_id, stake: payload, receivedAt })
      })
    })
  })
)

/** Of either form; a question takes one of the two. */
const valueNames = ["direction", "confidence", "predicted_value", "predicted_std"] as const

const priceEventsHandlers = HttpApiBuilder.group(
  Api,
  "priceEvents",
  Effect.fnUntraced(function* (handlers) {
    const { priceEvents } = yield* Arenas
    return handlers.handleAll({
      answer: Effect.fnUntraced(function* ({ params, payload }) {
        const receivedAt = yield* ReceivedAt
        const { agentId } = yield* CurrentAgent
        const { answer, replaced } = yield* priceEvents.predict({
          agentId,
          challengeId: params.challenge_id,
          prediction: payload,
          receivedAt
        })
        const ignored = valueNames.filter((name) => answer[name] === null)
        return HttpServerResponse.jsonUnsafe(
          { ...answer, ...ignoring(ignored, payload) },
          { status: replaced ? 200 : 201 }
        )
      })
    })
  })
)

export const layer = Layer.mergeAll(directionalHandlers, macroHandlers, priceEventsHandlers)
