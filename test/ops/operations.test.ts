/** The questions of an instance's operators to it, and their cost when others ask. */
import { Agent, METHODS, request } from "node:http"
import { assert, layer } from "@effect/vitest"
import { Effect, Layer, Option } from "effect"
import { TestClock } from "effect/testing"
import * as operations from "../../src/http/operations.ts"
import { knownPath } from "../../src/http/routes.ts"
import { Health } from "../../src/services/Health.ts"
import { Settings } from "../../src/services/Settings.ts"
import { isFull } from "../support/breadth.ts"
import { everyPath } from "../support/routes.ts"
import { get, member, metrics, testServer, TestServer } from "../support/server.ts"
import { timePerRequest } from "../support/requestCost.ts"

const place = { host: "127.0.0.1", port: Option.some(0), progress: () => "waits for a test" }

/** The listener, and its answers before an instance has started. */
const listening = Layer.unwrap(Effect.map(Settings, (rules) => operations.layer({ ...place, rules })))

const server = Layer.effectDiscard(
  Effect.gen(function* () {
    const { attend } = yield* operations.Operations
    yield* attend(yield* Health)
  })
).pipe(Layer.provideMerge(listening), Layer.provideMerge(testServer()))

const answerOf = Effect.fnUntraced(function* (path: string, method = "GET") {
  const { url } = yield* operations.Operations
  return yield* Effect.promise(async () => {
    const response = await fetch(`${url}${path}`, { method })
    return { status: response.status, headers: response.headers, text: await response.text() }
  })
})

const agent = new Agent({ keepAlive: true, maxSockets: 4 })

/** Asks by any method, also by those that fetch does not send. */
const status = Effect.fnUntraced(function* (method: string, path: string) {
  const { port } = yield* TestServer
  return yield* Effect.callback<number>((resume) => {
    const sent = request({ agent, port, host: "127.0.0.1", method, path }, (response) => {
      response.resume().on("end", () => resume(Effect.succeed(response.statusCode ?? 0)))
    })
    sent.end()
  })
})

/** A tunnel is no request. */
const methods = METHODS.filter((method) => method !== "CONNECT")

const linesOf = (text: string) => text.split("\n").length
/** Buckets, the sum and the count of a histogram. */
const linesOfHistogram = 16

layer(server)("The listener for operations", (it) => {
  it.effect("The listener has metrics and health, and a 404 in JSON for everything else", () =>
    Effect.gen(function* () {
      // One request has been measured then.
      yield* get("/health/live")
      const told = yield* answerOf("/metrics")
      assert.strictEqual(told.status, 200)
      assert.match(String(told.headers.get("content-type")), /^text\/plain; version=0\.0\.4/)
      assert.match(told.text, /^# TYPE auspex_/m)
      for (const path of ["/health/live", "/health/ready"]) {
        const here = yield* answerOf(path)
        const there = yield* get(path)
        assert.deepStrictEqual([here.status, here.text], [there.status, there.text])
      }
      assert.strictEqual((yield* answerOf("/metrics", "HEAD")).text, "")
      for (const [path, method] of [
        ["/", "GET"],
        ["/docs", "GET"],
        ["/api/v1/events", "GET"],
        ["/metrics", "POST"]
      ] as const) {
        const answer = yield* answerOf(path, method)
        assert.strictEqual(answer.status, 404, path)
        assert.strictEqual(member(JSON.parse(answer.text), "code"), "not_found")
      }
    })
  )

  it.effect("The listener is the only one that has metrics", () =>
    Effect.gen(function* () {
      assert.strictEqual((yield* get("/metrics")).status, 404)
    })
  )

  it.effect("The listener makes the text of metrics at most once a second", () =>
    Effect.gen(function* () {
      yield* TestClock.adjust("1 second")
      const first = yield* answerOf("/metrics")
      yield* get("/health/live")
      assert.strictEqual((yield* answerOf("/metrics")).text, first.text)
      yield* TestClock.adjust("1 second")
      assert.notStrictEqual((yield* answerOf("/metrics")).text, first.text)
    })
  )

  it.effect(
    "The listener says at once that the instance shuts down, though health is kept for a second",
    () =>
      Effect.gen(function* () {
        assert.strictEqual((yield* answerOf("/health/ready")).status, 200)
        yield* Health.use(({ drain }) => drain)
        assert.strictEqual((yield* answerOf("/health/ready")).status, 503)
        assert.strictEqual((yield* answerOf("/health/live")).status, 200)
      })
  )
})

layer(listening.pipe(Layer.provideMerge(testServer())))("The listener for operations of a start", (it) => {
  it.effect("The listener of a start is live, has metrics, and is not ready, for the start's reason", () =>
    Effect.gen(function* () {
      assert.strictEqual((yield* answerOf("/health/live")).status, 200)
      assert.strictEqual((yield* answerOf("/metrics")).status, 200)
      const ready = yield* answerOf("/health/ready")
      assert.strictEqual(ready.status, 503)
      assert.deepStrictEqual<unknown>(JSON.parse(ready.text), {
        status: "not_ready",
        checks: [{ name: "starting", ok: false, reason: "waits for a test" }]
      })
    })
  )
})

layer(testServer())("Metrics of requests", (it) => {
  it.effect("Metrics of requests grow by at most two series a path beside its own methods", () =>
    Effect.gen(function* () {
      const before = linesOf(yield* metrics)
      const sendAll = (paths: ReadonlyArray<string>) =>
        Effect.forEach(
          paths.flatMap((path) =>
            methods
              .filter((method) => knownPath(path)?.methods.has(method) !== true)
              .map((method) => [method, path] as const)
          ),
          ([method, path]) => status(method, path),
          { concurrency: 4 }
        )
      const statuses = yield* sendAll(everyPath)
      assert.isAbove(statuses.filter((each) => each === 405).length, everyPath.length * 25)
      const grown = linesOf(yield* metrics) - before
      // The additions are 405 and 204, both of other methods, and the two lines that describe a metric.
      assert.isAtMost(grown, everyPath.length * 2 * linesOfHistogram + 2)
      yield* sendAll(everyPath.slice(0, 10))
      assert.strictEqual(linesOf(yield* metrics), before + grown)
      assert.notMatch(yield* metrics, /method="(PROPFIND|OPTIONS|TRACE)"/)
    })
  )
})

layer(server)("The cost of documents, metrics and readiness", (it) => {
  it.effect.runIf(isFull)("A document, metrics and readiness cost a small multiple of /health/live", () =>
    Effect.gen(function* () {
      const { url } = yield* TestServer
      const { url: operationsUrl } = yield* operations.Operations
      const live = yield* timePerRequest(`${url}/health/live`)
      const brotli = { "accept-encoding": "br" }
      for (const [address, headers, most] of [
        [`${url}/docs`, brotli, 20],
        [`${url}/docs`, {}, 40],
        [`${url}/openapi.json`, brotli, 10],
        [`${url}/health/ready`, {}, 10],
        [`${operationsUrl}/metrics`, {}, 10]
      ] as const) {
        const time = yield* timePerRequest(address, headers)
        assert.isBelow(time / live, most, `${address} ${JSON.stringify(headers)}`)
      }
    })
  )
})
