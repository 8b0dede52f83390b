/** Which requests are traced. Decided before a span is built: a span that nobody will see costs as much as one that is sent. */
import { Effect, Layer, Option } from "effect"
import { HttpMiddleware } from "effect/http"
import type { HttpServerRequest } from "effect/http"
import { Settings } from "../services/Settings.ts"
import { redactSecrets } from "./redaction.ts"
import { trustedProxies } from "./trustedProxies.ts"

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

/** Headers that name the trace a request is part of, and whether it is sampled: all that Effect reads. */
const parentHeaders = ["traceparent", "b3", "x-b3-traceid", "x-b3-spanid", "x-b3-sampled", "x-b3-flags"]

/** A stranger that is believed joins the traces of others, has its own kept, or hides from them. */
const strangersParents = (networks: ReadonlyArray<string>) => {
  const { isTrusted } = trustedProxies(networks)
  return ({ headers, peerAddress }: HttpServerRequest.HttpServerRequest) => {
    const sent = parentHeaders.filter((name) => name in headers)
    if (sent.length === 0 || Option.exists(peerAddress, isTrusted)) return
    // The span is begun with what stands in this object, right after this.
    for (const name of sent) Reflect.deleteProperty(headers, name)
  }
}

/** One request in so many, evenly. A claim link is a secret in a path, so it is never traced. */
export const layer = Layer.effect(
  HttpMiddleware.TracerDisabledWhen,
  Effect.map(Settings, ({ traceRatio, trustedProxies: networks }) => {
    const forgetStrangersParent = strangersParents(networks)
    let share = 1
    return (request: HttpServerRequest.HttpServerRequest) => {
      share += traceRatio
      const isTaken = share >= 1
      if (isTaken) share -= 1
      const isTraced = isTaken && request.url === redactSecrets(request.url)
      if (isTraced) forgetStrangersParent(request)
      else untraced.add(request.source)
      return !isTraced
    }
  })
)
