/**
 * One attempt at one provider. Nothing of a stream is delivered before its first content, because providers answer 200
 * with a preamble and then say that they are overloaded; what was not delivered can still be had from the next one.
 */
import { Result } from "effect"
import type { Dispatcher } from "undici"
import type { Recipient } from "../../services/Gateway.ts"
import { failure, retryAfterMillis } from "./failure.ts"
import type { Failure, FailureKind } from "./failure.ts"
import type { Leaving } from "./leaving.ts"
import { readAnswer, streamReader } from "./styles/index.ts"
import type { Piece, ReaderOptions, StreamReader, WholeAnswer } from "./styles/types.ts"
import type { Upstream } from "./upstream.ts"

/**
 * "held back (up to 64 frames or 256 KiB)": of whole frames. One that has no end yet says nothing, so nothing of it can be
 * delivered; the reader keeps it up to a size of its own, beyond which it is malformed.
 */
const mostHeldFrames = 64
const mostHeldBytes = 256 * 1024
/** An answer that is not a stream is held whole. */
const largestAnswer = 64 * 1024 * 1024
/** As much of an error is looked at. */
const largestError = 64 * 1024
const errorPatienceMillis = 1000
/** A client that takes nothing for so long has left. */
const patienceMillis = 60_000

/** What a call has come to, for whoever settles it when its client leaves in the middle. */
export interface Progress {
  /** Something was delivered: no other candidate may be tried. */
  began: boolean
  firstByteAt: number | undefined
  /** A provider has the request, and has not failed. */
  sent: boolean
  reader: StreamReader | undefined
}

export type Outcome =
  | { readonly outcome: "whole"; readonly answer: WholeAnswer }
  | { readonly outcome: "streamed" }
  /** After something was delivered. */
  | { readonly outcome: "broken"; readonly kind: FailureKind }
  | { readonly outcome: "unread" | "left" }
  | { readonly outcome: "refused"; readonly status: 400 | 413 | 422; readonly body: Uint8Array }
  | { readonly outcome: "failed"; readonly failure: Failure }

export interface Exchange {
  readonly upstream: Upstream
  readonly body: Uint8Array | string
  readonly stream: boolean
  readonly versionHeaders: Readonly<Record<string, string>>
  readonly reading: ReaderOptions
  readonly recipient: Recipient
  /** An answer without content is better than none: the last candidate's is delivered. */
  readonly isLast: () => boolean
  readonly progress: Progress
  /** In milliseconds. */
  readonly now: () => number
}

const isRefusal = (status: number): status is 400 | 413 | 422 =>
  status === 400 || status === 413 || status === 422

const isConnecting = (error: unknown): boolean =>
  error instanceof Error &&
  "code" in error &&
  /^(ECONNREFUSED|ENOTFOUND|EAI_AGAIN|EHOSTUNREACH|ENETUNREACH|UND_ERR_CONNECT_TIMEOUT|ERR_TLS_|ERR_SSL_|CERT_|DEPTH_|SELF_SIGNED|UNABLE_TO_)/.test(
    String(error.code)
  )

const over = new Error("the attempt is over")

/** Reads one answer; what it needs of the connection it asks the controller for. */
class Attempt implements Dispatcher.DispatchHandler {
  readonly #exchange: Exchange
  readonly #resume: (outcome: Outcome) => void
  #controller: Dispatcher.DispatchController | undefined
  #isOver = false
  #timer: NodeJS.Timeout
  #status = 0
  #retryAfter: number | undefined
  readonly #chunks: Array<Uint8Array> = []
  #size = 0
  #heldFrames = 0
  #hasContent = false
  #isUnread = false
  #isFinished = false

  constructor(exchange: Exchange, resume: (outcome: Outcome) => void) {
    this.#exchange = exchange
    this.#resume = resume
    const { firstByteTimeout, responseTimeout } = exchange.upstream.provider
    this.#timer = setTimeout(() => this.#late(), exchange.stream ? firstByteTimeout : responseTimeout)
  }

