/** The agents' view of providers that fail for a moment, for long, or by the operator's fault. */
import { assert, layer } from "@effect/vitest"
import { Effect, Fiber, Layer, Random } from "effect"
import { TestClock } from "effect/testing"
import { breadth } from "../support/breadth.ts"
import { stateOf } from "../support/credit.ts"
import {
  chat,
  gatewayServer,
  inTime,
  message,
  Providers,
  spender,
  newestCall,
  settledCall
} from "../support/gateway.ts"
import type { TestModel, TestRoute } from "../support/gateway.ts"
import { get, member } from "../support/server.ts"
import { TelemetryRecorder, telemetryRecorder } from "../support/telemetryRecorder.ts"
import { answerText } from "../support/upstream.ts"
import { until } from "../support/waiting.ts"
import type { Scripted } from "../support/upstream.ts"

const alone = (name: string, more: Partial<TestModel> = {}): TestModel => ({
  name,
  routes: [{ provider: "north", model: name }],
  ...more
})

const secondBehind = (model: string): ReadonlyArray<TestRoute> => [
  { provider: "north", model, priority: 1 },
  { provider: "west", model: "plain", priority: 2 }
]

const ok = {
  body: { choices: [{ message: { role: "assistant", content: answerText }, finish_reason: "stop" }] }
}
const failure = (status: number, headers: Readonly<Record<string, string>> = {}): Scripted => ({
  status,
  headers,
  body: { error: { message: "upstream-secret-words" } }
})

/** Transient faults. */
const passing: Readonly<Record<string, Scripted>> = {
  "a 408": failure(408),
  "a 429 that says when": failure(429, { "retry-after": "1" }),
  "a 429 that says when in milliseconds": failure(429, { "retry-after-ms": "300" }),
  "a 500": failure(500),
  "a 503": failure(503),
  "a 529": failure(529),
  "a reset": { reset: true },
  "an error for an answer": { body: { error: { code: 502, message: "upstream-secret-words" } } },
  "an error in its stream": { frames: ['data: {"error":{"message":"overloaded"}}\n\n'] }
}

const tooLong = {
  status: 400,
  body: { error: { message: "This model's maximum context length is 10 tokens.", code: null } }
}
const poor = {
  status: 400,
  body: { error: { message: "Your credit balance is too low to access the upstream-secret API." } }
}

const models: ReadonlyArray<TestModel> = [
  ...["moment", "down", "unknown", "away", "busy", "flaky", "poor", "long"].map((name) => alone(name)),
  { name: "two-busy", routes: [...alone("away").routes, { provider: "west", model: "away", priority: 2 }] },
  { name: "limited", routes: secondBehind("limited") },
  { name: "hanging", routes: secondBehind("hanging") },
  alone("left-hanging"),
  { name: "poor-first", routes: secondBehind("poor") },
  { name: "small", routes: alone("down").routes, price: [0.001, 0.001], more: "fallback: [spare]" },
  {
    name: "spare",
    routes: [{ provider: "south", model: "plain" }],
    price: [0.01, 0.02],
    maxOutputTokens: 50
  },
  { name: "short", routes: secondBehind("long"), more: "context_fallback: [long, spare]" },
  alone("patient", { more: "first_byte_timeout: 10 minutes\n    response_timeout: 30 minutes" })
]

const scripts: Readonly<Record<string, ReadonlyArray<Scripted>>> = {
  down: [failure(500)],
  unknown: [failure(404)],
  away: [failure(429, { "retry-after": "60" })],
  busy: [failure(429, { "retry-after-ms": "1500" })],
  limited: [failure(429, { "retry-after": "60" }), ok],
  hanging: [{ silent: true }],
  "left-hanging": [{ silent: true }],
  patient: [{ silent: true }],
  poor: [poor],
  long: [tooLong]
}

