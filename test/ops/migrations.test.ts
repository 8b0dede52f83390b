/** Starts and migrations beside backups, long readers, and instances of other versions. */
import { assert, describe, it, layer } from "@effect/vitest"
import { Context, Deferred, Effect, Exit, Fiber, Layer, Option, Redacted } from "effect"
import { SqlClient } from "effect/sql"
import { TestClock } from "effect/testing"
import { inject } from "vitest"
import * as Database from "../../src/layers/postgres/Database.ts"
import { migrations } from "../../src/layers/postgres/schema/index.ts"
import type { Migration } from "../../src/layers/postgres/schema/index.ts"
import { onboard } from "../support/agents.ts"
import { isFull } from "../support/breadth.ts"
import { newChallenge } from "../support/challenges.ts"
import { asOwner, emptyDatabase, freshDatabase, ownersUrl, poolOn, runnersUrl } from "../support/database.ts"
import { TelemetryRecorder, telemetryRecorder } from "../support/telemetryRecorder.ts"
import { get, post, testServer } from "../support/server.ts"
import { readUntil } from "../support/waiting.ts"

/** Holds, until the scope ends or `released`, the lock that pg_dump and every reader takes, on every table. */
const holding = Effect.fnUntraced(function* (url: Redacted.Redacted, mode = "access share") {
  const held = yield* Deferred.make<void>()
  const released = yield* Deferred.make<void>()
  const holder = yield* Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    yield* sql.withTransaction(
      Effect.gen(function* () {
        const [tables] = yield* sql`
          select string_agg(oid::regclass::text, ', ') from pg_class
           where relkind in ('r', 'p') and relnamespace = 'public'::regnamespace`.values
        yield* sql`lock table ${sql.literal(String(tables?.[0]))} in ${sql.literal(mode)} mode`
        yield* Deferred.succeed(held, undefined)
        yield* Deferred.await(released)
      })
    )
  }).pipe(Effect.provide(poolOn(url)), Effect.forkScoped)
  yield* Deferred.await(held)
  return { release: Effect.andThen(Deferred.succeed(released, undefined), Fiber.join(holder)) }
})

const started = (url: Redacted.Redacted, owner: Option.Option<Redacted.Redacted>, migrates = true) =>
  Effect.exit(Effect.scoped(Layer.build(Database.layer({ url, ownerUrl: owner, site: "global", migrates }))))

const newer = Database.latestMigration + 1
const named = (name: string) => `${String(newer).padStart(4, "0")}_${name}`

/** The migrations of the version after this one. */
const withNewer = (migration: Migration) => ({ ...migrations, [named("newer")]: migration })

const expands: Migration = {
  run: SqlClient.SqlClient.use((sql) => sql`alter table predictions add column newer int`),
  minProgram: 1
}

/** Statements of the owner, on a connection of its own. */
const statements = (owner: Redacted.Redacted) =>
  Effect.map(Layer.build(poolOn(owner)), Context.get(SqlClient.SqlClient))

