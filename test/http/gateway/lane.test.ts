/** Calls that are answered in front of the router: nobody can tell. */
import { connect } from "node:net"
import { assert, layer } from "@effect/vitest"
import { Context, Effect, Exit, Fiber, Layer, Scope } from "effect"
import { HttpServer } from "effect/http"
import { SqlClient } from "effect/sql"
import { TestClock } from "effect/testing"
import { layer as http, listening } from "../../../src/http/server.ts"
import { untraced } from "../../../src/layers/telemetry.ts"
import { chatPath, gatewayServer, messagesPath, Providers, spender } from "../../support/gateway.ts"
import type { TestModel } from "../../support/gateway.ts"
import { get, member, metrics, post, raw, TestServer } from "../../support/server.ts"
import type { Answer } from "../../support/server.ts"
import { until } from "../../support/upstream.ts"
import { asOwner } from "../../support/database.ts"

const models: ReadonlyArray<TestModel> = [
  { name: "plain", routes: [{ provider: "north", model: "plain" }] },
  { name: "free", routes: [{ provider: "north", model: "plain" }], price: [0, 0] },
  { name: "slow", routes: [{ provider: "north", model: "wait:3000" }] },
  { name: "busy", routes: [{ provider: "north", model: "status:429:retry_after:3" }] },
  { name: "refusing", routes: [{ provider: "north", model: "status:400" }] }
]

const hello = [{ role: "user", content: "Hello" }]

/** A body that does not say how long it is, which the lane leaves to the router. */
const chunked = (text: string) => new Blob([text]).stream()

/** What is not another one for each call. */
const comparable = ({ headers, status, text }: Answer, key: string) => ({
  status,
  headers: Object.fromEntries(
    [...headers].filter(([name]) => !["date", "connection", "keep-alive"].includes(name))
  ),
  text: text.replaceAll(key, "KEY")
})

layer(gatewayServer(models, {}, "usual"))("A call in front of the router", (it) => {
  const calls: ReadonlyArray<readonly [string, string, string]> = [
    ["that is answered", chatPath, JSON.stringify({ model: "plain", messages: hello })],
    ["that costs nothing", chatPath, JSON.stringify({ model: "free", messages: hello })],
    ["that is streamed", chatPath, JSON.stringify({ model: "plain", messages: hello, stream: true })],
    [
      "with a query",
      `${messagesPath}?beta=true`,
      JSON.stringify({ model: "plain", messages: hello, max_tokens: 9 })
    ],
    ["of an unknown model", chatPath, JSON.stringify({ model: "nothing", messages: hello })],
    ["of bytes that are no JSON", chatPath, "{"],
    ["without a body", chatPath, ""],
    ["whose providers are busy", chatPath, JSON.stringify({ model: "busy", messages: hello })],
    [
      "that its provider refuses",
      messagesPath,
      JSON.stringify({ model: "refusing", messages: hello, max_tokens: 9 })
    ],
    [
      "that costs more than there is",
      chatPath,
      JSON.stringify({ model: "plain", messages: hello, n: 128, max_tokens: 100 })
    ]
  ]

  it.effect.each(calls)("%s is answered as the router answers it", ([, path, body]) =>
    Effect.gen(function* () {
      const { key } = yield* spender(1)
      const headers = {
        "content-type": "application/json",
        "x-request-id": "the-same",
        ...(path.startsWith(messagesPath) && { "anthropic-version": "2023-06-01" })
      }
      const routed = yield* post(path, { token: key, headers, body: chunked(body) })
      const laned = yield* post(path, { token: key, headers, body })
      assert.deepStrictEqual(comparable(laned, key), comparable(routed, key))
      const again = yield* post(path, { token: key, headers, body })
      assert.deepStrictEqual(comparable(again, key), comparable(routed, key))
    })
  )

  it.effect("with a key that is none, or no more, is refused as the router does", () =>
    Effect.gen(function* () {
      const { key } = yield* spender()
      const body = JSON.stringify({ model: "free", messages: hello })
      const headers = { "content-type": "application/json", "x-request-id": "the-same" }
      const asked = (token: string, sent: string | ReadableStream) =>
        post(chatPath, { token, headers, body: sent })
      for (const wrong of ["aus_gw_nobody", `${key.slice(0, -1)}_`, "x"]) {
        const laned = yield* asked(wrong, body)
        assert.strictEqual(laned.status, 401)
        assert.deepStrictEqual(
          comparable(laned, wrong),
          comparable(yield* asked(wrong, chunked(body)), wrong)
        )
      }
    })
  )

  it.effect("that fails by a fault of ours is told so in its style, as the router does", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const { key } = yield* spender()
      const headers = { "content-type": "application/json", "x-request-id": "the-same" }
      const asked = (path: string, body: string | ReadableStream) => post(path, { token: key, headers, body })
      yield* asOwner(sql`alter table gateway_keys rename to mislaid`)
      const laned = yield* Effect.forEach([chatPath, messagesPath], (path) => asked(path, "{}"))
      const routed = yield* Effect.forEach([chatPath, messagesPath], (path) => asked(path, chunked("{}")))
      yield* asOwner(sql`alter table mislaid rename to gateway_keys`)
      assert.deepStrictEqual(
        laned.map(({ json, status }) => [status, json["code"], member(json, "error", "type")]),
        [
          [500, "internal_error", "server_error"],
          [500, "internal_error", "api_error"]
        ]
      )
      assert.deepStrictEqual(
        laned.map((answer) => comparable(answer, key)),
        routed.map((answer) => comparable(answer, key))
      )
    })
  )

  it.effect("that is refused is told so before it is read, also where its connection is to be closed", () =>
    Effect.gen(function* () {
      // A longer one is told so as well, but not who sends all of it before looking (largeBodies.test.ts).
      const length = 60 * 1024
      const head = [
        `POST ${chatPath} HTTP/1.1`,
        "Host: x",
        "Connection: close",
        "Authorization: Bearer aus_gw_nobody",
        "Content-Type: application/json",
        `Content-Length: ${length}`
      ]
      const { port } = yield* TestServer
      const answer = yield* Effect.callback<string>((resume) => {
        const received: Array<Buffer> = []
        const socket = connect(port, "127.0.0.1", () => {
          // As clients do that send all before they look.
          socket.pause()
          socket.write(`${head.join("\r\n")}\r\n\r\n${"x".repeat(length)}`, () => socket.resume())
        })
        socket.on("data", (chunk) => received.push(chunk))
        socket.on("error", (error) => resume(Effect.succeed(error.message)))
        socket.on("close", () => resume(Effect.succeed(Buffer.concat(received).toString())))
      })
      assert.match(answer, /^HTTP\/1\.1 401 /)
    })
  )

  it.effect("behind another of its connection is answered after it", () =>
    Effect.gen(function* () {
      const { key } = yield* spender()
      const body = JSON.stringify({ model: "plain", messages: hello })
      const call = (last: boolean) =>
        [
          `POST ${chatPath} HTTP/1.1`,
          "Host: x",
          `Connection: ${last ? "close" : "keep-alive"}`,
          `Authorization: Bearer ${key}`,
          `X-Request-Id: ${last ? "second" : "first"}`,
          "Content-Type: application/json",
          `Content-Length: ${Buffer.byteLength(body)}`,
          "",
          body
        ].join("\r\n")
      const answer = yield* raw(call(false) + call(true))
      assert.deepStrictEqual(
        [...answer.matchAll(/HTTP\/1\.1 (\d+) |x-request-id: (\w+)/gi)].map(([, status, id]) => status ?? id),
        ["200", "first", "200", "second"]
      )
    })
  )

  it.effect("is counted among all requests", () =>
    Effect.gen(function* () {
      const { key } = yield* spender()
      const counted = Effect.map(metrics, (text) =>
        Number(
          /auspex_http_request_duration_seconds_count\{[^}]*route="[^"]*chat\/completions",status="200"\} (\d+)/.exec(
            text
          )?.[1]
        )
      )
      const before = yield* counted
      const answer = yield* post(chatPath, { token: key, json: { model: "free", messages: hello } })
      assert.strictEqual(answer.status, 200)
      assert.strictEqual(yield* counted, before + 1)
    })
  )
})

