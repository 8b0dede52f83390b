import { Effect } from "effect"
import { HttpServerResponse } from "effect/http"
import { Health } from "../../services/Health.ts"
import { Api } from "../api/Api.ts"
import { leanGroup } from "../leanGroup.ts"

export const layer = leanGroup(
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