describe("A start", () => {
  it.live("A start without a migration waits for no backup, which holds every table, nor for others", () =>
    Effect.gen(function* () {
      const url = yield* freshDatabase
      const owner = ownersUrl(url)
      const sql = yield* statements(owner)
      const { release } = yield* holding(owner)
      const starts = Effect.gen(function* () {
        assert.isTrue(Exit.isSuccess(yield* started(url, Option.some(owner))))
        assert.isTrue(Exit.isSuccess(yield* started(url, Option.none())))
      })
      yield* starts
      yield* release
      yield* sql.withTransaction(
        Effect.andThen(sql`select pg_advisory_xact_lock(${Database.migrationLock})`, starts)
      )
    })
  )

  it.live("A start works on a newer schema that says that it may, and not on one that does not", () =>
    Effect.gen(function* () {
      const url = yield* freshDatabase
      const owner = ownersUrl(url)
      yield* Database.migrate({ url: owner, site: "global", known: withNewer(expands) })
      assert.isTrue(Exit.isSuccess(yield* started(url, Option.some(owner))))
      const sql = yield* statements(owner)
      yield* sql`update instance set min_program = ${newer}`
      assert.match(
        String(yield* started(url, Option.some(owner))),
        new RegExp(`The database has migration ${newer} and needs a program that knows migration ${newer}`)
      )
    })
  )

  it.live("A start with AUSPEX_MIGRATE=off changes nothing, and says in a line what to run where", () =>
    Effect.gen(function* () {
      const empty = yield* emptyDatabase
      const refused = (url: Redacted.Redacted) =>
        Effect.map(started(url, Option.some(ownersUrl(url)), false), String)
      assert.match(
        yield* refused(empty),
        /finds no tables of Auspex, and AUSPEX_MIGRATE is off: run npm run migrate\./
      )
      yield* Database.migrate({ url: empty, site: "global" })
      const running = runnersUrl(empty)
      assert.match(
        yield* refused(running),
        /may not use the tables of Auspex: run npm run migrate with AUSPEX_MIGRATION_URL, by which "auspex" lets it\./
      )
      const prepared = {
        url: running,
        ownerUrl: Option.some(empty),
        site: "global",
        settingsFrom: "connection"
      } as const
      assert.deepStrictEqual(yield* Database.prepare(prepared), { from: Database.latestMigration, ran: [] })
      assert.isTrue(Exit.isSuccess(yield* started(running, Option.none(), false)))
      const sql = yield* statements(empty)
      yield* sql`delete from effect_sql_migrations where migration_id = ${Database.latestMigration}`
      assert.include(
        yield* refused(running),
        `The database has migration ${Database.latestMigration - 1}, this program needs ${Database.latestMigration}, and AUSPEX_MIGRATE is off: run npm run migrate.`
      )
    })
  )
})

describe("A migration", () => {
  it.live.runIf(isFull)(
    "A migration that waits for a reader lets others at the table meanwhile, and runs once it can",
    () =>
      Effect.gen(function* () {
        const owner = ownersUrl(yield* freshDatabase)
        const { release } = yield* holding(owner)
        const known = withNewer({ ...expands, minProgram: newer })
        const told: Array<string> = []
        const migrating = yield* Database.migrate({ url: owner, site: "global", known }).pipe(
          Effect.provideService(Database.Progress, (what) => Effect.sync(() => void told.push(what))),
          Effect.forkScoped
        )
        const sql = yield* statements(owner)
        // Sessions give up after 4 s of waiting for a lock: none of these does.
        yield* readUntil(sql`select count(*) from predictions`, () => told.length > 1)
        assert.isUndefined(migrating.pollUnsafe())
        yield* release
        const { from, ran } = yield* Fiber.join(migrating)
        assert.deepStrictEqual(
          [from, ran.map(([name]) => name)],
          [Database.latestMigration, [named("newer")]]
        )
        assert.strictEqual(told[0], `the migration ${named("newer")} is run`)
        assert.match(
          String(told[1]),
          /^a migration waits for a lock that a backup or .* holds; it is tried again$/
        )
        assert.deepStrictEqual(yield* sql`select newer from predictions`, [])
        assert.deepStrictEqual(yield* sql`select min_program from instance`, [{ min_program: newer }])
      })
  )

  it.live("A migration builds an index beside writers, and anew where an attempt failed", () =>
    Effect.gen(function* () {
      const owner = ownersUrl(yield* freshDatabase)
      const sql = yield* statements(owner)
      const { release } = yield* holding(owner, "row exclusive")
      // A failed build leaves an index that is not valid.
      yield* sql`create table doubled as select 1 as n from generate_series(1, 2)`
      yield* Effect.flip(sql`create unique index concurrently doubled_n on doubled (n)`)
      const indexes = [
        { name: "doubled_n", definition: "on doubled (n)" },
        { name: "predictions_newer", definition: "on predictions (received_at)" }
      ]
      const known = withNewer({ ...expands, indexes })
      const migrating = yield* Effect.forkScoped(Database.migrate({ url: owner, site: "global", known }))
      // Others still write once the index waits for the writer.
      const building = sql`
        select 1 from pg_stat_progress_create_index where relid = 'predictions'::regclass and datname = current_database()`
      yield* Effect.repeat(building, { until: (rows) => rows.length > 0 })
      yield* sql.withTransaction(sql`lock table predictions in row exclusive mode`)
      yield* release
      assert.lengthOf((yield* Fiber.join(migrating)).ran, 1)
      const valid = yield* sql`
        select relname as name from pg_index join pg_class on oid = indexrelid
         where indisvalid and not indisunique and relname = any(${indexes.map(({ name }) => name)}::text[])
         order by name`
      assert.deepStrictEqual(valid, [{ name: "doubled_n" }, { name: "predictions_newer" }])
    })
  )
})

