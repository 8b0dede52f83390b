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
  Effect.gen(function* () {
    const { firstByteTimeout, idleTimeout, responseTimeout } = exchange.upstream.provider
    const wait = exchange.request.stream ? firstByteTimeout : responseTimeout
    const deadline = {
      at: (yield* Clock.currentTimeMillis) + wait,
      idleTimeout,
      cancellation: new AbortController()
    }
    const timer = yield* Effect.forkChild(cancelInTime(deadline))
    return yield* outcomeOf(exchange, deadline).pipe(
      Effect.catch((failure) => Effect.sync(() => failedOutcome(exchange.state, failure))),
      Effect.ensuring(
        Effect.sync(() => {
          timer.interruptUnsafe()
          deadline.cancellation.abort(isOver)
        })
      )
    )
  })

/** Until when the provider may be silent. */
interface Deadline {
  /** Epoch milliseconds; infinite while a slow client is waited for. */
  at: number
  readonly idleTimeout: number
  readonly cancellation: AbortController
}

/** Shared, because making an error takes a stack trace. */
const isOver = new Error("the attempt is over")
const isLate = new Error("the provider was silent for too long")

/** One timer an attempt, which looks again where the deadline has moved. Racing each read costs more than the read. */
const cancelInTime = Effect.fnUntraced(function* (deadline: Deadline) {
  for (;;) {
    const left = deadline.at - (yield* Clock.currentTimeMillis)
    if (left <= 0) return deadline.cancellation.abort(isLate)
    yield* Effect.sleep(Math.min(left, deadline.idleTimeout))
  }
})

const failedOutcome = (state: CallState, failure: Failure): Outcome => {
  if (state.began) return { outcome: "broken", kind: failure.kind }
  state.sent = false
  state.reader = undefined
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

/** The whole body; undefined when it is larger. */
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
      if (signal.reason === isLate) return failure("timeout")
      return failure(isConnecting(error) ? "connect" : "ended")
    }
  })

/** The answer, with its body where that is no stream; fails unless it is one, or a rejection of the request. */
const answered = Effect.fnUntraced(function* (
  { request, state, upstream }: Exchange,
  signal: AbortSignal
): Effect.fn.Return<{ readonly response: UpstreamResponse; readonly whole: Buffer | undefined }, Failure> {
  state.sent = true
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
    retryAfterMillis: retryAfterMillis(headers["retry-after"], now)
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
  if (isRejection(status)) return { outcome: "refused", status, body: whole }
  const read = readAnswer(whole, reading)
  if (Result.isFailure(read)) return yield* Effect.fail(failure("malformed"))
  state.firstByteAt = yield* Clock.currentTimeMillis
  return { outcome: "whole", answer: read.success }
})

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
  reader: StreamReader,
  signal: AbortSignal
): Effect.fn.Return<Next, Failure> {
  for (;;) {
    const next = yield* tryUpstream(signal, () => chunks.next())
    if (next.done === true) return { piece: reader.end(), ended: true }
    const piece = reader.push(next.value)
    if (piece.frames > 0 || piece.fault !== undefined) return { piece, ended: false }
  }
})

const streamed = Effect.fnUntraced(function* (
  { client, isLast, reading, state }: Exchange,
  deadline: Deadline,
  { body }: UpstreamResponse
): Effect.fn.Return<Outcome, Failure> {
  const reader = streamReader(reading)
  state.reader = reader
  const chunks: AsyncIterator<Uint8Array> = body[Symbol.asyncIterator]()
  const held: Array<Uint8Array> = []
  let heldBytes = 0
  let heldFrames = 0
  let isFinished = false

  for (;;) {
    const { ended, piece } = yield* nextFrames(chunks, reader, deadline.cancellation.signal).pipe(
      // A stream that declared itself complete is complete, however its connection ends.
      Effect.catch((error) =>
        isFinished ? Effect.succeed<Next>({ piece: reader.end(), ended: true }) : Effect.fail(error)
      )
    )
    isFinished = piece.finished
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
    const readAt = yield* Clock.currentTimeMillis
    const firstContentBy = deadline.at
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
    // Only time spent reading counts, not time spent waiting for a slow client. All frames before the first content share
    // one timeout, or a provider could extend it with pings.
    const now = yield* Clock.currentTimeMillis
    deadline.at = piece.content ? now + deadline.idleTimeout : firstContentBy + (now - readAt)
  }
})
