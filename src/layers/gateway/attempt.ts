/**
 * One attempt at one provider. A stream is delivered only from its first content on: providers may answer 200 with a preamble
 * and then say that they are overloaded, and until something is delivered another provider can still serve.
 */
import { Clock, Effect, Result } from "effect"
import type { ModelSetting, RouteSetting, Timeouts } from "./configuration.ts"
import { rejectionIn } from "./rejection.ts"
import type { AccountFault, Rejection } from "./rejection.ts"
import { readAnswer, streamReader } from "./relay.ts"
import type { Piece, ReaderOptions, StreamReader, WholeAnswer } from "./types.ts"
import type { Upstream, UpstreamRequest, UpstreamResponse } from "./upstream.ts"

/** The progress of a call. The call is settled by it even if its client leaves in the middle. */
export interface CallState {
  /** The route that was asked last, and its model. */
  served: { readonly model: ModelSetting; readonly route: RouteSetting } | undefined
  attempts: number
  /** Something was delivered, so no other candidate may be tried. */
  began: boolean
  firstByteAt: number | undefined
  /** A provider was asked and has not failed. */
  sent: boolean
  /** The time of the last request, in epoch milliseconds. */
  sentAt: number | undefined
  /** The client of a whole answer has left: the gateway still awaits the answer, and asks no other provider. */
  isAbandoned: boolean
  /** The provider had been silent for too long when the client left: the provider failed, although nobody waited for it. */
  silent: boolean
  /** The stream has declared its end. */
  finished: boolean
  reader: StreamReader | undefined
}

export const newCallState = (): CallState => ({
  served: undefined,
  attempts: 0,
  began: false,
  firstByteAt: undefined,
  sent: false,
  sentAt: undefined,
  isAbandoned: false,
  silent: false,
  finished: false,
  reader: undefined
})

/** The client of a stream. */
export interface ClientStream {
  /** It is called once, before the first bytes; from then on no other answer is possible. */
  readonly begin: Effect.Effect<void>
  /** Waits while the client is slow; false if it has read nothing for too long. */
  readonly write: (bytes: Uint8Array) => Effect.Effect<boolean>
}

export interface Exchange {
  readonly upstream: Pick<Upstream, "provider" | "send">
  readonly timeouts: Timeouts
  readonly request: UpstreamRequest
  readonly reading: ReaderOptions
  readonly client: ClientStream
  /** The last candidate's answer is delivered even without content. */
  readonly isLast: () => boolean
  readonly state: CallState
}

/** Stable words for metrics, logs and traces; a provider's own words may quote a prompt. */
type FailureKind =
  | "connect"
  | "timeout"
  | "status"
  /** The provider refuses the operator's account, often with a status that is meant for callers. */
  | "account"
  | "error_event"
  | "malformed"
  | "ended"
  | "empty"

/** The reason why a candidate did not serve. */
export interface Failure {
  readonly kind: FailureKind
  /** The status of an error answer. */
  readonly status: number | null
  readonly retryAfterMillis: number | undefined
  /** The fault of the operator's account. */
  readonly reason?: AccountFault
}

export type Outcome =
  | { readonly outcome: "whole"; readonly answer: WholeAnswer }
  | { readonly outcome: "streamed" }
  /** The provider failed after something was delivered. */
  | { readonly outcome: "broken"; readonly kind: FailureKind }
  /** The client stopped reading. */
  | { readonly outcome: "unread" }
  | { readonly outcome: "refused"; readonly status: 400 | 413 | 422; readonly rejection: Rejection }
  /** The provider failed before anything was delivered: the next candidate is tried. */
  | { readonly outcome: "failed"; readonly failure: Failure }

