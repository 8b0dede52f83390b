/** A database of its own for each test file or block, copied from the migrated template. */
import { randomBytes } from "node:crypto"
import { Effect, Layer, Redacted } from "effect"
import { SqlClient } from "effect/sql"
import { inject } from "vitest"
import * as Database from "../../src/layers/postgres/Database.ts"

const maintenance = Database.client(Redacted.make(inject("postgresUrl")))

/** Makes a fresh migrated database, dropped when the scope ends, and answers its URL. */
export const freshDatabase = Effect.gen(function* () {
  const name = `test_${randomBytes(8).toString("hex")}`
  const template = inject("templateDatabase")
  yield* Effect.acquireRelease(
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      yield* sql`create database ${sql(name)} template ${sql(template)} strategy file_copy`
    }).pipe(Effect.provide(maintenance)),
    () =>
      Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        yield* sql`drop database ${sql(name)} with (force)`
      }).pipe(Effect.provide(maintenance), Effect.orDie)
  )
  const url = new URL(inject("postgresUrl"))
  url.pathname = `/${name}`
  return Redacted.make(url.href)
})

/** A pool on a fresh database. */
export const database = Layer.unwrap(Effect.map(freshDatabase, Database.client))
