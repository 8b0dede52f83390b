/** One attempt at one provider, driven event by event: who is to blame for how it ended. */
import { assert, describe, it, vi } from "@effect/vitest"
import { Duration, Effect, Redacted } from "effect"
import type { Dispatcher } from "undici"
import { attempt } from "../../../src/layers/gateway/exchange.ts"
import { Leaving } from "../../../src/layers/gateway/leaving.ts"
import { newCourse } from "../../../src/layers/gateway/routing.ts"
import { chatText, optionsOf } from "../../support/providerStreams.ts"

const long = Duration.toMillis("1 hour")

/** A provider and a client that do what a test has them do. */
const started = Effect.fnUntraced(function* (hasRoom: boolean) {
  let handler: Dispatcher.DispatchHandler | undefined
  let aborted = 0
  const proceed: Array<() => void> = []
  const written: Array<string> = []
  let hungUp = false
  const controller = {
    aborted: false,
    paused: false,
    reason: null,
    pause: () => {},
    resume: () => {},
    abort: () => void (aborted += 1)
  } satisfies Dispatcher.DispatchController
  const { progress } = newCourse()
  const ended = attempt(
    {
      upstream: {
        provider: {
          name: "north",
          style: "openai",
          baseUrl: new URL("https://north.example"),
          apiKey: Redacted.make("key"),
          translates: true,
          connectTimeout: long,
          firstByteTimeout: long,
          idleTimeout: long,
          responseTimeout: long
        },
        dispatch: (_, given) => void (handler = given),
        close: () => {}
      },
      body: "{}",
      stream: true,
      versionHeaders: {},
      reading: optionsOf("openai", "openai"),
      recipient: {
        whole: (_contentType, bytes) => void written.push(Buffer.from(bytes).toString()),
        begin: () => {},
        write: (bytes) => {
          written.push(Buffer.from(bytes).toString())
          return hasRoom
        },
        whenDrained: (go) => void proceed.push(go),
        abort: () => void (hungUp = true)
      },
      isLast: () => false,
      progress,
      now: () => 0
    },
    new Leaving()
  )
  const given = handler
  if (given === undefined) return yield* Effect.die(new Error("nothing was dispatched"))
  given.onRequestStart?.(controller, {})
  given.onResponseStart?.(controller, 200, { "content-type": "text/event-stream" })
  return {
    push: (text: string) => given.onResponseData?.(controller, Buffer.from(text)),
    reset: () => given.onResponseError?.(controller, new Error("reset")),
    ended: Effect.promise(() => ended),
    aborted: () => aborted,
    hungUp: () => hungUp,
    written
  }
})

const untilFinish = chatText.slice(
  0,
  chatText.findIndex((frame) => frame.includes('"finish_reason":"stop"'))
)