/** Interruption means that the client left; it cancels the request to the provider. */
export const attempt = (exchange: Exchange): Effect.Effect<Outcome> =>
  Effect.gen(function* () {
    const { state, timeouts } = exchange
    const beganAt = yield* Clock.currentTimeMillis
    const deadline: Deadline = {
      at: beganAt + (exchange.request.stream ? timeouts.firstByte : timeouts.response),
      contentBy: beganAt + Math.max(timeouts.firstByte, timeouts.response),
      lifeAt: beganAt,
      timeouts,
      // @effect-diagnostics-next-line abortControllerInEffect:off -- it is aborted for a reason that is not an interruption
      cancellation: new AbortController()
    }
    const timer = yield* Effect.forkChild(cancelInTime(deadline))
    return yield* outcomeOf(exchange, deadline).pipe(
      Effect.catch((failure) => Effect.sync(() => failedOutcome(state, failure))),
      Effect.onInterrupt(() => noteSilence(state, deadline)),
      Effect.ensuring(
        Effect.sync(() => {
          timer.interruptUnsafe()
          deadline.cancellation.abort(attemptOver)
        })
      )
    )
  })

/** Limits on how long the provider may be silent. */
interface Deadline {
  /** Epoch milliseconds, like all times in this file; infinite while the attempt waits for a slow client. */
  at: number
  /** The time by which a stream's first content must come, whatever signs of life there are. */
  contentBy: number
  /** The last sign of life. */
  lifeAt: number
  readonly timeouts: Timeouts
  readonly cancellation: AbortController
}

/** Comments and pings show that a provider is working; before content they extend its time, up to a bound. */
const noteLife = (deadline: Deadline, now: number) => {
  deadline.lifeAt = now
  deadline.at = Math.min(now + deadline.timeouts.firstByte, deadline.contentBy)
}

const noteSilence = Effect.fnUntraced(function* (state: CallState, { lifeAt, timeouts }: Deadline) {
  if (state.began || (yield* Clock.currentTimeMillis) - lifeAt < timeouts.firstByte) return
  state.silent = true
  forget(state)
})

/** The work of a provider that failed costs nothing. */
const forget = (state: CallState) => {
  state.sent = false
  state.finished = false
  state.reader = undefined
}

/** The errors are shared, because making an error takes a stack trace. */
const attemptOver = new Error("the attempt is over")
const providerSilent = new Error("the provider was silent for too long")

/** Each attempt has one timer, which checks again when the deadline has moved. Racing each read would cost more than the read. */
const cancelInTime = Effect.fnUntraced(function* (deadline: Deadline) {
  for (;;) {
    const left = deadline.at - (yield* Clock.currentTimeMillis)
    if (left <= 0) return deadline.cancellation.abort(providerSilent)
    yield* Effect.sleep(Math.min(left, deadline.timeouts.idle))
  }
})

const failedOutcome = (state: CallState, failure: Failure): Outcome => {
  if (state.began) return { outcome: "broken", kind: failure.kind }
  forget(state)
  return { outcome: "failed", failure }
}

const failure = (kind: FailureKind): Failure => ({ kind, status: null, retryAfterMillis: undefined })

const isConnecting = (error: unknown): boolean =>
  error instanceof Error &&
  "code" in error &&
  /^(ECONNREFUSED|ENOTFOUND|EAI_AGAIN|EHOSTUNREACH|ENETUNREACH|UND_ERR_CONNECT_TIMEOUT|ERR_TLS_|ERR_SSL_|CERT_|DEPTH_|SELF_SIGNED|UNABLE_TO_)/.test(
    String(error.code)
  )

const isRejection = (status: number): status is 400 | 413 | 422 =>
  status === 400 || status === 413 || status === 422

/** RFC 9110 10.2.3: seconds, or a date. OpenAI and Azure also send milliseconds. */
const retryAfterMillis = (headers: UpstreamResponse["headers"], now: number): number | undefined => {
  const millis = headers["retry-after-ms"]
  if (typeof millis === "string" && /^\d{1,12}$/.test(millis)) return Number(millis)
  const header = headers["retry-after"]
  if (typeof header !== "string") return undefined
  if (/^\d{1,9}$/.test(header)) return Number(header) * 1000
  const date = Date.parse(header)
  return Number.isNaN(date) ? undefined : Math.max(0, date - now)
}