layer(testServer().pipe(Layer.provideMerge(telemetryRecorder)))("A server that takes no writes", (it) => {
  /** All sessions see a server as a standby has it, or a provider whose disk is full, from now on. */
  const takingWrites = (action: "set" | "reset") =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const [name] = yield* sql`select current_database()`.values
      const value = action === "set" ? "= on" : ""
      yield* sql.withTransaction(
        Effect.gen(function* () {
          yield* sql`set transaction read write`
          yield* sql.unsafe(
            `alter role current_user in database ${String(name?.[0])} ${action} default_transaction_read_only ${value}`
          )
        })
      )
      yield* sql`
        select pg_terminate_backend(pid) from pg_stat_activity
         where datname = current_database() and pid <> pg_backend_pid()`
      yield* Effect.ignore(sql`select pg_terminate_backend(pg_backend_pid())`)
    })

  it.effect("A server without writes makes the instance not ready, and writers are asked to come again", () =>
    Effect.gen(function* () {
      yield* takingWrites("set")
      yield* TestClock.adjust("2 seconds")
      const ready = yield* get("/health/ready")
      assert.strictEqual(ready.status, 503)
      assert.include(ready.text, "the server takes no writes")
      const refused = yield* post("/api/v1/agent/registry/register", { json: { name: "late" } })
      assert.strictEqual(refused.status, 503)
      assert.strictEqual(refused.json["code"], "unavailable")
      const { lines } = yield* TelemetryRecorder
      assert.isTrue(
        lines.some(
          (line) =>
            line.includes("25006") && line.includes("cannot execute INSERT in a read-only transaction")
        )
      )
      yield* takingWrites("reset")
      yield* TestClock.adjust("2 seconds")
      assert.strictEqual((yield* get("/health/ready")).status, 200)
      assert.strictEqual(
        (yield* post("/api/v1/agent/registry/register", { json: { name: "late" } })).status,
        201
      )
    })
  )
})

layer(testServer())("An instance", (it) => {
  const allow = (program: number) =>
    asOwner(SqlClient.SqlClient.use((sql) => sql`update instance set min_program = ${program}`))
  const readiness = Effect.andThen(TestClock.adjust("2 seconds"), get("/health/ready"))

  /** The database of this instance, as it runs. */
  const ownUrl = SqlClient.SqlClient.use((sql) => sql`select current_database()`.values).pipe(
    Effect.map(([name]) => {
      const url = new URL(inject("runningUrl"))
      url.pathname = `/${String(name?.[0])}`
      return Redacted.make(url.href)
    })
  )

  it.effect("An instance serves on, and starts again, when a newer version migrated and failed", () =>
    Effect.gen(function* () {
      const { token } = yield* onboard()
      const url = yield* ownUrl
      const owner = ownersUrl(url)
      const canary = Layer.effectDiscard(Effect.fail("its setting is wrong")).pipe(
        Layer.provideMerge(
          Layer.effectDiscard(Database.migrate({ url: owner, site: "global", known: withNewer(expands) }))
        )
      )
      assert.isTrue(Exit.isFailure(yield* Effect.exit(Effect.scoped(Layer.build(canary)))))
      assert.strictEqual((yield* readiness).status, 200)
      const challenge = yield* newChallenge()
      const predicted = yield* post(`/api/v1/eval/challenges/${challenge.id}/predict`, {
        token,
        json: { direction: "bullish", confidence: 0.5 }
      })
      assert.strictEqual(predicted.status, 201)
      assert.isTrue(Exit.isSuccess(yield* started(url, Option.some(owner))))
    })
  )

  it.effect(
    "An instance stays ready beside a newer schema that it may run on, not beside one that ends it",
    () =>
      Effect.gen(function* () {
        yield* allow(Database.latestMigration)
        assert.strictEqual((yield* readiness).status, 200)
        yield* allow(newer)
        const ended = yield* readiness
        assert.strictEqual(ended.status, 503)
        assert.include(
          ended.text,
          `the database needs a program that knows migration ${newer}, this one knows ${Database.latestMigration}`
        )
      })
  )
})
