/** Calls of models as HTTP requests: connections, internal errors, metrics, shutdown. */
import { connect } from "node:net"
import { assert, layer } from "@effect/vitest"
import { Context, Effect, Exit, Fiber, Layer, Scope } from "effect"
import { HttpServer } from "effect/http"
import { SqlClient } from "effect/sql"
import { TestClock } from "effect/testing"
import { layer as http } from "../../src/http/server.ts"
import { chatPath, gatewayServer, messagesPath, Providers, spender, settledCall } from "../support/gateway.ts"
import type { TestModel } from "../support/gateway.ts"
import { member, metrics, post, raw, TestServer, listeningAsSet } from "../support/server.ts"
import { until } from "../support/waiting.ts"
import { asOwner } from "../support/database.ts"

const models: ReadonlyArray<TestModel> = [
  { name: "plain", routes: [{ provider: "north", model: "plain" }] },
  { name: "free", routes: [{ provider: "north", model: "plain" }], price: [0, 0] },
  { name: "slow", routes: [{ provider: "north", model: "wait:3000" }] }
]

const hello = [{ role: "user", content: "Hello" }]

layer(gatewayServer(models, {}, "usual"))("A call", (it) => {
  it.effect("A call that fails by our fault is told so in its style", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const { key } = yield* spender()
      yield* asOwner(sql`alter table gateway_keys rename to mislaid`)
      const answers = yield* Effect.forEach([chatPath, messagesPath], (path) =>
        post(path, { token: key, json: {} })
      )
      yield* asOwner(sql`alter table mislaid rename to gateway_keys`)
      assert.deepStrictEqual(
        answers.map(({ json, status }) => [status, json["code"], member(json, "error", "type")]),
        [
          [500, "internal_error", "server_error"],
          [500, "internal_error", "api_error"]
        ]
      )
    })
  )

  it.effect("A rejected call is answered before it is read, also if its connection is to be closed", () =>
    Effect.gen(function* () {
      // A longer body gets the same answer, but not a client that sends all of it before it reads (largeBodies.test.ts).
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
          // Some clients send everything before they read.
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

  it.effect("A call behind another on its connection is answered after it", () =>
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

  it.effect("A call counts among all requests", () =>
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
  it.effect("An instance that stops ends a long call with 503, and it is settled all the same", () =>
    Effect.gen(function* () {
      const { key } = yield* spender()
      const { received } = (yield* Providers).north
      const before = received.length
      const scope = yield* Scope.make()
      const another = Layer.provideMerge(
        http,
        listeningAsSet({ host: "127.0.0.1", port: 0, gracefulShutdownTimeout: "100 millis" })
      ).pipe(Layer.fresh)
      const { address } = Context.get(yield* Layer.buildWithScope(another, scope), HttpServer.HttpServer)
      const answer = fetch(HttpServer.formatAddress(address) + chatPath, {
        method: "POST",
        headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
        body: JSON.stringify({ model: "slow", messages: hello })
      }).then(
        ({ status }) => status,
        () => 0
      )
      yield* until(() => received.length > before)
      const closing = yield* Effect.forkChild(Scope.close(scope, Exit.void), { startImmediately: true })
      yield* TestClock.adjust("200 millis")
      yield* Fiber.join(closing)
      assert.strictEqual(yield* Effect.promise(() => answer), 503)
      assert.deepInclude(yield* settledCall(key), { status: 499, error: "client_left", provider: "north" })
    })
  )
})

layer(gatewayServer(models, { AUSPEX_LIMIT_UNIDENTIFIED: "4/hour" }, "usual"))(
  "An address that guesses keys",
  (it) => {
    it.effect("An address that guesses keys must wait, and its right key is accepted", () =>
      Effect.gen(function* () {
        const { key } = yield* spender()
        const callWith = (token: string) =>
          post(chatPath, { token, json: { model: "free", messages: hello } })
        const guesses = yield* Effect.forEach(Array.from({ length: 6 }), () => callWith("aus_gw_nobody"))
        assert.deepStrictEqual(
          guesses.map(({ status }) => status),
          [401, 401, 401, 401, 429, 429]
        )
        for (const rejected of guesses.slice(4)) {
          assert.strictEqual(member(rejected.json, "error", "type"), "rate_limit_error")
          assert.isAtLeast(Number(rejected.headers.get("retry-after")), 1)
        }
        assert.strictEqual((yield* callWith(key)).status, 200)
      })
    )
  }
)
