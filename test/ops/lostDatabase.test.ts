/** The loss of the database is told from every other failure, because clients are then asked to try again (503, not 500). */
import { PgClient } from "@effect/sql-pg"
import { assert, describe, it } from "@effect/vitest"
import { Cause, Effect, Exit, Fiber, Redacted } from "effect"
import { SqlClient } from "effect/sql"
import * as Database from "../../src/layers/postgres/Database.ts"
import { orDie, transaction } from "../../src/layers/postgres/sql.ts"
import { StoreUnavailable } from "../../src/services/domain/errors.ts"
import { asOwner, freshDatabase } from "../support/database.ts"

/** Ends every session of the service on this database, once `busy` of them are at work. */
const terminateSessions = (url: Redacted.Redacted, busy: number) =>
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    const atWork = sql`
      select 1 from pg_stat_activity
       where datname = current_database() and application_name like 'auspex/%' and state = 'active'`
    yield* Effect.repeat(atWork, { until: (rows) => rows.length >= busy })
    yield* sql`
      select pg_terminate_backend(pid, 5000) from pg_stat_activity
       where datname = current_database() and application_name like 'auspex/%'`
  }).pipe(Effect.provide(PgClient.layer({ url, applicationName: "striker" }), { local: true }))

const assertUnavailable = (exit: Exit.Exit<unknown, unknown>) => {
  const defects = Exit.isFailure(exit)
    ? exit.cause.reasons.filter(Cause.isDieReason).map(({ defect }) => defect)
    : []
  assert.lengthOf(defects, 1)
  assert.instanceOf(defects[0], StoreUnavailable)
}

describe("The unavailable store", () => {
  it.effect("The store is unavailable when a session ends under a statement", () =>
    Effect.gen(function* () {
      const url = yield* freshDatabase
      yield* Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        const waiting = yield* Effect.forkChild(Effect.exit(orDie(sql`select pg_sleep(4)`)))
        yield* terminateSessions(url, 1)
        assertUnavailable(yield* Fiber.join(waiting))
      }).pipe(Effect.provide(Database.client(url)))
    })
  )

  it.effect("The store is unavailable when a session ends in a transaction whose rollback then fails", () =>
    Effect.gen(function* () {
      const url = yield* freshDatabase
      yield* Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        const cutShort = Effect.gen(function* () {
          yield* sql`select 1`
          yield* terminateSessions(url, 0)
          yield* sql`select 2`
        })
        assertUnavailable(yield* Effect.exit(transaction(sql)(cutShort)))
        assert.lengthOf(yield* sql`select 'the next one is fine'`, 1)
      }).pipe(Effect.provide(Database.client(url)))
    })
  )

  it.effect("The store is unavailable when the server has no connection to give", () =>
    Effect.gen(function* () {
      const url = yield* freshDatabase
      yield* Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        yield* sql`select 1`
        const name = new URL(Redacted.value(url)).pathname.slice(1)
        yield* asOwner(sql`alter database ${sql(name)} connection limit 0`)
        // The session that the pool had goes with it.
        yield* sql`select pg_terminate_backend(pg_backend_pid())`.pipe(Effect.ignore)
        assertUnavailable(yield* Effect.exit(orDie(sql`select 2`)))
      }).pipe(Effect.provide(Database.client(url)))
    })
  )
})
