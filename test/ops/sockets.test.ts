import { connect } from "node:net"
import { assert, layer } from "@effect/vitest"
import { Effect, Layer, Metric } from "effect"
import { TelemetryRecorder, telemetryRecorder } from "../support/telemetryRecorder.ts"
import { get, raw, TestServer, testServer } from "../support/server.ts"

const start = "GET /health/live HTTP/1.1\r\n"
const host = "Host: localhost\r\n"
const post = "POST /api/v1/agent/registry/register HTTP/1.1\r\nContent-Type: application/json\r\n"

/** The status of the first response, and that its body is an error of ours. */
const refusal = (response: string): number => {
  const [head = "", body = ""] = response.split("\r\n\r\n")
  assert.match(head, /\r\ncontent-type: application\/json; charset=utf-8/i, response)
  assert.match(head, /\r\nx-request-id: [A-Za-z0-9._-]{1,128}(\r|$)/i, response)
  assert.match(head, /\r\nx-content-type-options: nosniff/i, response)
  assert.match(body, /^\{"detail":"[^"]+","code":"[a-z_]+"\}/, response)
  return Number(/^HTTP\/1\.1 (\d{3})/.exec(head)?.[1])
}

layer(
  testServer({ timeouts: { headersTimeout: 150, requestTimeout: 300, connectionsCheckingInterval: 25 } })
)("Raw requests", (it) => {
  it.effect.each([
    ["two Host headers", `${start}${host}Host: evil.example\r\nConnection: close\r\n\r\n`],
    ["the same Host twice", `${start}${host}HOST: localhost\r\nConnection: close\r\n\r\n`],
    ["no Host", `${start}Connection: close\r\n\r\n`],
    ["no HTTP at all", "hello\r\n\r\n"],
    ["a method that is none", `G@T / HTTP/1.1\r\n${host}\r\n`],
    ["a version that is none", `GET / HTTP/9.9\r\n${host}\r\n`],
    ["a header without a name", `${start}${host}: x\r\n\r\n`],
    ["a space before the colon", `${start}${host}X-A : b\r\n\r\n`],
    ["a folded header", `${start}${host}X-A: b\r\n c\r\n\r\n`],
    ["a line feed by itself", `GET / HTTP/1.1\nHost: localhost\n\n`],
    ["a NUL in a header", `${start}${host}X-A: b\u0000c\r\n\r\n`],
    ["two Content-Lengths", `${post}${host}Content-Length: 2\r\nContent-Length: 3\r\n\r\n{}`],
    [
      "Content-Length and Transfer-Encoding",
      `${post}${host}Content-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n`
    ],
    ["a chunk size that is none", `${post}${host}Transfer-Encoding: chunked\r\n\r\nxyz\r\n\r\n`]
  ] as const)("A request with %s is 400 in our shape", ([, bytes]) =>
    Effect.gen(function* () {
      assert.strictEqual(refusal(yield* raw(bytes)), 400)
    })
  )

  it.effect("Raw requests with headers of more than 16 KiB are 431 in our shape", () =>
    Effect.gen(function* () {
      const bytes = `${start}${host}X-A: ${"x".repeat(20_000)}\r\n\r\n`
      assert.strictEqual(refusal(yield* raw(bytes)), 431)
    })
  )

  it.effect("Raw requests of HTTP/1.0 need no Host", () =>
    Effect.gen(function* () {
      assert.match(yield* raw("GET /health/live HTTP/1.0\r\n\r\n"), /^HTTP\/1\.1 200 /)
    })
  )

  it.effect.each([
    ["never sends a word", ""],
    ["stops within its headers", `${start}Host: local`],
    ["stops within its body", `${post}${host}Content-Length: 100\r\n\r\n{"name":`],
    ["stops within a chunk", `${post}${host}Transfer-Encoding: chunked\r\n\r\n10\r\n{"name":`]
  ] as const)("A client that %s is cut off", ([, bytes]) =>
    Effect.gen(function* () {
      // The answer ends only once the server has hung up.
      const response = yield* raw(bytes)
      assert.strictEqual(refusal(response), 408)
    })
  )

  it.effect("Raw requests of slow clients keep nobody else waiting", () =>
    Effect.gen(function* () {
      const slow = Effect.forEach(Array.from({ length: 50 }), () => raw(`${start}Host: local`), {
        concurrency: "unbounded"
      })
      const [answers, live] = yield* Effect.all([slow, get("/health/live")], { concurrency: "unbounded" })
      assert.strictEqual(live.status, 200)
      for (const response of answers) assert.strictEqual(refusal(response), 408)
    })
  )
})

const closedByAddress = Effect.map(Metric.snapshot, (metrics) =>
  metrics.flatMap((each) =>
    each.id === "http_connections_closed_total" && each.attributes?.["why"] === "address" ? [each.state] : []
  )
)

layer(
  testServer({ environment: { AUSPEX_MAX_CONNECTIONS_PER_ADDRESS: "3" } }).pipe(
    Layer.provideMerge(telemetryRecorder)
  )
)("Connections beyond those of an address", (it) => {
  it.effect("Connections beyond those of an address are closed at once, counted, and logged once", () =>
    Effect.gen(function* () {
      const { port } = yield* TestServer
      const open = Effect.acquireRelease(
        Effect.callback<ReturnType<typeof connect>>((resume) => {
          const socket = connect(port, "127.0.0.1", () => resume(Effect.succeed(socket)))
        }),
        (socket) => Effect.sync(() => socket.destroy())
      )
      yield* Effect.all([open, open, open])
      for (let index = 0; index < 3; index++) assert.strictEqual(yield* raw(`${start}${host}\r\n`), "")
      assert.deepInclude((yield* closedByAddress)[0], { count: 3 })
      const { lines } = yield* TelemetryRecorder
      const told = lines.filter((line) => line.includes("closed for a limit"))
      assert.lengthOf(told, 1)
      assert.match(String(told[0]), /"why":"address","address":"127\.0\.0\.1"/)
    })
  )
})
