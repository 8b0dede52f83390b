import { assert, describe, it, layer } from "@effect/vitest"
import { DateTime, Effect, Fiber, Layer, Redacted } from "effect"
import type { Duration } from "effect"
import { SqlClient } from "effect/sql"
import { TestClock } from "effect/testing"
import { cachedSteadily } from "../../src/services/domain/steadyCache.ts"
import { Health } from "../../src/services/Health.ts"
import { freshDatabase, ownersUrl, poolOn } from "../support/database.ts"
import { withDatabaseAt } from "../support/databaseTime.ts"
import { logSigner } from "../support/logSigner.ts"
import { mailbox } from "../support/mailbox.ts"
import { gatewayOf, services } from "../support/services.ts"
import { settings } from "../support/settings.ts"
import { TelemetryRecorder, telemetryRecorder } from "../support/telemetryRecorder.ts"
import { get, member, metrics, testServer } from "../support/server.ts"
import type { Answer } from "../support/server.ts"

const scopes = "/api/v1/public/prediction-scopes"

/** The reasons of the failed checks, by name. */
const complaints = ({ json }: Answer): Readonly<Record<string, unknown>> => {
  const checks = json["checks"]
  assert(Array.isArray(checks))
  return Object.fromEntries(
    checks
      .filter((check) => member(check, "ok") !== true)
      .map((check) => [String(member(check, "name")), member(check, "reason")])
  )
}

layer(testServer())("Health", (it) => {
  it.effect("An instance is live, and ready with the state of every check", () =>
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
    "An instance whose clock is %d s off the database's is not ready, and says why",
    (seconds) =>
      Effect.gen(function* () {
        const now = yield* DateTime.now
        const measuredAt = Effect.fnUntraced(function* (ahead: number) {
          yield* Health.use(({ measureClockDrift }) => measureClockDrift).pipe(
            withDatabaseAt(DateTime.subtract(now, { seconds: ahead }))
          )
          return yield* get("/health/ready")
        })
        assert.strictEqual((yield* measuredAt(seconds / 4)).status, 200)
        const off = yield* measuredAt(seconds)
        assert.strictEqual(off.status, 503)
        assert.strictEqual(off.json["status"], "not_ready")
        assert.strictEqual(
          complaints(off)["clock_drift"],
          `${seconds}.0 s between this clock and the database server's`
        )
        assert.match(yield* metrics, new RegExp(`^auspex_clock_drift_seconds ${seconds}$`, "m"))
        // The balancer takes the instance out; requests to it are answered.
        assert.strictEqual((yield* get(scopes)).status, 200)
        assert.strictEqual((yield* measuredAt(0)).status, 200)
      })
  )
})

/** The pool behaves as at a primary that was demoted. */
const readOnlyPool = Layer.unwrap(
  Effect.gen(function* () {
    const url = yield* freshDatabase
    const name = new URL(Redacted.value(url)).pathname.slice(1)
    yield* SqlClient.SqlClient.use((sql) =>
      sql.unsafe(`alter database ${name} set default_transaction_read_only = on`)
    ).pipe(Effect.provide(poolOn(ownersUrl(url))))
    return poolOn(url)
  })
)

const readOnlyServices = gatewayOf().pipe(
  Layer.provideMerge(services),
  Layer.provideMerge(Layer.mergeAll(Layer.orDie(readOnlyPool), settings(), mailbox, logSigner()))
)

layer(testServer({ services: readOnlyServices }))("A server that takes no writes", (it) => {
  it.effect("An instance on a server without writes is not ready, says why, and answers 503", () =>
    Effect.gen(function* () {
      const ready = yield* get("/health/ready")
      assert.strictEqual(ready.status, 503)
      assert.deepStrictEqual(complaints(ready), {
        database: "the server takes no writes: it is a standby, or was made read-only"
      })
      const refused = yield* get(scopes)
      assert.deepStrictEqual([refused.status, refused.json["code"]], [503, "unavailable"])
    })
  )
})

layer(testServer())("An instance that is to stop", (it) => {
  it.effect("An instance that is to stop is not ready at first, and still serves connections", () =>
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

  it.effect("An instance that takes nothing new is live, and asks callers of the API to try again", () =>
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

describe("Answers that are kept for a second", () => {
  it.effect("A kept answer is shared by all who wait for it, however long it took, be it a failure", () =>
    Effect.gen(function* () {
      for (const [pause, result] of [
        ["3 seconds", Effect.succeed("well")],
        ["1 second", Effect.succeed("well")],
        ["1 minute", Effect.fail("ill")],
        ["0 seconds", Effect.fail("ill")]
      ] as const) {
        let runs = 0
        const slow = Effect.andThen(
          Effect.andThen(
            Effect.sync(() => (runs += 1)),
            Effect.sleep(pause)
          ),
          result
        )
        const kept = yield* cachedSteadily(slow, "1 second")
        const callers = yield* Effect.forkChild(
          Effect.all(
            Array.from({ length: 10 }, () => Effect.exit(kept)),
            { concurrency: "unbounded" }
          )
        )
        yield* TestClock.adjust(pause)
        const exits = yield* Fiber.join(callers)
        assert.deepStrictEqual([runs, new Set(exits.map(String)).size], [1, 1])
        yield* TestClock.adjust("1 second")
        const later = yield* Effect.forkChild(Effect.exit(kept))
        yield* TestClock.adjust(pause)
        yield* Fiber.join(later)
        assert.strictEqual(runs, 2)
      }
    })
  )

  it.effect("A kept answer is found anew after one who waited has hung up", () =>
    Effect.gen(function* () {
      const kept = yield* cachedSteadily(Effect.as(Effect.sleep("3 seconds"), "well"), "1 second")
      const first = yield* Effect.forkChild(kept)
      yield* TestClock.adjust("1 second")
      yield* Fiber.interrupt(first)
      const second = yield* Effect.forkChild(kept)
      yield* TestClock.adjust("3 seconds")
      assert.strictEqual(yield* Fiber.join(second), "well")
    })
  )
})

layer(testServer().pipe(Layer.provideMerge(telemetryRecorder)))("The cost of health", (it) => {
  it.effect("Health costs the database one set of statements a second, and being live none", () =>
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
      const costAfter = (pause: Duration.Input) =>
        Effect.andThen(TestClock.adjust(pause), costOf("/health/ready"))
      assert.deepStrictEqual(
        yield* Effect.forEach(["1 second", "0 seconds", "1 second", "8 seconds"] as const, costAfter),
        [4, 0, 2, 2]
      )
      // Health writes every ten seconds.
      assert.strictEqual(yield* costAfter("1 second"), 4)
      assert.strictEqual(yield* costOf("/health/live"), 0)
    })
  )
})
