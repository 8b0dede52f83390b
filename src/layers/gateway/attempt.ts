/**
 * One attempt at one provider. Nothing of a stream is delivered before its first content, because providers answer 200
 * with a preamble and then say that they are overloaded; what was not delivered can still be had from the next one.
 */
import { Clock, Effect, Result } from "effect"
import { readAnswer, streamReader } from "./relay.ts"
import type { Piece, ReaderOptions, StreamReader, WholeAnswer } from "./types.ts"
import type { Upstream, UpstreamRequest, UpstreamResponse } from "./upstream.ts"

/** The progress of a call, by which it is settled even if its client leaves in the middle. */
export interface CallState {
  provider: string | null
  attempts: number
  /** Something was delivered, so no other candidate may be tried. */
  began: boolean
  firstByteAt: number | undefined
  /** A provider was asked, and has not failed. */
  sent: boolean
  reader: StreamReader | undefined
}

export const newCallState = (): CallState => ({
  provider: null,
  attempts: 0,
  began: false,
  firstByteAt: undefined,
  sent: false,
  reader: undefined
})

/** The client of a stream. */
export interface ClientStream {
  /** Called once, before the first bytes; from then on no other answer is possible. */
  readonly begin: Effect.Effect<void>
  /** Waits while the client is slow; false: it has read nothing for too long. */
  readonly write: (bytes: Uint8Array) => Effect.Effect<boolean>
}

export interface Exchange {
  readonly upstream: Upstream
  readonly request: UpstreamRequest
  readonly reading: ReaderOptions
  readonly client: ClientStream
  /** The last candidate's answer is delivered even without content. */
  readonly isLast: () => boolean
  readonly state: CallState
}

/** Stable words for metrics, logs and traces; what a provider says in its own words may quote a prompt. */
type FailureKind = "connect" | "timeout" | "status" | "error_event" | "malformed" | "ended" | "empty"

/** Why a candidate did not serve. */
export interface Failure {
  readonly kind: FailureKind
  /** The status of an error answer. */
  readonly status: number | null
  readonly retryAfterMillis: number | undefined
}

export type Outcome =
  | { readonly outcome: "whole"; readonly answer: WholeAnswer }
  | { readonly outcome: "streamed" }
  /** After something was delivered. */
  | { readonly outcome: "broken"; readonly kind: FailureKind }
  /** The client stopped reading. */
  | { readonly outcome: "unread" }
  | { readonly outcome: "refused"; readonly status: 400 | 413 | 422; readonly body: Uint8Array }
  /** Before anything was delivered: the next candidate is tried. */
  | { readonly outcome: "failed"; readonly failure: Failure }

/** Interruption (the client left) cancels the request to the provider. */
export const attempt = (exchange: Exchange): Effect.Effect<Outcome> =>
  Effect.acquireUseRelease(
    Effect.sync(() => new AbortController()),
    ({ signal }) =>
      (exchange.request.stream ? streamed(exchange, signal) : whole(exchange, signal)).pipe(
        Effect.catch((failure) => Effect.sync(() => failedOutcome(exchange.state, failure)))
      ),
    (controller) => Effect.sync(() => controller.abort(isOver))
  )

/** Shared, because making an error takes a stack trace. */
const isOver = new Error("the attempt is over")

const failedOutcome = (state: CallState, failure: Failure): Outcome => {
  if (state.began) return { outcome: "broken", kind: failure.kind }
  state.sent = false
  state.reader = undefined
  return { outcome: "failed", failure }
}

const failure = (kind: FailureKind): Failure => ({ kind, status: null, retryAfterMillis: undefined })

const within =
  (millis: number) =>
  <A, R>(effect: Effect.Effect<A, Failure, R>) =>
    Effect.timeoutOrElse(effect, { duration: millis, orElse: () => Effect.fail(failure("timeout")) })

const isConnecting = (error: unknown): boolean =>
  error instanceof Error &&
  "code" in error &&
  /^(ECONNREFUSED|ENOTFOUND|EAI_AGAIN|EHOSTUNREACH|ENETUNREACH|UND_ERR_CONNECT_TIMEOUT|ERR_TLS_|ERR_SSL_|CERT_|DEPTH_|SELF_SIGNED|UNABLE_TO_)/.test(
    String(error.code)
  )

const isRejection = (status: number): status is 400 | 413 | 422 =>
  status === 400 || status === 413 || status === 422

/** RFC 9110 10.2.3: seconds, or a date. */
const retryAfterMillis = (header: unknown, now: number): number | undefined => {
  if (typeof header !== "string") return undefined
  if (/^\d{1,9}$/.test(header)) return Number(header) * 1000
  const date = Date.parse(header)
  return Number.isNaN(date) ? undefined : Math.max(0, date - now)
}

/** An answer that is not a stream is held whole. */
const maxAnswerBytes = 64 * 1024 * 1024
/** How much of an error answer is read. */
const maxErrorBytes = 64 * 1024
/** How long the next candidate waits for an error's body. */
const errorBodyMillis = 100

const collect = async ({ body }: UpstreamResponse, maxBytes: number): Promise<Buffer | undefined> => {
  const chunks: Array<Buffer> = []
  let size = 0
  for await (const chunk of body) {
    size += chunk.length
    if (size > maxBytes) return undefined
    chunks.push(chunk)
  }
  return Buffer.concat(chunks)
}

const bodyOf = (response: UpstreamResponse, maxBytes: number) =>
  Effect.tryPromise({ try: () => collect(response, maxBytes), catch: () => failure("ended") }).pipe(
    Effect.filterOrFail(
      (bytes) => bytes !== undefined,
      () => failure("malformed")
    )
  )

