/**
 * Metrics and health for operations, on a listener of their own that the public does not reach. It is unlimited, runs in
 * every role, starts before the first request and stops after the last.
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

/** Its address; null when it is turned off. */
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

/** Without a router: layers are built once, so this would be the public one. */
const served = Layer.unwrap(
  Effect.gen(function* () {
    const health = yield* Health
    const metrics = yield* Effect.cachedWithTTL(
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

/** Listens there, unless it is turned off. */
export const layer = (place: {
  readonly host: string
  readonly port: Option.Option<number>
}): Layer.Layer<OperationsUrl, HttpServerError.ServeError, Health | Settings> =>
  Option.match(place.port, {
    onNone: () => Layer.succeed(OperationsUrl, null),
    onSome: (port) => Layer.merge(url, served).pipe(Layer.provide(listening({ host: place.host, port })))
  })
