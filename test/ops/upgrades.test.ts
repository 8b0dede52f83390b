/** An upgrade in any order: nothing is written that an older program could not read before every instance is new. */
import { PgClient } from "@effect/sql-pg"
import { assert, describe, it, layer } from "@effect/vitest"
import { Context, DateTime, Duration, Effect, Layer, Option, Schema } from "effect"
import type { Redacted } from "effect"
import { SqlClient } from "effect/sql"
import { TestClock } from "effect/testing"
import { inject } from "vitest"
import * as Database from "../../src/layers/postgres/Database.ts"
import { migrations } from "../../src/layers/postgres/schema/index.ts"
import type { Migration } from "../../src/layers/postgres/schema/index.ts"
import { ReferenceAgents } from "../../src/services/ReferenceAgents.ts"
import { firstProgram, Instances } from "../../src/services/Instances.ts"
import type { Instance } from "../../src/services/Instances.ts"
import { ReleaseCalendar, Schedules } from "../../src/services/Schedules.ts"
import { InvalidRequest } from "../../src/services/domain/errors.ts"
import { claimedAgent } from "../support/agents.ts"
import {
  forecast,
  freshWeek,
  importCandles,
  instant,
  moveTo,
  newChallenge,
  newMacro,
  plus,
  predict,
  submit
} from "../support/challenges.ts"
import { countOf, emptyDatabase, poolOn, realTime, rowsOf } from "../support/database.ts"
import { withDatabaseAt } from "../support/databaseTime.ts"
import { testServices } from "../support/services.ts"

const predictDue = ReferenceAgents.use((agents) => agents.predictDue)

const self: Instance = {
  id: "019a0000-0000-7000-8000-000000000001",
  name: "host-1",
  version: "0.2.0",
  roles: ["api", "jobs"]
}

const beat = Instances.use((instances) => instances.beat(self))

/** An instance that writes heartbeats, of a program that knows migrations up to this one, seen this long ago. */
const seen = Effect.fnUntraced(function* (program: number, ago: Duration.Input) {
  const at = DateTime.toDateUtc(DateTime.subtractDuration(yield* DateTime.now, ago))
  yield* SqlClient.SqlClient.use(
    (sql) => sql`
      insert into instances (id, name, version, program, roles, started_at, seen_at)
      values (uuidv7(), 'host-1', 'another', ${program}, '{api}', ${at}, ${at})`
  )
})

/** A session as a program opens it, for as long as the scope lasts. */
const session = (applicationName: string, role: "runningUrl" | "ownerUrl" = "runningUrl") =>
  Effect.gen(function* () {
    const [name] = yield* SqlClient.SqlClient.use((sql) => sql`select current_database()`.values)
    const url = new URL(inject(role))
    url.pathname = `/${String(name?.[0])}`
    const client = PgClient.layer({
      url: yield* Schema.decodeEffect(Schema.RedactedFromValue(Schema.String))(url.href),
      applicationName,
      maxConnections: 1
    }).pipe(Layer.provide(realTime))
    const sql = yield* Effect.map(Layer.build(client), Context.get(SqlClient.SqlClient))
    yield* sql`select 1`
  })

/** The oldest program that the database takes. */
const needed = SqlClient.SqlClient.use((sql) => sql`select min_program from instance`.values).pipe(
  Effect.map(([row]) => Number(row?.[0]))
)

const isOver = (applicationName: string) =>
  countOf(
    (sql) => sql`
      select count(*)::int as count from pg_stat_activity
       where datname = current_database() and application_name = ${applicationName}`
  ).pipe(Effect.repeat({ until: (count) => count === 0 }))

layer(testServices())("The reference agents", (it) => {
  const cases: ReadonlyArray<readonly [program: number, ago: Duration.Input, answers: boolean]> = [
    [0, "1 second", false],
    [7, "0 seconds", false],
    [13, "599 seconds", false],
    [13, "600 seconds", true],
    [1, "3 days", true],
    [14, "0 seconds", true],
    [Database.latestMigration, "0 seconds", true],
    [Database.latestMigration + 7, "0 seconds", true]
  ]
  it.effect.each(cases)(
    "The reference agents beside an instance of migration %s that was seen %s ago answer: %s",
    ([program, ago, answers]) =>
      Effect.gen(function* () {
        yield* freshWeek
        yield* beat
        yield* seen(program, ago)
        yield* newChallenge()
        assert.strictEqual((yield* predictDue) > 0, answers)
      })
  )
})

