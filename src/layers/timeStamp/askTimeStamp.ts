/** Asks a time stamp authority over HTTP, as RFC 3161 section 3.4 says. */
import { Duration, Effect, Option } from "effect"
import { ExchangeFailed } from "../boundedPost.ts"
import type { Post } from "../boundedPost.ts"
import { timeStampFault, timeStampQuery } from "./tokens.ts"
import type { Question } from "./tokens.ts"

/** A token with a chain of certificates is a tenth of it. */
const maxBytes = "64 KiB"
const patience = Duration.seconds(20)

/** The reply as it came: an answer to this very question. */
export const askTimeStamp = Effect.fnUntraced(function* (
  post: Post,
  url: string,
  question: Question
): Effect.fn.Return<Uint8Array, ExchangeFailed> {
  const { body, contentType } = yield* post({
    url,
    contentType: "application/timestamp-query",
    body: timeStampQuery(question),
    statuses: [200],
    maxBytes,
    patience
  })
  if (contentType !== "application/timestamp-reply") {
    return yield* new ExchangeFailed({ reason: "it answered something else than a time stamp" })
  }
  const fault = timeStampFault(body, question)
  if (Option.isSome(fault)) return yield* new ExchangeFailed({ reason: fault.value })
  return body
})
