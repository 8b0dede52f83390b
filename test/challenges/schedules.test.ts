/** Scheduled challenges, on a real database with a clock that tests move. Each test begins on a date of its own. */
import { assert, layer } from "@effect/vitest"
import { DateTime, Effect, Exit, Option, Random, Schema } from "effect"
import { SqlClient } from "effect/sql"
import { deadZoneOf, ewmaVolatility } from "../../src/scoring/reference.ts"
import { Arenas } from "../../src/services/Arenas.ts"
import { Events } from "../../src/services/Events.ts"
import type { EventImport } from "../../src/services/Events.ts"
import { EventId } from "../../src/services/domain/ids.ts"
import { Schedules } from "../../src/services/Schedules.ts"
import type { ScheduleReport } from "../../src/services/Schedules.ts"
import { Scoring } from "../../src/services/Scoring.ts"
import { Targets } from "../../src/services/Targets.ts"
import { make as makeFeeds } from "../../src/layers/postgres/community/FeedIngestion.ts"
import { claimedAgent } from "../support/agents.ts"
import {
  importCandles,
  importQuotes,
  instant,
  millisBefore,
  moveTo,
  newChallenge,
  plus,
  predict,
  resultsOf
} from "../support/challenges.ts"
import { firstPage } from "../support/paging.ts"
import { testServices } from "../support/services.ts"
import { asOwner, countOf, rowsOf } from "../support/database.ts"

const world = (schedules: string) => layer(testServices({ AUSPEX_SCHEDULES: schedules }))

const make = Schedules.use((schedules) => schedules.makeDue)

/** The challenges that a run made, as `session GC`, and the targets that wait. */
const made = (report: ScheduleReport) => report.made.map(({ kind, target }) => `${kind} ${target}`).sort()
const waits = (report: ScheduleReport) => report.waiting.map(({ reason, target }) => `${target}: ${reason}`)

const challengeOf = (report: ScheduleReport, target: string) => {
  const found = report.made.find((each) => each.target === target)
  assert(found !== undefined, `nothing was made of ${target}`)
  return Arenas.use((arenas) => arenas.getOf("directional", found.challengeId))
}

const futures = ["CL", "DXY", "ES", "GC", "HG", "NG", "ZN", "ZS"]

/** Gives each target this price, as of now. */
const priced = (targets: ReadonlyArray<string>, price = 100) =>
  Effect.gen(function* () {
    const now = yield* DateTime.now
    for (const target of targets) yield* importQuotes(target, [[now, price]])
  })

const at = (iso: string) => moveTo(instant(iso))

const pause = (key: string, paused: boolean) => Targets.use((targets) => targets.change(key, { paused }))

const scheduled = countOf((sql) => sql`select count(*)::int as count from scheduled_challenges`)
const challenges = countOf((sql) => sql`select count(*)::int as count from challenges`)

