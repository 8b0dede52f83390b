/** Public reads: ETags, conditional requests, and answers that are made once for all who ask at the same time. */
import { assert, layer } from "@effect/vitest"
import { DateTime, Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import { TestClock } from "effect/testing"
import { Arenas } from "../../src/services/Arenas.ts"
import { Prices } from "../../src/services/Prices.ts"
import { ReleaseCalendar } from "../../src/services/Schedules.ts"
import { Scoring } from "../../src/services/Scoring.ts"
import { onboard } from "../support/agents.ts"
import {
  freshWeek,
  importCandles,
  importQuotes,
  millisBefore,
  moveTo,
  newChallenge,
  newMacro,
  newPriceEvent,
  plus
} from "../support/challenges.ts"
import { get, member, send, testServer, wrongFields } from "../support/server.ts"
import { openFixture } from "../support/settledFixture.ts"
import { testAdminToken } from "../support/settings.ts"

const leaderboard = "/api/v1/eval/leaderboard"
const catalog = "/api/v1/public/target-catalog"
const reads = [
  "/api/v1/public/prediction-scopes",
  "/api/v1/public/prices",
  "/api/v1/public/prices/GC",
  "/api/v1/public/releases",
  catalog,
  "/api/v1/eval/challenges",
  leaderboard,
  "/api/v1/eval/btc/context",
  "/api/v1/events",
  "/api/v1/events/today"
]

const list = (value: unknown): ReadonlyArray<unknown> => (Array.isArray(value) ? value : [])

const withPaused = (paused: boolean) =>
  send("PATCH", "/api/v1/admin/targets/BTC", { token: testAdminToken, json: { paused } })

layer(testServer())("A public read", (it) => {
  it.effect.each(reads)("A public read of %s has an ETag, and is 304 for a client that has it", (path) =>
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

  it.effect("A single challenge of any type is its item in the list, with the type and an ETag", () =>
    Effect.gen(function* () {
      yield* freshWeek
      const [directional, macro, event] = [
        yield* newChallenge(),
        yield* newMacro(),
        yield* newPriceEvent({ kind: "threshold" })
      ]
      for (const [type, { id }, list] of [
        ["directional", directional, "/api/v1/eval/challenges"],
        ["macro", macro, "/api/v1/eval/macro/challenges"],
        ["price_event", event, "/api/v1/eval/price-events/challenges"]
      ] as const) {
        const shown = yield* get(`/api/v1/eval/challenges/${id.toUpperCase()}`)
        assert.match(shown.headers.get("etag") ?? "", /^"/)
        const { challenges, items = challenges } = (yield* get(list)).json
        assert(Array.isArray(items))
        assert.deepStrictEqual(shown.json, { ...items.find((each) => each.id === id), type })
      }
      for (const id of ["nothing", "01890000-0000-7000-8000-000000000000"]) {
        assert.strictEqual((yield* get(`/api/v1/eval/challenges/${id}`)).status, 404)
      }
    })
  )

  it.effect("Candles are listed, the last one first, without those in quarantine", () =>
    Effect.gen(function* () {
      const now = yield* freshWeek
      const hours = [-4, -3, -2, -1, 0].map((hour) => plus(now, { hours: hour }))
      yield* importCandles(
        "ES",
        "1h",
        hours.map((time, index) => [time, 5000 + index])
      )
      yield* importCandles("ES", "1d", [[plus(now, "-2 days"), 4990]])
      const [aside] = (yield* importCandles("ES", "1h", [[plus(now, "-2 hours"), 6000]])).quarantined
      const closes = Effect.fnUntraced(function* (query: string) {
        const { json } = yield* get(`/api/v1/public/prices/es${query}`)
        return list(json["items"]).map((item) => member(item, "close"))
      })
      // The candle that opens now is not over.
      assert.deepStrictEqual(yield* closes(""), [5003, 5002, 5001, 5000])
      assert.deepStrictEqual(yield* closes("?interval=1d"), [4990])
      const range = `from=${DateTime.formatIso(plus(now, "-3 hours"))}&before=${DateTime.formatIso(plus(now, "-1 hours"))}`
      assert.deepStrictEqual(yield* closes(`?${range}`), [5002, 5001])
      const first = yield* get(`/api/v1/public/prices/Es?limit=3`)
      assert.deepStrictEqual(member(first.json, "items", 0), {
        time: DateTime.formatIso(plus(now, "-1 hours")),
        open: 5003,
        high: 5003,
        low: 5003,
        close: 5003,
        source: "admin",
        fetched_at: DateTime.formatIso(now)
      })
      assert.deepStrictEqual([first.json["asset"], first.json["interval"]], ["ES", "1h"])
      const cursor = String(first.json["next_cursor"])
      assert.deepStrictEqual(yield* closes(`?limit=3&cursor=${cursor}`), [5000])
      // A cursor belongs to one list.
      assert.strictEqual((yield* get(`/api/v1/public/prices/ES?interval=1d&cursor=${cursor}`)).status, 400)

      yield* Prices.use((prices) => prices.decide(aside?.id ?? "", { accept: true, reason: "Looked it up." }))
      assert.deepStrictEqual(yield* closes(""), [5003, 6000, 5001, 5000])
    })
  )

  it.effect("The latest prices have every asset with a known price", () =>
    Effect.gen(function* () {
      const now = yield* freshWeek
      yield* importQuotes("CL", [
        [plus(now, "-1 hours"), -37.5],
        [plus(now, "1 hour"), 20]
      ])
      const { json } = yield* get("/api/v1/public/prices")
      const known = list(json["prices"])
      assert.deepStrictEqual(
        known.find((each) => member(each, "asset") === "CL"),
        {
          asset: "CL",
          price: -37.5,
          observed_at: DateTime.formatIso(plus(now, "-1 hours")),
          source: "admin quote",
          fetched_at: DateTime.formatIso(now)
        }
      )
      assert.isUndefined(known.find((each) => member(each, "asset") === "NG"))
    })
  )

  it.effect("Prices of an unknown asset are 404 and say which was meant; unknown parameters are 400", () =>
    Effect.gen(function* () {
      const of = Effect.fnUntraced(function* (asset: string) {
        const { json, status } = yield* get(`/api/v1/public/prices/${asset}`)
        return [status, json["hint"]]
      })
      const keys = "GC, ES, CL, ZN, HG, NG, BTC, ZS, DXY, ETH"
      assert.deepStrictEqual(yield* of("gold"), [404, `Did you mean GC? The assets are ${keys}.`])
      assert.strictEqual((yield* of("GC%00"))[0], 404)
      assert.deepStrictEqual(yield* of("cpi"), [
        404,
        "CPI is a macro series: its values are at /api/v1/public/releases."
      ])
      for (const [path, field] of [
        ["prices/GC?interval=5m", "interval"],
        ["prices/GC?from=yesterday", "from"],
        ["prices/GC?until=2026-01-01T00:00:00Z", "until"],
        ["prices?asset=GC", "asset"],
        ["releases?asset=GC", "asset"],
        ["releases?status=open", "status"]
      ] as const) {
        const refused = yield* get(`/api/v1/public/${path}`)
        assert.deepStrictEqual([refused.status, wrongFields(refused)], [400, [field]], path)
      }
    })
  )

  it.effect("Releases have planned ones, and published ones with their values, the last one first", () =>
    Effect.gen(function* () {
      const now = yield* freshWeek
      const scoring = yield* Scoring
      const terms = { asset: "NFP", unit: "thousands", bin_edges: [100, 200] }
      const past = yield* newMacro({ ...terms, period: "1", deadline: plus(now, "1 day") })
      const voided = yield* newMacro({ ...terms, period: "2", deadline: plus(now, "2 days") })
      const open = yield* newMacro({ ...terms, period: "3", deadline: plus(now, "9 days") })
      yield* ReleaseCalendar.use((calendar) =>
        calendar.replace(
          ["3", "4", "5"].map((period, index) => ({
            asset: "NFP",
            period,
            unit: "thousands",
            release_at: plus(now, { days: 9 + index })
          }))
        )
      )
      yield* moveTo(plus(now, "3 days"))
      yield* scoring.resolveMacro(past.id, 175)
      yield* scoring.void("macro", voided.id, "Not published.")
      const releases = Effect.fnUntraced(function* (query: string) {
        const { json } = yield* get(`/api/v1/public/releases?asset=nfp${query}`)
        return json
      })
      const { items, next_cursor } = yield* releases("")
      assert.isNull(next_cursor)
      assert.deepStrictEqual(
        list(items).map((item) => [member(item, "period"), member(item, "challenge_id")]),
        [
          ["5", null],
          ["4", null],
          ["3", open.id],
          ["1", past.id]
        ]
      )
      assert.deepStrictEqual(list(items)[3], {
        asset: "NFP",
        period: "1",
        unit: "thousands",
        release_at: past.release_at,
        challenge_id: past.id,
        deadline: past.deadline,
        actual_value: 175,
        source: "admin",
        settled_at: DateTime.formatIso(plus(now, "3 days"))
      })
      const paged: Array<unknown> = []
      let cursor: unknown = ""
      while (typeof cursor === "string") {
        const page = yield* releases(`&limit=1${cursor === "" ? "" : `&cursor=${cursor}`}`)
        paged.push(...list(page["items"]))
        cursor = page["next_cursor"]
      }
      assert.deepStrictEqual<unknown>(paged, items)
      const [from, before] = [plus(now, "3 days"), plus(now, "10 days")].map(DateTime.formatIso)
      assert.deepStrictEqual<unknown>(
        (yield* releases(`&from=${from}&before=${before}`))["items"],
        list(items).slice(2, 3)
      )
    })
  )

  it.effect("Different content has a different ETag, and the same content the same one", () =>
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

  it.effect("Only a successful read has an ETag or may be stored", () =>
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

/** Counts how often a leaderboard or results were made. */
const made = { times: 0 }

const countedArenas = Layer.effect(
  Arenas,
  Effect.gen(function* () {
    const arenas = yield* Arenas
    return Arenas.of({
      ...arenas,
      results: (...parameters) =>
        Effect.suspend(() => {
          made.times += 1
          return arenas.results(...parameters)
        })
    })
  })
)

const countedScoring = Layer.effect(
  Scoring,
  Effect.gen(function* () {
    const scoring = yield* Scoring
    return Scoring.of({
      ...scoring,
      leaderboard: (...parameters) =>
        Effect.suspend(() => {
          made.times += 1
          return scoring.leaderboard(...parameters)
        })
    })
  })
)

const keeping = testServer({
  environment: { AUSPEX_PUBLIC_CACHE: "2 seconds" },
  swap: Layer.merge(countedArenas, countedScoring)
})

layer(keeping)("Public answers", (it) => {
  it.effect("A public answer may be stored for as long as the server keeps it", () =>
    Effect.gen(function* () {
      assert.strictEqual((yield* get(catalog)).headers.get("cache-control"), "public, max-age=2")
    })
  )

  it.effect("A public answer is made once for all who ask meanwhile", () =>
    Effect.gen(function* () {
      const answers = yield* Effect.replicateEffect(get(leaderboard), 50, { concurrency: 50 })
      assert.strictEqual(new Set(answers.map(({ text }) => text)).size, 1)
      assert.strictEqual(made.times, 1)
    })
  )

  const paused = Effect.map(get("/api/v1/eval/btc/context"), ({ json }) => json["paused"])

  it.effect("A public answer shows changes made elsewhere once its time is over", () =>
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

  it.effect("A public answer shows an administrator's changes on this instance at once", () =>
    Effect.gen(function* () {
      assert.isTrue(yield* paused)
      yield* withPaused(false)
      assert.isFalse(yield* paused)
      yield* withPaused(true)
      assert.isTrue(yield* paused)
    })
  )

  it.effect("A public answer is kept by the parameters it depends on, however the address is spelled", () =>
    Effect.gen(function* () {
      yield* TestClock.adjust("3 seconds")
      const spelled = [
        `${leaderboard}?limit=10&category=crypto`,
        `${leaderboard}?category=crypto&limit=10`,
        `${leaderboard}?category=%63rypto&limit=10&`,
        `/api/v1/eval/%6Ceaderboard?limit=10&category=crypto`
      ]
      const before = made.times
      const answers = yield* Effect.forEach(spelled, (path) => get(path))
      assert.deepStrictEqual(
        answers.map(({ status }) => status),
        spelled.map(() => 200)
      )
      assert.strictEqual(new Set(answers.map(({ text }) => text)).size, 1)
      assert.strictEqual(made.times, before + 1)
    })
  )

  it.effect("A request that repeats a parameter is refused, also where one of the two was answered", () =>
    Effect.gen(function* () {
      assert.strictEqual((yield* get(`${leaderboard}?limit=10`)).status, 200)
      assert.strictEqual((yield* get(`${leaderboard}?limit=10&limit=20`)).status, 400)
      assert.strictEqual((yield* get("/leaderboard?category=crypto")).status, 200)
      assert.strictEqual((yield* get("/leaderboard?category=crypto&category=x")).status, 400)
      assert.strictEqual((yield* get("/leaderboard?cursor=x&cursor=y")).status, 400)
    })
  )

  it.effect("Results are made once for every spelling, and show deadline and end within that time", () =>
    Effect.gen(function* () {
      const { challenge: terms, deadline, settle } = yield* openFixture()
      const challenge: string = terms.id
      const results = (id: string, query = "") => get(`/api/v1/eval/challenges/${id}/results${query}`)
      yield* moveTo(millisBefore(deadline, 1000))
      const open = yield* results(challenge)
      assert.deepStrictEqual([open.json["status"], open.json["predictions"]], ["open", []])
      const before = made.times
      yield* moveTo(plus(deadline, "500 millis"))
      for (const same of [yield* results(challenge.toUpperCase()), yield* results(challenge, "?&")]) {
        assert.strictEqual(same.text, open.text)
      }
      assert.strictEqual(made.times, before)
      yield* moveTo(plus(deadline, "1 second"))
      const closed = yield* results(challenge, "?")
      assert.lengthOf(list(closed.json["predictions"]), 2)
      assert.strictEqual(made.times, before + 1)

      yield* settle
      yield* results(challenge)
      const settled = yield* results(challenge)
      assert.strictEqual(settled.json["status"], "resolved")
      for (const query of ["", "?", "?limit=200", "?limit=1"]) {
        assert.strictEqual((yield* results(challenge, query)).json["status"], "resolved")
        yield* TestClock.adjust("700 millis")
      }
      // Later pages cost as much as the first one.
      const cursor = String((yield* results(challenge, "?limit=1")).json["next_cursor"])
      yield* results(challenge, `?limit=1&cursor=${cursor}`)
      const once = made.times
      yield* results(challenge, `?cursor=${cursor}&x=5&limit=1`)
      assert.strictEqual(made.times, once)
    })
  )

  it.effect("Different queries have different public answers", () =>
    Effect.gen(function* () {
      const categories = ["crypto", "commodities"]
      for (const category of categories) {
        assert.strictEqual((yield* get(`${leaderboard}?category=${category}`)).json["category"], category)
      }
    })
  )

  it.effect("A failed public answer is not kept", () =>
    Effect.gen(function* () {
      for (let turn = 0; turn < 2; turn++) {
        assert.strictEqual((yield* get(`${leaderboard}?limit=0`)).status, 400)
        assert.strictEqual((yield* get(`${leaderboard}?cursor=x`)).status, 400)
      }
    })
  )

  it.effect("Each public answer has a request id of its own", () =>
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
