/** The choice of a provider, the fallback to others, and the clients' view if none serves. */
import { assert, layer } from "@effect/vitest"
import { Effect, Fiber } from "effect"
import { TestClock } from "effect/testing"
import { GatewayConfig } from "../../src/layers/gateway/GatewayConfig.ts"
import { canary, chat, gatewayServer, inTime, message, Providers, spender } from "../support/gateway.ts"
import type { TestModel, TestRoute } from "../support/gateway.ts"
import { stateOf } from "../support/credit.ts"
import { get, member } from "../support/server.ts"
import { answerText } from "../support/upstream.ts"
import { until } from "../support/waiting.ts"

const then = (first: string, second = "plain"): ReadonlyArray<TestRoute> => [
  { provider: "north", model: first, priority: 1 },
  { provider: "west", model: second, priority: 2 }
]

/** Faults of a provider before delivery, after which the next one is asked. */
const before = [
  "status:401",
  "status:402",
  "status:403",
  "status:404",
  "status:408",
  "status:409",
  "status:425",
  "status:429",
  "status:500",
  "status:503",
  "status:529",
  "silent",
  "html"
]
const beforeWhole = ["cut", "half"]
const beforeStream = [
  "cut:0",
  "cut:1",
  "stop:1",
  "error:1",
  "malformed:0",
  "malformed:1",
  "hang:1",
  "slow:200",
  "huge:300000",
  "huge:12000000"
]
const passedOn = ["status:400", "status:413", "status:422"]

const named = (fault: string): string => fault.replace(":", "-")

const faulty: ReadonlyArray<TestModel> = [...before, ...beforeWhole, ...beforeStream, ...passedOn].map(
  (fault) => ({
    name: named(fault),
    routes: then(fault)
  })
)

const models: ReadonlyArray<TestModel> = [
  ...faulty,
  {
    name: "refused",
    routes: [
      { provider: "nobody", model: "plain" },
      { provider: "west", model: "plain", priority: 2 }
    ]
  },
  { name: "late", routes: then("error:5") },
  { name: "late-cut", routes: then("cut:5") },
  { name: "late-hang", routes: then("hang:5") },
  { name: "unfinished", routes: then("stop:5") },
  {
    name: "wordless",
    routes: [
      { provider: "north", model: "wordless", priority: 1 },
      { provider: "south", model: "plain", priority: 2 }
    ]
  },
  { name: "late-refusal", routes: then("wait:100:status:503") },
  { name: "uneven", routes: then("uneven:1:refuses:3:status:500") },
  { name: "cooling", routes: then("status:500:only:3") },
  {
    name: "pinned-model",
    routes: [
      { provider: "north", model: "status:404" },
      { provider: "west", model: "plain" }
    ]
  },
  {
    name: "either",
    routes: [
      { provider: "south", model: "plain" },
      { provider: "north", model: "plain" }
    ]
  }
]