layer(testServices())("A program that writes no heartbeat", (it) => {
  it.effect(
    "A program without heartbeats silences the reference agents in a session, and ten minutes on",
    () =>
      Effect.gen(function* () {
        yield* freshWeek
        yield* newChallenge({ deadline: plus(yield* DateTime.now, "2 hours") })
        yield* Effect.scoped(
          Effect.gen(function* () {
            yield* session("auspex")
            assert.strictEqual(yield* predictDue, 0)
            yield* beat
          })
        )
        yield* isOver("auspex")
        yield* TestClock.adjust("9 minutes")
        yield* beat
        assert.strictEqual(yield* predictDue, 0)
        yield* TestClock.adjust("1 minute")
        assert.isAbove(yield* predictDue, 0)
      })
  )

  const cases: ReadonlyArray<readonly [name: string, role: "runningUrl" | "ownerUrl", isSeen: boolean]> = [
    ["auspex", "runningUrl", true],
    ["auspex", "ownerUrl", true],
    ["", "runningUrl", true],
    ["arena-eu", "runningUrl", true],
    ["auspex/", "runningUrl", true],
    ["auspex - 10.0.0.7:5432", "runningUrl", true],
    ["psql", "runningUrl", false],
    ["pg_dump", "runningUrl", false],
    ["pg_restore", "runningUrl", false],
    ["auspex/26", "runningUrl", false],
    ["auspex/9 - 10.0.0.7:5432", "runningUrl", false],
    ["arena-eu/31", "runningUrl", false],
    ["grafana/0", "runningUrl", false],
    ["arena-eu", "ownerUrl", false],
    ["", "ownerUrl", false]
  ]
  it.effect.each(cases)(
    'A program is seen in a session named "%s" of the role of %s: %s',
    ([name, role, isSeen]) =>
      Effect.gen(function* () {
        yield* freshWeek
        const allRead = Instances.use((instances) => instances.allRead("dailyCounts"))
        yield* Effect.scoped(
          Effect.gen(function* () {
            yield* session(name, role)
            assert.strictEqual(yield* allRead, !isSeen)
            yield* beat
          })
        )
        yield* isOver(name)
        assert.strictEqual(yield* allRead, !isSeen)
      })
  )
})

layer(testServices({ AUSPEX_SCHEDULES: "ladder,macro" }))("The schedules", (it) => {
  it.effect("Schedules make no question that an older instance could not read, until none is seen", () =>
    Effect.gen(function* () {
      const now = yield* freshWeek
      yield* seen(13, 0)
      yield* importCandles("ETH", "1h", [[plus(now, "-1 hour"), 100]])
      const categories = ["cut", "hold", "hike"].map((name, index) => ({
        name,
        probability: index === 1 ? 0.6 : 0.2
      }))
      const release_at = plus(now, "3 days")
      const releases = [{ asset: "FOMC", period: "2026-06", release_at, categories, reward_pool: 0 }]
      yield* ReleaseCalendar.use((calendar) => calendar.replace(releases))
      const make = Schedules.use((schedules) => schedules.makeDue)
      const held = "an instance that could not read it was seen in the last 10 minutes"
      const waiting = yield* Effect.map(make, (report) =>
        report.waiting.map(({ kind, reason }) => [kind, reason])
      )
      assert.sameDeepMembers(waiting, [
        ["1h", held],
        ["4h", held],
        ["1d", held],
        ["macro", held]
      ])
      yield* TestClock.adjust("10 minutes")
      const report = yield* make
      assert.deepStrictEqual(
        report.made.map(({ kind }) => kind),
        ["macro"]
      )
      assert.notInclude(
        report.waiting.map(({ reason }) => reason),
        held
      )
    })
  )
})

