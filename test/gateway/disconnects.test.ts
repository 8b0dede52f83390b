/** Clients that leave, and secrets that nobody may see. */
import { connect } from "node:net"
import { assert, layer } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { Audit } from "../../src/services/Audit.ts"
import {
  canary,
  chat,
  chatPath,
  gatewayServer,
  inTime,
  message,
  Providers,
  spender,
  settledCall
} from "../support/gateway.ts"
import type { TestModel } from "../support/gateway.ts"
import { stateOf } from "../support/credit.ts"
import { TelemetryRecorder, telemetryRecorder, spanText } from "../support/telemetryRecorder.ts"
import { get, member, metrics, post, TestServer } from "../support/server.ts"
import { chunk, delta, frameOf } from "../support/providerStreams.ts"
import { until } from "../support/waiting.ts"

const models: ReadonlyArray<TestModel> = [
  { name: "paced", routes: [{ provider: "north", model: "gap:15" }] },
  { name: "slow", routes: [{ provider: "north", model: "wait:3000" }] },
  { name: "plain", routes: [{ provider: "north", model: "plain" }] },
  { name: "down", routes: [{ provider: "north", model: "status:500" }] },
  { name: "refusing", routes: [{ provider: "south", model: "status:400" }] },
  ...["late-usage", "no-usage"].map((name): TestModel => ({
    name,
    routes: [{ provider: "north", model: name }],
    price: [0.000_001, 0.000_002],
    maxOutputTokens: 2000
  }))
]

/** The answer is short, after much hidden reasoning. */
const finished = [
  delta({ role: "assistant", content: "" }),
  delta({ content: "42" }),
  delta({}, "stop"),
  chunk({ choices: [], usage: { prompt_tokens: 1000, completion_tokens: 500 } }),
  frameOf("[DONE]")
]

const prompt = "canary-prompt-5f1c"

/** Sends a call and hangs up after this many bytes of the answer; with 0, once its provider has the call. */
const leaveAfter = Effect.fnUntraced(function* (key: string, model: string, bytes: number, stream: boolean) {
  const { port } = yield* TestServer
  const { received: sent } = (yield* Providers).north
  const before = sent.length
  const body = JSON.stringify({ model, stream, messages: [{ role: "user", content: prompt }] })
  const socket = connect(port, "127.0.0.1", () =>
    socket.write(
      `POST ${chatPath} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${key}\r\nContent-Type: application/json\r\nContent-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`
    )
  )
  yield* bytes === 0
    ? until(() => sent.length > before)
    : Effect.callback<void>((resume) => {
        let received = 0
        socket.on("data", (chunk) => {
          received += chunk.length
          if (received >= bytes) resume(Effect.void)
        })
      })
  socket.destroy()
})

