/** Prices from sources: only hours that are over and were shown twice alike become prices; and settlement by them. */
import { createHash } from "node:crypto"
import { assert, layer } from "@effect/vitest"
import { BigDecimal, Context, DateTime, Effect, Layer, Option, References, Schema, Duration } from "effect"
import { SqlClient } from "effect/sql"
import { TestClock } from "effect/testing"
import * as Jobs from "../../src/jobs/Jobs.ts"
import * as Ingestion from "../../src/layers/postgres/prices/PriceIngestion.ts"
import { Arenas } from "../../src/services/Arenas.ts"
import { Health } from "../../src/services/Health.ts"
import { PriceIngestion, Prices } from "../../src/services/Prices.ts"
import type { Candle } from "../../src/services/Prices.ts"
import { PriceSource, SourceFailed } from "../../src/services/PriceSource.ts"
import type { Feed, Window } from "../../src/services/PriceSource.ts"
import { claimedAgent } from "../support/agents.ts"
import {
  freshWeek,
  importQuotes,
  moveTo,
  newChallenge,
  newPriceEvent,
  plus,
  predict,
  resultsOf,
  settleDue
} from "../support/challenges.ts"
import { firstPage } from "../support/paging.ts"
import { passing, until } from "../support/waiting.ts"
import { testServices } from "../support/services.ts"
import { asOwner, countOf, rowsOf } from "../support/database.ts"

/** A price source that shows the prices of a test, and nothing while it is down. */
const hour = 3_600_000

class Script {
  /** The candle of the hour that begins then. */
  readonly hours = new Map<string, Omit<Candle, "time"> | null>()
  isDown = false
  /** A request for this asset never ends. */
  hanging: string | undefined = undefined
  /** The hash of the answer's bytes: this byte, 32 times. */
  payload = 7
  /** The kind of failure while the source is down. */
  kind: SourceFailed["kind"] = "unavailable"
  /** True where the hours that the source does not show exist at no place. */
  isComplete = true
  /** Hours that the source does not show, though the market trades then. */
  missing: ReadonlyArray<DateTime.Utc> = []
  /** The source's requests, oldest first. */
  readonly reads: Array<Window & { readonly asset: string }> = []
  readonly restart = () => {
    this.hours.clear()
    this.reads.length = 0
    this.isDown = false
    this.hanging = undefined
    this.payload = 7
    this.kind = "unavailable"
    this.isComplete = true
    this.missing = []
  }
  readonly set = (asset: string, time: DateTime.Utc, price: number | null) => {
    const candle = price === null ? null : { open: price, high: price + 1, low: price - 1, close: price }
    this.hours.set(`${asset} ${DateTime.toEpochMillis(time)}`, candle)
  }
}

const feed = (asset: string, continuous: boolean, lag: Duration.Input): Feed => ({
  asset,
  interval: "1h",
  place: continuous ? "exchanges" : "vendor",
  continuous,
  lag: Duration.fromInputUnsafe(lag)
})

/** ETH never closes; GC does, and is shown a quarter of an hour late. By default an hour has the price 100. */
const scripted = (script: Script) =>
  Layer.succeed(PriceSource, {
    feeds: [feed("ETH", true, "0 seconds"), feed("GC", false, "15 minutes")],
    read: Effect.fnUntraced(function* ({ asset }, { from, until }) {
      script.reads.push({ asset, from, until })
      if (script.hanging === asset) return yield* Effect.never
      if (script.isDown) return yield* new SourceFailed({ reason: "it is down", kind: script.kind })
      const fetchedAt = yield* DateTime.now
      const first = DateTime.toEpochMillis(from)
      const count = Math.round((DateTime.toEpochMillis(until) - first) / hour)
      const candles = Array.from({ length: count }, (_, index) => first + index * hour).flatMap((time) => {
        const key = `${asset} ${time}`
        const set = script.hours.has(key)
          ? script.hours.get(key)
          : { open: 100, high: 101, low: 99, close: 100 }
        return set === null || set === undefined ? [] : [{ time: DateTime.makeUnsafe(time), ...set }]
      })
      return {
        readings: [
          { source: "script", candles, fetchedAt, payloadHash: new Uint8Array(32).fill(script.payload) }
        ],
        complete: script.isComplete,
        missing: script.missing
      }
    })
  })

