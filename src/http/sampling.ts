/** Which requests are traced. Decided before a span is built: a span that nobody will see costs as much as one that is sent. */
import { Effect, Layer } from "effect"
import { HttpMiddleware } from "effect/http"
import type { HttpServerRequest } from "effect/http"
import { Settings } from "../services/Settings.ts"
import { withoutSecrets } from "./discretion.ts"

/** Requests that are not traced, by what Node gave us of them; a middleware in between may have made a copy. */
const untraced = new WeakSet<object>()

/** The request's spans name it. Within one that is not traced, services and statements build no spans either. */
export const asSampled =
  (request: HttpServerRequest.HttpServerRequest, requestId: string) =>
  <A, E, R>(effect: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
    untraced.has(request.source)
      ? Effect.withTracerEnabled(effect, false)
      : Effect.andThen(
          Effect.annotateCurrentSpan("request.id", requestId),
          Effect.annotateSpans(effect, "request.id", requestId)
        )

/** One request in so many, evenly. A claim link is a secret in a path, so it is never traced. */
export const layer = Layer.effect(
  HttpMiddleware.TracerDisabledWhen,
  Effect.map(Settings, ({ traceRatio }) => {
    let share = 1
    return (request: HttpServerRequest.HttpServerRequest) => {
      share += traceRatio
      const isTaken = share >= 1
      if (isTaken) share -= 1
      const isTraced = isTaken && request.url === withoutSecrets(request.url)
      if (!isTraced) untraced.add(request.source)
      return !isTraced
    }
  })
)
