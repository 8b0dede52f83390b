/** Members of calls in every dialect that change the price, and calls whose clients leave before the answer. */
import { assert, layer } from "@effect/vitest"
import { Effect, Fiber } from "effect"
import { gatewayPaths } from "../../src/http/gateway/clients.ts"
import { Audit } from "../../src/services/Audit.ts"
import { stateOf } from "../support/credit.ts"
import { gatewayServer, Providers, spender, settledCall } from "../support/gateway.ts"
import type { TestModel, TestRoute } from "../support/gateway.ts"
import { get, member, post } from "../support/server.ts"
import { usage } from "../support/upstream.ts"
import { until } from "../support/waiting.ts"

const on = (provider: TestRoute["provider"], model: string): ReadonlyArray<TestRoute> => [{ provider, model }]

const models: ReadonlyArray<TestModel> = [
  ...(["north", "south"] as const).flatMap((provider): ReadonlyArray<TestModel> => [
    { name: `${provider}-only`, routes: on(provider, "plain") },
    { name: `${provider}-only-slow`, routes: on(provider, "wait:500"), price: [0.001, 0.001] },
    {
      name: `${provider}-only-slow-uncounted`,
      routes: on(provider, "wait:500:nousage"),
      price: [0.001, 0.001]
    }
  ]),
  ...["vectors", "vectors-slow", "vectors-slow-uncounted"].map((name): TestModel => ({
    name,
    routes: on(
      "north",
      name === "vectors" ? "plain" : `wait:500${name.endsWith("uncounted") ? ":nousage" : ""}`
    ),
    price: [0.001, 0],
    embeds: true
  }))
]

/** The count of the answer's tokens if its provider reports none. */
const countedTokens = 10
const long = "x".repeat(2000)

/** Members that change the cost or destination of a call, in any spelling. */
const dear: ReadonlyArray<readonly [body: object, param: string]> = [
  [{ best_of: 20 }, "best_of"],
  [{ best_of: "1" }, "best_of"],
  [{ Best_Of: 20 }, "Best_Of"],
  [{ bestOf: 20 }, "bestOf"],
  [{ service_tier: "priority" }, "service_tier"],
  [{ service_tier: "flex" }, "service_tier"],
  [{ serviceTier: "priority" }, "serviceTier"],
  [{ "service-tier": "priority" }, "service-tier"],
  [{ api_base: "https://elsewhere.example/v1" }, "api_base"],
  [{ apiBase: "https://elsewhere.example/v1" }, "apiBase"],
  [{ base_url: "https://elsewhere.example/v1" }, "base_url"],
  [{ aws_bedrock_runtime_endpoint: "https://elsewhere.example" }, "aws_bedrock_runtime_endpoint"],
  [{ vertex_project: "theirs" }, "vertex_project"],
  [{ litellm_params: { model: "dear-1" } }, "litellm_params"],
  [{ extra_body: { n: 20 } }, "extra_body"],
  [{ extra_headers: { "anthropic-beta": "x" } }, "extra_headers"],
  [{ models: ["dear-1"] }, "models"],
  [{ route: "fallback" }, "route"],
  [{ preset: "dear" }, "preset"],
  [{ fallbacks: ["dear-1"] }, "fallbacks"],
  [{ safety_model: "dear-1" }, "safety_model"],
  [{ num_return_sequences: 20 }, "num_return_sequences"],
  [{ num_generations: 20 }, "num_generations"],
  [{ candidate_count: 8 }, "candidate_count"],
  [{ candidateCount: 8 }, "candidateCount"],
  [{ generation_config: { maxOutputTokens: 1e6 } }, "generation_config"],
  [{ max_new_tokens: 100_000 }, "max_new_tokens"],
  [{ maxTokens: 100_000 }, "maxTokens"],
  [{ maxCompletionTokens: 100_000 }, "maxCompletionTokens"],
  [{ use_beam_search: true }, "use_beam_search"],
  [{ connectors: [{ id: "web-search" }] }, "connectors"],
  [{ data_sources: [{ type: "azure_search" }] }, "data_sources"],
  [{ web_search_options: { search_context_size: "high" } }, "web_search_options"],
  [{ enable_search: true }, "enable_search"],
  [{ background: true }, "background"],
  [{ deferred: true }, "deferred"],
  [{ cached_content: "cachedContents/1" }, "cached_content"],
  [{ speed: "fast" }, "speed"],
  [{ inference_geo: "eu" }, "inference_geo"],
  [{ anthropic_beta: ["context-1m-2025-08-07"] }, "anthropic_beta"]
]
const prompts = {
  chat: { messages: [{ role: "user", content: long }], max_tokens: 10 },
  messages: { messages: [{ role: "user", content: long }], max_tokens: 10 },
  responses: { input: long, max_output_tokens: 10 },
  embeddings: { input: long }
}
const dialects: ReadonlyArray<readonly [keyof typeof prompts, model: string]> = [
  ["chat", "north-only"],
  ["chat", "south-only"],
  ["messages", "south-only"],
  ["messages", "north-only"],
  ["responses", "north-only"],
  ["responses", "south-only"],
  ["embeddings", "vectors"]
]