world("session")("Session challenges", (it) => {
  it.effect("A session challenge is made once a target and trading day, and settles at its close", () =>
    Effect.gen(function* () {
      yield* at("2026-01-05T10:59:59Z")
      yield* priced(futures)
      assert.deepStrictEqual(yield* make, { made: [], waiting: [] })
      yield* at("2026-01-05T11:00:00Z")
      const report = yield* make
      assert.deepStrictEqual(
        made(report),
        futures.map((key) => `session ${key}`)
      )
      const gold = yield* challengeOf(report, "GC")
      assert.deepInclude(gold, {
        kind: "session",
        event_id: null,
        status: "open",
        open_price: 100,
        dead_zone_pct: 0.3,
        deadline: "2026-01-05T13:00:00.000Z",
        resolve_at: "2026-01-05T22:00:00.000Z"
      })
      assert.include(gold.resolution_criteria ?? "", "22:00 UTC on 5 January 2026")
      assert.include(gold.resolution_criteria_zh ?? "", "2026年1月5日 22:00（UTC）")
      assert.strictEqual((yield* challengeOf(report, "ZS")).resolve_at, "2026-01-05T19:20:00.000Z")
      assert.deepStrictEqual(yield* make, { made: [], waiting: [] })
    })
  )

  it.effect("Session challenges of crypto are of UTC days", () =>
    Effect.gen(function* () {
      yield* at("2026-01-10T22:00:00Z")
      yield* priced(["ETH"])
      const report = yield* make
      assert.deepStrictEqual(made(report), ["session ETH"])
      assert.deepInclude(yield* challengeOf(report, "ETH"), {
        deadline: "2026-01-11T00:00:00.000Z",
        resolve_at: "2026-01-12T00:00:00.000Z"
      })
    })
  )

  it.effect("A paused target gets no session challenge; one in flight settles on schedule", () =>
    Effect.gen(function* () {
      yield* at("2026-01-12T22:00:00Z")
      yield* priced(["BTC", "ETH"])
      assert.deepStrictEqual(made(yield* make), ["session ETH"])
      yield* pause("BTC", false)
      const report = yield* make
      assert.deepStrictEqual(made(report), ["session BTC"])
      const inFlight = yield* challengeOf(report, "BTC")
      yield* predict(yield* claimedAgent(), inFlight)
      yield* pause("BTC", true)
      yield* at("2026-01-13T22:30:00Z")
      yield* priced(["BTC", "ETH"])
      assert.deepStrictEqual(made(yield* make), ["session ETH"])
      yield* at("2026-01-14T00:00:00Z")
      yield* priced(["BTC"], 102)
      yield* at("2026-01-14T00:00:10Z")
      assert.include((yield* Scoring.use((scoring) => scoring.settleDue)).resolved, inFlight.id)
      const results = yield* resultsOf(inFlight)
      assert.strictEqual(results.result, "bullish")
    })
  )

  it.effect("A session challenge waits for a price that is not too old, and says so", () =>
    Effect.gen(function* () {
      yield* at("2026-01-14T21:00:00Z")
      yield* priced(["GC"])
      yield* at("2026-01-15T11:30:00Z")
      const first = yield* make
      assert.deepStrictEqual(made(first), [])
      assert.include(
        waits(first),
        "GC: the latest price of GC is of 2026-01-14T21:00:00.000Z, which is too old to begin from"
      )
      yield* priced(["GC"], 101)
      const second = yield* make
      assert.deepStrictEqual(made(second), ["session GC"])
      assert.strictEqual((yield* challengeOf(second, "GC")).open_price, 101)
      assert.lengthOf(second.waiting, futures.length - 1)
    })
  )

  it.effect("A session challenge begins from hourly prices of the last hours, where those are fetched", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      yield* sql`
        insert into expected_candles (asset, interval, time, ends_at, due_at, overdue_at)
        values ('GC', '1h', '2026-01-01T00:00:00Z', '2026-01-01T01:00:00Z', '2026-01-01T01:01:00Z', '2026-01-01T08:00:00Z')`
      yield* at("2026-01-16T02:00:00Z")
      yield* priced(["GC", "CL"])
      yield* at("2026-01-16T11:30:00Z")
      // Both prices are from after the last close.
      assert.deepStrictEqual(made(yield* make), ["session CL"])
      yield* asOwner(sql`delete from expected_candles`)
    })
  )

  it.effect("No session challenge is made on the last trading day of a contract", () =>
    Effect.gen(function* () {
      // On 20 January 2026 crude oil of February ends, and nothing else.
      yield* at("2026-01-20T11:00:00Z")
      yield* priced(futures)
      const isCrude = ({ target }: { readonly target: string }) => target === "CL"
      const onLastDay = yield* make
      assert.deepStrictEqual(
        [onLastDay.made.filter(isCrude), onLastDay.made.length],
        [[], futures.length - 1]
      )
      assert.deepStrictEqual(onLastDay.waiting.filter(isCrude), [])
      const next = yield* Schedules.use(({ nextExpected }) => nextExpected({ asset: "CL" }))
      assert.deepStrictEqual(Option.map(next, DateTime.formatIso), Option.some("2026-01-21T11:00:00.000Z"))
      yield* at("2026-01-21T11:00:00Z")
      yield* priced(futures)
      assert.lengthOf((yield* make).made, futures.length)
    })
  )

  it.effect("Missed session challenges are not made up for: no deadline is past, or within minutes", () =>
    Effect.gen(function* () {
      const before = yield* challenges
      // The server is down from a Thursday until the Tuesday after.
      yield* at("2026-01-22T12:50:01Z")
      yield* priced(futures)
      assert.deepStrictEqual(yield* make, { made: [], waiting: [] })
      yield* at("2026-01-24T12:00:00Z")
      assert.deepStrictEqual(yield* make, { made: [], waiting: [] })
      yield* at("2026-01-27T12:49:59Z")
      yield* priced(futures)
      const report = yield* make
      assert.strictEqual(made(report).length, futures.length)
      assert.strictEqual((yield* challenges) - before, futures.length)
      assert.strictEqual((yield* challengeOf(report, "GC")).deadline, "2026-01-27T13:00:00.000Z")
    })
  )

  it.effect("Session challenges are not made on holidays, and end early on short days", () =>
    Effect.gen(function* () {
      yield* at("2026-11-26T12:00:00Z")
      yield* priced(futures)
      assert.deepStrictEqual(made(yield* make), [])
      yield* at("2026-11-27T12:00:00Z")
      yield* priced(futures)
      const report = yield* make
      assert.strictEqual((yield* challengeOf(report, "ES")).resolve_at, "2026-11-27T18:00:00.000Z")
    })
  )

  it.effect("Any number of replicas at once make a session challenge once, with all that belongs to it", () =>
    Effect.gen(function* () {
      yield* at("2026-11-30T12:00:00Z")
      yield* priced(futures)
      const before = yield* challenges
      const reports = yield* Effect.all(
        Array.from({ length: 6 }, () => make),
        { concurrency: "unbounded" }
      )
      assert.deepStrictEqual(
        reports.flatMap(made).sort(),
        futures.map((key) => `session ${key}`)
      )
      assert.strictEqual((yield* challenges) - before, futures.length)
      const entries = countOf(
        (sql) => sql`
          select count(*)::int as count from log_pending p join scheduled_challenges s using (challenge_id)
           where p.type = 'challenge.create'`
      )
      assert.strictEqual(yield* entries, yield* scheduled)
    })
  )

  it.effect("Session challenges are not made again when the clock jumps back", () =>
    Effect.gen(function* () {
      yield* at("2026-12-01T12:00:00Z")
      yield* priced(futures)
      assert.lengthOf(made(yield* make), futures.length)
      yield* at("2026-12-02T12:00:00Z")
      yield* priced(futures)
      assert.lengthOf(made(yield* make), futures.length)
      yield* at("2026-12-01T12:05:00Z")
      assert.deepStrictEqual(yield* make, { made: [], waiting: [] })
    })
  )

  it.effect("Session challenges are recorded for ever, each once", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      assert.isTrue(Exit.isFailure(yield* Effect.exit(asOwner(sql`delete from scheduled_challenges`))))
      assert.isTrue(
        Exit.isFailure(yield* Effect.exit(asOwner(sql`update scheduled_challenges set period = ''`)))
      )
      const again = sql`
        insert into scheduled_challenges (schedule, target, period, challenge_id, made_at)
        select schedule, target, period, ${(yield* newChallenge()).id}::uuid, made_at from scheduled_challenges limit 1`
      assert.isTrue(Exit.isFailure(yield* Effect.exit(again)))
    })
  )
})

