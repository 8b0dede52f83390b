/** Billing of calls: the cost is reserved before, settled once after, and never exceeds the credit. */
import { assert, layer } from "@effect/vitest"
import { Clock, Effect, Fiber } from "effect"
import { SqlClient } from "effect/sql"
import { TestClock } from "effect/testing"
import { Audit } from "../../src/services/Audit.ts"
import { GatewayBilling } from "../../src/services/GatewayBilling.ts"
import {
  answeredCall,
  chat,
  gatewayServer,
  message,
  Providers,
  spender,
  settledCall
} from "../support/gateway.ts"
import type { TestModel } from "../support/gateway.ts"
import { creditFindings, stateOf } from "../support/credit.ts"
import { get, member } from "../support/server.ts"
import { answerText } from "../support/upstream.ts"
import { until } from "../support/waiting.ts"

const model = (name: string, behaviour: string, more: Partial<TestModel> = {}): TestModel => ({
  name,
  routes: [{ provider: "north", model: behaviour }],
  ...more
})

const models: ReadonlyArray<TestModel> = [
  model("plain", "plain"),
  model("waiting", "wait:50"),
  model("nousage", "nousage"),
  model("twice", "usage_twice"),
  model("free", "plain:1:free", { price: [0, 0] }),
  model("cheap", "plain:1:cheap", { price: [0.000_000_001, 0.000_000_001] }),
  // The reservation is for 100 tokens of output: 100 credits, and a little for the prompt.
  model("dear", "wait:20:dear", { price: [0, 1], maxOutputTokens: 100 }),
  // The provider reports this many tokens, whose cost exceeds the ledger's range.
  model("mad", "counts:9007199254740991", { price: [0, 100], maxOutputTokens: 1 }),
  // The provider reports 9 tokens, and at most 5 were reserved.
  model("small", "plain:1:small", { price: [0, 1], maxOutputTokens: 5 })
]

const cost = 12_200n

const check = Effect.map(
  Audit.use(({ verifyLedger }) => verifyLedger),
  ({ differences }) => differences
)

