/** Charges of calls, and failures that a second provider conceals. */
import { assert, layer } from "@effect/vitest"
import { Effect, Schema } from "effect"
import { Audit } from "../../src/services/Audit.ts"
import { breadth } from "../support/breadth.ts"
import { chatPath, gatewayServer, inTime, Providers, spender, messagesPath } from "../support/gateway.ts"
import { TestServer, get } from "../support/server.ts"
import type { TestModel } from "../support/gateway.ts"
import { stateOf } from "../support/credit.ts"
import { readUntil } from "../support/waiting.ts"

/** No number of tokens costs a whole number of micro-credits at these prices. */
const price = [0.000123456789, 0.000987654321] as const

const faults: ReadonlyArray<TestModel> = [
  {
    name: "second",
    routes: [
      { provider: "north", model: "status=500", priority: 1 },
      { provider: "south", model: "plain", priority: 2 }
    ]
  },
  { name: "down", routes: [{ provider: "north", model: "status=503" }] },
  { name: "broken", routes: [{ provider: "west", model: "cut=4" }] },
  { name: "uncounted", routes: [{ provider: "south", model: "nousage" }] },
  { name: "twice", routes: [{ provider: "north", model: "usage_twice" }] },
  { name: "refused", routes: [{ provider: "west", model: "status=422" }] },
  { name: "left", routes: [{ provider: "west", model: "gap=300" }] }
]

const workloadModels: ReadonlyArray<TestModel> = [
  { name: "chat", routes: [{ provider: "north" as const, model: "plain" }] },
  { name: "messages", routes: [{ provider: "south" as const, model: "plain" }] },
  {
    name: "both",
    routes: [
      { provider: "west" as const, model: "plain" },
      { provider: "south" as const, model: "plain" }
    ]
  },
  ...faults
].map((model) => ({ ...model, price }))

const Item = Schema.Struct({
  request_id: Schema.String,
  model: Schema.String,
  prompt_tokens: Schema.Int,
  completion_tokens: Schema.Int,
  cost: Schema.Finite,
  status: Schema.Int,
  error: Schema.NullOr(Schema.String),
  estimated: Schema.Boolean
})
const UsageAnswer = Schema.Struct({
  items: Schema.Array(Item),
  next_cursor: Schema.NullOr(Schema.String),
  totals: Schema.Struct({
    calls: Schema.Int,
    failed_calls: Schema.Int,
    prompt_tokens: Schema.Int,
    completion_tokens: Schema.Int,
    cost: Schema.Finite
  })
})

const microOf = (credits: number): bigint => BigInt(Math.round(credits * 1_000_000))

/** "prompt tokens x input price + completion tokens x output price, in micro-credits, rounded up once per call" */
const costOf = ({ completion_tokens, prompt_tokens }: typeof Item.Type): bigint => {
  const picos = BigInt(prompt_tokens) * 123_456_789n + BigInt(completion_tokens) * 987_654_321n
  return (picos + 999_999n) / 1_000_000n
}

interface WorkloadResult {
  readonly calls: number
  /** The count of each status that clients got; 0 means that the client left. */
  readonly statuses: Readonly<Record<number, number>>
  /** The usage of each call, newest first. */
  readonly items: ReadonlyArray<typeof Item.Type>
  readonly totals: (typeof UsageAnswer.Type)["totals"]
  /** Micro-credits by usage, by the formula, and by the agents' balances. */
  readonly listed: bigint
  readonly computed: bigint
  readonly spent: bigint
  readonly held: bigint
}

const credit = 1000

const callOf = (
  index: number
): { readonly model: string; readonly isMessage: boolean; readonly isStream: boolean } => {
  const good = ["chat", "messages", "both"][index % 3] ?? "chat"
  const fault = faults[Math.floor(index / 10) % faults.length]?.name ?? "second"
  const model = index % 10 === 9 ? fault : good
  const isStream = model === "broken" || model === "left" || index % 4 < 2
  return { model, isMessage: index % 7 < 3, isStream }
}

/** The status; 0 if the client left on purpose. */
const made = async (url: string, key: string, index: number): Promise<number> => {
  const { isMessage, isStream, model } = callOf(index)
  const left = new AbortController()
  const response = await fetch(url + (isMessage ? messagesPath : chatPath), {
    method: "POST",
    signal: left.signal,
    headers: { "content-type": "application/json", authorization: `Bearer ${key}` },
    body: JSON.stringify({
      model,
      max_tokens: 20,
      stream: isStream,
      messages: [{ role: "user", content: `Call ${index}` }]
    })
  })
  if (model !== "left") {
    await response.text()
    return response.status
  }
  await response.body?.getReader().read()
  left.abort()
  return 0
}

const usageOf = Effect.fnUntraced(function* (key: string) {
  const items: Array<typeof Item.Type> = []
  let cursor: string | null = ""
  let totals: (typeof UsageAnswer.Type)["totals"] | undefined
  while (cursor !== null) {
    const query: string = cursor === "" ? "" : `&cursor=${encodeURIComponent(cursor)}`
    const { json } = yield* get(`/api/v1/llm/usage?limit=200${query}`, { token: key })
    const page: typeof UsageAnswer.Type = yield* Effect.orDie(Schema.decodeUnknownEffect(UsageAnswer)(json))
    items.push(...page.items)
    totals ??= page.totals
    cursor = page.next_cursor
  }
  if (totals === undefined) return yield* Effect.die(new Error("no usage"))
  return { items, totals }
})

