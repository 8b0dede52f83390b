import { Arenas } from "../../services/Arenas.ts"
import { DateTime, Effect } from "effect"
import { HttpServerResponse } from "effect/http"
import { HttpApiBuilder } from "effect/http-api"
import { Api } from "../api/Api.ts"
import { CurrentAgent } from "../middleware/definitions.ts"

export const layer = HttpApiBuilder.group(
  Api,
  "priceEvents",
  Effect.fnUntraced(function* (handlers) {
    const { priceEvents } = yield* Arenas
    return handlers.handleAll({
      answer: Effect.fnUntraced(function* ({ params, payload }) {
        // The body has been read: this is the stamp.
        const receivedAt = yield* DateTime.now
        const { agentId } = yield* CurrentAgent
        const { answer, replaced } = yield* priceEvents.predict({
          agentId,
          challengeId: params.challenge_id,
          prediction: payload,
          receivedAt
        })
        return HttpServerResponse.jsonUnsafe(answer, { status: replaced ? 200 : 201 })
      })
    })
  })
)
