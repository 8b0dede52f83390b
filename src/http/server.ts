/** The HTTP server: the API, its documents and metrics, behind the edge. Needs the services; knows no layer. */
import { createServer } from "node:http"
import type { Server, ServerOptions } from "node:http"
import { Effect, Layer } from "effect"
import { HttpMiddleware, HttpRouter } from "effect/http"
import { HttpApiBuilder, HttpApiScalar } from "effect/http-api"
import { PrometheusMetrics } from "effect/observability"
import { Api } from "./api/Api.ts"
import * as admin from "./handlers/admin.ts"
import * as agent from "./handlers/agent.ts"
import * as arena from "./handlers/arena.ts"
import * as health from "./handlers/health.ts"
import * as publicReads from "./handlers/public.ts"
import * as registration from "./handlers/registration.ts"
import * as authentication from "./middleware/authentication.ts"
import * as edge from "./middleware/edge.ts"
import * as limits from "./middleware/limits.ts"
import * as requestBody from "./middleware/requestBody.ts"
import { Health } from "../services/Health.ts"
import { documents, knownPath } from "./routes.ts"

const handlers = Layer.mergeAll(
  registration.layer,
  agent.layer,
  arena.layer,
  publicReads.layer,
  admin.layer,
  health.layer
).pipe(
  Layer.provide([
    authentication.agents,
    authentication.administrators,
    limits.byAddress,
    limits.byAgent,
    requestBody.layer
  ])
)

const api = HttpApiBuilder.layer(Api, { openapiPath: documents.openapi }).pipe(Layer.provide(handlers))

const routes = Layer.mergeAll(
  api,
  HttpApiScalar.layer(Api, { path: documents.docs }),
  PrometheusMetrics.layerHttp({ path: documents.metrics, prefix: "auspex" }),
  edge.layer
)

/** A span is named by its route, so that a thousand challenges are one line in a trace view. */
const spanNames = Layer.succeed(
  HttpMiddleware.SpanNameGenerator,
  (request) => `${request.method} ${knownPath(request.url)?.path ?? "unknown"}`
)

/** Everything over HTTP; the server to listen with is provided by the composition root. */
export const layer = HttpRouter.serve(routes, { disableLogger: true, disableListenLog: true }).pipe(
  Layer.provide(spanNames)
)

/** Stopping begins here: not ready from now on, and nothing new is taken while what is under way is finished. */
export const drainFirst = Layer.effectDiscard(
  Effect.gen(function* () {
    const health = yield* Health
    yield* Effect.addFinalizer(() => Effect.andThen(health.drain, Effect.logInfo("shutting down")))
  })
)

/** A client gets this long to send its headers, and its whole request. */
const defaultPatience: ServerOptions = {
  headersTimeout: 5000,
  requestTimeout: 10_000,
  connectionsCheckingInterval: 1000,
  keepAliveTimeout: 65_000
}

const malformed = JSON.stringify({ detail: "The request is not well-formed HTTP.", code: "invalid_request" })

/** A Node server that hangs up on slow clients, and answers what it cannot parse in our shape. */
export const makeNodeServer = (patience: ServerOptions = {}): Server => {
  const server = createServer({ ...defaultPatience, ...patience })
  server.on("clientError", (error: NodeJS.ErrnoException, socket) => {
    if (error.code === "ECONNRESET" || !socket.writable) {
      socket.destroy()
      return
    }
    const status = statusOfClientError(error.code)
    socket.end(
      `HTTP/1.1 ${status}\r\nConnection: close\r\nContent-Type: application/json; charset=utf-8\r\nContent-Length: ${Buffer.byteLength(malformed)}\r\n\r\n${malformed}`
    )
  })
  return server
}

const statusOfClientError = (code: string | undefined): string => {
  switch (code) {
    case "HPE_HEADER_OVERFLOW":
      return "431 Request Header Fields Too Large"
    case "ERR_HTTP_REQUEST_TIMEOUT":
      return "408 Request Timeout"
    case "HPE_CHUNK_EXTENSIONS_OVERFLOW":
      return "413 Content Too Large"
    default:
      return "400 Bad Request"
  }
}
