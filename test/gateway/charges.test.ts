/** Charges for the kinds of tokens and for priced features. */
import { assert, describe, it, layer } from "@effect/vitest"
import { Effect, Schema } from "effect"
import { plainUsage, chatUsage, messagesUsage } from "../../src/layers/gateway/usage.ts"
import { costOf, maxCostOf, noSurcharge, tokensOf } from "../../src/scoring/tokenPrices.ts"
import { Audit } from "../../src/services/Audit.ts"
import { stateOf } from "../support/credit.ts"
import { chat, gatewayServer, message, Providers, spender, newestCall } from "../support/gateway.ts"
import type { TestModel, TestRoute } from "../support/gateway.ts"
import { get, member } from "../support/server.ts"
import { dataIn, frameOf } from "../support/providerStreams.ts"
import { until } from "../support/waiting.ts"

const price = {
  input: 1_000_000_000n,
  cachedInput: 100_000_000n,
  cacheWrite: 1_250_000_000n,
  cacheWriteLong: 2_000_000_000n,
  output: 5_000_000_000n,
  reasoning: 7_000_000_000n,
  image: 30_000_000_000n
}

const Count = Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 1_000_000 }))
const Tokens = Schema.Struct({
  prompt: Count,
  completion: Count,
  cached: Count,
  written: Count,
  long: Count,
  reasoning: Count
})

describe("A cost", () => {
  it("A cost is exact for each kind of tokens and for images, and rounded up once", () => {
    const tokens = { ...tokensOf(1000, 100), cached: 600, written: 200, writtenLong: 100, reasoning: 40 }
    // The unit is a millionth of a credit: 100 x 1 000, 600 x 100, 200 x 1 250, 100 x 2 000, 60 x 5 000, 40 x 7 000, 2 x 30 000.
    assert.strictEqual(costOf(price, tokens, 2), 1_250_000n)
    assert.strictEqual(costOf({ ...price, input: 1n }, tokensOf(1, 0)), 1n)
    const surcharge = { factor: [1500n, 1000n], fees: 1n } as const
    assert.strictEqual(costOf(price, tokensOf(1, 0), 0, surcharge), 1501n)
  })

  it.prop(
    "A cost is never more than the reservation, whatever part of it is cached or reasoning",
    [Tokens],
    ([given]) => {
      const reported = {
        input_tokens: Math.max(0, given.prompt - given.cached - given.written),
        cache_read_input_tokens: given.cached,
        cache_creation_input_tokens: given.written,
        cache_creation: { ephemeral_1h_input_tokens: given.long },
        output_tokens: given.completion,
        output_tokens_details: { thinking_tokens: given.reasoning }
      }
      const chatReported = {
        prompt_tokens: given.prompt,
        completion_tokens: given.completion,
        prompt_tokens_details: { cached_tokens: given.cached, cache_write_tokens: given.written },
        completion_tokens_details: { reasoning_tokens: given.reasoning }
      }
      for (const usage of [messagesUsage(reported), chatUsage(chatReported)]) {
        if (usage === undefined) return assert.fail("no usage")
        const bound = { prompt: usage.prompt, completion: usage.completion, writesCache: true }
        assert.isTrue(costOf(price, usage, 1) <= maxCostOf(price, bound, 1, noSurcharge))
        const parts = [usage.cached, usage.written, usage.writtenLong, usage.reasoning]
        assert.isTrue(parts.every((part) => part >= 0))
      }
    }
  )
})

describe("Usage of chat completions", () => {
  it.each([
    [{ prompt_tokens_details: { cached_tokens: 6 } }, { cached: 6 }],
    [{ prompt_cache_hit_tokens: 6 }, { cached: 6 }],
    [{ cached_tokens: 6 }, { cached: 6 }],
    [{ prompt_tokens_details: { cached_tokens: 60 } }, { cached: 10 }],
    [{ prompt_tokens_details: { cached_tokens: 4, cache_write_tokens: 9 } }, { cached: 4, written: 6 }],
    [{ completion_tokens_details: { reasoning_tokens: 3 } }, { reasoning: 3 }],
    [{ total_tokens: 35 }, { completion: 25, reasoning: 20 }]
  ])("A report of chat completions with %j has the usage %j", (reported, expected) => {
    assert.deepStrictEqual(chatUsage({ prompt_tokens: 10, completion_tokens: 5, ...reported }), {
      ...plainUsage(10, 5),
      ...expected
    })
  })
})