/** Three hours of history, first read a minute after an hour's end, again two minutes later. */
const settings = {
  AUSPEX_PRICE_SOURCE: "replay",
  AUSPEX_PRICE_REPLAY_DIR: "scripted",
  AUSPEX_PRICE_HISTORY: "3 hours"
}

class Scripted extends Context.Service<Scripted, Script>()("auspex/test/Script") {}

const worldWith = (environment: Readonly<Record<string, string>>) =>
  Layer.unwrap(
    Effect.sync(() => {
      const script = new Script()
      return Ingestion.layer.pipe(
        Layer.provide(scripted(script)),
        Layer.provideMerge(testServices(environment)),
        Layer.provideMerge(Layer.succeed(Scripted, script)),
        Layer.provide(Layer.succeed(References.MinimumLogLevel, "Error"))
      )
    })
  )

const world = worldWith(settings)

let noon = DateTime.makeUnsafe(0)
const before = (hours: number) => plus(noon, `${-hours} hours`)

/** The noon of a day of its own, of which nothing is expected yet. */
const newDay = Effect.gen(function* () {
  noon = plus(yield* freshWeek, "36 hours")
  yield* moveTo(noon)
  const sql = yield* SqlClient.SqlClient
  yield* asOwner(sql`delete from expected_candles`)
  const script = yield* Scripted
  script.restart()
  return script
})

/** Asks all places, one after the other. */
const ingest = PriceIngestion.use(({ ingestDue, places }) =>
  Effect.map(Effect.forEach(places, ingestDue), (reports) => ({
    read: reports.reduce((sum, { read }) => sum + read, 0),
    settled: reports.reduce((sum, { settled }) => sum + settled, 0)
  }))
)

/** A run at each of these times after noon. */
const runsAt = Effect.fnUntraced(function* (...minutes: ReadonlyArray<number>) {
  for (const minute of minutes) {
    yield* moveTo(plus(noon, `${minute} minutes`))
    yield* ingest
  }
})

const points = (asset: string) =>
  Effect.map(
    rowsOf(
      Schema.Struct({
        hour: Schema.String,
        close: Schema.String,
        source: Schema.String,
        hash: Schema.String
      }),
      (sql) => sql`
        select to_char(time at time zone 'UTC', 'HH24:MI') as hour, close::text, source, encode(payload_hash, 'hex') as hash
          from price_points where asset = ${asset} and time >= ${DateTime.toDateUtc(before(3))} order by time, revision`
    ),
    (rows) => rows.map(({ close, hour }) => `${hour} ${close}`)
  )

const states = (asset: string) =>
  Effect.map(
    rowsOf(
      Schema.Struct({ hour: Schema.String, state: Schema.String }),
      (sql) => sql`
        select to_char(time at time zone 'UTC', 'HH24:MI') as hour, state
          from expected_candles where asset = ${asset} order by time`
    ),
    (rows) => rows.map(({ hour, state }) => `${hour} ${state}`)
  )

const waiting = Prices.use((prices) => prices.quarantine(firstPage))