describe("An attempt at a provider", () => {
  it.live("that breaks while its client has no room is the provider's failure, not the client's", () =>
    Effect.gen(function* () {
      const { ended, push, reset } = yield* started(false)
      push(untilFinish.join(""))
      reset()
      assert.deepStrictEqual(yield* ended, { outcome: "broken", kind: "ended" })
    })
  )

  it.live("that says an error in the piece that fills its client is the provider's failure", () =>
    Effect.gen(function* () {
      const { ended, push } = yield* started(false)
      push(`${untilFinish.join("")}data: {"error":{"message":"overloaded"}}\n\n`)
      assert.deepStrictEqual(yield* ended, { outcome: "broken", kind: "error_event" })
    })
  )

  it.live("is complete once its stream has said so, however its connection ends", () =>
    Effect.gen(function* () {
      const { ended, push, reset, written } = yield* started(true)
      push(chatText.join(""))
      reset()
      assert.deepStrictEqual(yield* ended, { outcome: "streamed" })
      assert.include(written.join(""), "[DONE]")
    })
  )

  const role = chatText[0] ?? ""
  const unended = (bytes: number) => `data: {"x":"${"x".repeat(bytes)}`

  it.live("has delivered nothing while its first frame has no end, however much has come of it", () =>
    Effect.gen(function* () {
      const { ended, push, reset, written } = yield* started(true)
      push(role)
      for (let pieces = 0; pieces < 9; pieces++) push(unended(1024 * 1024))
      reset()
      assert.deepStrictEqual(yield* ended, {
        outcome: "failed",
        failure: { kind: "ended", status: null, retryAfterMillis: undefined }
      })
      assert.deepStrictEqual(written, [])
    })
  )

  it.live("fails, so that another can serve, when a frame before its first content outgrows 10 MiB", () =>
    Effect.gen(function* () {
      const { aborted, ended, push, written } = yield* started(true)
      push(role)
      push(unended(6 * 1024 * 1024))
      push("x".repeat(6 * 1024 * 1024))
      assert.deepStrictEqual(yield* ended, {
        outcome: "failed",
        failure: { kind: "malformed", status: null, retryAfterMillis: undefined }
      })
      assert.isAbove(aborted(), 0)
      assert.deepStrictEqual(written, [])
    })
  )

  it.live("delivers a first content of 9 MiB, whatever pieces it comes in", () =>
    Effect.gen(function* () {
      const { ended, push, reset, written } = yield* started(true)
      const content = `data: {"choices":[{"index":0,"delta":{"content":"${"x".repeat(9 * 1024 * 1024)}"}}]}\n\n`
      push(role)
      for (let at = 0; at < content.length; at += 65_536) push(content.slice(at, at + 65_536))
      push(chatText.slice(-2).join(""))
      reset()
      assert.deepStrictEqual(yield* ended, { outcome: "streamed" })
      assert.include(written.join(""), content)
    })
  )

  it.live("holds back at most 256 KiB of what is no content", () =>
    Effect.gen(function* () {
      const { push, written } = yield* started(true)
      const comment = `: ${"x".repeat(100 * 1024)}\n\n`
      push(comment)
      push(comment)
      assert.deepStrictEqual(written, [])
      push(comment)
      assert.strictEqual(written.join(""), comment.repeat(3))
    })
  )

  it.live("is waited for until its first content, however many frames without any come meanwhile", () =>
    Effect.gen(function* () {
      vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] })
      const { ended, push, written } = yield* started(true)
      push(role)
      for (let pings = 0; pings < 120; pings++) {
        push(": ping\n\n")
        vi.advanceTimersByTime(long / 120)
      }
      vi.useRealTimers()
      assert.include(written.join(""), ": ping\n\n".repeat(119))
      assert.deepStrictEqual(yield* ended, { outcome: "broken", kind: "timeout" })
    }).pipe(Effect.ensuring(Effect.sync(() => vi.useRealTimers())))
  )

  it.live("may take as long again between two frames once there is content", () =>
    Effect.gen(function* () {
      vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] })
      const { ended, push, written } = yield* started(true)
      for (const frame of chatText) {
        push(frame)
        vi.advanceTimersByTime(long - 1)
      }
      vi.advanceTimersByTime(1)
      vi.useRealTimers()
      assert.include(written.join(""), "[DONE]")
      assert.deepStrictEqual(yield* ended, { outcome: "streamed" })
    }).pipe(Effect.ensuring(Effect.sync(() => vi.useRealTimers())))
  )

  it.live("whose client takes nothing for a minute is over, and the client does not take it for whole", () =>
    Effect.gen(function* () {
      vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] })
      const { aborted, ended, hungUp, push } = yield* started(false)
      push(untilFinish.join(""))
      vi.advanceTimersByTime(60_000)
      vi.useRealTimers()
      assert.deepStrictEqual(yield* ended, { outcome: "unread" })
      assert.isTrue(hungUp())
      assert.isAbove(aborted(), 0)
    }).pipe(Effect.ensuring(Effect.sync(() => vi.useRealTimers())))
  )
})
