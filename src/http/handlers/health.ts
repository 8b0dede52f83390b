import { Effect } from "effect"
import { HttpServerResponse } from "effect/http"
import { HttpApiBuilder } from "effect/http-api"
import { Health } from "../../services/Health.ts"
import { Api } from "../api/Api.ts"

export const layer = HttpApiBuilder.group(
  Api,
  "health",
  Effect.fnUntraced(function* (handlers) {
    const health = yield* Health
    return handlers.handleAll({
      live: () => Effect.succeed({ status: "live" as const }),
      ready: () =>
        Effect.map(health.readiness, (readiness) =>
          HttpServerResponse.jsonUnsafe(readiness, { status: readiness.status === "ready" ? 200 : 503 })
        )
    })
  })
)