layer(testServices({ AUSPEX_SCHEDULES: "price_event" }))("The questions of a week", (it) => {
  it.effect("The questions of a week that an older instance cannot read wait for its end", () =>
    Effect.gen(function* () {
      const sunday = instant("2026-06-07T00:00:00Z")
      yield* moveTo(plus(sunday, "12 hours"))
      yield* seen(29, 0)
      yield* importCandles("ETH", "1h", [
        ...Array.from(
          { length: 62 },
          (_, index) => [plus(sunday, `${-24 * index - 1} hours`), 3000 + (index % 2)] as const
        ),
        [plus(sunday, "11 hours"), 3000]
      ])
      const make = Schedules.use((schedules) => schedules.makeDue)
      const report = yield* make
      assert.sameMembers(
        report.made.map(({ kind }) => kind),
        ["numeric_close", "threshold", "barrier_up", "barrier_down"]
      )
      assert.deepStrictEqual(
        report.waiting.filter(({ target }) => target === "ETH").map(({ kind }) => kind),
        ["count_days", "range"]
      )
      assert.strictEqual(yield* needed, 1)
      yield* TestClock.adjust("10 minutes")
      assert.deepStrictEqual(
        (yield* make).made.map(({ kind }) => kind),
        ["count_days", "range"]
      )
      assert.strictEqual(yield* needed, firstProgram.range)
    })
  )
})

const quantiles = (...values: ReadonlyArray<number>) => ({
  quantiles: values.map((value, index) => ({ p: (index + 1) / (values.length + 1), value }))
})

/** Answers in each form: the type of the challenge, the body, and the field that is refused to spare a program. */
const formed = [
  ["directional", { probabilities: { bullish: 0.5, neutral: 0.3, bearish: 0.2 } }, "probabilities", "forms"],
  ["macro", quantiles(3, 3.1, 3.2), "quantiles", "forms"],
  ["macro", { samples: [3, 3.1, 3.1, 3.2, 3.3, 3, 3, 3, 3, 3] }, "samples", "forms"],
  ["macro", quantiles(3, 3.1, 3.1), "quantiles", "ties"],
  ["macro", quantiles(3, 3, 3.1, 3.1, 3.2), "quantiles", "ties"]
] as const

/** The outcome of each of them: the field that is refused, or nothing. */
const answered = Effect.gen(function* () {
  const refused: Array<string | undefined> = []
  for (const [type, answer] of formed) {
    const agentId = yield* claimedAgent()
    const challenge = type === "directional" ? yield* newChallenge() : yield* newMacro()
    const outcome = submit({
      agentId,
      challengeId: challenge.id,
      type,
      answer,
      receivedAt: yield* DateTime.now
    })
    const error = yield* Effect.flip(outcome).pipe(Effect.option)
    refused.push(
      Option.match(error, {
        onNone: () => undefined,
        onSome: (each) => (each instanceof InvalidRequest ? each.errors?.[0]?.path : each._tag)
      })
    )
  }
  return refused
})

for (const program of [0, 5, 13, 14, 28, 29] as const) {
  layer(testServices())(`Agents beside an instance that knows migration ${program}`, (it) => {
    it.effect("Agents send what the instance reads, and all else once it was not seen for ten minutes", () =>
      Effect.gen(function* () {
        yield* freshWeek
        yield* seen(program, 0)
        yield* predict(yield* claimedAgent(), yield* newChallenge())
        yield* forecast(yield* claimedAgent(), yield* newMacro())
        assert.strictEqual(yield* needed, 1)
        const held = formed.map(([, , field, needs]) => {
          const isRead = program >= firstProgram.forms && (needs === "forms" || program >= firstProgram.ties)
          return isRead ? undefined : field
        })
        assert.deepStrictEqual(yield* answered, held)
        assert.isAtMost(yield* needed, Math.max(program, 1))
        yield* TestClock.adjust("10 minutes")
        assert.deepStrictEqual(
          yield* answered,
          formed.map(() => undefined)
        )
        assert.strictEqual(yield* needed, firstProgram.ties)
        // The database refuses that program now, so nothing is held back for it any more.
        yield* seen(program, 0)
        assert.deepStrictEqual(
          yield* answered,
          formed.map(() => undefined)
        )
      })
    )
  })
}