const undated = (id: string, assets: ReadonlyArray<string>): EventImport => ({
  event_id: EventId.make(id),
  title: `${id} happened`,
  assets
})
const event = (id: string, assets: ReadonlyArray<string>, published?: DateTime.Utc): EventImport => ({
  ...undated(id, assets),
  ...(published !== undefined && { published_at: published })
})
const importAll = (events: ReadonlyArray<EventImport>) => Events.use((all) => all.importAll(events))
/** Events that give no other time are published now. */
const imported = (...events: ReadonlyArray<EventImport>) =>
  Effect.flatMap(DateTime.now, (published_at) => importAll(events.map((each) => ({ published_at, ...each }))))

world("flash")("Flash challenges", (it) => {
  it.effect("Flash challenges are of the hour after an event, one of each target that it names", () =>
    Effect.gen(function* () {
      yield* at("2026-01-06T15:10:00Z")
      yield* priced(["GC", "ETH"])
      yield* imported(event("first", ["GC", "ETH", "CPI"]))
      const report = yield* make
      assert.deepStrictEqual(made(report), ["flash ETH", "flash GC"])
      assert.deepInclude(yield* challengeOf(report, "GC"), {
        kind: "flash",
        event_id: EventId.make("first"),
        deadline: "2026-01-06T15:25:00.000Z",
        resolve_at: "2026-01-06T16:10:00.000Z"
      })
      assert.deepStrictEqual(yield* make, { made: [], waiting: [] })
    })
  )

  it.effect("An event makes one flash challenge of each target it names, imported twice or edited", () =>
    Effect.gen(function* () {
      yield* at("2026-01-07T15:10:00Z")
      yield* priced(["GC", "ES"])
      yield* imported(event("edited", ["GC"]))
      assert.deepStrictEqual(made(yield* make), ["flash GC"])
      // In the next hour, where the target could have another one.
      yield* at("2026-01-07T16:05:00Z")
      yield* priced(["GC", "ES"])
      yield* imported({ ...event("edited", ["GC", "ES"]), title: "Another title" })
      yield* imported(event("edited", ["GC", "ES"], instant("2026-01-07T16:04:00Z")))
      assert.deepStrictEqual(made(yield* make), ["flash ES"])
    })
  )

  it.effect("A target has at most one flash challenge an hour, of the newest of any number of events", () =>
    Effect.gen(function* () {
      yield* at("2026-01-08T15:10:00Z")
      const now = yield* DateTime.now
      const open = [...futures, "ETH"]
      yield* priced([...open, "BTC"])
      const fifty = Array.from({ length: 50 }, (_, index) => [...open, "BTC"][index % 10] ?? "GC")
      yield* imported(
        ...Array.from({ length: 1000 }, (_, index) =>
          event(`flood-${index}`, fifty, millisBefore(now, 1000 * (index + 1)))
        )
      )
      yield* imported(event("newest", fifty, now))
      const report = yield* make
      assert.deepStrictEqual(made(report), open.map((key) => `flash ${key}`).sort())
      assert.strictEqual((yield* challengeOf(report, "GC")).event_id, "newest")
      assert.deepStrictEqual(yield* make, { made: [], waiting: [] })
      yield* at("2026-01-08T16:00:00Z")
      yield* priced(open)
      assert.lengthOf(made(yield* make), open.length)
    })
  )

  it.effect("Events that are old, or still to come, make no flash challenges", () =>
    Effect.gen(function* () {
      yield* at("2026-01-09T15:10:00Z")
      yield* priced(["GC"])
      yield* imported(
        event("old", ["GC"], instant("2026-01-09T14:10:00Z")),
        event("ahead", ["GC"], instant("2026-01-09T15:10:01Z"))
      )
      assert.deepStrictEqual(yield* make, { made: [], waiting: [] })
      yield* at("2026-01-09T15:10:01Z")
      assert.deepStrictEqual(made(yield* make), ["flash GC"])
    })
  )

  it.effect("An imported event without a time makes no flash challenges until an import gives one", () =>
    Effect.gen(function* () {
      yield* at("2026-01-13T15:10:00Z")
      yield* priced(["GC", "ETH"])
      yield* importAll([undated("timeless", ["GC"]), undated("dated", ["ETH"])])
      // An update without a time says no more.
      yield* importAll([undated("timeless", ["GC", "ETH"])])
      assert.deepStrictEqual(yield* make, { made: [], waiting: [] })
      yield* imported(event("dated", ["ETH"], instant("2026-01-13T15:05:00Z")))
      assert.deepStrictEqual(made(yield* make), ["flash ETH"])
    })
  )

  it.effect("Flash challenges end at a whole second, whatever the moment at which they are made", () =>
    Effect.gen(function* () {
      yield* at("2026-01-09T18:39:32.095Z")
      yield* priced(["ETH"])
      yield* imported(event("fraction", ["ETH"]))
      const flash = yield* challengeOf(yield* make, "ETH")
      assert.deepInclude(flash, {
        deadline: "2026-01-09T18:54:33.000Z",
        resolve_at: "2026-01-09T19:39:32.000Z"
      })
      assert.include(flash.question, "until 19:39:32 UTC on 9 January 2026")
      assert.include(flash.resolution_criteria ?? "", "19:39:32 UTC on 9 January 2026")
    })
  )

  it.effect("Items of a feed make flash challenges only if they state a time of the last hour", () =>
    Effect.gen(function* () {
      yield* at("2026-01-12T15:10:00Z")
      yield* priced(["GC", "ETH"])
      const items = (dates: ReadonlyArray<string>) =>
        dates.map((date) => `<item><guid>${date}</guid><title>T</title><pubDate>${date}</pubDate></item>`)
      const feed = (name: string, asset: string, dates: ReadonlyArray<string>) =>
        makeFeeds([{ url: `https://${name}.example/`, source: name, assets: [asset] }], () =>
          Effect.succeed({
            changed: true as const,
            document: `<rss version="2.0"><channel><title>T</title>${items(dates).join("")}</channel></rss>`,
            etag: null,
            last_modified: null
          })
        )
      const old = yield* feed("undated", "GC", [
        "",
        "yesterday",
        "12/01/2026 15:00:00 GMT",
        "Mon, 12 Jan 2026 15:00:00",
        "Mon, 12 Jan 2026 15:00:00 IST",
        "2026-01-12",
        "2026-01-12T15:00:00",
        "Mon, 12 Jan 2026 15:10:01 GMT",
        "Mon, 12 Jan 2026 15:00:00 PST",
        "Fri, 09 Jan 2026 10:00:00 EST",
        "Mon, 12 Jan 2026 15:00:00 CET"
      ])
      yield* old.ingestDue
      assert.deepStrictEqual(yield* make, { made: [], waiting: [] })
      const fresh = yield* feed("dated", "GC", ["Mon, 12 Jan 2026 10:00:00 EST"])
      yield* fresh.ingestDue
      assert.deepStrictEqual(made(yield* make), ["flash GC"])
    })
  )

  it.effect("Flash challenges are made while the market is open, and of targets that are not paused", () =>
    Effect.gen(function* () {
      yield* at("2026-01-10T15:10:00Z")
      yield* priced(["GC", "ETH", "BTC"])
      yield* imported(event("weekend", ["GC", "ETH", "BTC"]))
      assert.deepStrictEqual(made(yield* make), ["flash ETH"])
    })
  )
})

