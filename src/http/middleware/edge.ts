/**
 * The edge: every request passes it for its id, its address, one shape of error, headers, a log line and a metric. It is the only
 * place that sees unknown paths, wrong methods and defects.
 *
 * One function does it all, because a chain of middlewares, one a step, costs more processor time (docs/performance.md).
 */
import { randomUUID } from "node:crypto"
import { IncomingMessage } from "node:http"
import {
  Cause,
  Clock,
  Context,
  Duration,
  Effect,
  Layer,
  LogLevel,
  Metric,
  Option,
  References,
  identity
} from "effect"
import type { Types } from "effect"
import {
  HttpMiddleware,
  HttpRouter,
  HttpServerError,
  HttpServerRequest,
  HttpServerResponse
} from "effect/http"
import { rootCause, storeUnavailableIn } from "../../services/domain/errors.ts"
import { Gateway } from "../../services/Gateway.ts"
import { Health } from "../../services/Health.ts"
import { MetQuotas } from "../../services/RateLimiter.ts"
import type { Quota, TooManyRequests } from "../../services/RateLimiter.ts"
import { Settings } from "../../services/Settings.ts"
import { tokenPath } from "../../services/Tokens.ts"
import { isPage } from "../site/paths.ts"
import { urlLanguage, everybody, knownLanguage, showError as errorPage, siteOf } from "../site/responses.ts"
import type { Site } from "../site/responses.ts"
import { CurrentRequest, trustedProxies } from "../CurrentRequest.ts"
import { redactSecrets, withoutOwnSecrets } from "../redaction.ts"
import { errorResponse, gatewayPaths, styleAt } from "../gateway/clients.ts"
import { negotiated } from "../httpCaching.ts"
import { documents, knownPath, methodLabel, nearestPath, pathOf } from "../routes.ts"
import { makeThrottledLog } from "../throttledLog.ts"
import type { ThrottledLog } from "../throttledLog.ts"
import { quotaHeaders, UnidentifiedLimit } from "./limits.ts"
import { asOAuth } from "../oauth.ts"

const acceptedId = /^[A-Za-z0-9._-]{1,128}$/

/** The client's id, or a new one. Ids are logged, traced and stored, so the edge accepts none that holds a secret. */
const requestIdOf = (sent: string | undefined): string =>
  sent !== undefined && acceptedId.test(sent) && withoutOwnSecrets(sent) === sent ? sent : randomUUID()

const requestDuration = (attributes: Record<string, string>) =>
  Metric.histogram("http_request_duration_seconds", {
    description: "Time from a request's arrival to its response, by method, route and status",
    boundaries: [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10],
    attributes
  })

const durations = new Map<string, ReturnType<typeof requestDuration>>()

/** The histogram of one kind of request. It is made once, because attributes given with an update are serialised each time. */
const durationOf = (method: string, route: string, status: number) => {
  const key = `${method} ${route} ${status}`
  const known = durations.get(key)
  if (known !== undefined) return known
  const made = requestDuration({ method, route, status: String(status) })
  durations.set(key, made)
  return made
}

interface Rejection {
  readonly status: number
  readonly code: string
  readonly detail: string
  readonly hint?: string
  readonly retry_after?: number
  readonly headers?: Readonly<Record<string, string>>
}

const unavailable = (detail: string): Rejection => ({
  status: 503,
  code: "unavailable",
  detail,
  retry_after: 1,
  headers: { "retry-after": "1" }
})

/** RFC 9112 3.2 demands exactly one Host, which only HTTP/1.0 may leave out; Node accepts the first of several. */
const hasOneHost = ({ httpVersion, rawHeaders }: IncomingMessage): boolean => {
  let hosts = 0
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const name = rawHeaders[index]
    if (name?.length === 4 && name.toLowerCase() === "host") hosts += 1
  }
  return hosts === 1 || (httpVersion === "1.0" && hosts === 0)
}

const securityHeaders = { "x-content-type-options": "nosniff", "referrer-policy": "no-referrer" }

/** The answer to a request that failed by our fault; the log has the cause. */
const rejectionOf = Effect.fnUntraced(function* (cause: Cause.Cause<unknown>, throttled: ThrottledLog) {
  if (storeUnavailableIn(cause).length > 0) {
    yield* Effect.logWarning("the database cannot be reached or is busy", cause)
    return unavailable("The service cannot reach its database just now: try again shortly.")
  }
  const { code, message, type } = rootCause(Cause.squash(cause))
  let isLogged = false
  yield* throttled(`${type} ${code}`, () => {
    isLogged = true
    return Effect.logError("a request failed", cause)
  })
  if (!isLogged) {
    yield* Effect.logError("a request failed, as another one just did").pipe(
      Effect.annotateLogs({ cause: `${type} ${code}`, message })
    )
  }
  const failure: Rejection = {
    status: 500,
    code: "internal_error",
    detail: "Something went wrong on our side; the request id names it in our log."
  }
  return failure
})

