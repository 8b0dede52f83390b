import { Cause, Context, Effect, Exit, Option, Stream } from "effect"
import { HttpBody, HttpIncomingMessage, HttpServerRequest, HttpServerResponse } from "effect/http"
import type { HttpApiEndpoint } from "effect/http-api"
import { Audit } from "../../services/AdminAudit.ts"
import { storeUnavailableIn } from "../../services/errors.ts"
import { CurrentRequest } from "../CurrentRequest.ts"
import { PublicCache } from "../httpCaching.ts"
import { redactSecrets } from "../redaction.ts"
import { errorStatus } from "../errorStatus.ts"
import { MaxBody } from "./annotations.ts"

/** The status of a failure; none where the work was broken off, for how far it came nobody knows. */
const statusOf = (cause: Cause.Cause<unknown>): Option.Option<number> => {
  if (Cause.hasInterruptsOnly(cause)) return Option.none()
  const unexpected = storeUnavailableIn(cause).length > 0 ? 503 : 500
  return Option.some(
    Option.match(Cause.findErrorOption(cause), { onNone: () => unexpected, onSome: errorStatus })
  )
}

/** Records what an administrator asks for before it begins, and how it ended once its answer is whole. */
export const audited = Effect.fnUntraced(function* <E, R>(
  work: Effect.Effect<HttpServerResponse.HttpServerResponse, E, R>,
  endpoint: HttpApiEndpoint.Top
) {
  const audit = yield* Audit
  const kept = yield* PublicCache
  const request = yield* HttpServerRequest.HttpServerRequest
  const { requestId } = yield* CurrentRequest
  // What cannot be read has no body to record.
  const body = yield* request.text.pipe(
    Effect.provideService(HttpIncomingMessage.MaxBodySize, Context.get(endpoint.annotations, MaxBody)),
    Effect.orElseSucceed(() => "")
  )

  const carriedOut = Effect.gen(function* () {
    const entry = yield* audit.begin({
      action: endpoint.identifier,
      path: redactSecrets(request.url),
      requestId,
      // Refused bodies are recorded too, and no column takes a NUL.
      body: redactSecrets(body).replaceAll("\0", "\ufffd")
    })
    // What was done is answered as it is: that its end is not recorded the entry itself shows.
    const complete = (status: number) =>
      audit
        .complete(entry, status)
        .pipe(
          Effect.catchCause((cause) =>
            Effect.logWarning("how an administrator's call ended is not recorded", cause)
          )
        )
    const ended = (status: Option.Option<number>) =>
      Effect.andThen(kept.clear, Option.match(status, { onNone: () => Effect.void, onSome: complete }))
    const response = yield* Effect.onError(work, (cause) => ended(statusOf(cause)))
    const { body: answer } = response
    const answered = Option.some(response.status)
    if (answer._tag !== "Stream") {
      yield* ended(answered)
      return response
    }
    const stream = Stream.onExit(
      answer.stream,
      Exit.match({ onSuccess: () => ended(answered), onFailure: (cause) => ended(statusOf(cause)) })
    )
    return HttpServerResponse.setBody(
      response,
      HttpBody.stream(stream, answer.contentType, answer.contentLength)
    )
  })
  // Who hangs up before there is an answer breaks nothing off. Its end is recorded, too, unless it takes longer than five
  // seconds: then nobody is left who would wait for it (heartbeatResponse.ts).
  return yield* Effect.uninterruptible(carriedOut)
})