layer(gatewayServer(models, {}, "usual"))("An instance that stops", (it) => {
  it.effect("cuts a call that does not end in time, which is settled all the same", () =>
    Effect.gen(function* () {
      const { key } = yield* spender()
      const { received } = (yield* Providers).north
      const before = received.length
      const scope = yield* Scope.make()
      const another = Layer.provideMerge(
        http,
        listening({ host: "127.0.0.1", port: 0, gracefulShutdownTimeout: "100 millis" })
      ).pipe(Layer.provide(untraced), Layer.fresh)
      const { address } = Context.get(yield* Layer.buildWithScope(another, scope), HttpServer.HttpServer)
      const answer = fetch(HttpServer.formatAddress(address) + chatPath, {
        method: "POST",
        headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
        body: JSON.stringify({ model: "slow", messages: hello })
      }).then(
        () => "answered",
        () => "cut"
      )
      yield* until(() => received.length > before)
      const closing = yield* Effect.forkChild(Scope.close(scope, Exit.void), { startImmediately: true })
      yield* TestClock.adjust("200 millis")
      yield* Fiber.join(closing)
      assert.strictEqual(yield* Effect.promise(() => answer), "cut")
      let items: unknown
      do items = (yield* get("/api/v1/llm/usage", { token: key })).json["items"]
      while (!Array.isArray(items) || items.length === 0)
      assert.deepInclude(items[0], { status: 499, error: "client_left", provider: "north" })
    })
  )
})

layer(gatewayServer(models, { AUSPEX_LIMIT_UNIDENTIFIED: "4/hour" }, "usual"))(
  "An address that guesses keys",
  (it) => {
    it.effect("is told to wait in front of the router as behind it, and a right key of its is let in", () =>
      Effect.gen(function* () {
        const { key } = yield* spender()
        const text = JSON.stringify({ model: "free", messages: hello })
        const headers = { "content-type": "application/json" }
        const asked = (token: string, body: string | ReadableStream) =>
          post(chatPath, { token, headers, body })
        const guess = (index: number) => asked("aus_gw_nobody", index % 2 === 0 ? text : chunked(text))
        const guesses = yield* Effect.forEach([0, 1, 2, 3, 4, 5], guess)
        assert.deepStrictEqual(
          guesses.map(({ status }) => status),
          [401, 401, 401, 401, 429, 429]
        )
        for (const refused of guesses.slice(4)) {
          assert.strictEqual(member(refused.json, "error", "type"), "rate_limit_error")
          assert.isAtLeast(Number(refused.headers.get("retry-after")), 1)
        }
        for (const body of [text, chunked(text)]) assert.strictEqual((yield* asked(key, body)).status, 200)
      })
    )
  }
)
