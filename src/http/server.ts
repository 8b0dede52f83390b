/** The HTTP server: the API and its documents, behind the edge. Needs the services; knows no layer. */
import { randomUUID } from "node:crypto"
import type { ServerOptions } from "node:http"
import { NodeHttpServer } from "@effect/platform-node"
import { Clock, Effect, Layer, Metric } from "effect"
import { HttpMiddleware, HttpRouter } from "effect/http"
import { HttpApiBuilder } from "effect/http-api"
import { Api } from "./api/Api.ts"
import * as redaction from "./redaction.ts"
import { DrainingServer } from "./DrainingServer.ts"
import type { ClosedFor } from "./DrainingServer.ts"
import * as admin from "./handlers/admin.ts"
import * as agents from "./handlers/agents.ts"
import * as challenges from "./handlers/challenges.ts"
import * as community from "./handlers/community.ts"
import * as gateway from "./handlers/gateway.ts"
import * as documents from "./handlers/documents.ts"
import * as health from "./handlers/health.ts"
import * as log from "./handlers/log.ts"
import * as payments from "./handlers/payments.ts"
import * as publicReads from "./handlers/public.ts"
import * as calls from "./gateway/calls.ts"
import * as models from "./gateway/models.ts"
import * as pages from "./site/pages/layer.ts"
import * as authentication from "./middleware/authentication.ts"
import * as gatewayAuthentication from "./middleware/gatewayAuthentication.ts"
import * as edge from "./middleware/edge.ts"
import * as idempotency from "./middleware/idempotency.ts"
import * as limits from "./middleware/limits.ts"
import * as requestBody from "./middleware/requestBody.ts"
import * as httpCaching from "./httpCaching.ts"
import * as sampling from "./sampling.ts"
import * as UnidentifiedLimit from "./UnidentifiedLimit.ts"
import { Health } from "../services/Health.ts"
import { Settings } from "../services/Settings.ts"
import { knownPath, matching } from "./routes.ts"
import { trustedProxies } from "./trustedProxies.ts"

const handlers = Layer.mergeAll(
  agents.layer,
  challenges.layer,
  community.layer,
  gateway.layer,
  publicReads.layer,
  log.layer,
  admin.layer,
  health.layer
).pipe(
  Layer.provide([
    authentication.agents,
    authentication.administrators,
    gatewayAuthentication.layer,
    limits.byAddress,
    limits.byAgent,
    httpCaching.publicReads,
    requestBody.layer,
    idempotency.layer
  ]),
  Layer.provide(httpCaching.layer)
)

const api = HttpApiBuilder.layer(Api).pipe(Layer.provide(handlers))

const routes = Layer.mergeAll(
  api,
  pages.layer.pipe(Layer.provide(httpCaching.layer)),
  payments.layer,
  log.files,
  calls.layer,
  models.layer,
  documents.layer,
  edge.layer
)

/** A span is named by its route, so that a thousand challenges are one line in a trace view. */
const spanNames = Layer.succeed(
  HttpMiddleware.SpanNameGenerator,
  (request) => `${request.method} ${knownPath(request.url)?.path ?? "unknown"}`
)

/** Everything over HTTP; the server to listen with is provided by the composition root. */
export const layer = HttpRouter.serve(routes, {
  routerConfig: matching,
  disableLogger: true,
  disableListenLog: true
}).pipe(Layer.provide([spanNames, redaction.layer, sampling.layer]), Layer.provide(UnidentifiedLimit.layer))

/** Stopping begins here: not ready from now on, and nothing new is taken while what is under way is finished. */
export const drainFirst = Layer.effectDiscard(
  Effect.gen(function* () {
    const health = yield* Health
    yield* Effect.addFinalizer(() => Effect.andThen(health.drain, Effect.logInfo("shutting down")))
  })
)

/** What clients are waited for, in milliseconds. */
export interface Patience extends ServerOptions {
  readonly stallTimeout?: number
}

