/**
 * What those who operate an instance ask it: metrics and health, on a listener of its own that the public does not reach.
 * Nothing here is limited or counted, and it is there in every role, from before the first request until after the last.
 */
import { Context, Effect, Layer, Option } from "effect"
import { HttpMiddleware, HttpServer, HttpServerRequest, HttpServerResponse } from "effect/http"
import type { HttpServerError } from "effect/http"
import { PrometheusMetrics } from "effect/observability"
import { Health } from "../services/Health.ts"
import type { Settings } from "../services/Settings.ts"
import { live, ready } from "./handlers/health.ts"
import { pathOf } from "./routes.ts"
import { listening } from "./DrainingServer.ts"

/** Where it is reached; null: it is turned off. */
export class OperationsUrl extends Context.Service<OperationsUrl, string | null>()(
  "auspex/http/OperationsUrl"
) {}

const paths = { metrics: "/metrics", live: "/health/live", ready: "/health/ready" }

const nothingThere = HttpServerResponse.jsonUnsafe(
  {
    detail: `There is nothing at this path. There are ${Object.values(paths).join(", ")}.`,
    code: "not_found"
  },
  { status: 404 }
)

/** The few paths need no router; that of the public, which is built once, would be taken for these as well. */
const served = Layer.unwrap(
  Effect.gen(function* () {
    const health = yield* Health
    const metrics = yield* Effect.cachedWithTTL(
      Effect.map(PrometheusMetrics.format({ prefix: "auspex" }), (text) =>
        HttpServerResponse.uint8Array(Buffer.from(text), {
          contentType: "text/plain; version=0.0.4; charset=utf-8"
        })
      ),
      // All of them as text are milliseconds of work, and nobody needs them more often.
      "1 second"
    )
    const answers = new Map([
      [paths.metrics, metrics],
      [paths.live, Effect.succeed(live)],
      [paths.ready, ready(health)]
    ])
    return HttpServer.serve(
      Effect.flatMap(HttpServerRequest.HttpServerRequest, ({ method, url }) => {
        const isRead = method === "GET" || method === "HEAD"
        return (isRead ? answers.get(pathOf(url)) : undefined) ?? Effect.succeed(nothingThere)
      })
    )
  })
).pipe(Layer.provide(Layer.succeed(HttpMiddleware.TracerDisabledWhen, () => true)))

const url = Layer.effect(
  OperationsUrl,
  Effect.map(HttpServer.HttpServer, ({ address }) => HttpServer.formatAddress(address))
)

/** Listens at this place, if there is one. */
export const layer = (place: {
  readonly host: string
  readonly port: Option.Option<number>
}): Layer.Layer<OperationsUrl, HttpServerError.ServeError, Health | Settings> =>
  Option.match(place.port, {
    onNone: () => Layer.succeed(OperationsUrl, null),
    onSome: (port) => Layer.merge(url, served).pipe(Layer.provide(listening({ host: place.host, port })))
  })
