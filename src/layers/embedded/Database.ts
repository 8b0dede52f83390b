/** The database and the role of Auspex inside the cluster. */
import { PgClient } from "@effect/sql-pg"
import { Effect, Redacted } from "effect"
import { superuser } from "./Cluster.ts"
import type { Cluster } from "./Cluster.ts"

const name = "auspex"

const url = (user: string, password: string, port: number, database: string) =>
  Redacted.make(`postgres://${user}:${password}@127.0.0.1:${port}/${database}`)

/**
 * The role owns its database, but is no superuser: whoever gets hold of its connection cannot read the machine's
 * files, run programs or switch off triggers for a session.
 */
export const prepare = Effect.fn("Database.prepare")(function* (cluster: Cluster, port: number) {
  const { password } = cluster
  yield* Effect.gen(function* () {
    const sql = yield* PgClient.PgClient
    const roles = yield* sql`select from pg_roles where rolname = ${name}`
    if (roles.length === 0) yield* sql`create role ${sql(name)}`
    // Every time, since the password file may have been replaced. It stands in the statement, which a trace would hold.
    yield* Effect.withTracerEnabled(
      sql`alter role ${sql(name)} login createdb password ${sql.literal(`'${password}'`)}`,
      false
    )
    const databases = yield* sql`select from pg_database where datname = ${name}`
    if (databases.length === 0) yield* sql`create database ${sql(name)} owner ${sql(name)}`
  }).pipe(
    Effect.provide(PgClient.layer({ url: url(superuser, password, port, "postgres"), maxConnections: 1 }))
  )
  return url(name, password, port, name)
})
