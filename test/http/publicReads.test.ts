/** What everybody reads: ETags, conditional requests, and answers that are made once for all who ask meanwhile. */
import { assert, layer } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import { TestClock } from "effect/testing"
import { Scoring } from "../../src/services/Scoring.ts"
import { onboard } from "../support/agents.ts"
import { get, send, testServer } from "../support/server.ts"
import { testAdminToken } from "../support/settings.ts"

const leaderboard = "/api/v1/eval/leaderboard"
const catalog = "/api/v1/public/target-catalog"
const reads = [
  "/api/v1/public/prediction-scopes",
  catalog,
  "/api/v1/eval/challenges",
  leaderboard,
  "/api/v1/eval/btc/context",
  "/api/v1/events",
  "/api/v1/events/today"
]

const withPaused = (paused: boolean) =>
  send("PATCH", "/api/v1/admin/targets/BTC", { token: testAdminToken, json: { paused } })

layer(testServer())("Conditional requests", (it) => {
  it.effect.each(reads)("%s has an ETag, and is 304 for whoever has it", (path) =>
    Effect.gen(function* () {
      const first = yield* get(path)
      const etag = first.headers.get("etag") ?? ""
      assert.match(etag, /^"[\w-]{22}"$/)
      for (const ifNoneMatch of [etag, `W/${etag}`, `"other", ${etag}`, "*"]) {
        const again = yield* get(path, { headers: { "if-none-match": ifNoneMatch } })
        assert.deepStrictEqual([again.status, again.text, again.headers.get("etag")], [304, "", etag])
      }
      for (const ifNoneMatch of ['"other"', etag.slice(1, -1), ""]) {
        const again = yield* get(path, { headers: { "if-none-match": ifNoneMatch } })
        assert.deepStrictEqual([again.status, again.text], [200, first.text], ifNoneMatch)
      }
    })
  )

  it.effect("another content has another ETag, and the same content the same one", () =>
    Effect.gen(function* () {
      const etagOf = Effect.map(get("/api/v1/eval/btc/context"), ({ headers }) => headers.get("etag"))
      const before = yield* etagOf
      yield* withPaused(false)
      const open = yield* etagOf
      yield* withPaused(true)
      assert.notStrictEqual(open, before)
      assert.strictEqual(yield* etagOf, before)
    })
  )

  it.effect("nothing but a public read that succeeded has an ETag or may be stored", () =>
    Effect.gen(function* () {
      const { token } = yield* onboard()
      for (const answer of [
        yield* get("/api/v1/agent/profile/self", { token, headers: { "if-none-match": "*" } }),
        yield* get(`${leaderboard}?limit=0`, { headers: { "if-none-match": "*" } }),
        yield* get("/api/v1/eval/challenges/nothing/results", { headers: { "if-none-match": "*" } }),
        yield* get("/nothing", { headers: { "if-none-match": "*" } })
      ]) {
        assert.notStrictEqual(answer.status, 304)
        assert.isNull(answer.headers.get("etag"))
        assert.strictEqual(answer.headers.get("cache-control"), "no-store")
      }
    })
  )
})

/** How often the leaderboard was made. */
const made = { times: 0 }

const countedScoring = Layer.effect(
  Scoring,
  Effect.gen(function* () {
    const scoring = yield* Scoring
    return Scoring.of({
      ...scoring,
      leaderboard: (...asked) =>
        Effect.suspend(() => {
          made.times += 1
          return scoring.leaderboard(...asked)
        })
    })
  })
)

const keeping = testServer({
  environment: { AUSPEX_PUBLIC_CACHE: "2 seconds" },
  swap: countedScoring
})

layer(keeping)("Public answers", (it) => {
  it.effect("may be stored for as long as they are kept", () =>
    Effect.gen(function* () {
      assert.strictEqual((yield* get(catalog)).headers.get("cache-control"), "public, max-age=2")
    })
  )

  it.effect("are made once for all who ask meanwhile", () =>
    Effect.gen(function* () {
      const answers = yield* Effect.replicateEffect(get(leaderboard), 50, { concurrency: 50 })
      assert.strictEqual(new Set(answers.map(({ text }) => text)).size, 1)
      assert.strictEqual(made.times, 1)
    })
  )

  const paused = Effect.map(get("/api/v1/eval/btc/context"), ({ json }) => json["paused"])

  it.effect("show what changed elsewhere once their time is over", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      assert.isTrue(yield* paused)
      yield* sql`update targets set paused = false where key = 'BTC'`
      yield* TestClock.adjust("1999 millis")
      assert.isTrue(yield* paused)
      yield* TestClock.adjust("1 millis")
      assert.isFalse(yield* paused)
      yield* sql`update targets set paused = true where key = 'BTC'`
      yield* TestClock.adjust("2 seconds")
    })
  )

  it.effect("show at once what an administrator changes here", () =>
    Effect.gen(function* () {
      assert.isTrue(yield* paused)
      yield* withPaused(false)
      assert.isFalse(yield* paused)
      yield* withPaused(true)
      assert.isTrue(yield* paused)
    })
  )

  it.effect("of later pages, and with parameters that mean nothing, are not kept", () =>
    Effect.gen(function* () {
      for (const query of ["x=1", "limit=10&x=1"]) {
        const before = made.times
        yield* get(`${leaderboard}?${query}`)
        yield* get(`${leaderboard}?${query}`)
        assert.strictEqual(made.times, before + 2, query)
      }
    })
  )

  it.effect("of different queries are different answers", () =>
    Effect.gen(function* () {
      const categories = ["crypto", "commodities"]
      for (const category of categories) {
        assert.strictEqual((yield* get(`${leaderboard}?category=${category}`)).json["category"], category)
      }
    })
  )

  it.effect("that failed are not kept", () =>
    Effect.gen(function* () {
      for (let turn = 0; turn < 2; turn++) {
        assert.strictEqual((yield* get(`${leaderboard}?limit=0`)).status, 400)
        assert.strictEqual((yield* get(`${leaderboard}?cursor=x`)).status, 400)
      }
    })
  )

  it.effect("each have their own request id", () =>
    Effect.gen(function* () {
      const ids = yield* Effect.forEach(["a", "b"], (id) =>
        Effect.map(get(catalog, { headers: { "x-request-id": id } }), ({ headers }) =>
          headers.get("x-request-id")
        )
      )
      assert.deepStrictEqual(ids, ["a", "b"])
    })
  )
})