/** Writes a rejection in the form that the client reads: JSON, a page, or the style of a model call. */
type Reject = (rejection: Rejection) => HttpServerResponse.HttpServerResponse

const asJson: Reject = ({ code, detail, headers, status, ...more }) =>
  HttpServerResponse.jsonUnsafe({ detail, code, ...more }, { status, headers })

const asPage = (
  site: Site,
  { url }: HttpServerRequest.HttpServerRequest,
  shown: Parameters<typeof errorPage>[2]
) => errorPage(site, everybody(site, knownLanguage(urlLanguage(url))), shown)

/** True if a person sees the answer: at one of our pages, or in a browser outside of the API. */
const isForPeople = (request: HttpServerRequest.HttpServerRequest): boolean => {
  const path = pathOf(request.url)
  if (isPage(path)) return true
  const isRead = request.method === "GET" || request.method === "HEAD"
  return isRead && !path.startsWith("/api/") && (request.headers["accept"] ?? "").includes("text/html")
}

const nothingThere: Rejection = {
  status: 404,
  code: "not_found",
  detail: "There is nothing at this path."
}

const nothingNear = (path: string): Rejection => {
  const meant = nearestPath(path)
  const question = meant === undefined ? "" : `Did you mean ${meant}? `
  return {
    ...nothingThere,
    hint: `${question}${documents.skill} says how to use this service, ${documents.openapi} has every call.`
  }
}

const noSuchModelCall: Rejection = {
  ...nothingThere,
  detail: `There is nothing at this path. Of models there are POST ${gatewayPaths.chat}, ${gatewayPaths.responses}, ${gatewayPaths.embeddings}, ${gatewayPaths.messages} and ${gatewayPaths.countTokens}, and GET ${gatewayPaths.models}.`
}

const tooMany = ({ code, detail, retry_after }: TooManyRequests): Rejection => ({
  status: 429,
  code,
  detail,
  retry_after,
  headers: { "retry-after": String(retry_after) }
})

const noPath = ({ isOfModels, path, reject }: RequestInfo) =>
  reject(isOfModels ? noSuchModelCall : nothingNear(path))

/** A hint for a client that names a new item in the path: the list takes it in the body. */
const hintOfList = (path: string, method: string): Pick<Rejection, "hint"> => {
  const list = path.replace(/\/:\w+$/, "")
  const takes = list !== path && knownPath(list)?.methods.has(method) === true
  return takes ? { hint: `${method} ${list} takes it in its body.` } : {}
}

const notFound = (info: RequestInfo) => {
  const { known, reject, request } = info
  if (known === undefined) return noPath(info)
  const allow = [...known.methods].join(", ")
  if (request.method === "OPTIONS") return HttpServerResponse.empty({ status: 204, headers: { allow } })
  return reject({
    status: 405,
    code: "method_not_allowed",
    detail: `This path takes ${allow}.`,
    ...hintOfList(known.path, request.method),
    headers: { allow }
  })
}

/** The response for a request that no handler answered: its path is unknown, or its handler failed. */
const responseToCause = Effect.fnUntraced(function* (
  cause: Cause.Cause<unknown>,
  info: RequestInfo,
  throttled: ThrottledLog
) {
  const failed = Cause.findErrorOption(cause)
  if (
    Option.isSome(failed) &&
    HttpServerError.isHttpServerError(failed.value) &&
    failed.value.reason._tag === "RouteNotFound"
  ) {
    return notFound(info)
  }
  return info.reject(yield* rejectionOf(cause, throttled))
})

const texts: ReadonlySet<string> = new Set(["application/json", "text/html"])

/** Adds the headers of every response. Text has a charset, and no cache stores a response without a `cache-control` of its own. */
const finish = (
  response: HttpServerResponse.HttpServerResponse,
  facts: {
    readonly requestId: string
    readonly isPublicRead: boolean
    readonly isClosing: boolean
    readonly quotas: ReadonlyMap<string, Quota>
  }
) => {
  const type = response.headers["content-type"]
  return HttpServerResponse.setHeaders(response, {
    ...securityHeaders,
    "x-request-id": facts.requestId,
    ...quotaHeaders(facts.quotas),
    ...(facts.isClosing && { connection: "close" }),
    ...(type !== undefined && texts.has(type) && { "content-type": `${type}; charset=utf-8` }),
    ...(response.headers["cache-control"] === undefined && { "cache-control": "no-store" }),
    ...(facts.isPublicRead && { "access-control-allow-origin": "*" })
  })
}

