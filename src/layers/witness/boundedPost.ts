/**
 * Posts a few bytes to a third party that the operator named, or requests some from it, and reads its answer, without redirects and with
 * bounds on time and bytes.
 */
import { Data, Duration, Effect, Option, Predicate, Stream } from "effect"
import type { ByteSize } from "effect"
import { FetchHttpClient, HttpClient, HttpClientRequest } from "effect/http"
import type { HttpClientError, HttpClientResponse } from "effect/http"

/** The reason for having no usable answer, in the same words while the cause is the same. */
export class ExchangeFailed extends Data.TaggedError("ExchangeFailed")<{
  readonly reason: string
  /** The status of an answer that is a failure. */
  readonly status?: number
  /** The answer's Retry-After. */
  readonly retryAfter?: Duration.Duration
}> {}

interface Bounds {
  /** Statuses whose body is read; any other is a failure. */
  readonly statuses: ReadonlyArray<number>
  readonly maxBytes: ByteSize.Input
  readonly patience: Duration.Duration
}

export interface Posted extends Bounds {
  readonly url: string
  readonly contentType: string
  readonly body: Uint8Array
}

export interface Got extends Bounds {
  readonly url: string
}

export interface Reply {
  readonly status: number
  /** The media type in lower case, without parameters. */
  readonly contentType: string
  readonly body: Uint8Array<ArrayBuffer>
}

export type Post = (posted: Posted) => Effect.Effect<Reply, ExchangeFailed>
export type Get = (got: Got) => Effect.Effect<Reply, ExchangeFailed>

/** The system's error code, which is two causes deep in a failed fetch. */
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

const makeExchange = Effect.gen(function* () {
  const client = HttpClient.withScope(yield* HttpClient.HttpClient)

  const receive = Effect.fnUntraced(function* (
    request: HttpClientRequest.HttpClientRequest,
    { maxBytes, statuses }: Bounds
  ) {
    const response = yield* Effect.mapError(
      client.execute(HttpClientRequest.setHeader(request, "user-agent", "auspex")),
      unreachable
    )
    if (!statuses.includes(response.status)) {
      return yield* new ExchangeFailed({
        reason: `it answered ${response.status}`,
        status: response.status,
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
    const reply: Reply = { status: response.status, contentType: type.trim().toLowerCase(), body: received }
    return reply
  })

  return (request: HttpClientRequest.HttpClientRequest, bounds: Bounds) =>
    receive(request, bounds).pipe(
      // The scope aborts what is still in flight.
      Effect.scoped,
      Effect.timeoutOrElse({
        duration: bounds.patience,
        orElse: () =>
          new ExchangeFailed({ reason: `it took longer than ${Duration.toSeconds(bounds.patience)} s` })
      }),
      Effect.provideService(FetchHttpClient.RequestInit, { redirect: "manual" }),
      Effect.provideService(HttpClient.TracerPropagationEnabled, false)
    )
}).pipe(Effect.provide(FetchHttpClient.layer))

export const makePost: Effect.Effect<Post> = Effect.map(
  makeExchange,
  (exchange) => (posted) =>
    exchange(
      HttpClientRequest.bodyUint8Array(HttpClientRequest.post(posted.url), posted.body, posted.contentType),
      posted
    )
)

export const makeGet: Effect.Effect<Get> = Effect.map(
  makeExchange,
  (exchange) => (got) => exchange(HttpClientRequest.get(got.url), got)
)

/** The URL of a third party as an operator gives it; fetch refuses to send a user and a password. */
export const parsePostUrl = (text: string): Option.Option<URL> =>
  Option.filter(
    Option.fromNullishOr(URL.parse(text)),
    ({ hash, password, protocol, username }) =>
      ["http:", "https:"].includes(protocol) && `${hash}${username}${password}` === ""
  )
