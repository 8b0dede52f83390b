/** What calls cost, and that nobody sees what a second provider could make good. */
import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { breadth } from "../support/breadth.ts"
import { chatPath, gatewayServer, Providers, spender } from "../support/gateway.ts"
import { assertAgreement, runGatewayWorkload, workloadModels } from "../support/gatewayWorkload.ts"
import { TestServer } from "../support/server.ts"

const calls = breadth(250, 10_000)

/** Milliseconds; a busy machine takes many times the seconds that these take. */
const patience = 120_000

layer(gatewayServer(workloadModels, {}, "usual"))("usage and the ledger", (it) => {
  it.effect(
    "agree to the micro-credit after any number of mixed calls with 10 % faults",
    Effect.fnUntraced(function* () {
      const result = yield* runGatewayWorkload(calls)
      yield* assertAgreement(result)
      const { items, statuses } = result
      const of = (model: string) => items.filter((item) => item.model === model)
      // what a second provider could make good was seen by nobody
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

layer(gatewayServer(twoProviders, {}, "usual"))("the first provider killed under load", (it) => {
  it.effect(
    "is seen by no client in whose stream nothing had been delivered",
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
      // only streams that were being delivered when the provider died
      assert.isAtMost(broken.length, 16)
      assert.isTrue(broken.every(({ text }) => text.includes('"content":"The ')))
      assert.isAbove(north.received.length, 24)
      assert.isAbove(west.received.length, 60)
    }),
    patience
  )
})