const levelsOf = rowsOf(
  Schema.Struct({ schedule: Schema.String, target: Schema.String, levels: Schema.Array(Schema.Finite) }),
  (sql) => sql`
    select s.schedule, s.target, array_remove(array[c.level, c.low, c.high], null)::float8[] as levels
      from scheduled_challenges s join challenges c on c.id = s.challenge_id
     order by s.target, s.schedule`
)

world("price_event")("Weekly questions", (it) => {
  it.effect(
    "Weekly questions are on BTC and ETH, paused or not, of all kinds, at levels near the price",
    () =>
      Effect.gen(function* () {
        yield* at("2026-01-11T00:30:00Z")
        const sunday = instant("2026-01-11T00:00:00Z")
        for (const [asset, price] of [
          ["BTC", 87_431],
          ["ETH", 3012.5]
        ] as const) {
          // Days of 2 % up and down: a week moves by about 5.3 %.
          yield* importCandles(
            asset,
            "1h",
            Array.from({ length: 62 }, (_, index) => [
              plus(sunday, `${-24 * index - 1} hours`),
              index % 2 === 0 ? price : price * 1.02
            ])
          )
        }
        const report = yield* make
        assert.lengthOf(report.made, 12)
        assert.deepStrictEqual(report.waiting, [])
        assert.deepStrictEqual(yield* levelsOf, [
          { schedule: "barrier_down", target: "BTC", levels: [84_000] },
          { schedule: "barrier_up", target: "BTC", levels: [91_000] },
          { schedule: "count_days", target: "BTC", levels: [] },
          { schedule: "numeric_close", target: "BTC", levels: [] },
          { schedule: "range", target: "BTC", levels: [84_000, 91_000] },
          { schedule: "threshold", target: "BTC", levels: [87_500] },
          { schedule: "barrier_down", target: "ETH", levels: [2900] },
          { schedule: "barrier_up", target: "ETH", levels: [3120] },
          { schedule: "count_days", target: "ETH", levels: [] },
          { schedule: "numeric_close", target: "ETH", levels: [] },
          { schedule: "range", target: "ETH", levels: [2900, 3120] },
          { schedule: "threshold", target: "ETH", levels: [3020] }
        ])
        const { items } = yield* Arenas.use((arenas) =>
          arenas.list("price_event", { status: "open" }, firstPage)
        )
        for (const question of items) {
          assert.deepInclude(question, {
            deadline: "2026-01-12T00:00:00.000Z",
            resolve_at: "2026-01-19T00:00:00.000Z",
            window_from: question.kind === "barrier" ? "2026-01-12T00:00:00.000Z" : null
          })
        }
        assert.deepStrictEqual(yield* make, { made: [], waiting: [] })
      })
  )

  it.effect("Weekly questions wait for the sixty days behind levels and scales, and are not made late", () =>
    Effect.gen(function* () {
      yield* at("2026-06-07T12:00:00Z")
      yield* priced(["ETH"], 3000)
      const report = yield* make
      assert.deepStrictEqual(made(report), [])
      assert.match(
        waits(report).join(),
        /levels are computed from the last 61 daily closes of ETH, of which 0/
      )
      yield* at("2026-06-07T23:55:00Z")
      assert.deepStrictEqual(yield* make, { made: [], waiting: [] })
      yield* at("2026-06-10T12:00:00Z")
      assert.deepStrictEqual(yield* make, { made: [], waiting: [] })
    })
  )
})

