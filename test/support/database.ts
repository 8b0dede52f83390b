/** A database of its own for each test file or block, copied from the migrated template. */
import { randomBytes } from "node:crypto"
import { PgClient } from "@effect/sql-pg"
import { Clock, Effect, Layer, Option, Redacted, Schema, Semaphore } from "effect"
import { SqlClient } from "effect/sql"
import type { Statement } from "effect/sql"
import { Client } from "pg"
import { inject } from "vitest"
import * as Database from "../../src/layers/postgres/Database.ts"
import { findAll, findOne } from "../../src/layers/postgres/sql.ts"
import { toldTime } from "./databaseTime.ts"

/** One connection for the life of this worker: a new one takes half as long as a copy of a database. */
const connected = (async () => {
  const client = new Client({ connectionString: inject("ownerUrl") })
  // The server ends before the worker does.
  client.on("error", () => {})
  await client.connect()
  return client
})()

/** Tests of one file may run concurrently, but a connection takes one statement at a time. */
const turns = Semaphore.makeUnsafe(1)

const maintain = (statement: string) =>
  Effect.promise(async () => (await connected).query(statement)).pipe(turns.withPermit, Effect.asVoid)

/** Another database of this URL's server, for the same role. */
const databaseOf = (server: string, name: string) => {
  const url = new URL(server)
  url.pathname = `/${name}`
  return Redacted.make(url.href)
}

/** Makes a copy of a database, dropped when the scope ends, and returns its name. */
const copyOf = Effect.fnUntraced(function* (template: string, options = "strategy file_copy") {
  const name = `test_${randomBytes(8).toString("hex")}`
  yield* Effect.acquireRelease(maintain(`create database ${name} template ${template} ${options}`), () =>
    // Only a superuser may force out an autovacuum worker; without force PostgreSQL ends it itself.
    maintain(`drop database ${name} with (force)`).pipe(
      Effect.catchDefect(() => maintain(`drop database ${name}`))
    )
  )
  return name
})

/** A fresh migrated database, for the running role. */
export const freshDatabase = Effect.suspend(() =>
  Effect.map(copyOf(inject("templateDatabase")), (name) => databaseOf(inject("runningUrl"), name))
)

/** A database without a schema, for the role that owns it. */
export const emptyDatabase = Effect.map(copyOf("template0"), (name) => databaseOf(inject("ownerUrl"), name))

/** A database without a schema in another encoding. */
export const databaseIn = (encoding: string) =>
  Effect.map(copyOf("template0", `encoding ${encoding} locale 'C'`), (name) =>
    databaseOf(inject("ownerUrl"), name)
  )

/** The pool looks for idle connections every few seconds: under a test clock it would do so for each of those that a test skips. */
export const realTime = Layer.succeed(Clock.Clock, Clock.Clock.defaultValue())

/** A pool on this database. */
export const poolOn = (url: Redacted.Redacted) =>
  Database.client(url).pipe(Layer.provide(realTime), Layer.merge(toldTime))

/** A fresh migrated database whose locale knows these letters: LC_CTYPE C of libc, or one of the built-in provider. */
export const databaseOfCharacters = Effect.fnUntraced(function* (characters: string) {
  const provider =
    characters === "C"
      ? "locale_provider libc locale 'C'"
      : `locale_provider builtin builtin_locale 'C.UTF-8' lc_collate 'C' lc_ctype '${characters}'`
  const name = yield* copyOf("template0", `encoding 'UTF8' ${provider}`)
  yield* Database.migrate({
    url: databaseOf(inject("ownerUrl"), name),
    site: "global",
    runsAs: new URL(inject("runningUrl")).username
  })
  return databaseOf(inject("runningUrl"), name)
})

/** A pool on a fresh database, for the running role. */
export const database = Layer.unwrap(Effect.map(freshDatabase, poolOn))

const nameOf = (url: Redacted.Redacted) => new URL(Redacted.value(url)).pathname.slice(1)

/** The URL of this database for the role that owns its tables. */
export const ownersUrl = (url: Redacted.Redacted) => databaseOf(inject("ownerUrl"), nameOf(url))

/** The URL of this database for the running role. */
export const runnersUrl = (url: Redacted.Redacted) => databaseOf(inject("runningUrl"), nameOf(url))

const currentName = SqlClient.SqlClient.use((sql) =>
  Effect.map(sql`select current_database()`.values, ([row]) => String(row?.[0]))
)

/** A separate pool on the same database, like that of another replica. */
export const anotherPool = Layer.unwrap(
  Effect.map(currentName, (name) => poolOn(databaseOf(inject("runningUrl"), name)))
)

/** A connection to the same database, for the role that owns its tables. */
const owner = Layer.unwrap(
  Effect.map(currentName, (name) =>
    PgClient.layer({
      url: databaseOf(inject("ownerUrl"), name),
      maxConnections: 1,
      transformJson: false,
      startupParameters: { timezone: "UTC", ...Database.plannerSettings }
    })
  )
).pipe(Layer.provide(realTime))

/**
 * Runs work that the running role may not do: all statements of the ordinary client join one transaction of the tables' owner. That
 * one is within a transaction of the ordinary client, which nested transactions need.
 */
export const asOwner = <A, E, R>(work: Effect.Effect<A, E, R>) =>
  SqlClient.SqlClient.use((ordinary) =>
    SqlClient.SqlClient.use((sql) =>
      sql.withTransaction(
        Effect.flatMap(Effect.serviceOption(sql.transactionService), (own) =>
          ordinary.withTransaction(
            work.pipe(
              Effect.provideService(ordinary.transactionService, Option.getOrThrow(own)),
              Effect.provideService(SqlClient.SqlClient, ordinary)
            )
          )
        )
      )
    ).pipe(Effect.provide(owner, { local: true }))
  )

/** Reads rows past the services, to check what is really stored. */
export const rowsOf = <Row>(
  row: Schema.ConstraintDecoder<Row>,
  statement: (sql: SqlClient.SqlClient) => Statement.Statement<object>
) => Effect.flatMap(SqlClient.SqlClient, (sql) => findAll(row)(statement(sql)))

/** The number that a statement selects as `count`. */
export const countOf = (statement: (sql: SqlClient.SqlClient) => Statement.Statement<object>) =>
  Effect.flatMap(SqlClient.SqlClient, (sql) =>
    findOne(Schema.Struct({ count: Schema.Int }))(statement(sql))
  ).pipe(Effect.map((row) => row.count))

/** The number of deadlocks that this database has had; PostgreSQL may report one late, never one too many. */
export const deadlocks = countOf(
  (sql) => sql`select deadlocks::int as count from pg_stat_database where datname = current_database()`
)
