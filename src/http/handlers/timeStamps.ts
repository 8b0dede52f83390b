/** The time stamps of checkpoints, below /log: files as `openssl ts -verify` reads them. */
import { Effect, Option } from "effect"
import { HttpRouter, HttpServerRequest } from "effect/http"
import { InvalidRequest, NotFound } from "../../services/errors.ts"
import { RateLimiter } from "../../services/RateLimiter.ts"
import { LogTimeStamps } from "../../services/LogTimeStamps.ts"
import { countedRequest } from "../CurrentRequest.ts"
import { logPaths } from "../routes.ts"
import { answered, immutable, plainText } from "./tiles.ts"

const treeSize = (text: string | undefined): Option.Option<number> => {
  const size = /^[1-9]\d{0,15}$/.test(text ?? "") ? Number(text) : Number.NaN
  return Number.isSafeInteger(size) ? Option.some(size) : Option.none()
}

/** From where the list goes on; nothing when it begins with the newest. */
const beforeOf = Effect.fnUntraced(function* (search: URLSearchParams) {
  const text = search.get("before")
  if (text === null) return Option.none<number>()
  const size = treeSize(text)
  if (Option.isSome(size)) return size
  return yield* InvalidRequest.of("before", "expected the size of a tree, a positive whole number")
})

export const layer = HttpRouter.use(
  Effect.fnUntraced(function* (router) {
    const limits = yield* RateLimiter
    const timeStamps = yield* LogTimeStamps

    const counted = Effect.flatMap(countedRequest, ({ address }) => limits.consume("log_reads", address))

    const list = Effect.gen(function* () {
      const { url } = yield* HttpServerRequest.HttpServerRequest
      const before = yield* beforeOf(new URL(url, "http://localhost").searchParams)
      yield* counted
      const sizes = yield* timeStamps.sizes(before)
      return plainText(sizes.map((size) => `${size}\n`).join(""))
    })
    yield* router.add("GET", logPaths.timeStamps, answered(list))

    const named = Effect.gen(function* () {
      const { params } = yield* HttpRouter.RouteContext
      yield* counted
      const size = treeSize(params["size"])
      if (Option.isSome(size)) return yield* timeStamps.find(size.value)
      return yield* new NotFound({ detail: "A time stamp is found by the size of its tree, a whole number." })
    })
    yield* router.add(
      "GET",
      logPaths.timeStamp,
      answered(Effect.map(named, ({ reply }) => immutable(reply, "application/timestamp-reply")))
    )
    yield* router.add(
      "GET",
      logPaths.stampedText,
      answered(
        Effect.map(named, ({ text }) => immutable(Buffer.from(text, "utf8"), "text/plain; charset=utf-8"))
      )
    )
  })
)