/**
 * True for reads of the API, which hold no secret, except those of the gateway. Answers to POST may hold a secret, and personal
 * pages hold the tokens of their forms; a compressed length would reveal them.
 */
const isCompressed = ({ method }: HttpServerRequest.HttpServerRequest, path: string): boolean =>
  (method === "GET" || method === "HEAD") && path.startsWith("/api/v1/") && !path.startsWith("/api/v1/llm/")

/** The facts about a request that its headers and path alone give. */
const requestInfo = (
  request: HttpServerRequest.HttpServerRequest,
  site: Site,
  inStyle: Gateway["Service"]["inStyle"]
) => {
  const requestId = requestIdOf(request.headers["x-request-id"])
  const path = pathOf(request.url)
  const style = styleAt(path, request.headers)
  const reject: Reject = (rejection) => {
    if (style !== undefined) return errorResponse(inStyle(style, rejection, requestId))
    return isForPeople(request) ? asPage(site, request, { ...rejection, requestId }) : asJson(rejection)
  }
  return { request, requestId, path, known: knownPath(request.url), reject, isOfModels: style !== undefined }
}
type RequestInfo = ReturnType<typeof requestInfo>

/** The answer to a request that never reaches the router; undefined for all others. */
const rejectEarly = (info: RequestInfo) => {
  const { known, path, reject, request } = info
  if (request.source instanceof IncomingMessage && !hasOneHost(request.source)) {
    return reject({ status: 400, code: "invalid_request", detail: "Expected one Host header." })
  }
  // The router would cut the path there, although no proxy in front of us does.
  if (/[;#]/.test(path)) return noPath(info)
  // The router would treat these as "/".
  if (!path.startsWith("/") || path.startsWith("//")) return noPath(info)
  // A fixed path is never a parameter of another: with GET /follows/following and DELETE /follows/{id}, DELETE /follows/following is 405.
  if (known !== undefined && !known.methods.has(request.method)) return notFound(info)
  return undefined
}

const logRequest = ({ path, request, requestId }: RequestInfo, status: number, seconds: number) =>
  Effect.logDebug("a request was answered").pipe(
    Effect.annotateLogs({
      request_id: requestId,
      method: request.method,
      path: redactSecrets(path),
      status,
      duration_ms: Math.round(seconds * 1e6) / 1e3
    })
  )

export const layer = HttpRouter.middleware(
  Effect.gen(function* () {
    const settings = yield* Settings
    const site = siteOf(settings)
    const health = yield* Health
    const unidentified = yield* UnidentifiedLimit
    const { inStyle } = yield* Gateway
    const { countedAddress, isTrusted } = trustedProxies(settings.trustedProxies)

    /** Logs once, because any client of an instance without proxies can send the header. */
    const once = makeThrottledLog(Duration.infinity)
    /** Logs the whole cause once a minute of each kind, so that a client that repeats a failure does not fill the log. */
    const throttled = makeThrottledLog(Duration.minutes(1))
    const warnOfUntrustedProxy = (peer: string) =>
      once("proxy", () =>
        Effect.logWarning(
          "X-Forwarded-For came from a peer that is not in AUSPEX_TRUSTED_PROXIES, and is ignored: if that is your proxy, all its clients count as one address"
        ).pipe(Effect.annotateLogs({ peer }))
      )

    /** Takes one step before the handler and one after it, because every request pays for each step. */
    const handled = (httpEffect: Effect.Effect<HttpServerResponse.HttpServerResponse, Types.unhandled>) => {
      const unlessStopping = (reject: Reject) =>
        health.phase() === "stopping"
          ? Effect.succeed(reject(unavailable("This instance is shutting down: try again shortly.")))
          : httpEffect

      return Effect.withFiber<
        HttpServerResponse.HttpServerResponse,
        Types.unhandled,
        HttpServerRequest.HttpServerRequest
      >((fiber) => {
        const clock = fiber.getRef(Clock.Clock)
        const started = clock.currentTimeNanosUnsafe()
        const request = Context.getUnsafe(fiber.context, HttpServerRequest.HttpServerRequest)
        const info = requestInfo(request, site, inStyle)
        const { known, path, reject, requestId } = info
        const route = known?.path ?? "none"
        const peer = Option.getOrUndefined(request.remoteAddress)
        const forwardedFor = request.headers["x-forwarded-for"]
        const current = { requestId, address: countedAddress(peer, forwardedFor), isCounted: false }
        const quotas = new Map<string, Quota>()

        const finished = (answer: HttpServerResponse.HttpServerResponse) => {
          const response = route === tokenPath ? asOAuth(answer, request) : answer
          const elapsed = Number(clock.currentTimeNanosUnsafe() - started) / 1e9
          durationOf(methodLabel(request.method, known), route, response.status).updateUnsafe(
            elapsed,
            fiber.context
          )
          const isPublicRead =
            request.method === "GET" && request.headers["authorization"] === undefined && !isPage(path)
          const ended = finish(response, {
            requestId,
            isPublicRead,
            quotas,
            isClosing: health.phase() !== "serving"
          })
          const encoded = isCompressed(request, path) ? negotiated(request, ended) : Effect.succeed(ended)
          return LogLevel.isGreaterThan(fiber.getRef(References.MinimumLogLevel), "Debug")
            ? encoded
            : Effect.andThen(logRequest(info, response.status, elapsed), encoded)
        }

        /** Counts requests that no other limit counts. Our own failures (5xx) count towards no limit. */
        const counted = (answer: HttpServerResponse.HttpServerResponse) =>
          current.isCounted || answer.status >= 500
            ? finished(answer)
            : Effect.matchEffect(unidentified.consume(current.address, quotas), {
                onSuccess: () => finished(answer),
                onFailure: (error) => finished(reject(tooMany(error)))
              })

        const rejected = rejectEarly(info)
        if (rejected !== undefined) return counted(rejected)
        const responded = (path.startsWith("/health/") ? httpEffect : unlessStopping(reject)).pipe(
          Effect.catchCauseIf(
            (cause) => !Cause.hasInterruptsOnly(cause),
            (cause) => responseToCause(cause, info, throttled)
          ),
          fiber.getRef(References.TracerEnabled) ? asSampled(request, requestId) : identity,
          Effect.updateContext((context: Context.Context<HttpServerRequest.HttpServerRequest>) =>
            context.pipe(
              Context.add(CurrentRequest, current),
              Context.add(MetQuotas, quotas),
              Context.add(References.CurrentLogAnnotations, {
                ...Context.get(context, References.CurrentLogAnnotations),
                request_id: requestId
              })
            )
          )
        )
        return Effect.flatMap(responded, counted)
      })
    }

    return (httpEffect: Effect.Effect<HttpServerResponse.HttpServerResponse, Types.unhandled>) => {
      const answered = handled(httpEffect)
      return Effect.withFiber<
        HttpServerResponse.HttpServerResponse,
        Types.unhandled,
        HttpServerRequest.HttpServerRequest
      >((fiber) => {
        const request = Context.getUnsafe(fiber.context, HttpServerRequest.HttpServerRequest)
        if (request.headers["x-forwarded-for"] === undefined) return answered
        const peer = Option.getOrElse(request.remoteAddress, () => "unknown")
        return isTrusted(peer) ? answered : Effect.andThen(warnOfUntrustedProxy(peer), answered)
      })
    }
  }),
  { global: true }
)

/** Requests that are not traced, by Node's request object, because a middleware may copy ours. */
const untraced = new WeakSet<object>()

/** Names the request in all its spans. For a request that is not traced, services and statements make no spans either. */
const asSampled =
  (request: HttpServerRequest.HttpServerRequest, requestId: string) =>
  <A, E, R>(effect: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
    untraced.has(request.source)
      ? Effect.withTracerEnabled(effect, false)
      : Effect.andThen(
          Effect.annotateCurrentSpan("request.id", requestId),
          Effect.annotateSpans(effect, "request.id", requestId)
        )

/** All headers that Effect reads for the trace of a request and for its sampling. */
const parentHeaders = ["traceparent", "b3", "x-b3-traceid", "x-b3-spanid", "x-b3-sampled", "x-b3-flags"]

/** Removes these headers of untrusted clients, which must not join others' traces, force tracing, or opt out of it. */
const removeUntrustedParents = (networks: ReadonlyArray<string>) => {
  const { isTrusted } = trustedProxies(networks)
  return ({ headers, peerAddress }: HttpServerRequest.HttpServerRequest) => {
    const sent = parentHeaders.filter((name) => name in headers)
    if (sent.length === 0 || Option.exists(peerAddress, isTrusted)) return
    // Effect begins the span from this object right afterwards.
    for (const name of sent) Reflect.deleteProperty(headers, name)
  }
}

/**
 * Traces an even share of the requests. The decision precedes the span, because a span that nobody sees costs as much as one
 * that is sent. A path with a secret, such as a claim link, is never traced.
 */
export const sampling = Layer.effect(
  HttpMiddleware.TracerDisabledWhen,
  Effect.map(Settings, ({ traceRatio, trustedProxies: networks }) => {
    const removeUntrustedParent = removeUntrustedParents(networks)
    let share = 1
    return (request: HttpServerRequest.HttpServerRequest) => {
      share += traceRatio
      const isTaken = share >= 1
      if (isTaken) share -= 1
      const isTraced = isTaken && request.url === redactSecrets(request.url)
      if (isTraced) removeUntrustedParent(request)
      else untraced.add(request.source)
      return !isTraced
    }
  })
)
