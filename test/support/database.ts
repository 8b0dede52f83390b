/** A database of its own for each test file or block, copied from the migrated template. */
import { randomBytes } from "node:crypto"
import { Clock, Effect, Layer, Redacted } from "effect"
import { SqlClient } from "effect/sql"
import { inject } from "vitest"
import * as Database from "../../src/layers/postgres/Database.ts"

const maintenance = Database.client(Redacted.make(inject("postgresUrl")))

/** Makes a copy of a database, dropped when the scope ends, and answers its URL. */
const copyOf = Effect.fnUntraced(function* (template: string) {
  const name = `test_${randomBytes(8).toString("hex")}`
  yield* Effect.acquireRelease(
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      yield* sql`create database ${sql(name)} template ${sql(template)} strategy file_copy`
    }).pipe(Effect.provide(maintenance)),
    () =>
      Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        // Only a superuser may force out an autovacuum worker; without force PostgreSQL sees it off itself.
        yield* sql`drop database ${sql(name)} with (force)`.pipe(
          Effect.catchReason("SqlError", "AuthorizationError", () => sql`drop database ${sql(name)}`)
        )
      }).pipe(Effect.provide(maintenance), Effect.orDie)
  )
  const url = new URL(inject("postgresUrl"))
  url.pathname = `/${name}`
  return Redacted.make(url.href)
})

/** A fresh migrated database. */
export const freshDatabase = Effect.suspend(() => copyOf(inject("templateDatabase")))

/** One that nothing has migrated yet. */
export const emptyDatabase = copyOf("template0")

/** The pool looks for idle connections every few seconds: under a test clock, for each of those that a test skips. */
export const realTime = Layer.succeed(Clock.Clock, Clock.Clock.defaultValue())

/** A pool on this database. */
export const poolOn = (url: Redacted.Redacted) => Database.client(url).pipe(Layer.provide(realTime))

/** A pool on a fresh database. */
export const database = Layer.unwrap(Effect.map(freshDatabase, poolOn))