/** An answer that is not a stream is held in memory whole. */
const maxAnswerBytes = 64 * 1024 * 1024
/** The rest of an error answer is not read. */
const maxErrorBytes = 64 * 1024
/** The next candidate waits this long for an error's body. */
const errorBodyMillis = 100

/** The whole body; undefined if it is larger than the maximum. */
export const collect = async (body: AsyncIterable<Buffer>, maxBytes: number): Promise<Buffer | undefined> => {
  const chunks: Array<Buffer> = []
  let size = 0
  for await (const chunk of body) {
    size += chunk.length
    if (size > maxBytes) return undefined
    chunks.push(chunk)
  }
  return Buffer.concat(chunks)
}

const tryUpstream = <A>(signal: AbortSignal, ask: () => Promise<A>): Effect.Effect<A, Failure> =>
  Effect.tryPromise({
    try: ask,
    catch: (error) => {
      if (signal.reason === providerSilent) return failure("timeout")
      return failure(isConnecting(error) ? "connect" : "ended")
    }
  })

/** Sends the request. The result has the body unless it is a stream. It fails unless the provider served or rejected the request. */
const answered = Effect.fnUntraced(function* (
  { request, state, upstream }: Exchange,
  signal: AbortSignal
): Effect.fn.Return<{ readonly response: UpstreamResponse; readonly whole: Buffer | undefined }, Failure> {
  state.sent = true
  state.sentAt = yield* Clock.currentTimeMillis
  const answer = yield* tryUpstream(signal, async () => {
    const response = await upstream.send(request, signal)
    const { body, status } = response
    if (isRejection(status)) return { response, whole: await collect(body, maxErrorBytes) }
    const isWhole = status < 300 && !request.stream
    return { response, whole: isWhole ? await collect(body, maxAnswerBytes) : undefined }
  })
  const { body, headers, status } = answer.response
  if (status < 300 || isRejection(status)) return answer
  // Reading the body frees the connection for reuse.
  yield* Effect.promise(() => collect(body, maxErrorBytes)).pipe(
    Effect.timeoutOption(errorBodyMillis),
    Effect.ignoreCause
  )
  const now = yield* Clock.currentTimeMillis
  return yield* Effect.fail({
    kind: "status" as const,
    status,
    retryAfterMillis: retryAfterMillis(headers, now)
  })
})

const outcomeOf = Effect.fnUntraced(function* (
  exchange: Exchange,
  deadline: Deadline
): Effect.fn.Return<Outcome, Failure> {
  const { reading, request, state } = exchange
  const { response, whole } = yield* answered(exchange, deadline.cancellation.signal)
  const { headers, status } = response
  if (request.stream && !isRejection(status)) {
    // The provider did not answer with a stream.
    if (!/^text\/event-stream\b/i.test(String(headers["content-type"])))
      return yield* Effect.fail(failure("malformed"))
    return yield* streamed(exchange, deadline, response)
  }
  if (whole === undefined) return yield* Effect.fail(failure("malformed"))
  if (isRejection(status)) {
    const rejection = rejectionIn(whole, exchange.upstream.provider)
    if (rejection.accountFault === undefined) return { outcome: "refused", status, rejection }
    return yield* Effect.fail({ ...failure("account"), status, reason: rejection.accountFault })
  }
  const read = readAnswer(whole, reading)
  if (Result.isFailure(read)) return yield* Effect.fail(failure(read.failure.kind))
  state.firstByteAt = yield* Clock.currentTimeMillis
  return { outcome: "whole", answer: read.success }
})

/**
 * "held back (up to 64 frames or 256 KiB)": whole frames. An incomplete frame cannot be delivered yet; the reader keeps it up
 * to a maximum size, beyond which it is malformed.
 */
const maxHeldFrames = 64
const maxHeldBytes = 256 * 1024

interface Next {
  readonly piece: Piece
  /** The provider has closed the stream. */
  readonly ended: boolean
}

