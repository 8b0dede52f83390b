/** The log as C2SP tlog-tiles serves it, below /log: for mirrors, monitors and verifiers that others wrote. */
import { Effect } from "effect"
import {
  HttpMiddleware,
  HttpRouter,
  HttpServerError,
  HttpServerRequest,
  HttpServerResponse
} from "effect/http"
import type { InvalidRequest, NotFound } from "../../services/errors.ts"
import { RateLimiter } from "../../services/RateLimiter.ts"
import type { TooManyRequests } from "../../services/RateLimiter.ts"
import { LogEmpty, TransparencyLog } from "../../services/TransparencyLog.ts"
import { countedRequest } from "../CurrentRequest.ts"
import { logPaths } from "../routes.ts"
import { parseTilePath } from "../tilePaths.ts"

/** The HTTP layer compresses entries, as the specification recommends; hashes would only grow. */
const compressed = HttpMiddleware.compression({ algorithms: ["gzip"], compressible: () => true })

/** What never changes once it is there. */
export const immutable = (bytes: Uint8Array, contentType = "application/octet-stream") =>
  HttpServerResponse.uint8Array(bytes, {
    contentType,
    headers: { "cache-control": "public, max-age=31536000, immutable" }
  })

export const plainText = (text: string) =>
  HttpServerResponse.text(text, { contentType: "text/plain; charset=utf-8" })

type Refusal = InvalidRequest | LogEmpty | NotFound | TooManyRequests

const absent = ({ code, detail }: LogEmpty | NotFound) =>
  Effect.succeed(HttpServerResponse.jsonUnsafe({ detail, code }, { status: 404 }))

/** Outside of the HttpApi errors are written here, in the shape that they have there. */
export const answered = <R>(
  response: Effect.Effect<HttpServerResponse.HttpServerResponse, Refusal | HttpServerError.HttpServerError, R>
) =>
  Effect.catchTags(response, {
    LogEmpty: absent,
    NotFound: absent,
    InvalidRequest: ({ code, detail, errors }) =>
      Effect.succeed(HttpServerResponse.jsonUnsafe({ detail, code, errors }, { status: 400 })),
    TooManyRequests: ({ code, detail, retry_after }) =>
      Effect.succeed(
        HttpServerResponse.jsonUnsafe(
          { detail, code, retry_after },
          { status: 429, headers: { "retry-after": String(retry_after) } }
        )
      )
  })

export const layer = HttpRouter.use(
  Effect.fnUntraced(function* (router) {
    const limits = yield* RateLimiter
    const log = yield* TransparencyLog

    const counted = Effect.flatMap(countedRequest, ({ address }) => limits.consume("log_reads", address))

    yield* router.add(
      "GET",
      logPaths.checkpoint,
      answered(Effect.andThen(counted, Effect.map(log.checkpoint, plainText)))
    )

    const keys = Effect.gen(function* () {
      const each = yield* log.verifierKeys
      if (each.length === 0) {
        return yield* new LogEmpty({ detail: "The log has no key yet: try again in a few seconds." })
      }
      return plainText(each.map((key) => `${key}\n`).join(""))
    })
    yield* router.add("GET", logPaths.key, answered(Effect.andThen(counted, keys)))

    const tile = Effect.gen(function* () {
      const request = yield* HttpServerRequest.HttpServerRequest
      const named = parseTilePath(request.url)
      if (named === undefined) {
        // The edge answers as for any other path that nothing is at.
        return yield* new HttpServerError.HttpServerError({
          reason: new HttpServerError.RouteNotFound({ request })
        })
      }
      yield* counted
      return named.level === "entries"
        ? yield* compressed(Effect.map(log.entryBundle(named.n, named.width), immutable))
        : immutable(yield* log.hashTile(named.level, named.n, named.width))
    })
    yield* router.add("GET", logPaths.tiles, answered(tile))
  })
)
