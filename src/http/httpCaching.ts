/**
 * HTTP caching of public reads: ETags, conditional requests, and answers that are made once a second for all readers. An
 * administrator's change on this replica empties the cache at once.
 */
import { hash } from "node:crypto"
import { Cache, Context, Duration, Effect, Exit, Layer } from "effect"
import { HttpBody, HttpServerRequest, HttpServerResponse } from "effect/http"
import { HttpApiSchema } from "effect/http-api"
import { isUuid } from "../services/domain/ids.ts"
import { Settings } from "../services/Settings.ts"
import { chosenCoding, compressed } from "./compression.ts"
import { SharedCache, HttpCaching, DiffersByAgent } from "./api/middleware.ts"
import { namesOf, refusedParameters } from "./unknownFields.ts"

type Request = HttpServerRequest.HttpServerRequest
type Response = HttpServerResponse.HttpServerResponse

/** The `cache-control` of an answer that is made again after this time. */
export const cacheControl = (publicCache: Duration.Duration): string => {
  const seconds = Math.floor(Duration.toSeconds(publicCache))
  return seconds > 0 ? `public, max-age=${seconds}` : "no-cache"
}

/** Answers a body with secrets, which no cache may store. */
export const unstored = <A>(body: A) =>
  HttpApiSchema.withHeaders({ body, headers: { "cache-control": "no-store" as const } })

const etagOf = (body: Uint8Array): string => `"${hash("sha256", body, "base64url").slice(0, 22)}"`

/** Adds an ETag and these headers to a complete answer; returns any other answer unchanged. */
export const withEtag = (response: Response, headers: Readonly<Record<string, string>>): Response =>
  response.status === 200 && response.body._tag === "Uint8Array"
    ? HttpServerResponse.setHeaders(response, { ...headers, etag: etagOf(response.body.body) })
    : response

