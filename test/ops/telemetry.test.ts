/** What the service logs, with a collector and without one. */
import { createServer } from "node:http"
import { assert, it } from "@effect/vitest"
import { Console, Effect, Option, Predicate } from "effect"
import { observed } from "../../src/layers/telemetry.ts"
import type { Observed } from "../../src/layers/telemetry.ts"

/** A collector that takes whatever it is sent; the texts. */
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

const logged = Effect.fnUntraced(function* (options: Observed) {
  const lines: Array<string> = []
  const note = (...parts: ReadonlyArray<unknown>) => void lines.push(parts.join(" "))
  const console: Console.Console = { ...globalThis.console, log: note, info: note, error: note, warn: note }
  yield* Effect.logInfo("settled").pipe(
    Effect.annotateLogs({ challenges: 3 }),
    Effect.andThen(Effect.logDebug("not asked for")),
    Effect.provide(observed(options)),
    Effect.provideService(Console.Console, console)
  )
  return lines
})

const assertJson = (lines: ReadonlyArray<string>) => {
  assert.strictEqual(lines.length, 1, lines.join("\n"))
  const entry: unknown = JSON.parse(lines[0] ?? "")
  assert.deepInclude(entry, { message: "settled", level: "INFO", annotations: { challenges: 3 } })
}

it.live("the log is one JSON object a line", () =>
  Effect.gen(function* () {
    assertJson(yield* logged({ format: "json", level: "Info", endpoint: Option.none() }))
  })
)

it.live("with a collector the log is written in the same form, and sent there as well", () =>
  Effect.gen(function* () {
    const { endpoint, received } = yield* collector
    assertJson(yield* logged({ format: "json", level: "Info", endpoint: Option.some(endpoint) }))
    assert.isTrue(received.some((text) => text.includes("settled")))
    assert.isFalse(received.some((text) => text.includes("not asked for")))
    const pretty = yield* logged({ format: "pretty", level: "Info", endpoint: Option.some(endpoint) })
    assert.include(pretty.join("\n"), "settled")
    assert.throws(() => JSON.parse(pretty[0] ?? ""))
  }).pipe(Effect.scoped)
)
