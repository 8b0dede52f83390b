/** The service's log, with a collector and without one. */
import { createServer } from "node:http"
import { assert, it } from "@effect/vitest"
import { Cause, Console, Effect, Option, Predicate } from "effect"
import { TestClock } from "effect/testing"
import { observed } from "../../src/layers/telemetry.ts"
import type { Observed } from "../../src/layers/telemetry.ts"
import { StoreUnavailable } from "../../src/services/domain/errors.ts"
import { member } from "../support/server.ts"

/** A collector that takes every text, and those texts. */
const collector = Effect.gen(function* () {
  const received: Array<string> = []
  const server = createServer((request, response) => {
    const chunks: Array<Buffer> = []
    request.on("data", (chunk: Buffer) => void chunks.push(chunk))
    request.on("end", () => {
      received.push(Buffer.concat(chunks).toString())
      response.end("{}")
    })
  })
  yield* Effect.acquireRelease(
    Effect.callback<void>((resume) => void server.listen(0, "127.0.0.1", () => resume(Effect.void))),
    () => Effect.sync(() => void server.close())
  )
  const address = server.address()
  const port = Predicate.hasProperty(address, "port") ? Number(address.port) : 0
  return { endpoint: `http://127.0.0.1:${port}`, received }
})

const about = { service: "auspex", version: "0.2.0", instance: "here-1", role: "api,jobs", pid: 1 } as const

/** The lines that the work writes. */
const written = Effect.fnUntraced(function* <E>(
  options: Pick<Observed, "format" | "endpoint">,
  work: Effect.Effect<void, E>
) {
  const lines: Array<string> = []
  const note = (...parts: ReadonlyArray<unknown>) => void lines.push(parts.join(" "))
  const console: Console.Console = { ...globalThis.console, log: note, info: note, error: note, warn: note }
  yield* work.pipe(
    Effect.provide(observed({ ...options, level: "Info", about })),
    Effect.provideService(Console.Console, console)
  )
  return lines
})

const logged = (options: Pick<Observed, "format" | "endpoint">) =>
  written(
    options,
    Effect.logInfo("settled").pipe(
      Effect.annotateLogs({ challenges: 3 }),
      Effect.andThen(Effect.logDebug("not asked for"))
    )
  )

const assertJson = (lines: ReadonlyArray<string>) => {
  assert.strictEqual(lines.length, 1, lines.join("\n"))
  const entry: unknown = JSON.parse(lines[0] ?? "")
  assert.deepInclude(entry, { ...about, message: "settled", level: "INFO", annotations: { challenges: 3 } })
}

it.live("The log is one JSON object a line, which says who wrote it", () =>
  Effect.gen(function* () {
    assertJson(yield* logged({ format: "json", endpoint: Option.none() }))
  })
)

it.live("The log is written in the same form with a collector, and sent there as well", () =>
  Effect.gen(function* () {
    const { endpoint, received } = yield* collector
    assertJson(yield* logged({ format: "json", endpoint: Option.some(endpoint) }))
    assert.isTrue(received.some((text) => text.includes("settled")))
    assert.isFalse(received.some((text) => text.includes("not asked for")))
    const pretty = yield* logged({ format: "pretty", endpoint: Option.some(endpoint) })
    assert.include(pretty.join("\n"), "settled")
    assert.throws(() => JSON.parse(pretty[0] ?? ""))
  }).pipe(Effect.scoped)
)

const lost = (code: string, message: string) =>
  new StoreUnavailable({ cause: Object.assign(new Error(message), { code }) })

const failing = (error: unknown) => Effect.logError("job failed", Cause.die(error))

const entries = (lines: ReadonlyArray<string>): ReadonlyArray<unknown> =>
  lines.map((line): unknown => JSON.parse(line))

it.effect(
  "An outage is one line an interval for each SQLSTATE, with how often it was met, and no stack",
  () =>
    Effect.gen(function* () {
      const lines = yield* written(
        { format: "json", endpoint: Option.none() },
        Effect.gen(function* () {
          const full = failing(lost("53100", "could not extend file: No space left on device"))
          yield* Effect.replicateEffect(full, 5)
          yield* failing(lost("57P01", "terminating connection due to administrator command"))
          yield* TestClock.adjust("10 seconds")
          yield* full
        })
      )
      const annotations = entries(lines).map((entry) => {
        assert.deepInclude(entry, { message: "job failed", level: "WARN", role: "api,jobs" })
        assert.notProperty(entry, "cause")
        return member(entry, "annotations")
      })
      const full = {
        error_type: "StoreUnavailable",
        error_code: "53100",
        error_message: "could not extend file: No space left on device"
      }
      assert.deepStrictEqual(annotations, [
        { ...full, times: 1 },
        {
          error_type: "StoreUnavailable",
          error_code: "57P01",
          error_message: "terminating connection due to administrator command",
          times: 1
        },
        { ...full, times: 5 }
      ])
    })
)

it.effect("Any other failure names its type, code and message, with its stack", () =>
  Effect.gen(function* () {
    const lines = yield* written(
      { format: "json", endpoint: Option.none() },
      Effect.andThen(failing(new TypeError("no such thing")), failing(new TypeError("no such thing")))
    )
    assert.lengthOf(lines, 2)
    const [entry] = entries(lines)
    assert.deepInclude(entry, {
      level: "ERROR",
      annotations: { error_type: "TypeError", error_code: null, error_message: "no such thing" }
    })
    assert.match(String(member(entry, "cause")), /TypeError: no such thing\n +at /)
  })
)