layer(gatewayServer(models))("A call", (it) => {
  it.effect.each(dialects)(
    "A call of the dialect %s to the model %s cannot change its price by any spelling of a member",
    ([dialect, model]) =>
      Effect.gen(function* () {
        const { key } = yield* spender()
        const { north, south } = yield* Providers
        const before = [north.received.length, south.received.length]
        const callWith = (more: object) =>
          post(gatewayPaths[dialect], { token: key, json: { model, ...prompts[dialect], ...more } })
        // Every member of responses is known, and messages give only one answer.
        const choices = dialect === "messages" ? [[{ n: 20 }, "n"] as const] : []
        for (const [body, param] of [...dear, ...choices]) {
          const answer = yield* callWith(body)
          assert.strictEqual(answer.status, 400, `${param} ${answer.text}`)
          assert.include(String(member(answer.json, "error", "message")), param)
        }
        assert.deepStrictEqual([north.received.length, south.received.length], before)
        assert.deepStrictEqual((yield* get("/api/v1/llm/usage", { token: key })).json["items"], [])
        // Other members pass, and so do values without a price.
        const usual = { service_tier: "auto", user: "u" }
        const others = {
          chat: { ...usual, temperature: 0.5, seed: 7, best_of: 1, n: 1, fallbacks: [], background: false },
          messages: { temperature: 0.5, top_k: 5, service_tier: "auto", n: 1, mcp_servers: [] },
          responses: { ...usual, temperature: 0.5, background: false },
          embeddings: { user: "u", dimensions: 3, best_of: null }
        }
        const answer = yield* callWith(others[dialect])
        assert.strictEqual(answer.status, 200, answer.text)
      })
  )

  it.effect.each(dialects)(
    "A call of the dialect %s to the model %s whose client has left is paid by what its provider reports in the end",
    ([dialect, model]) =>
      Effect.gen(function* () {
        for (const isReported of [true, false]) {
          const { agentId, key } = yield* spender()
          const { north, south } = yield* Providers
          const before = north.received.length + south.received.length
          const name = `${model}${isReported ? "-slow" : "-slow-uncounted"}`
          const call = yield* Effect.forkChild(
            post(gatewayPaths[dialect], { token: key, json: { model: name, ...prompts[dialect] } })
          )
          yield* until(() => north.received.length + south.received.length > before)
          yield* Fiber.interrupt(call)
          const item = yield* settledCall(key)
          assert.deepInclude(item, { status: 499, error: "client_left", estimated: !isReported })
          const [prompt, completion] = [member(item, "prompt_tokens"), member(item, "completion_tokens")]
          if (isReported) assert.strictEqual(prompt, usage.prompt)
          else assert.isAbove(Number(prompt), 100)
          if (dialect === "embeddings") assert.strictEqual(completion, 0)
          else assert.strictEqual(completion, isReported ? usage.completion : countedTokens)
          const cost = BigInt(Math.round(Number(member(item, "cost")) * 1e6))
          assert.strictEqual(cost, 1000n * BigInt(Number(prompt) + Number(completion)))
          assert.deepStrictEqual(yield* stateOf(`agent:${agentId}`), {
            posted: 100_000_000n - cost,
            held: 0n
          })
        }
        assert.deepStrictEqual((yield* Audit.use(({ verifyLedger }) => verifyLedger)).differences, [])
      })
  )
})