/** Reads until at least one frame is complete. A chunk that is under way at an interruption is not lost: the next read returns it. */
const framesOf = (body: AsyncIterable<Uint8Array>, reader: StreamReader, signal: AbortSignal) => {
  const chunks = body[Symbol.asyncIterator]()
  let coming: Promise<IteratorResult<Uint8Array, unknown>> | undefined
  const nextPiece = Effect.map(
    tryUpstream(signal, () => (coming ??= chunks.next())),
    (chunk): Next => {
      coming = undefined
      return chunk.done === true
        ? { piece: reader.end(), ended: true }
        : { piece: reader.push(chunk.value), ended: false }
    }
  )
  return Effect.gen(function* () {
    for (;;) {
      const next = yield* nextPiece
      if (next.ended || next.piece.frames > 0 || next.piece.fault !== undefined) return next
    }
  })
}

/** If the client has left, the usage of a complete answer is awaited for this long. */
const usageTimeout = "5 seconds"

/** A client that has seen the end of an answer has all of it; if it did not pay for the usage that follows, reasoning would be free. */
const awaitUsage = (next: Effect.Effect<Next, Failure>, reader: StreamReader) =>
  Effect.gen(function* () {
    for (;;) {
      const { ended } = yield* next
      if (ended || reader.usage() !== undefined) return
    }
  }).pipe(Effect.timeoutOption(usageTimeout), Effect.ignore)

const streamed = Effect.fnUntraced(function* (
  exchange: Exchange,
  deadline: Deadline,
  { body }: UpstreamResponse
): Effect.fn.Return<Outcome, Failure> {
  const { reading, state } = exchange
  const reader = streamReader(reading)
  state.reader = reader
  const next = framesOf(body, reader, deadline.cancellation.signal).pipe(
    // A stream that declared itself complete is complete, however its connection ends.
    Effect.catch((error) =>
      state.finished ? Effect.succeed<Next>({ piece: reader.end(), ended: true }) : Effect.fail(error)
    )
  )
  const outcome = yield* relayed(exchange, deadline, next).pipe(
    Effect.onInterrupt(() => (state.finished ? awaitUsage(next, reader) : Effect.void))
  )
  if (outcome.outcome === "unread" && state.finished) yield* awaitUsage(next, reader)
  return outcome
})

/** Delivers the stream from its first content on. */
const relayed = Effect.fnUntraced(function* (
  { client, isLast, state }: Exchange,
  deadline: Deadline,
  next: Effect.Effect<Next, Failure>
): Effect.fn.Return<Outcome, Failure> {
  const held: Array<Uint8Array> = []
  let heldBytes = 0
  let heldFrames = 0

  for (;;) {
    const { ended, piece } = yield* next
    const readAt = yield* Clock.currentTimeMillis
    if (!piece.content) noteLife(deadline, readAt)
    if (!state.began && !piece.content) {
      if (piece.fault !== undefined) return yield* Effect.fail(failure(piece.fault.kind))
      if (ended && !piece.finished) return yield* Effect.fail(failure("ended"))
      if (ended && !isLast()) return yield* Effect.fail(failure("empty"))
    }
    state.finished = piece.finished
    held.push(piece.bytes)
    heldBytes += piece.bytes.length
    heldFrames += piece.frames
    const isHeldBack = !piece.content && !ended && heldFrames < maxHeldFrames && heldBytes < maxHeldBytes
    if (!state.began && isHeldBack) continue
    deadline.at = Number.POSITIVE_INFINITY
    if (!state.began) {
      state.began = true
      state.firstByteAt = readAt
      yield* client.begin
    }
    if (!(yield* client.write(Buffer.concat(held)))) return { outcome: "unread" }
    held.length = 0
    if (piece.fault !== undefined) return yield* Effect.fail(failure(piece.fault.kind))
    if (ended) {
      return yield* piece.finished
        ? Effect.succeed({ outcome: "streamed" } as const)
        : Effect.fail(failure("ended"))
    }
    // Only time spent reading counts, not time spent waiting for a slow client.
    const now = yield* Clock.currentTimeMillis
    deadline.contentBy += now - readAt
    if (piece.content) deadline.at = now + deadline.timeouts.idle
    else noteLife(deadline, now)
  }
})