layer(gatewayServer(models, {}, "usual"))("Billing", (it) => {
  const listed = (key: string) => Effect.map(get("/api/v1/llm/usage", { token: key }), ({ json }) => json)

  it.effect("The largest possible cost is reserved before anything is sent, and shows as frozen", () =>
    Effect.gen(function* () {
      const { agentId, key } = yield* spender()
      const { north } = yield* Providers
      let frozen = 0n
      const running = yield* Effect.forkChild(chat(key, { model: "waiting", max_tokens: 10 }))
      yield* until(() => north.received.some(({ text }) => text.includes("wait:50")))
      frozen = (yield* stateOf(`agent:${agentId}`)).held
      // Ten tokens of output are reserved, and the prompt's bytes and 16 tokens a message.
      assert.isAbove(Number(frozen), 8_000)
      assert.isBelow(Number(frozen), 8_000 + 200 * 200)
      yield* Fiber.join(running)
      assert.deepStrictEqual(yield* stateOf(`agent:${agentId}`), { posted: 100_000_000n - cost, held: 0n })
    })
  )

  it.effect("A provider that reports too much is paid the reservation at once", () =>
    Effect.gen(function* () {
      const { agentId, key } = yield* spender(200)
      assert.strictEqual((yield* chat(key, { model: "mad" })).status, 200)
      assert.deepStrictEqual(yield* stateOf(`agent:${agentId}`), { posted: 100_000_000n, held: 0n })
      assert.deepStrictEqual(yield* check, [])
    })
  )

  it.effect("A call that the credit does not cover is 402, and nothing is sent", () =>
    Effect.gen(function* () {
      const { key } = yield* spender(99)
      const { north } = yield* Providers
      const before = north.received.length
      for (const answer of [
        yield* chat(key, { model: "dear" }),
        yield* message(key, { model: "dear", max_tokens: 100 })
      ]) {
        assert.strictEqual(answer.status, 402)
        assert.strictEqual(answer.json["code"], "insufficient_credit")
      }
      assert.strictEqual(north.received.length, before)
      assert.deepStrictEqual((yield* listed(key))["items"], [])
      // A lower maximum is covered.
      assert.strictEqual((yield* chat(key, { model: "dear", max_tokens: 90 })).status, 200)
    })
  )

  it.effect(
    "A hundred calls at once with credit for ten leave ten served and the balance never negative",
    () =>
      Effect.gen(function* () {
        const { agentId, key } = yield* spender(1_000)
        const answers = yield* Effect.forEach(
          Array.from({ length: 100 }, (_, index) => index),
          () => Effect.map(chat(key, { model: "dear" }), ({ status }) => status),
          { concurrency: "unbounded" }
        )
        const findings = yield* creditFindings
        assert.deepStrictEqual(findings, [])
        const served = answers.filter((status) => status === 200).length
        assert.isAtLeast(served, 10)
        assert.strictEqual(answers.filter((status) => status === 402).length, 100 - served)
        const { held, posted } = yield* stateOf(`agent:${agentId}`)
        assert.strictEqual(posted, 1_000_000_000n - BigInt(served) * 9_000_000n)
        assert.strictEqual(held, 0n)
      })
  )

  it.effect("A key's credit limit holds over all its calls, also at once", () =>
    Effect.gen(function* () {
      const { key, keyId } = yield* spender(10_000, { credit_limit: 300_000_000n })
      const answers = yield* Effect.forEach(
        Array.from({ length: 20 }, (_, index) => index),
        () => chat(key, { model: "dear" }),
        { concurrency: "unbounded" }
      )
      assert.isAtLeast(answers.filter(({ status }) => status === 200).length, 3)
      assert.isAtLeast(answers.filter(({ status }) => status === 402).length, 1)
      const sql = yield* SqlClient.SqlClient
      const [row] =
        yield* sql`select spent <= credit_limit and held = 0 as ok from gateway_keys where id = ${keyId}::uuid`
      assert.deepStrictEqual(row, { ok: true })
      assert.deepStrictEqual(yield* check, [])
    })
  )

  it.effect("A charge is rounded up once per call", () =>
    Effect.gen(function* () {
      const { agentId, key } = yield* spender(1)
      yield* chat(key, { model: "cheap" })
      // 34 tokens cost a thousandth of a micro-credit each.
      assert.deepStrictEqual(yield* stateOf(`agent:${agentId}`), { posted: 999_999n, held: 0n })
    })
  )

  it.effect("The gateway counts tokens itself if the provider reports none, and says so", () =>
    Effect.gen(function* () {
      const { key } = yield* spender()
      for (const stream of [false, true]) {
        assert.include((yield* chat(key, { model: "nousage", stream })).text, "quick")
        const item = member(yield* listed(key), "items", 0)
        assert.strictEqual(member(item, "estimated"), true)
        assert.isAbove(Number(member(item, "prompt_tokens")), 0)
        // The answer has ten words.
        assert.closeTo(Number(member(item, "completion_tokens")), answerText.split(" ").length + 1, 2)
      }
    })
  )

  it.effect("Usage that is reported twice is charged once", () =>
    Effect.gen(function* () {
      const { agentId, key } = yield* spender()
      yield* chat(key, { model: "twice", stream: true })
      assert.deepStrictEqual(yield* stateOf(`agent:${agentId}`), { posted: 100_000_000n - cost, held: 0n })
    })
  )

  it.effect("A charge never exceeds its reservation", () =>
    Effect.gen(function* () {
      const { agentId, key } = yield* spender()
      yield* chat(key, { model: "small", max_tokens: 5 })
      assert.deepStrictEqual(yield* stateOf(`agent:${agentId}`), { posted: 95_000_000n, held: 0n })
    })
  )

  it.effect("A model that costs nothing needs no credit, and its calls are listed", () =>
    Effect.gen(function* () {
      const { key } = yield* spender(0)
      assert.strictEqual((yield* chat(key, { model: "free" })).status, 200)
      // A call that is free is not awaited by its client.
      assert.deepInclude(yield* settledCall(key), { cost: 0, prompt_tokens: 25, completion_tokens: 9 })
    })
  )

  it.effect("A reservation whose call ended with its process is released after ten minutes, once", () =>
    Effect.gen(function* () {
      const { agentId, key, keyId } = yield* spender(10, { credit_limit: 10_000_000n })
      const billing = yield* GatewayBilling
      const callId = "0190f000-0000-7000-8000-00000000c011"
      const open = {
        callId,
        holder: { keyId, agentId },
        requestId: "lost",
        model: "plain",
        style: "openai" as const,
        stream: true,
        reserved: 4_000_000n,
        createdAt: yield* Clock.currentTimeMillis
      }
      yield* billing.reserve(open)
      assert.deepStrictEqual(yield* stateOf(`agent:${agentId}`), { posted: 10_000_000n, held: 4_000_000n })
      yield* TestClock.adjust("9 minutes")
      assert.strictEqual(yield* billing.sweep, 0)
      // A process with a long call does the same every minute.
      yield* billing.keepAlive([callId])
      yield* TestClock.adjust("9 minutes")
      assert.strictEqual(yield* billing.sweep, 0)
      yield* TestClock.adjust("1 minute")
      assert.strictEqual(yield* billing.sweep, 1)
      assert.strictEqual(yield* billing.sweep, 0)
      assert.deepStrictEqual(yield* stateOf(`agent:${agentId}`), { posted: 10_000_000n, held: 0n })
      assert.deepInclude(member(yield* listed(key), "items", 0), {
        request_id: "lost",
        cost: 0,
        error: "abandoned"
      })
      // The process was only slow: its settlement changes nothing now.
      const { charged } = yield* billing.settle(answeredCall(open, { cost: 1_000_000n }))
      assert.strictEqual(charged, 0n)
      assert.deepStrictEqual(yield* check, [])
    })
  )

  it.effect("All charges agree with the ledger to the micro-credit", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const checked = yield* Audit.use(({ verifyLedger }) => verifyLedger)
      assert.deepStrictEqual(checked.differences, [])
      const [sums] = yield* sql`select sum(cost)::text as cost from gateway_calls`
      assert.deepStrictEqual(sums, { cost: String(checked.gateway_revenue) })
      assert.strictEqual(checked.gateway_reserved, 0n)
    })
  )
})