const on = (provider: TestRoute["provider"], model: string): ReadonlyArray<TestRoute> => [{ provider, model }]
const parts = {
  cached_input: 0.0001,
  cache_write: 0.00125,
  cache_write_1h: 0.002,
  reasoning: 0.007,
  image: 0.03
}

const models: ReadonlyArray<TestModel> = [
  { name: "chat-parts", routes: on("north", "parts"), price: [0.001, 0.005], prices: parts },
  { name: "messages-parts", routes: on("south", "parts"), price: [0.001, 0.005], prices: parts },
  { name: "odd", routes: on("south", "odd"), price: [0.001, 0.005] },
  { name: "held", routes: on("north", "hold:1:held"), price: [0, 1] },
  { name: "chat-extras", routes: on("north", "plain"), price: [0.001, 0.001] },
  { name: "messages-extras", routes: on("south", "plain"), price: [0.001, 0.001] },
  { name: "searching", routes: on("south", "searching"), price: [0.001, 0.001] },
  { name: "strict", routes: [...on("west", "plain"), ...on("south", "plain")] }
]

const allowed = {
  north: "allow: { service_tier.priority: { factor: 2.5 }, web_search_options: { fee: 0.025 } }",
  south:
    "allow: { tools.web_search: { fee: 0.01, uses: 3, tokens: 1000 }, speed.fast: { factor: 6 }, tools.tool_search_tool_bm25: {} }"
}

const chatParts = {
  body: {
    choices: [{ index: 0, message: { role: "assistant", content: "Hi" }, finish_reason: "stop" }],
    usage: {
      prompt_tokens: 1000,
      completion_tokens: 100,
      prompt_tokens_details: { cached_tokens: 600, cache_write_tokens: 200 },
      completion_tokens_details: { reasoning_tokens: 40 }
    }
  }
}
const messagesParts = {
  body: {
    type: "message",
    role: "assistant",
    content: [{ type: "text", text: "Hi" }],
    stop_reason: "end_turn",
    usage: {
      input_tokens: 100,
      cache_read_input_tokens: 600,
      cache_creation_input_tokens: 300,
      cache_creation: { ephemeral_5m_input_tokens: 200, ephemeral_1h_input_tokens: 100 },
      output_tokens: 100,
      output_tokens_details: { thinking_tokens: 40 }
    }
  }
}

const event = (body: { readonly type: string; readonly [name: string]: unknown }) => frameOf(body, body.type)
const odd = (usage: object) => [
  event({
    type: "message_start",
    message: {
      usage: {
        input_tokens: 10,
        cache_creation_input_tokens: 200,
        cache_read_input_tokens: 300,
        output_tokens: 1
      }
    }
  }),
  event({ type: "content_block_start", index: 0, content_block: { type: "text", text: "Hi" } }),
  event({ type: "message_delta", delta: { stop_reason: "end_turn" }, usage }),
  event({ type: "message_stop" })
]

const searched = (uses: number) => ({
  body: {
    ...messagesParts.body,
    usage: { input_tokens: 100, output_tokens: 10, server_tool_use: { web_search_requests: uses } }
  }
})

const long = "x".repeat(2000)
const user = [{ role: "user", content: long }]