world("off")("Schedules that are off", (it) => {
  it.effect("Schedules that are off make nothing", () =>
    Effect.gen(function* () {
      yield* at("2026-01-05T11:00:00Z")
      yield* priced(futures)
      yield* imported(event("any", ["GC"]))
      assert.deepStrictEqual(yield* make, { made: [], waiting: [] })
    })
  )
})

world("ladder")("The ladder of horizons", (it) => {
  /** Hourly closes of a driftless walk until a time, seeded. */
  const walk = (asset: string, until: string, hours: number) =>
    Effect.gen(function* () {
      const last = instant(until)
      const closes = [100]
      for (let index = 1; index < hours; index++) {
        const step = (yield* Random.nextIntBetween(-100, 100)) / 10_000
        closes.push(Number(((closes.at(-1) ?? 100) * (1 + step)).toFixed(4)))
      }
      yield* importCandles(
        asset,
        "1h",
        closes.map((close, index) => [plus(last, { hours: index - hours }), close] as const)
      )
      return closes
    }).pipe(Random.withSeed(`ladder ${asset}`))

  it.effect(
    "The ladder begins with the price of its hour, and ends 1, 4 and 24 hours after its deadline",
    () =>
      Effect.gen(function* () {
        yield* at("2026-03-10T23:59:00Z")
        yield* walk("ETH", "2026-03-10T23:00:00Z", 800)
        yield* at("2026-03-11T00:05:00Z")
        // The price of midnight is not known yet.
        assert.deepStrictEqual(yield* make, { made: [], waiting: [] })
        yield* importCandles("ETH", "1h", [[instant("2026-03-10T23:00:00Z"), 110]])
        const report = yield* make
        assert.deepStrictEqual(made(report), ["1d ETH", "1h ETH", "4h ETH"])
        const found = yield* Effect.forEach(report.made, ({ challengeId }) =>
          Arenas.use((arenas) => arenas.getOf("directional", challengeId))
        )
        assert.deepStrictEqual(
          found.map(({ deadline, kind, open_price, resolve_at }) => [kind, open_price, deadline, resolve_at]),
          [
            ["1h", 110, "2026-03-11T01:00:00.000Z", "2026-03-11T02:00:00.000Z"],
            ["4h", 110, "2026-03-11T01:00:00.000Z", "2026-03-11T05:00:00.000Z"],
            ["1d", 110, "2026-03-11T01:00:00.000Z", "2026-03-12T01:00:00.000Z"]
          ]
        )
        const zones = found.map((each) => each.dead_zone_pct ?? 0)
        assert.deepStrictEqual(
          zones,
          zones.toSorted((a, b) => a - b)
        )
        assert.deepStrictEqual(yield* make, { made: [], waiting: [] })
        // One hour later only the shortest begins again.
        yield* importCandles("ETH", "1h", [[instant("2026-03-11T00:00:00Z"), 110.2]])
        yield* at("2026-03-11T01:01:00Z")
        assert.deepStrictEqual(made(yield* make), ["1h ETH"])
        // The time is too late for another ladder.
        yield* importCandles("ETH", "1h", [[instant("2026-03-11T01:00:00Z"), 110.2]])
        yield* at("2026-03-11T02:59:59Z")
        assert.deepStrictEqual(yield* make, { made: [], waiting: [] })
      })
  )

  it.effect("The ladder has targets that trade, are not paused, and have prices enough for a dead zone", () =>
    Effect.gen(function* () {
      // A Saturday, on which futures do not trade; bitcoin is paused, and copper has one price only.
      yield* at("2026-03-21T04:00:00Z")
      for (const asset of ["GC", "BTC"]) yield* walk(asset, "2026-03-21T04:00:00Z", 800)
      assert.deepStrictEqual(yield* make, { made: [], waiting: [] })
      yield* at("2026-03-24T16:00:00Z")
      yield* importCandles("HG", "1h", [[instant("2026-03-24T15:00:00Z"), 4]])
      const report = yield* make
      assert.deepStrictEqual(report.made, [])
      assert.deepStrictEqual(waits(report).slice(0, 1), [
        "HG: too few prices of HG are known for its dead zone"
      ])
    })
  )

  it.effect("The ladder asks nothing about a future across the last trading day of a contract", () =>
    Effect.gen(function* () {
      // Crude oil of May 2026 ends on Tuesday 21 April; the index of the dollar has no contract that ends.
      for (const asset of ["CL", "DXY"]) yield* walk(asset, "2026-04-20T22:00:00Z", 800)
      const madeAt = Effect.fnUntraced(function* (hour: string) {
        yield* at(hour)
        const begins = plus(instant(hour), "-5 minutes")
        for (const asset of ["CL", "DXY"]) {
          yield* importCandles(asset, "1h", [[plus(begins, "-1 hours"), 100]])
        }
        return made(yield* make)
      })
      assert.deepStrictEqual(yield* madeAt("2026-04-21T00:05:00Z"), ["1d DXY", "1h DXY", "4h DXY"])
      assert.deepStrictEqual(yield* madeAt("2026-04-21T12:05:00Z"), ["1h DXY", "4h DXY"])
      assert.deepStrictEqual(yield* madeAt("2026-04-22T00:05:00Z"), ["1d DXY", "1h DXY", "4h DXY"])
      assert.deepStrictEqual(yield* madeAt("2026-04-22T12:05:00Z"), ["1h CL", "1h DXY", "4h CL", "4h DXY"])
      assert.deepStrictEqual(yield* madeAt("2026-04-23T00:05:00Z"), [
        "1d CL",
        "1d DXY",
        "1h CL",
        "1h DXY",
        "4h CL",
        "4h DXY"
      ])
    })
  )

  it.effect("The ladder's dead zones contain about every third move, on recorded prices", () =>
    Effect.gen(function* () {
      const closes = yield* walk("ETH", "2026-06-01T00:00:00Z", 3000)
      const outcomes = { bullish: 0, neutral: 0, bearish: 0 }
      for (let hour = 800; hour < 2998; hour += 3) {
        const known = closes
          .slice(hour - 720, hour + 1)
          .map((price, index) => ({ at: index * 3_600_000, price }))
        const zone = deadZoneOf(ewmaVolatility(known, 1, 720 * 3_600_000) ?? Number.NaN, 2)
        const move = 100 * ((closes[hour + 2] ?? 0) / (closes[hour] ?? 1) - 1)
        const side = move > 0 ? ("bullish" as const) : ("bearish" as const)
        outcomes[Math.abs(move) > zone ? side : "neutral"] += 1
      }
      const total = outcomes.bullish + outcomes.neutral + outcomes.bearish
      for (const count of Object.values(outcomes)) assert.closeTo(count / total, 1 / 3, 0.05)
    })
  )
})