layer(gatewayServer(models, {}, "usual").pipe(Layer.provideMerge(telemetryRecorder)))(
  "A client that leaves",
  (it) => {
    /** The metric of attempts that clients left. */
    const attemptsLeft = (model: string) =>
      Effect.map(metrics, (text) =>
        Number(
          new RegExp(
            `^auspex_gateway_attempts_total\\{[^}]*model="${model}"[^}]*outcome="left"\\} (\\d+)$`,
            "m"
          ).exec(text)?.[1] ?? 0
        )
      )

    it.effect("A client that leaves before a whole answer pays what its provider reports in the end", () =>
      Effect.gen(function* () {
        const { agentId, key } = yield* spender()
        const { north } = yield* Providers
        const before = north.aborted
        yield* leaveAfter(key, "slow", 0, false)
        const item = yield* settledCall(key)
        assert.deepInclude(item, { status: 499, error: "client_left", provider: "north", estimated: false })
        assert.isAbove(Number(member(item, "completion_tokens")), 0)
        assert.strictEqual(north.aborted, before)
        const cost = BigInt(Math.round(Number(member(item, "cost")) * 1e6))
        assert.deepStrictEqual(yield* stateOf(`agent:${agentId}`), {
          posted: 100_000_000n - cost,
          held: 0n
        })
      })
    )

    it.effect.each([
      ["after the first byte of a stream", "paced", 1, true],
      ["after a part of a stream", "paced", 900, true],
      ["before the last chunk", "paced", 1800, true]
    ] as const)(
      "A client that leaves %s pays its part and cancels the provider",
      ([, model, bytes, stream]) =>
        Effect.gen(function* () {
          const { agentId, key } = yield* spender()
          const { north } = yield* Providers
          const before = north.aborted
          const counted = yield* attemptsLeft(model)
          yield* leaveAfter(key, model, bytes, stream)
          const item = yield* settledCall(key)
          assert.deepInclude(item, { status: 499, error: "client_left", provider: "north", estimated: true })
          assert.isAbove(Number(member(item, "prompt_tokens")), 0)
          if (bytes > 500) assert.isAbove(Number(member(item, "completion_tokens")), 0)
          const cost = Math.round(Number(member(item, "cost")) * 1e6)
          assert.isAbove(cost, 0)
          assert.deepStrictEqual(yield* stateOf(`agent:${agentId}`), {
            posted: 100_000_000n - BigInt(cost),
            held: 0n
          })
          yield* until(() => north.aborted > before)
          assert.strictEqual(yield* attemptsLeft(model), counted + 1)
          assert.deepStrictEqual((yield* Audit.use(({ verifyLedger }) => verifyLedger)).differences, [])
        })
    )

    /** Hangs up once the stream has declared its end. */
    const leaveAtFinish = Effect.fnUntraced(function* (key: string, model: string) {
      const { url } = yield* TestServer
      yield* Effect.promise(async () => {
        const left = new AbortController()
        const response = await fetch(url + chatPath, {
          method: "POST",
          signal: left.signal,
          headers: { "content-type": "application/json", authorization: `Bearer ${key}` },
          body: JSON.stringify({
            model,
            stream: true,
            messages: [{ role: "user", content: "x".repeat(1000) }]
          })
        })
        let text = ""
        for await (const bytes of response.body ?? []) {
          text += Buffer.from(bytes).toString()
          if (text.includes('"stop"')) break
        }
        left.abort()
      })
    })

    it.effect("A client that leaves after the end of its answer pays the usage that follows", () =>
      Effect.gen(function* () {
        const { agentId, key } = yield* spender()
        const { north } = yield* Providers
        north.scripts.set("late-usage", [{ frames: finished, pause: 30 }])
        yield* leaveAtFinish(key, "late-usage")
        const item = yield* settledCall(key)
        assert.deepInclude(item, {
          prompt_tokens: 1000,
          completion_tokens: 500,
          cost: 0.002,
          estimated: false
        })
        assert.deepStrictEqual(yield* stateOf(`agent:${agentId}`), { posted: 99_998_000n, held: 0n })
      })
    )

    it.effect("A client that leaves at the end is not waited for longer than its usage may take", () =>
      Effect.gen(function* () {
        const { key } = yield* spender()
        const { north } = yield* Providers
        const aborted = north.aborted
        north.scripts.set("no-usage", [{ frames: finished.slice(0, 3), silent: true }])
        yield* leaveAtFinish(key, "no-usage")
        const item = yield* inTime(settledCall(key), 25)
        assert.deepInclude(item, { error: "client_left", completion_tokens: 1, estimated: true })
        yield* until(() => north.aborted > aborted)
      })
    )

    it.effect("A call that no gateway accepts is rejected with a message, whatever is wrong with it", () =>
      Effect.gen(function* () {
        const { key } = yield* spender()
        const big = { model: "plain", messages: [{ role: "user", content: "x".repeat(10 * 1024 * 1024) }] }
        const refused = [
          [yield* post(chatPath, { token: key, json: big }), 413],
          [
            yield* post(chatPath, {
              token: key,
              body: "{",
              headers: { "content-type": "application/json" }
            }),
            400
          ],
          [yield* post(chatPath, { token: key, body: "{}", headers: { "content-type": "text/plain" } }), 415],
          [
            yield* post(chatPath, {
              token: key,
              body: "{}",
              headers: { "content-type": "application/json", "content-encoding": "gzip" }
            }),
            415
          ],
          [yield* chat(key, { model: "plain", max_tokens: -1 }), 400],
          [yield* chat(key, { model: "plain", max_tokens: 101 }), 400],
          [yield* chat(key, { model: "plain", n: 0 }), 400],
          [yield* chat(key, { model: 5 }), 400]
        ] as const
        for (const [answer, status] of refused) {
          assert.strictEqual(answer.status, status, answer.text.slice(0, 300))
          assert.isString(member(answer.json, "error", "message"))
          assert.isString(answer.json["detail"])
        }
        assert.strictEqual((yield* chat(key, { model: "plain", n: 3 })).status, 200)
      })
    )

    it.effect("No response, log, metric or trace has a provider's key, a prompt or an answer", () =>
      Effect.gen(function* () {
        const { key } = yield* spender()
        const texts: Array<string> = []
        const messages = [{ role: "user", content: prompt }]
        for (const model of ["plain", "down", "refusing", "paced"]) {
          for (const stream of [false, true]) {
            const request = { model, stream, messages }
            const answers = Effect.all([chat(key, request), message(key, request)])
            for (const answer of yield* inTime(answers, 25)) {
              texts.push(JSON.stringify([...answer.headers]), answer.text)
            }
          }
        }
        texts.push(yield* metrics, (yield* get("/api/v1/llm/v1/models", { token: key })).text)
        for (const text of texts) {
          assert.notInclude(text, canary)
          assert.notInclude(text, "127.0.0.1")
        }
        const { lines, spans } = yield* TelemetryRecorder
        const kept = [...lines, ...spans.map(spanText)]
        for (const text of [...kept, yield* metrics]) {
          for (const secret of [canary, prompt, "quick ", key]) assert.notInclude(text, secret)
        }
      })
    )
  }
)
