/** Calls of models through HTTP, in both styles, charged as they should be. */
import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { Credits } from "../../../src/services/Credits.ts"
import { canary, chat, gatewayServer, message, Providers, spender } from "../../support/gateway.ts"
import { stateOf } from "../../support/ledger.ts"
import { get, member } from "../../support/server.ts"
import { answerText } from "../../support/upstream.ts"

const models = [
  { name: "plain", routes: [{ provider: "north" as const, model: "plain" }] },
  { name: "claude", routes: [{ provider: "south" as const, model: "plain" }] }
]

/** 25 x 0.0002 + 9 x 0.0008 credits. */
const cost = 12_200n

layer(gatewayServer(models))("A call", (it) => {
  it.effect("of a chat completion is answered, charged and listed", () =>
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
      const checked = yield* Credits.use(({ check }) => check)
      assert.deepStrictEqual(checked.differences, [])
      assert.strictEqual(checked.gateway_revenue, cost)
    })
  )

  it.effect("that is streamed comes in events, with the usage only where it was asked for", () =>
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

  it.effect("of a message is answered by a provider of either style", () =>
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
})