/** The headers of the answer; fails unless it is one, or a rejection of the request. */
const headersOf = Effect.fnUntraced(function* (
  { request, state, upstream }: Exchange,
  signal: AbortSignal
): Effect.fn.Return<UpstreamResponse, Failure> {
  state.sent = true
  const response = yield* Effect.tryPromise({
    try: () => upstream.send(request, signal),
    catch: (error) => failure(isConnecting(error) ? "connect" : "ended")
  })
  const { headers, status } = response
  if (status < 300 || isRejection(status)) return response
  // Reading the body frees the connection for reuse.
  yield* Effect.ignore(within(errorBodyMillis)(bodyOf(response, maxErrorBytes)))
  const now = yield* Clock.currentTimeMillis
  return yield* Effect.fail({
    kind: "status" as const,
    status,
    retryAfterMillis: retryAfterMillis(headers["retry-after"], now)
  })
})

const rejected = (response: UpstreamResponse, status: 400 | 413 | 422) =>
  Effect.map(bodyOf(response, maxErrorBytes), (body): Outcome => ({ outcome: "refused", status, body }))

const whole = (exchange: Exchange, signal: AbortSignal) =>
  Effect.gen(function* (): Effect.fn.Return<Outcome, Failure> {
    const { reading, state } = exchange
    const response = yield* headersOf(exchange, signal)
    if (isRejection(response.status)) return yield* rejected(response, response.status)
    const read = readAnswer(yield* bodyOf(response, maxAnswerBytes), reading)
    if (Result.isFailure(read)) return yield* Effect.fail(failure("malformed"))
    state.firstByteAt = yield* Clock.currentTimeMillis
    return { outcome: "whole", answer: read.success }
  }).pipe(within(exchange.upstream.provider.responseTimeout))

/**
 * "held back (up to 64 frames or 256 KiB)": of whole frames. One that has no end yet says nothing, so nothing of it can be
 * delivered; the reader keeps it up to a size of its own, beyond which it is malformed.
 */
const maxHeldFrames = 64
const maxHeldBytes = 256 * 1024

interface Next {
  readonly piece: Piece
  /** The provider has closed the stream. */
  readonly ended: boolean
}

/** The next frames, at least one of them complete. */
const nextFrames = Effect.fnUntraced(function* (
  chunks: AsyncIterator<Uint8Array>,
  reader: StreamReader
): Effect.fn.Return<Next, Failure> {
  for (;;) {
    const next = yield* Effect.tryPromise({ try: () => chunks.next(), catch: () => failure("ended") })
    if (next.done === true) return { piece: reader.end(), ended: true }
    const piece = reader.push(next.value)
    if (piece.frames > 0 || piece.fault !== undefined) return { piece, ended: false }
  }
})

const streamed = Effect.fnUntraced(function* (
  exchange: Exchange,
  signal: AbortSignal
): Effect.fn.Return<Outcome, Failure> {
  const { client, isLast, reading, state, upstream } = exchange
  const { firstByteTimeout, idleTimeout } = upstream.provider
  const startedAt = yield* Clock.currentTimeMillis
  const response = yield* within(firstByteTimeout)(headersOf(exchange, signal))
  if (isRejection(response.status)) {
    return yield* within(firstByteTimeout)(rejected(response, response.status))
  }
  // The provider did not answer with a stream.
  if (!/^text\/event-stream\b/i.test(String(response.headers["content-type"]))) {
    return yield* Effect.fail(failure("malformed"))
  }
  const reader = streamReader(reading)
  state.reader = reader
  const chunks: AsyncIterator<Uint8Array> = response.body[Symbol.asyncIterator]()
  const held: Array<Uint8Array> = []
  let heldBytes = 0
  let heldFrames = 0
  let isFinished = false
  // Only time spent reading counts, not time spent waiting for a slow client. All frames before the first content share one
  // timeout, or a provider could extend it with pings.
  let maxWait = firstByteTimeout - ((yield* Clock.currentTimeMillis) - startedAt)

  for (;;) {
    const readSince = yield* Clock.currentTimeMillis
    const { ended, piece } = yield* nextFrames(chunks, reader).pipe(
      within(maxWait),
      // A stream that declared itself complete is complete, however its connection ends.
      Effect.catch((error) =>
        isFinished ? Effect.succeed<Next>({ piece: reader.end(), ended: true }) : Effect.fail(error)
      )
    )
    isFinished = piece.finished
    maxWait = piece.content ? idleTimeout : maxWait - ((yield* Clock.currentTimeMillis) - readSince)
    if (!state.began && !piece.content) {
      if (piece.fault !== undefined) return yield* Effect.fail(failure(piece.fault.kind))
      if (ended && !piece.finished) return yield* Effect.fail(failure("ended"))
      if (ended && !isLast()) return yield* Effect.fail(failure("empty"))
    }
    held.push(piece.bytes)
    heldBytes += piece.bytes.length
    heldFrames += piece.frames
    const isHeldBack = !piece.content && !ended && heldFrames < maxHeldFrames && heldBytes < maxHeldBytes
    if (!state.began && isHeldBack) continue
    if (!state.began) {
      state.began = true
      state.firstByteAt = yield* Clock.currentTimeMillis
      yield* client.begin
    }
    if (!(yield* client.write(Buffer.concat(held)))) return { outcome: "unread" }
    held.length = 0
    if (piece.fault !== undefined) return yield* Effect.fail(failure(piece.fault.kind))
    if (!ended) continue
    return yield* piece.finished
      ? Effect.succeed({ outcome: "streamed" } as const)
      : Effect.fail(failure("ended"))
  }
})
