import { Effect } from "effect"
import { HttpServerResponse } from "effect/http"
import { HttpApiBuilder } from "effect/http-api"
import { Health } from "../../services/Health.ts"
import { Api } from "../api/Api.ts"

/** The operations listener answers with these, too. */
export const live = HttpServerResponse.jsonUnsafe({ status: "live" })

export const ready = ({ readiness }: Health["Service"]) =>
  Effect.map(readiness, (found) =>
    HttpServerResponse.jsonUnsafe(found, { status: found.status === "ready" ? 200 : 503 })
  )

export const layer = HttpApiBuilder.group(
  Api,
  "health",
  Effect.fnUntraced(function* (handlers) {
    const health = yield* Health
    return handlers.handleAll({ live: () => Effect.succeed(live), ready: () => ready(health) })
  })
)
