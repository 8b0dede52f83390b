/**
 * Posts a few bytes to a third party that the operator named and reads its answer, without redirects and with bounds on
 * time and bytes.
 */
import { Data, Duration, Effect, Option, Predicate, Stream } from "effect"
import type { ByteSize } from "effect"
import { FetchHttpClient, HttpClient, HttpClientRequest } from "effect/http"
import type { HttpClientError, HttpClientResponse } from "effect/http"

/** Why there is no usable answer, in the same words while the cause is the same. */
export class ExchangeFailed extends Data.TaggedError("ExchangeFailed")<{
  readonly reason: string
  /** The answer's Retry-After. */
  readonly retryAfter?: Duration.Duration
}> {}

export interface Posted {
  readonly url: string
  readonly contentType: string
  readonly body: Uint8Array
  /** The statuses whose body is read; any other is a failure. */
  readonly statuses: ReadonlyArray<number>
  readonly maxBytes: ByteSize.Input
  readonly patience: Duration.Duration
}

export interface Reply {
  readonly status: number
  /** The media type in lower case, without parameters. */
  readonly contentType: string
  readonly body: Uint8Array<ArrayBuffer>
}

export type Post = (posted: Posted) => Effect.Effect<Reply, ExchangeFailed>

/** The system's error code, which a failed fetch holds two causes down. */
const codeOf = (cause: unknown): string | undefined => {
  if (Predicate.hasProperty(cause, "code") && typeof cause.code === "string") return cause.code
  return Predicate.hasProperty(cause, "cause") ? codeOf(cause.cause) : undefined
}

const unreachable = ({ reason }: HttpClientError.HttpClientError): ExchangeFailed => {
  const code = codeOf(reason)
  return new ExchangeFailed({ reason: `it cannot be reached${code === undefined ? "" : ` (${code})`}` })
}

const retryAfter = ({ headers }: HttpClientResponse.HttpClientResponse): Option.Option<Duration.Duration> => {
  const seconds = headers["retry-after"] ?? ""
  return /^\d{1,6}$/.test(seconds) ? Option.some(Duration.seconds(Number(seconds))) : Option.none()
}

export const makePost: Effect.Effect<Post> = Effect.gen(function* () {
  const client = HttpClient.withScope(yield* HttpClient.HttpClient)

  const receive = Effect.fnUntraced(function* ({ body, contentType, maxBytes, statuses, url }: Posted) {
    const request = HttpClientRequest.post(url).pipe(
      HttpClientRequest.bodyUint8Array(body, contentType),
      HttpClientRequest.setHeader("user-agent", "auspex")
    )
    const response = yield* Effect.mapError(client.execute(request), unreachable)
    if (!statuses.includes(response.status)) {
      return yield* new ExchangeFailed({
        reason: `it answered ${response.status}`,
        ...Option.match(retryAfter(response), {
          onNone: () => ({}),
          onSome: (wait) => ({ retryAfter: wait })
        })
      })
    }
    const tooLarge = () => Stream.fail(new ExchangeFailed({ reason: "its answer is too large" }))
    const received = yield* response.stream.pipe(
      Stream.mapError(() => new ExchangeFailed({ reason: "its answer broke off" })),
      Stream.limitBytes(maxBytes, tooLarge),
      Stream.mkUint8Array
    )
    const [type = ""] = (response.headers["content-type"] ?? "").split(";")
    return { status: response.status, contentType: type.trim().toLowerCase(), body: received }
  })

  const post: Post = (posted) =>
    receive(posted).pipe(
      // Aborts what is still in flight.
      Effect.scoped,
      Effect.timeoutOrElse({
        duration: posted.patience,
        orElse: () =>
          new ExchangeFailed({ reason: `it took longer than ${Duration.toSeconds(posted.patience)} s` })
      }),
      Effect.provideService(FetchHttpClient.RequestInit, { redirect: "manual" }),
      Effect.provideService(HttpClient.TracerPropagationEnabled, false)
    )
  return post
}).pipe(Effect.provide(FetchHttpClient.layer))

/** The URL of a third party as an operator gives it; fetch refuses to send a user and a password. */
export const parsePostUrl = (text: string): Option.Option<URL> =>
  Option.filter(
    Option.fromNullishOr(URL.parse(text)),
    ({ hash, password, protocol, username }) =>
      ["http:", "https:"].includes(protocol) && `${hash}${username}${password}` === ""
  )
