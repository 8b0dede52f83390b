/** One attempt at one provider, driven chunk by chunk: its end, and whose fault it is. */
import { PassThrough, addAbortSignal } from "node:stream"
import { assert, describe, it } from "@effect/vitest"
import { Duration, Effect, Fiber } from "effect"
import { TestClock } from "effect/testing"
import type { Timeouts } from "../../src/layers/gateway/configuration.ts"
import { attempt, newCallState } from "../../src/layers/gateway/attempt.ts"
import { chatText, optionsOf } from "../support/providerStreams.ts"
import { testProvider, testTimeouts } from "../support/upstream.ts"
import { until } from "../support/waiting.ts"

const long = Duration.toMillis("1 hour")

/** Three clients: one takes a piece, one has no room for it, one has had none for too long. */
const takes = Effect.succeed(true)
const hasNoRoom = Effect.never
const hasLeft = Effect.succeed(false)

/** A provider and a client that a test controls. */
const started = Effect.fnUntraced(function* (
  client: Effect.Effect<boolean> = takes,
  timeouts: Timeouts = testTimeouts(long)
) {
  const body = new PassThrough()
  const written: Array<string> = []
  const signals: Array<AbortSignal> = []
  const state = newCallState()
  const ended = yield* Effect.forkChild(
    attempt({
      upstream: {
        provider: testProvider,
        send: (_, signal) => {
          signals.push(signal)
          // undici does the same.
          addAbortSignal(signal, body).on("error", () => {})
          return Promise.resolve({ status: 200, headers: { "content-type": "text/event-stream" }, body })
        }
      },
      timeouts,
      request: { endpoint: "chat", body: "{}", stream: true, key: undefined, versionHeaders: {} },
      reading: optionsOf("openai", "openai"),
      client: {
        begin: Effect.void,
        write: (bytes) =>
          Effect.suspend(() => {
            written.push(Buffer.from(bytes).toString())
            return client
          })
      },
      isLast: () => false,
      state
    }),
    { startImmediately: true }
  )
  const text = () => written.join("")
  return {
    body,
    ended,
    state,
    text,
    isCancelled: () => signals.every(({ aborted }) => aborted),
    push: (piece: string) => void body.write(piece),
    /** Waits until all bytes were read. */
    read: until(() => body.readableLength === 0),
    delivered: (piece: string) => until(() => text().includes(piece))
  }
})

const untilFinish = chatText.slice(
  0,
  chatText.findIndex((frame) => frame.includes('"finish_reason":"stop"'))
)

