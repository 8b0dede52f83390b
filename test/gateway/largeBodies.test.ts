/** Checks of a large body before it is read, and the price of a body that was read in vain. */
import { connect } from "node:net"
import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { chat, chatPath, gatewayServer, messagesPath, Providers, spender } from "../support/gateway.ts"
import type { TestModel } from "../support/gateway.ts"
import { get, post, TestServer } from "../support/server.ts"
import type { Answer } from "../support/server.ts"

const models: ReadonlyArray<TestModel> = [
  { name: "plain", routes: [{ provider: "north", model: "plain" }] },
  // A byte of a prompt costs a millionth of a credit, so that little credit pays for a long one.
  { name: "cheap", routes: [{ provider: "north", model: "plain" }], price: [0.000_001, 0.000_001] }
]

const call = (model: string, content: string) =>
  JSON.stringify({ model, max_tokens: 5, messages: [{ role: "user", content }] })

const long = "a".repeat(100_000)

/** A body with a declared length, and one without. */
const bodies: ReadonlyArray<readonly [string, (text: string) => string | ReadableStream]> = [
  ["with its length", (text) => text],
  ["in chunks", (text) => new Blob([text]).stream()]
]

const sent = (key: string, body: string | ReadableStream, path = chatPath) =>
  post(path, { token: key, headers: { "content-type": "application/json" }, body })

const outcome = ({ json, status }: Answer) => [status, json["code"]]

/** Begins a call, sends the given bytes of its body, and waits for the whole answer. */
const begun = Effect.fnUntraced(function* (key: string, length: number, bytes: string) {
  const { port } = yield* TestServer
  const head = [
    `POST ${chatPath} HTTP/1.1`,
    "Host: x",
    `Authorization: Bearer ${key}`,
    "Content-Type: application/json",
    `Content-Length: ${length}`
  ]
  return yield* Effect.callback<string>((resume) => {
    const received: Array<Buffer> = []
    const socket = connect(port, "127.0.0.1", () => socket.write(`${head.join("\r\n")}\r\n\r\n${bytes}`))
    const finish = () => resume(Effect.succeed(Buffer.concat(received).toString()))
    socket.on("data", (chunk) => received.push(chunk))
    socket.on("error", finish)
    socket.on("close", finish)
    return Effect.sync(() => socket.destroy())
  })
})