layer(world)("Price ingestion", (it) => {
  it.effect("Ingestion of one place goes on while another one hangs", () =>
    Effect.gen(function* () {
      const script = yield* newDay
      script.hanging = "GC"
      const readsOf = (asset: string) => script.reads.filter((each) => each.asset === asset).length
      yield* moveTo(plus(noon, "1 minute"))
      yield* Layer.build(Jobs.prices)
      yield* until(() => readsOf("ETH") === 1 && readsOf("GC") === 1)
      const readAgain = until(() => readsOf("ETH") > 1)
      yield* passing(readAgain, "15 seconds")
      assert.strictEqual(readsOf("GC"), 1)
    })
  )

  it.effect("An hour becomes a price when its source showed it twice alike, two minutes apart", () =>
    Effect.gen(function* () {
      yield* newDay
      yield* runsAt(0.5)
      // The hour that ended at noon is left alone for a minute.
      assert.deepStrictEqual(yield* states("ETH"), ["09:00 read", "10:00 read", "11:00 awaited"])
      assert.deepStrictEqual(yield* points("ETH"), [])
      yield* runsAt(1, 2)
      assert.deepStrictEqual(yield* points("ETH"), [])
      yield* runsAt(2.5)
      assert.deepStrictEqual(yield* points("ETH"), ["09:00 100", "10:00 100"])
      yield* runsAt(3)
      assert.deepStrictEqual(yield* points("ETH"), ["09:00 100", "10:00 100", "11:00 100"])
    })
  )

  it.effect("A price keeps its source, its time of fetching, and the hash of the bytes", () =>
    Effect.gen(function* () {
      yield* newDay
      yield* runsAt(1, 3)
      const rows = yield* rowsOf(
        Schema.Struct({ source: Schema.String, fetched_at: Schema.DateTimeUtcFromDate, hash: Schema.String }),
        (sql) => sql`
          select source, fetched_at, encode(payload_hash, 'hex') as hash from price_points where asset = 'ETH' and time >= ${DateTime.toDateUtc(before(3))}`
      )
      assert.deepStrictEqual(
        rows.map(({ fetched_at, ...rest }) => ({ ...rest, at: DateTime.formatIso(fetched_at) })),
        Array.from({ length: 3 }, () => ({
          source: "script",
          hash: "07".repeat(32),
          at: DateTime.formatIso(plus(noon, "3 minutes"))
        }))
      )
    })
  )

  it.effect("A source is asked only for due hours, and for nothing twice", () =>
    Effect.gen(function* () {
      const script = yield* newDay
      yield* runsAt(1, 3, 17, 19)
      const readsBefore = script.reads.length
      yield* runsAt(20, 30, 59)
      assert.strictEqual(script.reads.length, readsBefore)
      yield* runsAt(61)
      assert.deepStrictEqual(
        script.reads.slice(readsBefore).map(({ asset, from }) => [asset, DateTime.formatIso(from)]),
        [["ETH", DateTime.formatIso(noon)]]
      )
    })
  )

  it.effect("A candle shown in two ways is kept in both, and settles nothing until it is decided", () =>
    Effect.gen(function* () {
      const script = yield* newDay
      const challenge = yield* newChallenge({ asset: "ETH", deadline: noon, open_price: 100 })
      yield* predict(yield* claimedAgent(), challenge, {}, before(1))
      script.set("ETH", before(1), 105)
      yield* runsAt(1)
      script.set("ETH", before(1), 95)
      // The next hour is known before the decision, and is not the first price at or after noon.
      yield* runsAt(3, 61, 63)
      yield* settleDue
      assert.strictEqual((yield* resultsOf(challenge)).status, "closed")
      const [kept, ...others] = (yield* waiting).items
      assert.deepStrictEqual(
        [kept?.asset, kept?.time, kept?.stored_close, kept?.offered_close, others.length],
        ["ETH", DateTime.formatIso(before(1)), 105, 95, 0]
      )
      yield* Prices.use((prices) =>
        prices.decide(kept?.id ?? "", { accept: true, reason: "The exchange corrected it." })
      )
      yield* settleDue
      const { close_price, resolution_source, result } = yield* resultsOf(challenge)
      assert.deepStrictEqual([close_price, result, resolution_source], [95, "bearish", "script 1h candle"])
      // The hour is decided: no later reading opens it again.
      yield* runsAt(121, 123)
      assert.include(yield* states("ETH"), "11:00 settled")
    })
  )

  it.effect("The first price of a source counts when its later one is rejected", () =>
    Effect.gen(function* () {
      const script = yield* newDay
      script.set("ETH", before(1), 105)
      yield* runsAt(1)
      script.set("ETH", before(1), 95)
      yield* runsAt(3)
      assert.notInclude(yield* points("ETH"), "11:00 105")
      const [kept] = (yield* waiting).items
      const decided = yield* Prices.use((prices) =>
        prices.decide(kept?.id ?? "", { accept: false, reason: "A glitch." })
      )
      assert.strictEqual(decided.stored_close, 105)
      assert.include(yield* points("ETH"), "11:00 105")
    })
  )

  it.effect("A source that is down for an hour loses nothing, and only delays settlement", () =>
    Effect.gen(function* () {
      const script = yield* newDay
      const challenge = yield* newChallenge({ asset: "ETH", deadline: noon, open_price: 100 })
      yield* predict(yield* claimedAgent(), challenge, {}, before(1))
      script.set("ETH", before(1), 105)
      script.set("ETH", noon, 90)
      script.isDown = true
      for (let minute = 1; minute <= 70; minute += 3) {
        yield* runsAt(minute)
        yield* settleDue
      }
      assert.strictEqual((yield* resultsOf(challenge)).status, "closed")
      script.isDown = false
      yield* runsAt(71)
      yield* settleDue
      assert.strictEqual((yield* resultsOf(challenge)).status, "closed")
      yield* runsAt(73)
      yield* settleDue
      const { close_price, result } = yield* resultsOf(challenge)
      assert.deepStrictEqual([close_price, result], [105, "bullish"])
      assert.deepStrictEqual(yield* points("ETH"), ["09:00 100", "10:00 100", "11:00 105", "12:00 90"])
    })
  )

  it.effect("A settlement has the hash of its prices' bytes, for several prices the hash of hashes", () =>
    Effect.gen(function* () {
      const script = yield* newDay
      const single = yield* newChallenge({ asset: "ETH", deadline: noon, open_price: 100 })
      const two = yield* newPriceEvent({
        kind: "barrier",
        level: 500,
        window_from: before(2),
        resolve_at: noon,
        deadline: plus(noon, "1 minute")
      })
      const imported = yield* newChallenge({ asset: "ZN", deadline: noon, open_price: 100 })
      yield* importQuotes("ZN", [[noon, 100]])
      for (const [minute, payload] of [
        [0.5, 1],
        [1, 2],
        [2.5, 3],
        [3, 4]
      ] as const) {
        script.payload = payload
        yield* runsAt(minute)
      }
      yield* settleDue
      const stored = yield* rowsOf(
        Schema.Struct({ id: Schema.String, hash: Schema.NullOr(Schema.String) }),
        (sql) => sql`select challenge_id::text as id, encode(raw_sha256, 'hex') as hash from settlements`
      )
      const hashOf = ({ id }: { readonly id: string }) => stored.find((row) => row.id === id)?.hash
      assert.strictEqual(hashOf(single), "04".repeat(32))
      const both = Buffer.from("03".repeat(32) + "04".repeat(32), "hex")
      assert.strictEqual(hashOf(two), createHash("sha256").update(both).digest("hex"))
      assert.strictEqual(hashOf(imported), null)
    })
  )

  it.effect("Later hours of an asset are held back while one that would settle is still to come", () =>
    Effect.gen(function* () {
      const script = yield* newDay
      const challenge = yield* newChallenge({ asset: "ETH", deadline: before(1), open_price: 100 })
      script.set("ETH", before(2), null)
      yield* runsAt(0.5)
      script.set("ETH", before(2), 110)
      yield* runsAt(1, 3)
      assert.deepStrictEqual(yield* states("ETH"), ["09:00 settled", "10:00 awaited", "11:00 settled"])
      yield* settleDue
      assert.strictEqual((yield* resultsOf(challenge)).status, "closed")
      yield* runsAt(9, 11)
      yield* settleDue
      assert.strictEqual((yield* resultsOf(challenge)).close_price, 110)
    })
  )

  it.effect("A gap is asked for again every hour, and filled when it turns up", () =>
    Effect.gen(function* () {
      const script = yield* newDay
      script.set("ETH", before(2), null)
      yield* runsAt(1, 3)
      assert.include(yield* states("ETH"), "10:00 absent")
      script.set("ETH", before(2), 107)
      yield* runsAt(30)
      assert.include(yield* states("ETH"), "10:00 absent")
      yield* runsAt(61, 63)
      assert.include(yield* states("ETH"), "10:00 settled")
      assert.include(yield* points("ETH"), "10:00 107")
    })
  )

  it.effect.each([
    ["of zeros", { open: 0, high: 0, low: 0, close: 0 }],
    ["with a low of 0", { open: 100, high: 101, low: 0, close: 100 }],
    ["with a close of 0", { open: 100, high: 101, low: 0, close: 0 }],
    ["below 0", { open: -37, high: -36, low: -38, close: -37 }]
  ] as const)("A candle %s makes no price and no untraded hour, and is asked for again", ([, candle]) =>
    Effect.gen(function* () {
      const script = yield* newDay
      const touched = yield* newPriceEvent({
        kind: "barrier",
        level: 1,
        window_from: before(2),
        resolve_at: noon,
        deadline: plus(noon, "1 minute")
      })
      const challenge = yield* newChallenge({ asset: "ETH", deadline: noon, open_price: 100 })
      yield* predict(yield* claimedAgent(), challenge, {}, before(1))
      for (const asset of ["ETH", "GC"])
        script.hours.set(`${asset} ${DateTime.toEpochMillis(before(1))}`, candle)
      yield* runsAt(1, 3, 16, 18, 61, 63, 200)
      assert.include(yield* states("ETH"), "11:00 awaited")
      assert.include(yield* states("GC"), "11:00 awaited")
      yield* settleDue
      assert.strictEqual((yield* resultsOf(challenge)).status, "closed")
      assert.strictEqual((yield* resultsOf(touched)).status, "closed")
      script.hours.clear()
      yield* runsAt(216, 220, 240)
      yield* settleDue
      assert.strictEqual((yield* resultsOf(challenge)).close_price, 100)
      assert.deepStrictEqual((yield* resultsOf(touched)).result, "bearish")
    })
  )

  it.effect.each([
    ["was shown as something that is no candle", { isComplete: false, misses: false }],
    ["is missing though the market trades", { isComplete: true, misses: true }]
  ] as const)(
    "An hour that %s is not taken for untraded, however long that lasts",
    ([, { isComplete, misses }]) =>
      Effect.gen(function* () {
        const script = yield* newDay
        const challenge = yield* newChallenge({ asset: "GC", deadline: noon, open_price: 100 })
        yield* predict(yield* claimedAgent(), challenge, {}, before(1))
        script.set("GC", before(1), null)
        script.isComplete = isComplete
        script.missing = misses ? [before(1)] : []
        yield* runsAt(16, 18, 76, 78, 16 * 60, 48 * 60)
        assert.include(yield* states("GC"), "11:00 awaited")
        yield* settleDue
        assert.strictEqual((yield* resultsOf(challenge)).status, "closed")
        script.set("GC", before(1), 120)
        yield* runsAt(48 * 60 + 16, 48 * 60 + 20)
        yield* settleDue
        assert.strictEqual((yield* resultsOf(challenge)).close_price, 120)
      })
  )

  it.effect("An hour that settles nothing any more is asked for once a day, and not for ever", () =>
    Effect.gen(function* () {
      const script = yield* newDay
      script.set("ETH", before(1), null)
      script.isComplete = false
      const earlyReads = () =>
        script.reads.filter(
          ({ asset, from }) => asset === "ETH" && DateTime.isLessThanOrEqualTo(from, before(1))
        ).length
      yield* runsAt(1, 3, 8 * 24 * 60)
      const readsBefore = earlyReads()
      yield* runsAt(8 * 24 * 60 + 30, 9 * 24 * 60 + 60)
      assert.isAtMost(earlyReads(), readsBefore + 1)
      assert.include(yield* states("ETH"), "11:00 awaited")
    })
  )

  it.effect("A challenge closes by the next traded hour when its own was not traded", () =>
    Effect.gen(function* () {
      const script = yield* newDay
      const challenge = yield* newChallenge({ asset: "GC", deadline: noon, open_price: 100 })
      for (const hour of [1, 0, -1]) script.set("GC", before(hour), null)
      script.set("GC", before(-2), 120)
      yield* runsAt(16, 18, 61, 76, 78, 136, 138, 196, 198)
      yield* settleDue
      const { close_price, result } = yield* resultsOf(challenge)
      assert.deepStrictEqual([close_price, result], [120, "bullish"])
    })
  )

  it.effect("A closed market is not asked for its missing hours for ever", () =>
    Effect.gen(function* () {
      const script = yield* newDay
      for (let hour = 3; hour > -60; hour--) script.set("GC", before(hour), null)
      yield* runsAt(...Array.from({ length: 24 }, (_, index) => 16 + index * 60))
      const known = yield* states("GC")
      assert.isTrue(known.slice(0, 16).every((each) => each.endsWith("absent")))
      assert.isTrue(
        script.reads.slice(-2).every(({ from }) => DateTime.isGreaterThan(from, plus(noon, "12 hours")))
      )
    })
  )

  it.effect(
    "An unknown symbol is asked for every 15 minutes, and one of a place that is down each tick",
    () =>
      Effect.gen(function* () {
        const script = yield* newDay
        script.isDown = true
        yield* runsAt(1, 1.25, 1.5)
        const readsOfEth = () => script.reads.filter(({ asset }) => asset === "ETH").length
        assert.strictEqual(readsOfEth(), 3)
        script.kind = "unknown"
        yield* runsAt(2, 2.25, 10, 16.75)
        assert.strictEqual(readsOfEth(), 4)
        script.isDown = false
        yield* runsAt(17, 19)
        assert.include(yield* states("ETH"), "11:00 settled")
      })
  )

  it.effect("Any number of replicas at once make each price once", () =>
    Effect.gen(function* () {
      const script = yield* newDay
      const five = Effect.all(
        Array.from({ length: 5 }, () => ingest),
        { concurrency: "unbounded" }
      )
      yield* moveTo(plus(noon, "1 minute"))
      const first = yield* five
      assert.strictEqual(
        first.reduce((sum, { read }) => sum + read, 0),
        3 + 2
      )
      // Two concurrent requests are no second reading.
      assert.strictEqual(
        first.reduce((sum, { settled }) => sum + settled, 0),
        0
      )
      yield* moveTo(plus(noon, "3 minutes"))
      const second = yield* five
      assert.strictEqual(
        second.reduce((sum, { settled }) => sum + settled, 0),
        3 + 2
      )
      assert.lengthOf(yield* points("ETH"), 3)
      assert.isAtLeast(script.reads.length, 4)
    })
  )

  it.effect("An administrator's import settles beside an hour that the source never shows", () =>
    Effect.gen(function* () {
      const script = yield* newDay
      const challenge = yield* newChallenge({ asset: "ETH", deadline: noon, open_price: 100 })
      script.isDown = true
      yield* runsAt(61)
      yield* importQuotes("ETH", [[noon, 102]])
      yield* settleDue
      assert.strictEqual((yield* resultsOf(challenge)).close_price, 102)
    })
  )

  it.effect("A new challenge gets the latest known price as its open price", () =>
    Effect.gen(function* () {
      const script = yield* newDay
      script.set("ETH", before(1), 105)
      yield* runsAt(1, 3)
      const arenas = yield* Arenas
      const deadline = plus(noon, "1 hour")
      const challenge = yield* arenas.create("directional", { asset: "ETH", deadline, resolve_at: deadline })
      assert.strictEqual(challenge.open_price, 105)
      const latest = yield* Prices.use((prices) => prices.latest("ETH"))
      assert.strictEqual(BigDecimal.format(Option.getOrThrow(latest).price), "105")
    })
  )

  it.effect("The readiness check names assets whose prices are late or contested, and stays ready", () =>
    Effect.gen(function* () {
      const script = yield* newDay
      const check = Effect.map(
        Health.use((health) => health.readiness),
        ({ checks, status }) => [status, checks.find(({ name }) => name === "prices")?.reason]
      )
      yield* runsAt(1, 3)
      assert.deepStrictEqual(yield* check, ["ready", null])
      script.isDown = true
      yield* runsAt(61, 90)
      assert.deepStrictEqual(yield* check, ["ready", null])
      yield* runsAt(94)
      assert.deepStrictEqual(yield* check, ["ready", "no price source shows recent candles of ETH"])
      script.isDown = false
      yield* runsAt(95)
      script.set("ETH", noon, 42)
      yield* runsAt(97)
      const [status, reason] = yield* check
      assert.strictEqual(status, "ready")
      assert.include(String(reason), "candles of ETH wait for a decision")
      yield* TestClock.adjust("8 days")
      assert.deepStrictEqual(yield* check, ["ready", null])
    })
  )
})