describe("An attempt at a provider", () => {
  it.effect("A break after content is the provider's failure", () =>
    Effect.gen(function* () {
      const { body, delivered, ended, push } = yield* started()
      push(untilFinish.join(""))
      yield* delivered((untilFinish.at(-1) ?? "").replace("swift-1-0613", "swift-1"))
      body.destroy(new Error("reset"))
      assert.deepStrictEqual(yield* Fiber.join(ended), { outcome: "broken", kind: "ended" })
    })
  )

  it.effect("An error after content is the provider's failure", () =>
    Effect.gen(function* () {
      const { ended, push } = yield* started()
      push(`${untilFinish.join("")}data: {"error":{"message":"overloaded"}}\n\n`)
      assert.deepStrictEqual(yield* Fiber.join(ended), { outcome: "broken", kind: "error_event" })
    })
  )

  it.effect("An attempt is complete once its stream has declared its end, however its connection ends", () =>
    Effect.gen(function* () {
      const { body, delivered, ended, push } = yield* started()
      push(chatText.join(""))
      yield* delivered("[DONE]")
      body.destroy(new Error("reset"))
      assert.deepStrictEqual(yield* Fiber.join(ended), { outcome: "streamed" })
    })
  )

  const role = chatText[0] ?? ""
  const unended = (bytes: number) => `data: {"x":"${"x".repeat(bytes)}`

  it.effect("An attempt delivers nothing while its first frame is incomplete, however large it grows", () =>
    Effect.gen(function* () {
      const { body, ended, push, read, text } = yield* started()
      push(role)
      for (let pieces = 0; pieces < 9; pieces++) push(unended(1024 * 1024))
      yield* read
      body.destroy(new Error("reset"))
      assert.deepStrictEqual(yield* Fiber.join(ended), {
        outcome: "failed",
        failure: { kind: "ended", status: null, retryAfterMillis: undefined }
      })
      assert.strictEqual(text(), "")
    })
  )

  it.effect("An attempt fails before delivery if its first frame exceeds 10 MiB, so another may serve", () =>
    Effect.gen(function* () {
      const { ended, isCancelled, push, state, text } = yield* started()
      push(role)
      push(unended(6 * 1024 * 1024))
      push("x".repeat(6 * 1024 * 1024))
      assert.deepStrictEqual(yield* Fiber.join(ended), {
        outcome: "failed",
        failure: { kind: "malformed", status: null, retryAfterMillis: undefined }
      })
      assert.isTrue(isCancelled())
      assert.isFalse(state.sent)
      assert.strictEqual(text(), "")
    })
  )

  it.effect("An attempt delivers a first content of 9 MiB in chunks of any size", () =>
    Effect.gen(function* () {
      const { body, ended, push, text } = yield* started()
      const content = `data: {"choices":[{"index":0,"delta":{"content":"${"x".repeat(9 * 1024 * 1024)}"}}]}\n\n`
      push(role)
      for (let at = 0; at < content.length; at += 65_536) push(content.slice(at, at + 65_536))
      body.end(chatText.slice(-2).join(""))
      assert.deepStrictEqual(yield* Fiber.join(ended), { outcome: "streamed" })
      assert.include(text(), content)
    })
  )

  it.effect("An attempt holds back at most 256 KiB of frames without content", () =>
    Effect.gen(function* () {
      const { delivered, push, read, text } = yield* started()
      const comment = `: ${"x".repeat(100 * 1024)}\n\n`
      push(comment)
      push(comment)
      yield* read
      assert.strictEqual(text(), "")
      push(comment)
      yield* delivered(comment.repeat(3))
    })
  )

  it.effect("An attempt waits for the first content, however many frames without content precede it", () =>
    Effect.gen(function* () {
      const { ended, push, read, text } = yield* started()
      push(role)
      for (let pings = 0; pings < 120; pings++) {
        push(": ping\n\n")
        yield* read
        yield* Effect.promise(() => new Promise(setImmediate))
        yield* TestClock.adjust(long / 120)
      }
      assert.deepStrictEqual(yield* Fiber.join(ended), { outcome: "broken", kind: "timeout" })
      assert.include(text(), ": ping\n\n".repeat(60))
    })
  )

  /** Sends one sign of life a second, for so many seconds. */
  const pings = Effect.fnUntraced(function* (
    { push, read }: Effect.Success<ReturnType<typeof started>>,
    seconds: number
  ) {
    for (let second = 0; second < seconds; second++) {
      push(": ping\n\n")
      yield* read
      yield* Effect.promise(() => new Promise(setImmediate))
      yield* TestClock.adjust("1 second")
    }
  })
  const impatient: Timeouts = { firstByte: 1500, idle: 1500, response: 30_000 }

  it.effect("A provider may think for longer than it may be silent, as long as it shows signs of life", () =>
    Effect.gen(function* () {
      const attempted = yield* started(takes, impatient)
      yield* pings(attempted, 20)
      attempted.push(chatText.join(""))
      attempted.body.end()
      assert.deepStrictEqual(yield* Fiber.join(attempted.ended), { outcome: "streamed" })
      assert.include(attempted.text(), "Grüße")
    })
  )

  it.effect("An attempt fails in time for another provider if its provider shows only signs of life", () =>
    Effect.gen(function* () {
      const attempted = yield* started(takes, impatient)
      yield* pings(attempted, 31)
      assert.deepStrictEqual(yield* Fiber.join(attempted.ended), {
        outcome: "failed",
        failure: { kind: "timeout", status: null, retryAfterMillis: undefined }
      })
    })
  )

  it.effect("Each frame after content renews the time for the next one", () =>
    Effect.gen(function* () {
      const { delivered, ended, push, text } = yield* started()
      push(untilFinish.join(""))
      yield* delivered((untilFinish.at(-1) ?? "").replace("swift-1-0613", "swift-1"))
      for (const frame of chatText.slice(untilFinish.length)) {
        yield* TestClock.adjust(long - 1)
        push(frame)
        yield* delivered(frame.replace("swift-1-0613", "swift-1"))
        yield* Effect.promise(() => new Promise(setImmediate))
      }
      yield* TestClock.adjust(long)
      assert.deepStrictEqual(yield* Fiber.join(ended), { outcome: "streamed" })
      assert.include(text(), "[DONE]")
    })
  )

  it.effect(
    "An attempt is not timed while its client has no room, and ends if the client takes nothing",
    () =>
      Effect.gen(function* () {
        const waiting = yield* started(hasNoRoom)
        waiting.push(untilFinish.join(""))
        yield* until(() => waiting.state.began)
        yield* TestClock.adjust(2 * long)
        assert.isUndefined(waiting.ended.pollUnsafe())
        yield* Fiber.interrupt(waiting.ended)
        assert.isTrue(waiting.isCancelled())
        const left = yield* started(hasLeft)
        left.push(untilFinish.join(""))
        assert.deepStrictEqual(yield* Fiber.join(left.ended), { outcome: "unread" })
        assert.isTrue(left.isCancelled())
      })
  )
})
