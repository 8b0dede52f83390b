import { DateTime, Effect } from "effect"
import { HttpServerResponse } from "effect/http"
import { HttpApiBuilder } from "effect/http-api"
import { Arenas } from "../../services/Arenas.ts"
import { Pools } from "../../services/Pools.ts"
import { Api } from "../api/Api.ts"
import { CurrentAgent } from "../middleware/definitions.ts"

export const layer = HttpApiBuilder.group(
  Api,
  "macro",
  Effect.fnUntraced(function* (handlers) {
    const { macro } = yield* Arenas
    const pools = yield* Pools
    return handlers.handleAll({
      forecast: Effect.fnUntraced(function* ({ params, payload }) {
        // The body has been read: this is the stamp.
        const receivedAt = yield* DateTime.now
        const { agentId } = yield* CurrentAgent
        const { answer, replaced } = yield* macro.predict({
          agentId,
          challengeId: params.challenge_id,
          forecast: payload,
          receivedAt
        })
        return HttpServerResponse.jsonUnsafe(answer, { status: replaced ? 200 : 201 })
      }),
      stake: Effect.fnUntraced(function* ({ params, payload }) {
        const receivedAt = yield* DateTime.now
        const { agentId } = yield* CurrentAgent
        return yield* pools.stake({ agentId, challengeId: params.challenge_id, stake: payload, receivedAt })
      })
    })
  })
)