layer(gatewayServer(models, {}, "usual", allowed))("The charge of a call", (it) => {
  const ledgerHolds = Effect.map(
    Audit.use(({ verifyLedger }) => verifyLedger),
    ({ differences }) => assert.deepStrictEqual(differences, [])
  )

  it.effect("A call pays for cached, written and reasoning tokens, each at its price", () =>
    Effect.gen(function* () {
      const { agentId, key } = yield* spender()
      const { north, south } = yield* Providers
      north.scripts.set("parts", [chatParts])
      south.scripts.set("parts", [messagesParts])
      const image = { type: "image_url", image_url: { url: "https://pictures.example/fox.png" } }
      const content = [{ type: "text", text: long, cache_control: { type: "ephemeral" } }, image]
      yield* chat(key, { model: "chat-parts", messages: [{ role: "user", content }] })
      // 200 x 1 000 + 600 x 100 + 200 x 1 250 + 60 x 5 000 + 40 x 7 000 + 30 000
      const first = 1_120_000
      const row = { prompt_tokens: 1000, cached_tokens: 600, completion_tokens: 100, reasoning_tokens: 40 }
      assert.deepInclude(yield* newestCall(key), { ...row, cache_write_tokens: 200, cost: first / 1e6 })
      yield* message(key, { model: "messages-parts", messages: user })
      // 100 x 1 000 + 600 x 100 + 200 x 1 250 + 100 x 2 000 + 60 x 5 000 + 40 x 7 000
      const second = 1_190_000
      assert.deepInclude(yield* newestCall(key), { ...row, cache_write_tokens: 300, cost: second / 1e6 })
      assert.deepStrictEqual(yield* stateOf(`agent:${agentId}`), {
        posted: 100_000_000n - BigInt(first + second),
        held: 0n
      })
      yield* ledgerHolds
    })
  )

  it.effect("The list of models shows the prices of the parts that have one", () =>
    Effect.gen(function* () {
      const { key } = yield* spender()
      const { json } = yield* get("/api/v1/llm/v1/models/chat-parts", { token: key })
      assert.deepStrictEqual(json["pricing"], {
        input: 0.001,
        output: 0.005,
        ...parts,
        unit: "credits per token"
      })
      const plain = yield* get("/api/v1/llm/v1/models/odd", { token: key })
      assert.deepStrictEqual(plain.json["pricing"], {
        input: 0.001,
        output: 0.005,
        unit: "credits per token"
      })
    })
  )

  it.effect.each([
    { input_tokens: 10, output_tokens: 50 },
    { input_tokens: 0, output_tokens: 50 }
  ])("A call is charged the usage that it shows, whatever part of it a provider repeats: %j", (usage) =>
    Effect.gen(function* () {
      const { key } = yield* spender()
      const { south } = yield* Providers
      south.scripts.set("odd", [{ frames: odd(usage) }])
      const answer = yield* chat(key, {
        model: "odd",
        stream: true,
        messages: user,
        stream_options: { include_usage: true }
      })
      const shown = dataIn(answer.text)
        .map((data) => member(data, "usage"))
        .find((each) => each !== undefined)
      assert.deepInclude(shown, { prompt_tokens: 510, completion_tokens: 50 })
      assert.deepInclude(yield* newestCall(key), { prompt_tokens: 510, completion_tokens: 50, cost: 0.76 })
    })
  )

  it.effect("An answer tells its cost and the remaining credit, a stream its maximum cost", () =>
    Effect.gen(function* () {
      const { key } = yield* spender(10)
      const whole = yield* chat(key, { model: "chat-extras", messages: user, max_tokens: 10 })
      // 25 + 9 tokens cost a thousandth each.
      assert.strictEqual(whole.headers.get("x-auspex-cost"), "0.034")
      assert.strictEqual(whole.headers.get("x-auspex-credit-left"), "9.966")
      const stream = yield* chat(key, { model: "chat-extras", messages: user, stream: true, max_tokens: 10 })
      const most = Number(stream.headers.get("x-auspex-max-cost"))
      assert.isAbove(most, 0.034)
      assert.strictEqual(
        Number(stream.headers.get("x-auspex-credit-left")),
        Number((9.966 - most).toFixed(6))
      )
      const limited = yield* spender(10, { credit_limit: 500_000n })
      const last = yield* message(limited.key, {
        model: "chat-extras",
        max_tokens: 10,
        messages: [{ role: "user", content: "Hello, fox" }]
      })
      assert.strictEqual(last.headers.get("x-auspex-credit-left"), "0.466")
    })
  )

  it.effect("An uncovered call is told whether credit is used up or only reserved, and what is covered", () =>
    Effect.gen(function* () {
      const { key } = yield* spender(50)
      const { north } = yield* Providers
      const none = yield* chat(key, { model: "held" })
      assert.deepStrictEqual([none.status, none.json["code"]], [402, "insufficient_credit"])
      assert.strictEqual(none.headers.get("x-auspex-credit-left"), "50")
      assert.isNull(none.headers.get("retry-after"))
      assert.include(String(none.json["detail"]), "lower max_tokens to 50, or have the owner add credit")
      /** Two calls with a key, the second while the first is under way. */
      const twoCalls = (ofKey: string) => {
        const call = chat(ofKey, { model: "held", max_tokens: 30 })
        const release = Effect.sync(() => north.held.splice(0).forEach((end) => end()))
        const second = Effect.andThen(
          until(() => north.held.length > 0),
          Effect.ensuring(call, release)
        )
        return Effect.all([call, second], { concurrency: "unbounded" })
      }
      const [first, second] = yield* twoCalls(key)
      assert.strictEqual(first.status, 200)
      assert.deepStrictEqual([second.status, second.json["code"]], [402, "credit_in_flight"])
      assert.strictEqual(second.headers.get("x-should-retry"), "true")
      assert.strictEqual(second.headers.get("retry-after"), "5")
      assert.include(
        String(second.json["detail"]),
        "the agent has 20 available, beside 30 that calls under way"
      )
      assert.include(
        String(second.json["detail"]),
        "lower max_tokens to 20, or try again when they have ended"
      )
      const limited = yield* spender(1000, { credit_limit: 40_000_000n })
      const [, refused] = yield* twoCalls(limited.key)
      assert.include(String(refused.json["detail"]), "the key's credit_limit leaves")
      assert.strictEqual(refused.json["code"], "credit_in_flight")
    })
  )

  const refusedOf = {
    chat: [
      [{ service_tier: "flex" }, "service_tier"],
      [{ modalities: ["text", "audio"] }, "modalities"],
      [{ modalities: "audio" }, "modalities"],
      [{ prompt_cache_retention: "24h" }, "prompt_cache_retention"],
      [{ tools: [{ type: "web_search" }] }, "tools.0"],
      [{ tools: [{ google_search: {} }] }, "tools.0"],
      [{ tools: [{}] }, "tools.0"],
      [{ Service_Tier: "priority" }, "Service_Tier"],
      [{ models: ["dear-1"] }, "models"],
      [{ plugins: [{ id: "web" }] }, "plugins"],
      [{ search_parameters: {} }, "search_parameters"],
      [{ prediction: { type: "content", content: "x" } }, "prediction"]
    ],
    messages: [
      [{ tools: [{ type: "web_fetch_20250910", name: "web_fetch" }] }, "tools.0"],
      [{ tools: [{ name: "own", input_schema: {} }, { type: "code_execution_20250825" }] }, "tools.1"],
      [{ tools: [{ Type: "web_fetch_20250910", name: "web_fetch" }] }, "tools.0"],
      [{ mcp_servers: [{ name: "x" }] }, "mcp_servers"],
      [{ context_management: { edits: [{}] } }, "context_management"],
      [{ container: "c" }, "container"],
      [{ inference_geo: "us" }, "inference_geo"],
      [{ service_tier: "priority" }, "service_tier"],
      [{ context_management: { edits: [{ type: "compact_20260112" }] } }, "context_management"],
      [{ tools: [{ type: "web_search_20250305", name: "web_search" }] }, "tools.0.max_uses"],
      [{ tools: [{ type: "web_search_20250305", name: "web_search", max_uses: 4 }] }, "tools.0.max_uses"]
    ]
  } as const

  it.effect("A call that requests a priced feature is rejected by its name, and nothing is sent", () =>
    Effect.gen(function* () {
      const { key } = yield* spender()
      const { north, south } = yield* Providers
      const before = [north.received.length, south.received.length]
      for (const [body, param] of refusedOf.chat) {
        const answer = yield* chat(key, { model: "chat-extras", ...body })
        assert.deepStrictEqual(
          [answer.status, member(answer.json, "error", "param")],
          [400, param],
          answer.text
        )
      }
      for (const [body, param] of refusedOf.messages) {
        const answer = yield* message(key, { model: "messages-extras", ...body })
        assert.strictEqual(answer.status, 400, answer.text)
        assert.isTrue(String(member(answer.json, "error", "message")).startsWith(`${param}: `), answer.text)
      }
      // A provider of another style is not asked for the feature either.
      const other = yield* message(key, { model: "chat-extras", service_tier: "priority" })
      assert.strictEqual(other.status, 400)
      assert.deepStrictEqual([north.received.length, south.received.length], before)
      assert.deepStrictEqual((yield* get("/api/v1/llm/usage", { token: key })).json["items"], [])
    })
  )

  it.effect("A call may request tools and service tiers without a price of their own", () =>
    Effect.gen(function* () {
      const { key } = yield* spender()
      const own = { type: "function", function: { name: "look" } }
      const chatBody = { service_tier: "auto", modalities: ["text"], tools: [own], prediction: null }
      assert.strictEqual((yield* chat(key, { model: "chat-extras", ...chatBody })).status, 200)
      const tools = [
        { type: "bash_20250124", name: "bash" },
        { type: "custom", name: "own", input_schema: {} }
      ]
      const edits = [{ type: "clear_tool_uses_20250919" }]
      const messageBody = {
        service_tier: "standard_only",
        tools,
        mcp_servers: [],
        context_management: { edits }
      }
      assert.strictEqual((yield* message(key, { model: "messages-extras", ...messageBody })).status, 200)
    })
  )

  it.effect("A call pays for a priced feature that its provider allows", () =>
    Effect.gen(function* () {
      const { agentId, key } = yield* spender()
      const { south } = yield* Providers
      const costs: Array<unknown> = []
      const priority = yield* chat(key, { model: "chat-extras", service_tier: "priority" })
      costs.push(priority.headers.get("x-auspex-cost"))
      const web = yield* chat(key, { model: "chat-extras", web_search_options: {} })
      costs.push(web.headers.get("x-auspex-cost"))
      const fast = yield* message(key, { model: "messages-extras", speed: "fast" })
      costs.push(fast.headers.get("x-auspex-cost"))
      south.scripts.set("searching", [searched(2)])
      const tools = [{ type: "web_search_20250305", name: "web_search", max_uses: 3 }]
      const search = yield* message(key, { model: "searching", tools })
      costs.push(search.headers.get("x-auspex-cost"))
      // The charges are 34 tokens at 2.5 thousandths; at one, and the fee; at six; 110 and two searches.
      assert.deepStrictEqual(costs, ["0.085", "0.059", "0.204", "0.13"])
      assert.strictEqual((yield* stateOf(`agent:${agentId}`)).posted, 100_000_000n - 478_000n)
      yield* ledgerHolds
    })
  )

  it.effect("A call with searches reserves what they may add to its prompt, read again after each", () =>
    Effect.gen(function* () {
      const { key } = yield* spender()
      const { south } = yield* Providers
      south.scripts.set("searching", [{ ...searched(2), body: undefined, frames: odd({ output_tokens: 1 }) }])
      const tools = [{ type: "web_search_20250305", name: "web_search", max_uses: 3 }]
      const most = Effect.fnUntraced(function* (more: object) {
        const answer = yield* message(key, { model: "searching", stream: true, max_tokens: 10, ...more })
        return Number(answer.headers.get("x-auspex-max-cost"))
      })
      const without = yield* most({})
      const withSearch = yield* most({ tools })
      // The prompt is read four times, results of 1 000 tokens three times, twice and once, and there are three fees.
      assert.isAbove(withSearch, 4 * (without - 0.01) + 6 + 0.03)
    })
  )

  it.effect("A call with a priced feature may be served by any of its providers that allows it", () =>
    Effect.gen(function* () {
      const { key } = yield* spender()
      const answer = yield* message(key, { model: "strict", speed: "fast" })
      assert.strictEqual(answer.status, 200, answer.text)
      assert.deepInclude(yield* newestCall(key), { provider: "south" })
    })
  )
})
