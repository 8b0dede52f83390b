/** The public log: entries and proofs in the API, and below /log the files of C2SP tlog-tiles and the time stamps. */
import { Effect, Layer, Option } from "effect"
import {
  HttpMiddleware,
  HttpRouter,
  HttpServerError,
  HttpServerRequest,
  HttpServerResponse
} from "effect/http"
import { HttpApiBuilder } from "effect/http-api"
import { RateLimiter } from "../../services/RateLimiter.ts"
import type { TooManyRequests } from "../../services/RateLimiter.ts"
import { LogEmpty, TransparencyLog } from "../../services/TransparencyLog.ts"
import { Witnesses } from "../../services/Witnesses.ts"
import { InvalidRequest, NotFound } from "../../services/domain/errors.ts"
import { countedRequest } from "../CurrentRequest.ts"
import { Api } from "../api/Api.ts"
import { errorResponse } from "../errors.ts"
import { refusedParameters } from "../unknownFields.ts"
import { logPaths, parseTilePath } from "../routes.ts"

/** A download with the name that c2sp.org/tlog-proof recommends. */
const proofFile = (name: string) => (text: string) =>
  HttpServerResponse.text(text, {
    contentType: "text/plain; charset=utf-8",
    headers: { "content-disposition": `attachment; filename="${name.toLowerCase()}.tlog-proof"` }
  })

const logHandlers = HttpApiBuilder.group(
  Api,
  "log",
  Effect.fnUntraced(function* (handlers) {
    const log = yield* TransparencyLog
    return handlers.handleAll({
      entry: ({ params }) => log.entryOf(params.commit),
      proof: ({ params }) => Effect.map(log.proofOf(params.commit), proofFile(params.commit)),
      entryProof: ({ params: { leaf_index } }) =>
        Effect.map(log.proofAt(leaf_index), proofFile(`entry-${leaf_index}`)),
      settlementProof: ({ params }) =>
        Effect.map(log.settlementProof(params.challenge_id), proofFile(`settlement-${params.challenge_id}`))
    })
  })
)

/** tlog-tiles recommends compression of entries; compressed hashes would be larger. */
const compressed = HttpMiddleware.compression({ algorithms: ["gzip"], compressible: () => true })

const immutable = (bytes: Uint8Array, contentType = "application/octet-stream") =>
  HttpServerResponse.uint8Array(bytes, {
    contentType,
    headers: { "cache-control": "public, max-age=31536000, immutable" }
  })

const plainText = (text: string) =>
  HttpServerResponse.text(text, { contentType: "text/plain; charset=utf-8" })

type LogError = InvalidRequest | LogEmpty | NotFound | TooManyRequests

const withErrors = <R>(
  response: Effect.Effect<
    HttpServerResponse.HttpServerResponse,
    LogError | HttpServerError.HttpServerError,
    R
  >
) =>
  Effect.catchTags(response, {
    LogEmpty: (error) => Effect.succeed(errorResponse(error)),
    NotFound: (error) => Effect.succeed(errorResponse(error)),
    InvalidRequest: (error) => Effect.succeed(errorResponse(error)),
    TooManyRequests: (error) => Effect.succeed(errorResponse(error))
  })

const tileRoutes = HttpRouter.use(
  Effect.fnUntraced(function* (router) {
    const limits = yield* RateLimiter
    const log = yield* TransparencyLog

    const counted = Effect.flatMap(countedRequest, ({ address }) => limits.consume("log_reads", address))

    yield* router.add(
      "GET",
      logPaths.checkpoint,
      withErrors(Effect.andThen(counted, Effect.map(log.checkpoint, plainText)))
    )

    const keys = Effect.gen(function* () {
      const each = yield* log.verifierKeys
      if (each.length === 0) {
        return yield* new LogEmpty({
          detail: "The log has no key: it gets one when an instance with the role jobs first starts."
        })
      }
      return plainText(each.map((key) => `${key}\n`).join(""))
    })
    yield* router.add("GET", logPaths.key, withErrors(Effect.andThen(counted, keys)))

    const tile = Effect.gen(function* () {
      const request = yield* HttpServerRequest.HttpServerRequest
      const named = parseTilePath(request.url)
      if (named === undefined) {
        // The edge answers 404, as for any unknown path.
        return yield* new HttpServerError.HttpServerError({
          reason: new HttpServerError.RouteNotFound({ request })
        })
      }
      yield* counted
      return named.level === "entries"
        ? yield* compressed(Effect.map(log.entryBundle(named.n, named.width), immutable))
        : immutable(yield* log.hashTile(named.level, named.n, named.width))
    })
    yield* router.add("GET", logPaths.tiles, withErrors(tile))
  })
)

const treeSize = (text: string | undefined): Option.Option<number> => {
  const size = /^[1-9]\d{0,15}$/.test(text ?? "") ? Number(text) : Number.NaN
  return Number.isSafeInteger(size) ? Option.some(size) : Option.none()
}

/** The size below which the list continues; none for the newest page. */
const beforeOf = Effect.fnUntraced(function* (search: URLSearchParams) {
  const text = search.get("before")
  if (text === null) return Option.none<number>()
  const size = treeSize(text)
  if (Option.isSome(size)) return size
  return yield* InvalidRequest.of("before", "expected the size of a tree, a positive whole number")
})

const timeStampRoutes = HttpRouter.use(
  Effect.fnUntraced(function* (router) {
    const limits = yield* RateLimiter
    const witnesses = yield* Witnesses

    const counted = Effect.flatMap(countedRequest, ({ address }) => limits.consume("log_reads", address))

    const list = Effect.gen(function* () {
      const { url } = yield* HttpServerRequest.HttpServerRequest
      const refused = refusedParameters(url, ["before"])
      if (refused !== undefined) return yield* refused
      const before = yield* beforeOf(new URL(url, "http://localhost").searchParams)
      yield* counted
      const sizes = yield* witnesses.timeStamped(before)
      return plainText(sizes.map((size) => `${size}\n`).join(""))
    })
    yield* router.add("GET", logPaths.timeStamps, withErrors(list))

    const named = Effect.gen(function* () {
      const { params } = yield* HttpRouter.RouteContext
      yield* counted
      const size = treeSize(params["size"])
      if (Option.isSome(size)) return yield* witnesses.timeStamp(size.value)
      return yield* new NotFound({ detail: "A time stamp is found by the size of its tree, a whole number." })
    })
    yield* router.add(
      "GET",
      logPaths.timeStamp,
      withErrors(Effect.map(named, ({ reply }) => immutable(reply, "application/timestamp-reply")))
    )
    yield* router.add(
      "GET",
      logPaths.stampedText,
      withErrors(
        Effect.map(named, ({ text }) => immutable(Buffer.from(text, "utf8"), "text/plain; charset=utf-8"))
      )
    )
  })
)

export const layer = logHandlers

/** The files of the log, below /log. */
export const files = Layer.merge(tileRoutes, timeStampRoutes)
