import { assert, layer } from "@effect/vitest"
import { Clock, Effect, Layer } from "effect"
import { TestClock } from "effect/testing"
import { Health } from "../../src/services/Health.ts"
import { TelemetryRecorder, telemetryRecorder } from "../support/telemetryRecorder.ts"
import { get, member, metrics, testServer } from "../support/server.ts"
import type { Answer } from "../support/server.ts"

const scopes = "/api/v1/public/prediction-scopes"

/** Real time is where drift begins. Set before anything sleeps by the clock, for waking it all again takes its time. */
const now = Layer.effectDiscard(
  Effect.flatMap(TestClock.withLive(Clock.currentTimeMillis), (millis) => TestClock.setTime(millis))
)

/** The reasons by the name of the check, of those that are not well. */
const complaints = ({ json }: Answer): Readonly<Record<string, unknown>> => {
  const checks = json["checks"]
  assert(Array.isArray(checks))
  return Object.fromEntries(
    checks
      .filter((check) => member(check, "ok") !== true)
      .map((check) => [String(member(check, "name")), member(check, "reason")])
  )
}

layer(testServer().pipe(Layer.provideMerge(now)))("Health", (it) => {
  it.effect("is live, and ready with the state of every check", () =>
    Effect.gen(function* () {
      const live = yield* get("/health/live")
      assert.deepStrictEqual([live.status, live.json], [200, { status: "live" }])
      const ready = yield* get("/health/ready")
      assert.strictEqual(ready.status, 200)
      assert.deepStrictEqual(ready.json, {
        status: "ready",
        checks: ["database", "migrations", "clock_drift", "log", "prices", "draining"].map((name) => ({
          name,
          ok: true,
          reason: null
        }))
      })
    })
  )

  it.effect.each([4, -4])(
    "a clock that is %d s off the database server's is not ready, and says why",
    (seconds) =>
      Effect.gen(function* () {
        const measured = Effect.gen(function* () {
          yield* Health.use(({ measureClockDrift }) => measureClockDrift)
          return yield* get("/health/ready")
        })
        const real = yield* TestClock.withLive(Clock.currentTimeMillis)
        yield* TestClock.setTime(real + (seconds * 1000) / 4)
        assert.strictEqual((yield* measured).status, 200)
        yield* TestClock.setTime(real + seconds * 1000)
        const off = yield* measured
        assert.strictEqual(off.status, 503)
        assert.strictEqual(off.json["status"], "not_ready")
        assert.match(
          String(complaints(off)["clock_drift"]),
          /^-?[345]\.\d s between this clock and the database server's$/
        )
        assert.match(yield* metrics, /^auspex_clock_drift_seconds -?[345]\./m)
        // It is for the balancer to take it out; who asks is answered.
        assert.strictEqual((yield* get(scopes)).status, 200)
        yield* TestClock.setTime(yield* TestClock.withLive(Clock.currentTimeMillis))
        assert.strictEqual((yield* measured).status, 200)
      })
  )
})

layer(testServer())("An instance that is to stop", (it) => {
  it.effect("is not ready at first, and still serves on connections that it asks to close", () =>
    Effect.gen(function* () {
      assert.isNull((yield* get(scopes)).headers.get("connection")?.match(/close/) ?? null)
      yield* Health.use(({ drain }) => drain)
      assert.strictEqual((yield* get("/health/live")).status, 200)
      const ready = yield* get("/health/ready")
      assert.strictEqual(ready.status, 503)
      assert.deepStrictEqual(complaints(ready), { draining: "shutting down" })
      const served = yield* get(scopes)
      assert.strictEqual(served.status, 200)
      assert.strictEqual(served.headers.get("connection"), "close")
    })
  )

  it.effect("is live, and asks callers of the API to try again, once it takes nothing new", () =>
    Effect.gen(function* () {
      yield* Health.use(({ stop }) => stop)
      assert.strictEqual((yield* get("/health/live")).status, 200)
      assert.strictEqual((yield* get("/health/ready")).status, 503)
      for (const path of [scopes, "/api/v1/agent/profile/self", "/nothing"]) {
        const refused = yield* get(path)
        assert.strictEqual(refused.status, 503)
        assert.strictEqual(refused.json["code"], "unavailable")
        assert.strictEqual(refused.headers.get("retry-after"), String(refused.json["retry_after"]))
      }
    })
  )
})

layer(testServer().pipe(Layer.provideMerge(telemetryRecorder)))("Health that many ask for", (it) => {
  it.effect("costs the database one set of statements a second, and being live none", () =>
    Effect.gen(function* () {
      const { spans } = yield* TelemetryRecorder
      const statements = () => spans.filter((span) => span.attributes.has("db.query.text")).length
      const costOf = Effect.fnUntraced(function* (path: string) {
        const before = statements()
        yield* Effect.all(
          Array.from({ length: 10 }, () => get(path)),
          { concurrency: "unbounded" }
        )
        return statements() - before
      })
      yield* TestClock.adjust("1 second")
      const first = yield* costOf("/health/ready")
      assert.strictEqual(first, 2)
      assert.strictEqual(yield* costOf("/health/ready"), 0)
      yield* TestClock.adjust("1 second")
      assert.strictEqual(yield* costOf("/health/ready"), first)
      assert.strictEqual(yield* costOf("/health/live"), 0)
    })
  )
})
