/** The HTTP server: the API and its documents, behind the edge. It needs the services and knows no layer. */
import { Effect, Layer } from "effect"
import type { Duration } from "effect"
import { HttpMiddleware, HttpRouter } from "effect/http"
import { HttpApiBuilder } from "effect/http-api"
import { Api } from "./api/Api.ts"
import * as redaction from "./redaction.ts"
import * as admin from "./handlers/admin.ts"
import * as agents from "./handlers/agents.ts"
import * as challenges from "./handlers/challenges.ts"
import * as community from "./handlers/community.ts"
import * as gateway from "./handlers/gateway.ts"
import * as documents from "./handlers/documents.ts"
import * as compatibility from "./handlers/compatibility.ts"
import * as health from "./handlers/health.ts"
import * as log from "./handlers/log.ts"
import * as notices from "./handlers/notices.ts"
import * as payments from "./handlers/payments.ts"
import * as publicReads from "./handlers/public.ts"
import * as calls from "./gateway/calls.ts"
import * as models from "./gateway/models.ts"
import * as pages from "./site/pages/layer.ts"
import * as authentication from "./middleware/authentication.ts"
import * as challengePath from "./middleware/challengePath.ts"
import * as edge from "./middleware/edge.ts"
import * as idempotency from "./middleware/idempotency.ts"
import * as limits from "./middleware/limits.ts"
import * as receiptTime from "./middleware/receiptTime.ts"
import * as requestBody from "./middleware/requestBody.ts"
import * as httpCaching from "./httpCaching.ts"
import { Health } from "../services/Health.ts"
import { knownPath, matching } from "./routes.ts"

const handlers = Layer.mergeAll(
  agents.layer,
  challenges.layer,
  community.layer,
  gateway.layer,
  notices.layer,
  publicReads.layer,
  log.layer,
  admin.layer,
  health.layer
).pipe(
  Layer.provide([
    authentication.agents,
    authentication.administrators,
    authentication.gatewayReaders,
    authentication.optionalAgents,
    limits.byAddress,
    limits.byAgent,
    limits.byItem,
    httpCaching.publicReads,
    receiptTime.layer,
    requestBody.layer,
    challengePath.layer,
    idempotency.layer
  ]),
  Layer.provide(httpCaching.layer)
)

const api = HttpApiBuilder.layer(Api).pipe(Layer.provide(handlers))

const routes = Layer.mergeAll(
  api,
  pages.layer.pipe(Layer.provide(httpCaching.layer)),
  payments.layer,
  compatibility.layer,
  log.files,
  calls.layer,
  models.layer,
  documents.layer,
  edge.layer
)

/** The name of a span is its route, so that requests for a thousand challenges are one line in a trace view. */
const spanNames = Layer.succeed(
  HttpMiddleware.SpanNameGenerator,
  (request) => `${request.method} ${knownPath(request.url)?.path ?? "unknown"}`
)

/** All of HTTP; the composition root provides the server that listens. */
export const layer = HttpRouter.serve(routes, {
  routerConfig: matching,
  disableLogger: true,
  disableListenLog: true
}).pipe(Layer.provide([spanNames, redaction.layer, edge.sampling]), Layer.provide(limits.unidentified))

/**
 * Begins the shutdown: for `delay` the instance is not ready but still serves, so that balancers send no more; then it
 * finishes requests in flight and accepts no new ones. Build this layer last.
 */
export const drainFirst = (delay: Duration.Duration) =>
  Layer.effectDiscard(
    Effect.gen(function* () {
      const health = yield* Health
      yield* Effect.addFinalizer(() =>
        Effect.logInfo("the instance shuts down").pipe(
          Effect.andThen(health.drain),
          Effect.andThen(Effect.sleep(delay)),
          Effect.andThen(health.stop)
        )
      )
    })
  )