/** A client gets this long to send its headers, and its whole request, and to read something of its answers. */
const defaultPatience = {
  headersTimeout: 5000,
  requestTimeout: 10_000,
  connectionsCheckingInterval: 1000,
  keepAliveTimeout: 65_000,
  stallTimeout: 10_000
}

const maxUnreadOfAll = 256 * 1024 * 1024

const closedTotal = Metric.counter("http_connections_closed_total", {
  description:
    "Connections that were refused or cut off: connections, address (as many as there may be, or as one address may have), pipelining, unread",
  incremental: true
})

/** Counts connections that are closed for a limit; the log has a line of it at most once a minute. */
const countClosed = Effect.gen(function* () {
  const clock = yield* Clock.Clock
  const context = yield* Effect.context<never>()
  let quietUntil = 0
  return (why: ClosedFor, address: string) => {
    Metric.withAttributes(closedTotal, { why }).updateUnsafe(1, context)
    const now = clock.currentTimeMillisUnsafe()
    if (now < quietUntil) return
    quietUntil = now + 60_000
    Effect.runForkWith(context)(
      Effect.logWarning("a connection was closed for a limit; others are counted only for a minute").pipe(
        Effect.annotateLogs({ why, address })
      )
    )
  }
})

const unreadable = (status: string, code: string, detail: string): string => {
  const body = JSON.stringify({ detail, code })
  return [
    `HTTP/1.1 ${status}`,
    "Connection: close",
    "Content-Type: application/json; charset=utf-8",
    `Content-Length: ${Buffer.byteLength(body)}`,
    "Cache-Control: no-store",
    "X-Content-Type-Options: nosniff",
    `X-Request-Id: ${randomUUID()}`,
    "",
    body
  ].join("\r\n")
}

/** What never became a request, by Node's code for it. */
const responseTo = (error: string | undefined): string => {
  switch (error) {
    case "HPE_HEADER_OVERFLOW":
      return unreadable(
        "431 Request Header Fields Too Large",
        "headers_too_large",
        "Expected smaller headers."
      )
    case "ERR_HTTP_REQUEST_TIMEOUT":
      return unreadable("408 Request Timeout", "request_timeout", "The request did not arrive in time.")
    case "HPE_CHUNK_EXTENSIONS_OVERFLOW":
      return unreadable("413 Content Too Large", "payload_too_large", "Expected smaller chunk extensions.")
    default:
      return unreadable("400 Bad Request", "invalid_request", "The request is not well-formed HTTP.")
  }
}

/** A Node server that hangs up on slow clients, and answers what it cannot parse in our shape. */
const makeNodeServer = Effect.fnUntraced(function* (patience: Patience) {
  const { maxConnections, maxConnectionsPerAddress, ...settings } = yield* Settings
  const server = new DrainingServer({
    ...defaultPatience,
    ...patience,
    // A missing Host is the edge's to refuse: Node's own answer would have no body.
    requireHostHeader: false,
    maxConnections,
    maxConnectionsPerAddress,
    maxUnreadOfAll,
    isProxy: trustedProxies(settings.trustedProxies).isTrusted,
    onClosed: yield* countClosed
  })
  // Node would answer 417 without a body; RFC 9110 10.1.1 lets us pass over expectations that we do not know.
  server.on("checkExpectation", (request, response) => server.emit("request", request, response))
  server.on("clientError", (error: NodeJS.ErrnoException, socket) => {
    if (error.code === "ECONNRESET" || !socket.writable) socket.destroy()
    else socket.end(responseTo(error.code))
  })
  return server
})

/** Listens, on a server of Node's that hangs up on the slow. */
export const listening = (
  options: Parameters<typeof NodeHttpServer.layer>[1] & { readonly patience?: Patience | undefined }
) =>
  Layer.unwrap(
    Effect.map(makeNodeServer(options.patience ?? {}), (server) =>
      NodeHttpServer.layer(() => server, options)
    )
  )