  /** The client has left, or the attempt is over: nothing more is wanted of the provider. */
  abandon(): void {
    this.#isOver = true
    clearTimeout(this.#timer)
    this.#controller?.abort(over)
  }

  #finish(outcome: Outcome): void {
    if (this.#isOver) return
    this.#isOver = true
    clearTimeout(this.#timer)
    this.#resume(outcome)
  }

  #fail(kind: FailureKind): void {
    const { progress } = this.#exchange
    if (progress.began) this.#finish({ outcome: "broken", kind })
    else
      this.#failed({
        ...failure(kind),
        status: this.#status === 0 || this.#status === 200 ? null : this.#status
      })
    this.#controller?.abort(over)
  }

  /** What has said that it is complete is, also where its connection stays open. */
  #late(): void {
    if (!this.#isFinished) return this.#fail("timeout")
    this.onResponseEnd()
    this.#controller?.abort(over)
  }

  /** For the first content, or for what comes after it. */
  #waitAnew(): void {
    const { firstByteTimeout, idleTimeout } = this.#exchange.upstream.provider
    clearTimeout(this.#timer)
    this.#timer = setTimeout(() => this.#late(), this.#hasContent ? idleTimeout : firstByteTimeout)
  }

  /** The client takes nothing any more. */
  #leave(): void {
    this.#finish({ outcome: "unread" })
    this.#exchange.recipient.abort()
    this.#controller?.abort(over)
  }

  #failed(why: Failure): void {
    if (this.#isOver) return
    this.#exchange.progress.sent = false
    this.#exchange.progress.reader = undefined
    this.#finish({ outcome: "failed", failure: why })
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#controller = controller
    if (this.#isOver) controller.abort(over)
    else this.#exchange.progress.sent = true
  }

  onResponseStart(
    _controller: Dispatcher.DispatchController,
    status: number,
    headers: Record<string, string | ReadonlyArray<string> | undefined>
  ): void {
    if (status < 200 || this.#isOver) return
    this.#status = status
    this.#retryAfter = retryAfterMillis(headers["retry-after"], this.#exchange.now)
    if (status >= 300) {
      if (!isRefusal(status)) this.#failWithStatus()
      return
    }
    if (!this.#exchange.stream) return
    // A provider that was asked for a stream and sends something else has not understood.
    const type = headers["content-type"]
    if (typeof type !== "string" || !/^text\/event-stream\b/i.test(type)) this.#fail("malformed")
    else this.#exchange.progress.reader = streamReader(this.#exchange.reading)
  }

  #failWithStatus(): void {
    this.#failed({ kind: "status", status: this.#status, retryAfterMillis: this.#retryAfter })
    // What it says is of no use; the connection is, if that is short.
    this.#timer = setTimeout(() => this.#controller?.abort(over), errorPatienceMillis)
  }

  onResponseData(_controller: Dispatcher.DispatchController, chunk: Uint8Array): void {
    const { reader } = this.#exchange.progress
    if (this.#isOver) {
      this.#size += chunk.length
      if (this.#size > largestError) this.#controller?.abort(over)
    } else if (reader !== undefined) this.#deliver(reader.push(chunk))
    else if (this.#size + chunk.length > (this.#status >= 300 ? largestError : largestAnswer))
      this.#fail("malformed")
    else this.#keep(chunk)
  }

  #keep(bytes: Uint8Array): void {
    this.#chunks.push(bytes)
    this.#size += bytes.length
  }

  /** As one; a short answer is one already. */
  #received(): Uint8Array {
    const [only] = this.#chunks
    return this.#chunks.length === 1 && only !== undefined ? only : Buffer.concat(this.#chunks)
  }

  #deliver(piece: Piece): void {
    const { progress } = this.#exchange
    const isFirst = piece.content && !this.#hasContent
    this.#isFinished = piece.finished
    this.#hasContent = piece.content
    // Nothing but content puts off when it must have come, also where what it was held back for was delivered.
    if (isFirst && !this.#isUnread) this.#waitAnew()
    if (!progress.began) {
      if (piece.fault !== undefined && !piece.content) return this.#fail(piece.fault.kind)
      if (piece.bytes.length > 0) this.#keep(piece.bytes)
      this.#heldFrames += piece.frames
      if (!piece.content && this.#heldFrames < mostHeldFrames && this.#size < mostHeldBytes) return
      this.#begin()
    } else {
      if (piece.frames > 0 && piece.content) this.#timer.refresh()
      this.#write(piece.bytes)
    }
    if (piece.fault !== undefined) this.#fail(piece.fault.kind)
  }

  #begin(): void {
    const { now, progress, recipient } = this.#exchange
    progress.began = true
    progress.firstByteAt = now()
    recipient.begin("text/event-stream; charset=utf-8")
    this.#write(this.#received())
    this.#chunks.length = 0
  }

  /** While the client has no room, nothing is read from the provider, and it is the client who is waited for. */
  #write(bytes: Uint8Array): void {
    const { recipient } = this.#exchange
    if (bytes.length === 0 || recipient.write(bytes) || this.#isUnread) return
    this.#isUnread = true
    this.#controller?.pause()
    clearTimeout(this.#timer)
    this.#timer = setTimeout(() => this.#leave(), patienceMillis)
    recipient.whenDrained(() => {
      if (this.#isOver) return
      this.#isUnread = false
      this.#waitAnew()
      this.#controller?.resume()
    })
  }

  onResponseEnd(): void {
    const { reader } = this.#exchange.progress
    if (this.#isOver) clearTimeout(this.#timer)
    else if (reader !== undefined) this.#endStream(reader)
    else if (isRefusal(this.#status)) {
      this.#finish({ outcome: "refused", status: this.#status, body: this.#received() })
    } else this.#endWhole()
  }

  #endStream(reader: StreamReader): void {
    const { isLast, progress } = this.#exchange
    const piece = reader.end()
    const isEmpty = !progress.began && !piece.content
    if (piece.fault === undefined && piece.finished && isEmpty && !isLast()) return this.#fail("empty")
    if (piece.fault === undefined && !piece.finished && isEmpty) return this.#fail("ended")
    this.#deliver(piece)
    if (this.#isOver) return
    if (!piece.finished) return this.#fail("ended")
    if (!progress.began) this.#begin()
    this.#isUnread = false
    this.#finish({ outcome: "streamed" })
  }

  #endWhole(): void {
    const { now, progress, reading } = this.#exchange
    const read = readAnswer(this.#received(), reading)
    if (Result.isFailure(read)) return this.#fail("malformed")
    progress.firstByteAt = now()
    this.#finish({ outcome: "whole", answer: read.success })
  }

  onResponseError(_controller: Dispatcher.DispatchController | undefined, error: unknown): void {
    if (this.#isOver) clearTimeout(this.#timer)
    else if (this.#isFinished) this.onResponseEnd()
    else this.#fail(isConnecting(error) ? "connect" : "ended")
  }
}

/** When the client leaves, it cancels what it asked the provider for. */
export const attempt = (exchange: Exchange, leaving: Leaving): Promise<Outcome> =>
  new Promise((resolve) => {
    const handler = new Attempt(exchange, resolve)
    leaving.give(() => {
      handler.abandon()
      resolve({ outcome: "left" })
    })
    exchange.upstream.dispatch(exchange, handler)
  })