layer(testServices())("The first program that reads a form", (it) => {
  it.effect("The first program that reads a form is asked for by the database once it is written", () =>
    Effect.gen(function* () {
      yield* freshWeek
      yield* newMacro()
      assert.isBelow(yield* needed, firstProgram.forms)
      yield* newChallenge()
      yield* predictDue
      assert.strictEqual(yield* needed, firstProgram.forms)
      yield* newChallenge({ kind: "4h", asset: "ETH" })
      assert.strictEqual(yield* needed, firstProgram.ladder)
    })
  )
})

const Row = Schema.Struct({
  name: Schema.String,
  version: Schema.String,
  program: Schema.Int,
  at: Schema.Date
})

const rows = rowsOf(
  Row,
  (sql) => sql`select name, version, program, seen_at as at from instances order by seen_at, program`
)

layer(testServices())("A heartbeat", (it) => {
  it.effect("A heartbeat says who runs since when, and a later start by that name hides no earlier one", () =>
    Effect.gen(function* () {
      const now = yield* freshWeek
      yield* beat
      yield* TestClock.adjust("20 seconds")
      yield* beat
      yield* Instances.use((instances) =>
        instances.beat({ ...self, id: "019a0000-0000-7000-8000-000000000002", version: "0.3.0" })
      )
      const at = DateTime.toDateUtc(plus(now, "20 seconds"))
      const known = { name: "host-1", program: Database.latestMigration, at }
      assert.sameDeepMembers(
        [...(yield* rows)],
        [
          { ...known, version: "0.2.0" },
          { ...known, version: "0.3.0" }
        ]
      )
      yield* TestClock.adjust("8 days")
      yield* Instances.use((instances) => instances.trim)
      assert.deepStrictEqual(yield* rows, [])
    })
  )
})

layer(testServices())("A heartbeat of an instance", (it) => {
  it.effect.each(["-40 days", "-11 minutes", "-1 second", "11 minutes", "40 days"] as const)(
    "A heartbeat of an instance whose clock is off by %s is dated by the database's clock",
    (by) =>
      Effect.gen(function* () {
        const now = yield* freshWeek
        yield* moveTo(plus(now, by))
        const id = yield* Effect.sync(() => crypto.randomUUID())
        yield* Instances.use((instances) => instances.beat({ ...self, id })).pipe(withDatabaseAt(now))
        yield* moveTo(now)
        const [{ at } = assert.fail("it wrote none")] = (yield* rows).slice(-1)
        assert.deepStrictEqual(at, DateTime.toDateUtc(now))
      })
  )
})

describe("The migration to heartbeats", () => {
  const migrated = Effect.fnUntraced(function* (url: Redacted.Redacted, known: Record<string, Migration>) {
    yield* Database.migrate({ url, site: "global", known })
    return yield* Effect.map(Layer.build(poolOn(url)), Context.get(SqlClient.SqlClient))
  })
  const before = Object.fromEntries(Object.entries(migrations).filter(([name]) => name < "0025")) as Record<
    string,
    Migration
  >

  it.live(
    "The migration takes a job's last tick for the heartbeat of the program before, if there is one",
    () =>
      Effect.gen(function* () {
        const [used, fresh] = [yield* emptyDatabase, yield* emptyDatabase]
        const sql = yield* migrated(used, before)
        const last = DateTime.toDateUtc(instant("2026-03-02T12:00:00Z"))
        yield* sql`insert into job_runs (job, at) values ('settlement', ${last}), ('skill', '2026-03-02T11:59:00Z')`
        yield* migrated(used, migrations)
        assert.deepStrictEqual(yield* Effect.provide(rows, poolOn(used)), [
          { name: "no heartbeat", version: "unknown", program: 0, at: last }
        ])
        yield* migrated(fresh, migrations)
        assert.deepStrictEqual(yield* Effect.provide(rows, poolOn(fresh)), [])
      })
  )
})