/** Matches any tag of a list by weak comparison, or `*` (RFC 9110 13.1.2). */
const matches = (ifNoneMatch: string | undefined, etag: string): boolean =>
  ifNoneMatch !== undefined &&
  ifNoneMatch
    .split(",")
    .map((tag) => tag.trim())
    .some((tag) => tag === "*" || tag.replace(/^W\//, "") === etag)

const bodyHeaders: ReadonlySet<string> = new Set(["content-type", "content-length", "content-encoding"])

/** 304 for a client that has the response, else the response. A 304 repeats the headers that replace the stored ones (RFC 9111 3.2). */
const notModified = (request: Request, response: Response): Response => {
  const { etag } = response.headers
  if (etag === undefined || !matches(request.headers["if-none-match"], etag)) return response
  const headers = Object.entries(response.headers).filter(([name]) => !bodyHeaders.has(name))
  return HttpServerResponse.empty({ status: 304, headers: Object.fromEntries(headers) })
}

/** Shorter bodies gain hardly anything from compression. */
const minCompressed = 1024

const compressible = /^(text\/|application\/(json|javascript|feed\+json|atom\+xml)|image\/svg)/

/** The body of a complete answer that is worth compressing. */
const compressibleBody = ({ body, headers, status }: Response): HttpBody.Uint8Array | undefined =>
  status === 200 &&
  body._tag === "Uint8Array" &&
  body.body.byteLength >= minCompressed &&
  headers["content-encoding"] === undefined &&
  compressible.test(headers["content-type"] ?? body.contentType)
    ? body
    : undefined

/** `Vary` with the request headers that the answer depends on: a cached answer is negotiated for each client. */
const varied = (vary = ""): string =>
  [...new Set([...vary.split(", ").filter((name) => name !== ""), "accept-encoding"])].join(", ")

/**
 * The answer in the encoding that the client accepts, or 304 if the client has it. ETags are strong, so each encoding has
 * its own. Never use it for an answer that holds a secret beside text of others: its compressed length would reveal the secret
 * (BREACH).
 */
export const negotiated = (request: Request, response: Response): Effect.Effect<Response> => {
  const body = compressibleBody(response)
  if (body === undefined) return Effect.succeed(notModified(request, response))
  const coding = chosenCoding(request.headers["accept-encoding"])
  const { etag } = response.headers
  const varying = HttpServerResponse.setHeaders(response, {
    vary: varied(response.headers["vary"]),
    ...(coding !== undefined && etag !== undefined && { etag: etagOf(Buffer.from(etag + coding)) })
  })
  const answer = notModified(request, varying)
  if (coding === undefined || answer.status === 304) return Effect.succeed(answer)
  return Effect.map(compressed(body.body, coding), (shorter) =>
    HttpServerResponse.setHeader(
      HttpServerResponse.setBody(
        answer,
        HttpBody.uint8Array(shorter, response.headers["content-type"] ?? body.contentType)
      ),
      "content-encoding",
      coding
    )
  )
}

/** A known parameter with a longer value is no cursor of ours. */
const maxValueLength = 1000

/** One spelling for a segment of a path, which may be percent-encoded or a UUID in capitals. */
const normalSegment = (segment: string): string => {
  const text = decodeURIComponent(segment)
  return encodeURIComponent(isUuid(text) ? text.toLowerCase() : text)
}

/** The path and the parameters that an answer depends on, in one order and one spelling; undefined: the answer is not cached. */
const keyOf = (url: string, parameters: ReadonlyArray<string>): string | undefined => {
  const [path = "", ...rest] = url.split("?")
  const given = new URLSearchParams(rest.join("?"))
  const known = parameters.flatMap((name) =>
    given.getAll(name).map((value): [string, string] => [name, value])
  )
  if (known.some(([, value]) => value.length > maxValueLength)) return undefined
  try {
    return `${path.split("/").map(normalSegment).join("/")}?${new URLSearchParams(known)}`
  } catch {
    return undefined
  }
}

export class PublicCache extends Context.Service<
  PublicCache,
  {
    /** The cached answer to this address, or the one that `make` makes; it depends on these parameters only. Failures are not cached. */
    readonly get: <E, R>(
      url: string,
      parameters: ReadonlyArray<string>,
      make: Effect.Effect<Response, E, R>
    ) => Effect.Effect<Response, E, R>
    readonly clear: Effect.Effect<void>
  }
>()("auspex/http/PublicCache") {}

/** The first requester's way to make the answer. */
class Maker extends Context.Service<Maker, Effect.Effect<Response, unknown>>()("auspex/http/Maker") {}

/** The cache drops the answers that were read longest ago. One answer may have megabytes: results with their reasonings. */
const maxAnswers = 100
const maxBytes = 64 * 1024 * 1024

const sizeOf = ({ body }: Response): number =>
  body._tag === "Uint8Array" ? body.body.byteLength : Number.POSITIVE_INFINITY

export const layer = Layer.effect(
  PublicCache,
  Effect.gen(function* () {
    const { publicCache } = yield* Settings
    const answers: Cache.Cache<string, Response, unknown, Maker> = yield* Cache.makeWith<
      string,
      Response,
      unknown,
      Maker,
      "lookup"
    >(() => Effect.flatMap(Maker, (make) => make).pipe(Effect.tap((response) => makeRoom(response))), {
      capacity: maxAnswers,
      timeToLive: (exit) => (Exit.isSuccess(exit) ? publicCache : Duration.zero),
      requireServicesAt: "lookup"
    })

    /** Expired answers count, too, because the cache still holds them. */
    const makeRoom = Effect.fnUntraced(function* (response: Response) {
      const cached = [...(yield* Cache.entries(answers))]
      let bytes = cached.reduce((sum, [, each]) => sum + sizeOf(each), sizeOf(response))
      for (const [key, each] of cached) {
        if (bytes <= maxBytes) return
        bytes -= sizeOf(each)
        yield* Cache.invalidate(answers, key)
      }
    })

    const cached = (key: string, make: Effect.Effect<Response, unknown>) =>
      Cache.get(answers, key).pipe(
        Effect.provideService(Maker, make),
        // An entry without time to live would stay until its room is needed.
        Effect.tap((response) =>
          sizeOf(response) <= maxBytes ? Effect.void : Cache.invalidate(answers, key)
        ),
        Effect.tapError(() => Cache.invalidate(answers, key))
      )

    return PublicCache.of({
      get: <E, R>(
        url: string,
        parameters: ReadonlyArray<string>,
        make: Effect.Effect<Response, E, R>
      ): Effect.Effect<Response, E, R> => {
        const key = Duration.isZero(publicCache) ? undefined : keyOf(url, parameters)
        if (key === undefined) return make
        return Effect.contextWith((context: Context.Context<R>) => {
          // The errors of an address are those of the `make` that came with the request.
          return cached(key, Effect.provideContext(make, context)) as Effect.Effect<Response, E>
        })
      },
      clear: Cache.invalidateAll(answers)
    })
  })
)

/** The middleware `HttpCaching`. */
export const publicReads = Layer.effect(
  HttpCaching,
  Effect.gen(function* () {
    const { publicCache } = yield* Settings
    const cache = yield* PublicCache
    const headers = {
      "cache-control": cacheControl(publicCache),
      // A fixed origin, so that shared caches keep one answer for all origins.
      "access-control-allow-origin": "*"
    }
    const vary = { vary: "authorization" }
    /** The headers of answers about the requesting agent, which are not compressed: the length would reveal their content (BREACH). */
    const personal = { "cache-control": "private, no-cache", ...vary }

    return HttpCaching.of(
      Effect.fnUntraced(function* (httpEffect, { endpoint }) {
        const request = yield* HttpServerRequest.HttpServerRequest
        const isForAgents = Context.get(endpoint.annotations, DiffersByAgent)
        if (isForAgents && request.headers["authorization"] !== undefined) {
          return notModified(request, withEtag(yield* httpEffect, personal))
        }
        const publicHeaders = isForAgents ? { ...headers, ...vary } : headers
        const answer = Effect.map(httpEffect, (response) => withEtag(response, publicHeaders))
        const parameters = namesOf(endpoint.query)
        const isShared =
          Context.get(endpoint.annotations, SharedCache) &&
          refusedParameters(request.url, parameters) === undefined
        const response = yield* isShared ? cache.get(request.url, parameters, answer) : answer
        return yield* negotiated(request, response)
      })
    )
  })
)

/** The `cache-control` of documents that change only when the server restarts: a stored copy is replaced after five minutes at most. */
export const untilNextStart = "public, max-age=300"

interface Document {
  readonly bytes: Uint8Array
  readonly contentType: string
  readonly headers: Readonly<Record<string, string>>
}

/** Answers a document that is the same for every reader. It runs `make` on the first request, and again after a failure. */
export const staticDocument = Effect.fnUntraced(function* (make: Effect.Effect<Document>) {
  const [response, forget] = yield* Effect.cachedInvalidateWithTTL(
    Effect.map(make, ({ bytes, contentType, headers }) =>
      withEtag(HttpServerResponse.uint8Array(bytes, { contentType }), headers)
    ),
    Duration.infinity
  )
  return (request: Request) =>
    response.pipe(
      Effect.onError(() => forget),
      Effect.flatMap((made) => negotiated(request, made))
    )
})
