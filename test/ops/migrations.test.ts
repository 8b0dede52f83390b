/** Starts and migrations beside backups, long readers, and instances of other versions. */
import { assert, describe, it, layer } from "@effect/vitest"
import { Context, Deferred, Effect, Exit, Fiber, Layer, Option } from "effect"
import { SqlClient } from "effect/sql"
import { TestClock } from "effect/testing"
import type { Redacted } from "effect"
import * as Database from "../../src/layers/postgres/Database.ts"
import { migrations } from "../../src/layers/postgres/schema/index.ts"
import { asOwner, freshDatabase, ownersUrl, poolOn } from "../support/database.ts"
import { TelemetryRecorder, telemetryRecorder } from "../support/telemetryRecorder.ts"
import { get, post, testServer } from "../support/server.ts"

/** Holds, until `released`, the lock that pg_dump and every reader takes. */
const holding = Effect.fnUntraced(function* (url: Redacted.Redacted, released: Deferred.Deferred<void>) {
  const held = yield* Deferred.make<void>()
  yield* Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    yield* sql.withTransaction(
      Effect.gen(function* () {
        yield* sql`lock table predictions, instance, effect_sql_migrations in access share mode`
        yield* Deferred.succeed(held, undefined)
        yield* Deferred.await(released)
      })
    )
  }).pipe(Effect.provide(poolOn(url)), Effect.forkScoped)
  yield* Deferred.await(held)
})

const started = (url: Redacted.Redacted, owner: Redacted.Redacted) =>
  Effect.exit(
    Effect.scoped(
      Effect.void.pipe(Effect.provide(Database.layer({ url, ownerUrl: Option.some(owner), site: "global" })))
    )
  )

const newer = Database.latestMigration + 1

const recordNewer = (minProgram: number) =>
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    yield* sql`insert into effect_sql_migrations (migration_id, name) values (${newer}, 'newer')`
    yield* sql`update instance set min_program = ${minProgram}`
  })

describe("A start", () => {
  it.live("that has nothing to migrate does not wait for a backup that holds every table", () =>
    Effect.gen(function* () {
      const url = yield* freshDatabase
      const owner = ownersUrl(url)
      const released = yield* Deferred.make<void>()
      yield* holding(owner, released)
      assert.isTrue(Exit.isSuccess(yield* started(url, owner)))
      yield* Deferred.succeed(released, undefined)
    })
  )

  it.live("works on a newer schema that says that it may, and not on one that does not", () =>
    Effect.gen(function* () {
      const url = yield* freshDatabase
      const owner = ownersUrl(url)
      yield* Effect.provide(recordNewer(Database.latestMigration), poolOn(owner))
      assert.isTrue(Exit.isSuccess(yield* started(url, owner)))
      const raised = SqlClient.SqlClient.use((sql) => sql`update instance set min_program = ${newer}`)
      yield* Effect.provide(raised, poolOn(owner))
      assert.match(
        String(yield* started(url, owner)),
        new RegExp(`The database has migration ${newer} and needs a program that knows migration ${newer}`)
      )
    })
  )
})

describe("A migration", () => {
  it.live("that waits for a reader lets others at the table between its attempts, and runs once it can", () =>
    Effect.gen(function* () {
      const owner = ownersUrl(yield* freshDatabase)
      const released = yield* Deferred.make<void>()
      yield* holding(owner, released)
      const next = SqlClient.SqlClient.use((sql) => sql`alter table predictions add column newer int`)
      const known = {
        ...migrations,
        [`${String(newer).padStart(4, "0")}_newer`]: { run: next, minProgram: newer }
      }
      const migrating = yield* Effect.forkScoped(
        Effect.provide(Database.migrate("global", undefined, known), poolOn(owner))
      )
      const sql = yield* Effect.map(Layer.build(poolOn(owner)), Context.get(SqlClient.SqlClient))
      // Sessions give up after 4 s of waiting for a lock: none of these does.
      for (let read = 0; read < 8; read++) {
        yield* sql`select count(*) from predictions`
        yield* Effect.sleep("400 millis")
      }
      assert.isUndefined(migrating.pollUnsafe())
      yield* Deferred.succeed(released, undefined)
      yield* Fiber.join(migrating)
      assert.deepStrictEqual(yield* sql`select newer from predictions`, [])
      assert.deepStrictEqual(yield* sql`select min_program from instance`, [{ min_program: newer }])
    })
  )
})

layer(testServer().pipe(Layer.provideMerge(telemetryRecorder)))("A server that takes no writes", (it) => {
  /** As of a standby, or of a provider whose disk is full, seen by all sessions from now on. */
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

  it.effect("makes the instance not ready, and whoever writes is asked to come again", () =>
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

  it.effect(
    "stays ready beside a newer schema that it may run on, and no longer beside one that ends it",
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