layer(gatewayServer(models))("Routing", (it) => {
  const servedBy = (key: string) =>
    Effect.map(get("/api/v1/llm/usage?limit=1", { token: key }), ({ json }) => ({
      provider: member(json, "items", 0, "provider"),
      attempts: member(json, "items", 0, "attempts")
    }))

  it.effect.each([...before, ...beforeWhole])(
    "The gateway falls back when a provider does %s before it answers",
    (fault) =>
      Effect.gen(function* () {
        const { key } = yield* spender()
        const answer = yield* inTime(chat(key, { model: named(fault) }))
        assert.strictEqual(answer.status, 200, answer.text)
        assert.strictEqual(member(answer.json, "choices", 0, "message", "content"), answerText)
        assert.deepStrictEqual(yield* servedBy(key), { provider: "west", attempts: 2 })
      })
  )

  it.effect.each([...before, ...beforeStream])(
    "The gateway falls back when a provider does %s before its first content",
    (fault) =>
      Effect.gen(function* () {
        const { key } = yield* spender()
        const answer = yield* inTime(chat(key, { model: named(fault), stream: true }))
        assert.strictEqual(answer.status, 200, answer.text)
        assert.notInclude(answer.text, '"error"')
        assert.strictEqual(answer.text.split('"role"').length, 2)
        assert.deepStrictEqual(yield* servedBy(key), { provider: "west", attempts: 2 })
      })
  )

  it.effect("The gateway falls back when nobody listens", () =>
    Effect.gen(function* () {
      const { key } = yield* spender()
      assert.strictEqual((yield* chat(key, { model: "refused" })).status, 200)
      assert.deepStrictEqual(yield* servedBy(key), { provider: "west", attempts: 2 })
    })
  )

  it.effect.each(passedOn)("The gateway passes %s on, without the provider's key and address", (fault) =>
    Effect.gen(function* () {
      const { key, agentId } = yield* spender()
      const answer = yield* chat(key, { model: named(fault) })
      assert.strictEqual(answer.status, Number(fault.slice(7)))
      assert.strictEqual(member(answer.json, "error", "param"), "top_p")
      assert.notInclude(answer.text, canary)
      assert.notInclude(answer.text, "127.0.0.1")
      assert.deepStrictEqual(yield* servedBy(key), { provider: "north", attempts: 1 })
      assert.deepStrictEqual(yield* stateOf(`agent:${agentId}`), { posted: 100_000_000n, held: 0n })
    })
  )

  it.effect.each(["late", "late-cut", "late-hang", "unfinished"])(
    "A failure after content is an event of the stream and costs nothing: %s",
    (model) =>
      Effect.gen(function* () {
        const { key, agentId } = yield* spender()
        const answer = yield* inTime(chat(key, { model, stream: true }))
        assert.strictEqual(answer.status, 200)
        assert.include(answer.text, '"quick "')
        assert.include(answer.text, "stream_failed")
        assert.notInclude(answer.text, "[DONE]")
        assert.notInclude(answer.text, "upstream-secret-words")
        assert.deepStrictEqual(yield* servedBy(key), { provider: "north", attempts: 1 })
        assert.deepStrictEqual(yield* stateOf(`agent:${agentId}`), { posted: 100_000_000n, held: 0n })
      })
  )

  it.effect("A route that failed three times in a row cools down for 30 s; then one trial call decides", () =>
    Effect.gen(function* () {
      const { key } = yield* spender()
      const { north } = yield* Providers
      const timesAsked = () => north.received.filter(({ text }) => text.includes("only:3")).length
      for (let call = 0; call < 3; call++) yield* chat(key, { model: "cooling" })
      assert.strictEqual(timesAsked(), 3)
      yield* chat(key, { model: "cooling" })
      assert.strictEqual(timesAsked(), 3)
      yield* TestClock.adjust("31 seconds")
      yield* chat(key, { model: "cooling" })
      assert.strictEqual(timesAsked(), 4)
      assert.deepStrictEqual(yield* servedBy(key), { provider: "north", attempts: 1 })
    })
  )

  it.effect("A name provider/model pins one provider, without fallback", () =>
    Effect.gen(function* () {
      const { key } = yield* spender()
      assert.strictEqual((yield* chat(key, { model: "north/status:404" })).status, 502)
      const pinned = yield* chat(key, { model: "west/plain" })
      assert.strictEqual(pinned.json["model"], "west/plain")
      assert.deepStrictEqual(yield* servedBy(key), { provider: "west", attempts: 1 })
      const priceless = yield* chat(key, { model: "west/other" })
      assert.strictEqual(priceless.status, 400)
      assert.strictEqual(priceless.json["code"], "unknown_model")
      assert.strictEqual((yield* chat(key, { model: "nowhere/plain" })).status, 400)
    })
  )

  it.effect("A route of the called style comes before one that needs translation", () =>
    Effect.gen(function* () {
      const { key } = yield* spender()
      for (let call = 0; call < 4; call++) {
        yield* chat(key, { model: "either" })
        assert.strictEqual((yield* servedBy(key)).provider, "north")
        yield* message(key, { model: "either" })
        assert.strictEqual((yield* servedBy(key)).provider, "south")
      }
    })
  )

  it.effect("An answer without content is better than none if no other provider can take the call", () =>
    Effect.gen(function* () {
      const { key } = yield* spender()
      const request = { model: "wordless", stream: true }
      assert.include((yield* chat(key, request)).text, '"quick "')
      assert.deepStrictEqual(yield* servedBy(key), { provider: "south", attempts: 2 })
      // Messages have no log probabilities, so the second provider cannot take the call.
      const answer = yield* chat(key, { ...request, logprobs: true })
      assert.strictEqual(answer.status, 200, answer.text)
      assert.include(answer.text, "[DONE]")
      assert.deepStrictEqual(yield* servedBy(key), { provider: "north", attempts: 1 })
    })
  )

  it.effect("Calls that began before the configuration was read again end normally", () =>
    Effect.gen(function* () {
      const { key } = yield* spender()
      const { reload } = yield* GatewayConfig
      const { north } = yield* Providers
      const before = north.received.length
      const calling = yield* Effect.forkChild(chat(key, { model: "late-refusal" }))
      yield* until(() => north.received.length > before)
      yield* reload
      assert.strictEqual((yield* Fiber.join(calling)).status, 200)
      assert.deepStrictEqual(yield* servedBy(key), { provider: "west", attempts: 2 })
    })
  )

  it.effect("An answer that rejects the request is no failure: failures around it are not in a row", () =>
    Effect.gen(function* () {
      const { key } = yield* spender()
      const { north } = yield* Providers
      const timesAsked = () => north.received.filter(({ text }) => text.includes("uneven")).length
      for (let call = 0; call < 7; call++) yield* chat(key, { model: "uneven" })
      assert.strictEqual(timesAsked(), 7)
    })
  )
})
