/**
 * Metrics and health on a listener of their own, which the public does not reach. It has no limits and runs in every role,
 * from before the start until after the end.
 */
import { Context, Effect, Layer, Option } from "effect"
import { HttpMiddleware, HttpServer, HttpServerRequest, HttpServerResponse } from "effect/http"
import type { HttpServerError } from "effect/http"
import { PrometheusMetrics } from "effect/observability"
import { Health } from "../services/Health.ts"
import { cachedSteadily } from "../services/domain/steadyCache.ts"
import { live, ready } from "./handlers/health.ts"
import { pathOf } from "./routes.ts"
import { listening } from "./DrainingServer.ts"
import { notReady } from "./readiness.ts"

export class Operations extends Context.Service<
  Operations,
  {
    /** The listener's address; null if it is turned off. */
    readonly url: string | null
    /** Sets the service that answers for readiness after the start. */
    readonly attend: (health: Health["Service"]) => Effect.Effect<void>
  }
>()("auspex/http/Operations") {}

const paths = { metrics: "/metrics", live: "/health/live", ready: "/health/ready" }

const nothingThere = HttpServerResponse.jsonUnsafe(
  {
    detail: `There is nothing at this path. There are ${Object.values(paths).join(", ")}.`,
    code: "not_found"
  },
  { status: 404 }
)

/** Answers without a router: layers are built once, so a router here would be the public one. */
const served = (progress: () => string) =>
  Layer.effect(
    Operations,
    Effect.gen(function* () {
      let health: Health["Service"] | undefined
      const metrics = yield* cachedSteadily(
        Effect.map(PrometheusMetrics.format({ prefix: "auspex" }), (text) =>
          HttpServerResponse.uint8Array(Buffer.from(text), {
            contentType: "text/plain; version=0.0.4; charset=utf-8"
          })
        ),
        // Cached, since rendering all metrics takes milliseconds.
        "1 second"
      )
      const answers = new Map([
        [paths.metrics, metrics],
        [paths.live, Effect.succeed(live)],
        [
          paths.ready,
          Effect.suspend(() =>
            health === undefined
              ? Effect.succeed(HttpServerResponse.jsonUnsafe(notReady(progress()), { status: 503 }))
              : ready(health)
          )
        ]
      ])
      const server = yield* HttpServer.HttpServer
      yield* server.serve(
        Effect.flatMap(HttpServerRequest.HttpServerRequest, ({ method, url }) => {
          const isRead = method === "GET" || method === "HEAD"
          return (isRead ? answers.get(pathOf(url)) : undefined) ?? Effect.succeed(nothingThere)
        })
      )
      return Operations.of({
        url: HttpServer.formatAddress(server.address),
        attend: (started) => Effect.sync(() => void (health = started))
      })
    })
  ).pipe(Layer.provide(Layer.succeed(HttpMiddleware.TracerDisabledWhen, () => true)))

/** Listens at the place, unless it is turned off; `progress` names the current step of the start. */
export const layer = (place: {
  readonly host: string
  readonly port: Option.Option<number>
  readonly rules: Parameters<typeof listening>[0]["rules"]
  readonly progress: () => string
}): Layer.Layer<Operations, HttpServerError.ServeError> =>
  Option.match(place.port, {
    onNone: () => Layer.succeed(Operations, { url: null, attend: () => Effect.void }),
    onSome: (port) =>
      served(place.progress).pipe(Layer.provide(listening({ host: place.host, port, rules: place.rules })))
  })