layer(gatewayServer(models, {}, "usual"))("A large body", (it) => {
  it.effect.each(bodies)("A large body is rejected before it is read if no call is covered (%s)", ([, as]) =>
    Effect.gen(function* () {
      const { north } = yield* Providers
      const before = north.received.length
      const poor = yield* spender(0)
      // The body is no JSON, but nobody looks at it.
      const refused = yield* sent(poor.key, as("x".repeat(100_000)))
      assert.deepStrictEqual(outcome(refused), [402, "insufficient_credit"])
      assert.strictEqual(
        refused.json["detail"],
        "Even the smallest call may cost up to 0.000017 credits, and the agent has 0 available: have the owner add credit."
      )
      const limited = yield* spender(1, { credit_limit: 16n })
      const left = yield* sent(limited.key, as(call("cheap", long)))
      assert.deepStrictEqual(outcome(left), [402, "insufficient_credit"])
      assert.include(String(left.json["detail"]), "the key's credit_limit leaves 0.000016")
      assert.strictEqual(north.received.length, before)
    })
  )

  it.effect.each(bodies)("A large body is served if covered, however much of it is free (%s)", ([, as]) =>
    Effect.gen(function* () {
      const { key } = yield* spender(1)
      const spaces = " ".repeat(1_000_000)
      const body = call("cheap", long)
      for (const text of [body, `{${spaces}${body.slice(1)}`]) {
        assert.strictEqual((yield* sent(key, as(text))).status, 200)
      }
      // An image counts as its tokens, not as its bytes.
      const url = `data:image/png;base64,${"A".repeat(2_000_000)}`
      const messages = [{ role: "user", content: [{ type: "image_url", image_url: { url } }] }]
      const pictured = JSON.stringify({ model: "cheap", max_tokens: 5, messages })
      assert.strictEqual((yield* sent(key, as(pictured))).status, 200)
    })
  )

  it.effect("A large body is counted without credit, because counting costs nothing", () =>
    Effect.gen(function* () {
      const { key } = yield* spender(0)
      const counted = yield* sent(key, call("cheap", long), `${messagesPath}/count_tokens`)
      assert.strictEqual(counted.status, 200, counted.text)
    })
  )

  it.effect("A rejected large body is answered on its way, and its connection ends without the rest", () =>
    Effect.gen(function* () {
      const poor = yield* spender(0)
      const known = yield* spender()
      assert.strictEqual((yield* chat(known.key, { model: "plain" })).status, 200)
      const length = 10 * 1024 * 1024
      for (const [key, status] of [
        ["aus_gw_nobody", 401],
        [poor.key, 402]
      ] as const) {
        // The second half never comes.
        const answer = yield* begun(key, length, "x".repeat(100_000))
        assert.match(answer, new RegExp(`^HTTP/1\\.1 ${status} `))
        assert.match(answer, /\r\nconnection: close\r\n/i)
        assert.match(answer, /"code":"[a-z_]+"[^]*\}$/)
      }
      assert.strictEqual((yield* get("/health/live")).status, 200)
    })
  )

  it.effect.each(bodies)("A large body with too many values is rejected by their number (%s)", ([, as]) =>
    Effect.gen(function* () {
      const { key } = yield* spender()
      const begin = '{"model":"cheap","messages":[{"role":"user","content":"Hello"}],'
      const members = Array.from({ length: 60_000 }, (_, at) => `"k${at}":1`).join()
      for (const body of [
        `${begin}"x":[${"{},".repeat(60_000)}{}]}`,
        `${begin}"x":[${"1,".repeat(60_000)}1]}`,
        `${begin}${members}}`,
        `${begin}${members},"model":"plain"}`,
        // The body is not even tested for JSON.
        ",".repeat(60_000)
      ]) {
        const refused = yield* sent(key, as(body))
        assert.deepStrictEqual(outcome(refused), [400, "too_many_values"])
        assert.strictEqual(refused.json["detail"], "Expected at most 50000 members and elements in all")
      }
      const messages = Array.from({ length: 1000 }, () => ({
        role: "user",
        content: [{ type: "text", text: "a, b: {c} [d]," }]
      }))
      const parameters = {
        type: "object",
        properties: Object.fromEntries(
          Array.from({ length: 20 }, (_, at) => [`p${at}`, { type: "string", enum: ["a", "b", "c"] }])
        )
      }
      const tools = Array.from({ length: 128 }, (_, at) => ({
        type: "function",
        function: { name: `f${at}`, parameters }
      }))
      const usual = yield* sent(key, as(JSON.stringify({ model: "cheap", max_tokens: 5, messages, tools })))
      assert.strictEqual(usual.status, 200, usual.text)
    })
  )
})

layer(gatewayServer(models, { AUSPEX_LIMIT_GATEWAY_CALLS: "6/minute" }, "usual"))(
  "A large body that is parsed for nothing",
  (it) => {
    it.effect.each(bodies)("A large body that is parsed and then rejected counts twice (%s)", ([, as]) =>
      Effect.gen(function* () {
        const statuses = (key: string, body: string) =>
          Effect.map(
            Effect.forEach(Array.from({ length: 7 }), () => sent(key, as(body))),
            (answers) => answers.map(({ status }) => status)
          )
        const refused = (status: number, times: number) =>
          Array.from({ length: 7 }, (_, index) => (index < times ? status : 429))
        const malformed = yield* spender()
        assert.deepStrictEqual(yield* statuses(malformed.key, `${call("cheap", long)}}`), refused(400, 3))
        // The credit covers the smallest call, but not this one.
        const poor = yield* spender(1)
        assert.deepStrictEqual(yield* statuses(poor.key, call("plain", long)), refused(402, 3))
        const small = yield* spender()
        assert.deepStrictEqual(yield* statuses(small.key, "{"), refused(400, 6))
        const paid = yield* spender()
        assert.deepStrictEqual(yield* statuses(paid.key, call("cheap", long)), refused(200, 6))
      })
    )
  }
)