/** Rows of candles that statements of this transaction read from end to end. */
const readFromEndToEnd = countOf(
  (sql) => sql`
    select sum(seq_tup_read)::int as count from pg_stat_xact_user_tables
     where relname in ('expected_candles', 'price_readings', 'price_points')`
)

layer(worldWith({ ...settings, AUSPEX_PRICE_HISTORY: "365 days" }))(
  "The first fetch of a long history",
  (it) => {
    // A comparison of each candle of a year with each other takes longer than a statement may.
    it.effect("The first fetch reads each candle once, by its key, though the plans knew none", () =>
      Effect.gen(function* () {
        yield* newDay
        const sql = yield* SqlClient.SqlClient
        yield* asOwner(sql`analyze expected_candles, price_readings, price_points`)
        const hours = 365 * 24
        const read = yield* sql.withTransaction(
          Effect.gen(function* () {
            for (const minute of [1, 4]) {
              yield* moveTo(plus(noon, `${minute} minutes`))
              yield* PriceIngestion.use(({ ingestDue }) => ingestDue("exchanges"))
            }
            return yield* readFromEndToEnd
          })
        )
        assert.strictEqual((yield* points("ETH")).length, 3)
        // Some statements look at all hours once.
        assert.isAtMost(read, 10 * hours)
      })
    )
  }
)
