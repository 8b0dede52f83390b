/** Calls of models through HTTP, in both styles, charged as they should be. */
import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { Audit } from "../../src/services/Audit.ts"
import { Health } from "../../src/services/Health.ts"
import {
  canary,
  chat,
  chatPath,
  gatewayServer,
  message,
  messagesPath,
  Providers,
  spender
} from "../support/gateway.ts"
import { stateOf } from "../support/credit.ts"
import { get, member, send } from "../support/server.ts"
import { answerText } from "../support/upstream.ts"

const models = [
  { name: "plain", routes: [{ provider: "north" as const, model: "plain" }] },
  { name: "claude", routes: [{ provider: "south" as const, model: "plain" }] }
]

/** 25 x 0.0002 + 9 x 0.0008 credits. */
const cost = 12_200n

const messagesVersion = { "anthropic-version": "2023-06-01" }

layer(gatewayServer(models))("A call", (it) => {
  it.effect("A chat completion is answered, charged and listed", () =>
    Effect.gen(function* () {
      const { agentId, key, keyId } = yield* spender()
      const answer = yield* chat(key, { model: "plain" })
      assert.strictEqual(answer.status, 200, answer.text)
      assert.strictEqual(answer.json["model"], "plain")
      assert.strictEqual(answer.headers.get("content-length"), String(Buffer.byteLength(answer.text)))
      assert.strictEqual(member(answer.json, "choices", 0, "message", "content"), answerText)
      assert.deepStrictEqual(yield* stateOf(`agent:${agentId}`), { posted: 100_000_000n - cost, held: 0n })
      const { json } = yield* get("/api/v1/llm/usage", { token: key })
      assert.deepInclude(member(json, "items", 0), {
        key_id: keyId,
        model: "plain",
        provider: "north",
        style: "openai",
        stream: false,
        prompt_tokens: 25,
        completion_tokens: 9,
        cost: 0.0122,
        status: 200,
        error: null,
        attempts: 1,
        estimated: false,
        request_id: answer.headers.get("x-request-id")
      })
      assert.deepStrictEqual(json["totals"], {
        calls: 1,
        failed_calls: 0,
        prompt_tokens: 25,
        completion_tokens: 9,
        cost: 0.0122
      })
      const checked = yield* Audit.use(({ verifyLedger }) => verifyLedger)
      assert.deepStrictEqual(checked.differences, [])
      assert.strictEqual(checked.gateway_revenue, cost)
    })
  )

  it.effect("A streamed call comes in events, with the usage only if it was requested", () =>
    Effect.gen(function* () {
      const { agentId, key } = yield* spender()
      const { north } = yield* Providers
      const answer = yield* chat(key, { model: "plain", stream: true })
      assert.strictEqual(answer.status, 200, answer.text)
      assert.match(answer.headers.get("content-type") ?? "", /^text\/event-stream/)
      assert.include(answer.text, '"quick "')
      assert.include(answer.text, "[DONE]")
      assert.notInclude(answer.text, "prompt_tokens")
      assert.include(north.received.at(-1)?.text, '"include_usage":true')
      assert.strictEqual(north.received.at(-1)?.headers.authorization, `Bearer ${canary}`)
      const told = yield* chat(key, { model: "plain", stream: true, stream_options: { include_usage: true } })
      assert.include(told.text, "prompt_tokens")
      assert.deepStrictEqual(yield* stateOf(`agent:${agentId}`), {
        posted: 100_000_000n - 2n * cost,
        held: 0n
      })
    })
  )

  it.effect("A message is answered by a provider of either style", () =>
    Effect.gen(function* () {
      const { agentId, key } = yield* spender()
      for (const model of ["claude", "plain"]) {
        const answer = yield* message(key, { model })
        assert.strictEqual(answer.status, 200, answer.text)
        assert.strictEqual(member(answer.json, "content", 0, "text"), answerText)
        assert.strictEqual(answer.json["model"], model)
        assert.isNotNull(answer.headers.get("request-id"))
        const streamed = yield* message(key, { model, stream: true })
        assert.include(streamed.text, "event: message_stop")
      }
      assert.deepStrictEqual(yield* stateOf(`agent:${agentId}`), {
        posted: 100_000_000n - 4n * cost,
        held: 0n
      })
    })
  )

  it.effect("A call that cannot be translated is rejected by the field's name, in both styles", () =>
    Effect.gen(function* () {
      const { key } = yield* spender()
      const message400 = yield* message(key, { model: "plain", mcp_servers: [{ name: "x" }] })
      assert.strictEqual(message400.status, 400)
      assert.match(String(member(message400.json, "error", "message")), /^mcp_servers: /)
      const chat400 = yield* chat(key, { model: "claude", logprobs: true })
      assert.strictEqual(chat400.status, 400)
      assert.match(String(member(chat400.json, "error", "message")), /^logprobs: /)
      assert.strictEqual(member(chat400.json, "error", "param"), "logprobs")
    })
  )

  const base = "/api/v1/llm/v1"
  const refused: ReadonlyArray<
    readonly ["openai" | "anthropic", number, string, string, Readonly<Record<string, string>>?]
  > = [
    ["openai", 404, "POST", `${base}/moderations`],
    ["openai", 404, "POST", "/api/v1/llm/embeddings"],
    ["openai", 404, "GET", base],
    ["openai", 404, "POST", `${base}/chat/completions;x`],
    ["openai", 404, "POST", "/api/v1/llm/chat/completions"],
    ["openai", 404, "POST", "/api/v1/llm/v2/chat/completions", messagesVersion],
    ["openai", 404, "GET", "/api/v1/llm/models"],
    ["anthropic", 404, "POST", `${base}${base.slice(-3)}/messages`],
    ["anthropic", 404, "POST", "/api/v1/llm/messages"],
    ["openai", 405, "GET", chatPath],
    ["openai", 405, "PUT", chatPath, messagesVersion],
    ["openai", 405, "DELETE", `${base}/models/plain`],
    ["anthropic", 404, "GET", `${messagesPath}/batches?limit=1`],
    ["anthropic", 404, "POST", `${base}/complete`, messagesVersion],
    ["anthropic", 405, "GET", messagesPath],
    ["anthropic", 405, "GET", `${messagesPath}/count_tokens`],
    ["anthropic", 405, "POST", `${base}/models`, messagesVersion]
  ]
  it.effect.each(refused)("An error in the style %s has status %i for %s %s", (given) =>
    Effect.gen(function* () {
      const [style, status, method, path, headers = {}] = given
      const answer = yield* send(method, path, { headers: { ...headers, "x-request-id": "the-same" } })
      assert.strictEqual(answer.status, status)
      const { code = null, detail = null, error = null } = answer.json
      assert.strictEqual(code, status === 404 ? "not_found" : "method_not_allowed")
      assert.isString(detail)
      assert.strictEqual(answer.headers.get("content-type"), "application/json; charset=utf-8")
      assert.strictEqual(answer.headers.get("x-request-id"), "the-same")
      assert.strictEqual(answer.headers.get("request-id"), style === "anthropic" ? "the-same" : null)
      assert.strictEqual(answer.headers.get("allow") === null, status === 404)
      if (style === "openai") {
        assert.deepStrictEqual(error, { message: detail, type: "invalid_request_error", code, param: null })
      } else {
        const type = status === 404 ? "not_found_error" : "invalid_request_error"
        assert.deepStrictEqual(error, { type, message: detail })
        assert.deepInclude(answer.json, { type: "error", request_id: "the-same" })
      }
    })
  )

  it.effect("A call of an unknown path is told the known ones", () =>
    Effect.gen(function* () {
      const { json } = yield* send("POST", `${base}/batches`)
      for (const path of [chatPath, messagesPath, `${base}/models`]) {
        assert.include(json["detail"], path)
      }
    })
  )

  it.effect("Errors of the rest of the API keep their own shape", () =>
    Effect.gen(function* () {
      for (const path of ["/api/v1/llm", "/api/v1/llm/v2", "/api/v1/llm/v1x", "/api/v1/llm/usage/x"]) {
        const answer = yield* send("GET", path, { headers: messagesVersion })
        assert.hasAllKeys(answer.json, ["detail", "code", "hint"])
      }
    })
  )
})

layer(gatewayServer(models))("A call of an instance that stops", (it) => {
  it.effect("A call of an instance that stops is asked in its style to try again", () =>
    Effect.gen(function* () {
      const { key } = yield* spender()
      yield* Health.use(({ stop }) => stop)
      const ofChat = yield* chat(key, { model: "plain" })
      const ofMessage = yield* message(key, { model: "plain" })
      for (const { headers, json, status } of [ofChat, ofMessage]) {
        assert.strictEqual(status, 503)
        assert.strictEqual(json["code"], "unavailable")
        assert.strictEqual(headers.get("retry-after"), "1")
      }
      assert.strictEqual(member(ofChat.json, "error", "type"), "server_error")
      assert.strictEqual(member(ofMessage.json, "error", "type"), "api_error")
    })
  )
})