layer(gatewayServer(models, {}, "usual").pipe(Layer.provideMerge(telemetryRecorder)))(
  "A provider that fails",
  (it) => {
    /** Resets the providers, so that they have received nothing. */
    const provider = Effect.map(Providers, ({ north, west }) => {
      for (const [model, script] of Object.entries(scripts)) {
        north.scripts.set(model, script)
        if (model === "away") west.scripts.set(model, [failure(429, { "retry-after": "7" })])
      }
      north.received.length = 0
      return north
    })

    const logged = (text: string) =>
      Effect.map(TelemetryRecorder, ({ lines }) => lines.filter((line) => line.includes(`"${text}"`)))

    for (const [fault, script] of Object.entries(passing)) {
      it.effect(`The only provider is asked again after it fails for a moment: ${fault}`, () =>
        Effect.gen(function* () {
          const { key } = yield* spender()
          const north = yield* provider
          const stream = script.frames !== undefined
          const plain = stream
            ? { frames: ['data: {"choices":[{"delta":{"content":"Hi"},"finish_reason":"stop"}]}\n\n'] }
            : ok
          north.scripts.set("moment", [script, plain])
          const answer = yield* inTime(chat(key, { model: "moment", stream }), 25)
          assert.strictEqual(answer.status, 200, answer.text)
          assert.notInclude(answer.text, "error")
          assert.deepInclude(yield* newestCall(key), { attempts: 2, provider: "north", error: null })
        })
      )
    }

    it.effect("A provider that fails three times is 502, which no client library retries, and is free", () =>
      Effect.gen(function* () {
        const { agentId, key } = yield* spender()
        const north = yield* provider
        for (const call of [chat(key, { model: "down" }), message(key, { model: "down" })]) {
          north.received.length = 0
          const answer = yield* inTime(call, 25)
          assert.strictEqual(answer.status, 502)
          assert.strictEqual(answer.headers.get("x-should-retry"), "false")
          assert.strictEqual(north.received.length, 3)
          assert.notInclude(answer.text, "upstream-")
        }
        assert.deepStrictEqual(yield* stateOf(`agent:${agentId}`), { posted: 100_000_000n, held: 0n })
        const { json } = yield* get("/api/v1/llm/usage", { token: key })
        assert.strictEqual(member(json, "totals", "failed_calls"), 2)
      })
    )

    it.effect("A provider that fails for long is asked once, and client libraries may try again", () =>
      Effect.gen(function* () {
        const { key } = yield* spender()
        const north = yield* provider
        const answer = yield* chat(key, { model: "unknown" })
        assert.strictEqual(answer.status, 502)
        assert.isNull(answer.headers.get("x-should-retry"))
        assert.strictEqual(north.received.length, 1)
      })
    )

    it.effect("A limit that lasts longer than a call waits is 429 with the least Retry-After of all", () =>
      Effect.gen(function* () {
        const { key } = yield* spender()
        const north = yield* provider
        const one = yield* chat(key, { model: "away" })
        assert.deepStrictEqual([one.status, one.headers.get("retry-after")], [429, "60"])
        assert.isNull(one.headers.get("x-should-retry"))
        assert.strictEqual(north.received.length, 1)
        const two = yield* message(key, { model: "two-busy" })
        assert.deepStrictEqual([two.status, two.headers.get("retry-after")], [429, "7"])
        assert.strictEqual(two.json["code"], "upstreams_busy")
        const short = yield* inTime(chat(key, { model: "busy" }), 25)
        assert.deepStrictEqual([short.status, short.headers.get("retry-after")], [429, "2"])
        assert.deepInclude(yield* newestCall(key), { attempts: 3 })
      })
    )

    it.effect("A provider whose limit is reached is not asked again until its Retry-After", () =>
      Effect.gen(function* () {
        const { key } = yield* spender()
        const north = yield* provider
        const requestsAfterCall = Effect.map(chat(key, { model: "limited" }), ({ status }) => {
          assert.strictEqual(status, 200)
          return north.received.length
        })
        assert.strictEqual(yield* requestsAfterCall, 1)
        assert.strictEqual(yield* requestsAfterCall, 1)
        yield* TestClock.adjust("61 seconds")
        assert.strictEqual(yield* requestsAfterCall, 2)
        assert.deepInclude(yield* newestCall(key), { attempts: 1, provider: "north" })
      })
    )

    it.effect("A silent provider is given up for the next one before any client library gives up", () =>
      Effect.gen(function* () {
        const { key } = yield* spender()
        const north = yield* provider
        const calling = yield* Effect.forkChild(chat(key, { model: "hanging" }))
        yield* until(() => north.received.length === 1)
        yield* TestClock.adjust("5 minutes")
        assert.strictEqual((yield* Fiber.join(calling)).status, 200)
        assert.deepInclude(yield* newestCall(key), { attempts: 2, provider: "west" })
      })
    )

    it.effect("A silence that makes a client leave costs nothing, and counts as the provider's failure", () =>
      Effect.gen(function* () {
        const north = yield* provider
        const failures = () =>
          Effect.map(logged("a provider failed"), (lines) =>
            lines.filter((line) => line.includes("left-hanging"))
          )
        const leaving = Effect.fnUntraced(function* (stream: boolean) {
          const { agentId, key } = yield* spender()
          const before = north.received.length
          const calling = yield* Effect.forkChild(chat(key, { model: "left-hanging", stream }))
          yield* until(() => north.received.length > before)
          yield* TestClock.adjust("119 seconds")
          yield* Fiber.interrupt(calling)
          // The gateway awaits a whole answer even so.
          if (!stream) yield* TestClock.adjust("5 minutes")
          const status = member(yield* settledCall(key), "status")
          return [status, (yield* stateOf(`agent:${agentId}`)).posted] as const
        })
        const [status, posted] = yield* leaving(true)
        assert.strictEqual(status, 499)
        assert.isTrue(posted < 100_000_000n)
        assert.lengthOf(yield* failures(), 0)
        assert.deepStrictEqual(yield* leaving(false), [502, 100_000_000n])
        const [line = ""] = yield* failures()
        assert.include(line, '"outcome":"timeout"')
      })
    )

    it.effect("A silent provider is waited for as long as its model's settings say", () =>
      Effect.gen(function* () {
        const { key } = yield* spender()
        const north = yield* provider
        const calling = yield* Effect.forkChild(chat(key, { model: "patient" }))
        yield* until(() => north.received.length === 1)
        yield* TestClock.adjust("29 minutes")
        assert.isUndefined(calling.pollUnsafe())
        yield* TestClock.adjust("1 minute")
        assert.strictEqual((yield* Fiber.join(calling)).status, 502)
      })
    )

    it.effect("A failure by the operator's fault is told to the operator and never to agents", () =>
      Effect.gen(function* () {
        const { key } = yield* spender()
        yield* provider
        const served = yield* chat(key, { model: "poor-first" })
        assert.strictEqual(served.status, 200, served.text)
        const line = (yield* logged("a provider failed")).find((each) =>
          each.includes('"model":"poor-first"')
        )
        assert.include(line, '"reason":"credit"')
        const only = yield* chat(key, { model: "poor" })
        assert.strictEqual(only.status, 502)
        assert.deepInclude(yield* newestCall(key), { error: "upstreams_failed", cost: 0, attempts: 1 })
        for (const text of [only.text, line ?? ""]) assert.notInclude(text, "upstream-secret")
      })
    )

    it.effect("A failure is logged, also of a pinned provider, and so is a rejection, by its code", () =>
      Effect.gen(function* () {
        const { key } = yield* spender()
        yield* provider
        assert.strictEqual((yield* chat(key, { model: "north/unknown" })).status, 502)
        const failed = yield* logged("a provider failed")
        assert.include(failed.at(-1), '"outcome":"status_404"')
        assert.strictEqual((yield* chat(key, { model: "north/long" })).status, 400)
        const rejected = (yield* logged("a provider rejected a call")).at(-1)
        assert.include(rejected, '"code":"context_length_exceeded"')
        assert.notInclude(rejected, "maximum context length")
      })
    )

    it.effect("Another model stands in for a failing one if the file says so, at its own price", () =>
      Effect.gen(function* () {
        const { agentId, key } = yield* spender()
        yield* provider
        const answer = yield* inTime(chat(key, { model: "small" }), 25)
        assert.strictEqual(answer.status, 200, answer.text)
        assert.strictEqual(answer.json["model"], "spare")
        assert.deepInclude(yield* newestCall(key), { model: "small", served_model: "spare", attempts: 4 })
        // 25 x 0.01 + 9 x 0.02
        const cost = 430_000n
        assert.strictEqual((yield* stateOf(`agent:${agentId}`)).posted, 100_000_000n - cost)
        // The spare model may not generate as many tokens, so it cannot stand in.
        const long = yield* inTime(chat(key, { model: "small", max_tokens: 60 }), 25)
        assert.strictEqual(long.status, 502)
      })
    )

    it.effect("The reservation covers the models that may stand in, or the call is not made", () =>
      Effect.gen(function* () {
        const { key } = yield* spender(1)
        const north = yield* provider
        const answer = yield* chat(key, { model: "small" })
        assert.strictEqual(answer.status, 402)
        assert.strictEqual(north.received.length, 0)
      })
    )

    it.effect("A provider with too short a context is asked once, and another model stands in", () =>
      Effect.gen(function* () {
        const { key } = yield* spender()
        const north = yield* provider
        const answer = yield* chat(key, { model: "short" })
        assert.strictEqual(answer.status, 200, answer.text)
        assert.deepInclude(yield* newestCall(key), { served_model: "spare", provider: "south", attempts: 3 })
        assert.strictEqual(north.received.length, 2)
        const none = yield* chat(key, { model: "long" })
        assert.strictEqual(none.status, 400)
        assert.strictEqual(member(none.json, "error", "code"), "context_length_exceeded")
        // Clients of messages recognise it by these words.
        const told = yield* message(key, { model: "long" })
        assert.match(
          String(member(told.json, "error", "message")),
          /^prompt is too long: This model's maximum/
        )
      })
    )

    const calls = breadth(100, 5000)

    it.effect("A failure of one call in ten, at random, is seen by at most two agents in a thousand", () =>
      Effect.gen(function* () {
        const { key } = yield* spender(10_000)
        const north = yield* provider
        const faults = [failure(500), failure(529), failure(429, { "retry-after": "1" }), { reset: true }]
        const script: Array<Scripted> = []
        for (let call = 0; call < 2 * calls; call++) {
          const isFault = (yield* Random.next) < 0.1
          script.push(isFault ? yield* Random.choice(faults) : ok)
        }
        north.scripts.set("flaky", script)
        let failed = 0
        for (let call = 0; call < calls; call++) {
          if ((yield* chat(key, { model: "flaky" })).status !== 200) failed += 1
        }
        assert.isAtMost(failed, calls * 0.002)
      }).pipe((calling) => inTime(calling, 25), Random.withSeed("one in ten"))
    )
  }
)
