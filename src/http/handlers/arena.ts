import { DateTime, Effect } from "effect"
import { HttpServerResponse } from "effect/http"
import { HttpApiBuilder } from "effect/http-api"
import { Arenas } from "../../services/Arenas.ts"
import { pageOf } from "../../services/paging.ts"
import { Api } from "../api/Api.ts"
import { CurrentAgent } from "../middleware/definitions.ts"

export const layer = HttpApiBuilder.group(
  Api,
  "arena",
  Effect.fnUntraced(function* (handlers) {
    const arenas = yield* Arenas
    return handlers.handleAll({
      active: ({ query }) =>
        Effect.flatMap(CurrentAgent, ({ agentId }) => arenas.directional.active(agentId, pageOf(query))),
      predict: Effect.fnUntraced(function* ({ params, payload }) {
        // The body has been read: this is the stamp.
        const receivedAt = yield* DateTime.now
        const { agentId } = yield* CurrentAgent
        const { answer, replaced } = yield* arenas.directional.predict({
          agentId,
          challengeId: params.challenge_id,
          prediction: payload,
          receivedAt
        })
        return HttpServerResponse.jsonUnsafe(answer, { status: replaced ? 200 : 201 })
      }),
      paperSignals: ({ params, query }) =>
        Effect.flatMap(CurrentAgent, ({ agentId }) =>
          arenas.directional.paperSignals(agentId, params.challenge_id, pageOf(query))
        )
    })
  })
)
