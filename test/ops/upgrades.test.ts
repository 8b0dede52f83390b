/** An upgrade in any order: what an older program could not read is not written before every instance is of the new version. */
import { PgClient } from "@effect/sql-pg"
import { assert, describe, it, layer } from "@effect/vitest"
import { Context, DateTime, Duration, Effect, Layer, Schema } from "effect"
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
import { freshWeek, importCandles, instant, newChallenge, newMacro, plus } from "../support/challenges.ts"
import { countOf, emptyDatabase, poolOn, realTime, rowsOf } from "../support/database.ts"
import { testServices } from "../support/services.ts"

const predictDue = ReferenceAgents.use((agents) => agents.predictDue)

const self: Instance = {
  id: "019a0000-0000-7000-8000-000000000001",
  name: "host-1",
  version: "0.2.0",
  roles: ["api", "jobs"]
}

const beat = Instances.use((instances) => instances.beat(self))

/** An instance that writes heartbeats, of a program that knows migrations up to this one, as it was seen so long ago. */
const seen = Effect.fnUntraced(function* (program: number, ago: Duration.Input) {
  const at = DateTime.toDateUtc(DateTime.subtractDuration(yield* DateTime.now, ago))
  yield* SqlClient.SqlClient.use(
    (sql) => sql`
      insert into instances (id, name, version, program, roles, started_at, seen_at)
      values (uuidv7(), 'host-1', 'another', ${program}, '{api}', ${at}, ${at})`
  )
})

/** A session as a program opens it, for as long as the scope lasts. */
const session = (applicationName: string) =>
  Effect.gen(function* () {
    const [name] = yield* SqlClient.SqlClient.use((sql) => sql`select current_database()`.values)
    const url = new URL(inject("runningUrl"))
    url.pathname = `/${String(name?.[0])}`
    const client = PgClient.layer({
      url: yield* Schema.decodeEffect(Schema.RedactedFromValue(Schema.String))(url.href),
      applicationName,
      maxConnections: 1
    }).pipe(Layer.provide(realTime))
    const sql = yield* Effect.map(Layer.build(client), Context.get(SqlClient.SqlClient))
    yield* sql`select 1`
  })

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
    "beside an instance that knows migration %s and was seen %s ago answer or are silent: %s",
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
    "keeps the reference agents silent while it has a session, and for ten minutes after the last one was seen",
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

  it.effect.each(["psql", "auspex/26", "auspex/9", "harness", "auspex-backup", ""])(
    "is not seen in a session by the name of %s",
    (applicationName) =>
      Effect.gen(function* () {
        yield* freshWeek
        yield* newChallenge()
        yield* session(applicationName)
        yield* beat
        assert.isAbove(yield* predictDue, 0)
      })
  )
})

layer(testServices({ AUSPEX_SCHEDULES: "ladder,macro" }))("The schedules", (it) => {
  it.effect("make no question that an older instance could not read, and make it once none is seen", () =>
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

layer(testServices())("The first program that reads something", (it) => {
  const needed = SqlClient.SqlClient.use((sql) => sql`select min_program from instance`.values).pipe(
    Effect.map(([row]) => Number(row?.[0]))
  )

  it.effect("is the one that the database asks for once it has been written", () =>
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
  it.effect("says who runs since when, and a later start under the same name hides no earlier one", () =>
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
    "takes the last tick of a job for the heartbeat of the program before, and sees none in a new database",
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