/** Makes all calls, those of the agents concurrently, and collects the results after the last settlement. */
const runGatewayWorkload = Effect.fnUntraced(function* (calls: number) {
  const { url } = yield* TestServer
  const who = yield* spender(credit)
  const statuses: Record<number, number> = {}
  yield* Effect.forEach(
    Array.from({ length: calls }, (_, index) => index),
    (index) =>
      Effect.map(
        Effect.promise(() => made(url, who.key, index)),
        (status) => {
          statuses[status] = (statuses[status] ?? 0) + 1
        }
      ),
    { concurrency: 24, discard: true }
  )
  // A call whose client left is settled in the background.
  const state = yield* readUntil(stateOf(`agent:${who.agentId}`), ({ held }) => held === 0n)
  const { items, totals } = yield* usageOf(who.key)
  const result: WorkloadResult = {
    calls,
    statuses,
    items,
    totals,
    listed: items.reduce((sum, { cost }) => sum + microOf(cost), 0n),
    computed: items.reduce((sum, item) => sum + costOf(item), 0n),
    spent: BigInt(credit) * 1_000_000n - state.posted,
    held: state.held
  }
  return result
})

/** Usage, its totals, the balance and the ledger agree to the micro-credit. */
const assertAgreement = Effect.fnUntraced(function* (result: WorkloadResult) {
  const { calls, computed, held, items, listed, spent, totals } = result
  assert.strictEqual(items.length, calls)
  assert.strictEqual(new Set(items.map(({ request_id }) => request_id)).size, calls)
  assert.strictEqual(held, 0n)
  assert.strictEqual(listed, computed)
  assert.strictEqual(spent, listed)
  assert.strictEqual(BigInt(Math.round(totals.cost * 1_000_000)), listed)
  assert.strictEqual(totals.calls, calls)
  assert.strictEqual(totals.failed_calls, items.filter(({ error }) => error !== null).length)
  for (const item of items) {
    const isFree = item.error !== null && item.error !== "client_left"
    if (isFree) assert.strictEqual(item.cost, 0, item.error ?? "")
    else assert.isAbove(item.cost, 0)
  }
  const { differences, gateway_revenue } = yield* Audit.use(({ verifyLedger }) => verifyLedger)
  assert.deepStrictEqual(differences, [])
  assert.strictEqual(gateway_revenue, listed)
})

const calls = breadth(250, 10_000)

/** The unit is milliseconds; a busy machine takes many times the seconds that these calls take. */
const patience = 120_000

layer(gatewayServer(workloadModels, {}, "usual"))("Usage and the ledger", (it) => {
  it.effect(
    "Usage and the ledger agree to the micro-credit after any number of mixed calls with 10 % faults",
    Effect.fnUntraced(function* () {
      const result = yield* inTime(runGatewayWorkload(calls), 5)
      yield* assertAgreement(result)
      const { items, statuses } = result
      const of = (model: string) => items.filter((item) => item.model === model)
      // Nobody saw a failure that the second provider concealed.
      assert.isTrue(of("second").every(({ error }) => error === null))
      assert.isTrue(of("uncounted").every(({ error, estimated }) => error === null && estimated))
      assert.isTrue(of("twice").every(({ completion_tokens }) => completion_tokens === 9))
      assert.isTrue(of("broken").every(({ error }) => error === "stream_failed"))
      assert.isTrue(of("left").every(({ error }) => error === "client_left"))
      assert.strictEqual(statuses[502], of("down").length)
      assert.strictEqual(statuses[422], of("refused").length)
      assert.strictEqual(statuses[0], of("left").length)
      assert.strictEqual(statuses[200], calls - of("down").length - of("refused").length - of("left").length)
    })
  )
})

const twoProviders = [
  {
    name: "swift",
    routes: [
      { provider: "north" as const, model: "gap=1", priority: 1 },
      { provider: "west" as const, model: "gap=1", priority: 2 }
    ]
  }
]

layer(gatewayServer(twoProviders, {}, "usual"))("The first provider killed under load", (it) => {
  it.effect(
    "A provider killed under load is noticed by no client in whose stream nothing had been delivered",
    Effect.fnUntraced(function* () {
      const { url } = yield* TestServer
      const { north, west } = yield* Providers
      const { key } = yield* spender(1000)
      const call = (index: number) =>
        Effect.promise(async () => {
          if (index === 40) north.kill()
          const response = await fetch(url + chatPath, {
            method: "POST",
            headers: { "content-type": "application/json", authorization: `Bearer ${key}` },
            body: JSON.stringify({
              model: "swift",
              stream: index % 2 === 0,
              messages: [{ role: "user", content: "Hello" }]
            })
          })
          return { status: response.status, text: await response.text() }
        })
      const indices = Array.from({ length: 120 }, (_, index) => index)
      const answers = yield* Effect.forEach(indices, call, { concurrency: 16 })
      assert.isTrue(answers.every(({ status }) => status === 200))
      const broken = answers.filter(({ text }) => text.includes('"error"'))
      // Only streams that were being delivered when the provider died broke.
      assert.isAtMost(broken.length, 16)
      assert.isTrue(broken.every(({ text }) => text.includes('"content":"The ')))
      assert.isAbove(north.received.length, 24)
      assert.isAbove(west.received.length, 60)
    }),
    patience
  )
})
