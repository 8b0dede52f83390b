/** The database of Auspex inside the cluster, and its two roles. */
import { randomBytes } from "node:crypto"
import { PgClient } from "@effect/sql-pg"
import { Effect, Redacted } from "effect"
import { superuser } from "./Cluster.ts"
import type { Cluster } from "./Cluster.ts"

/** Of the database, and of the role that owns it. */
const name = "auspex"
const runningRole = "auspex_run"

const url = (user: string, password: string, port: number, database: string) =>
  Redacted.make(`postgres://${user}:${password}@127.0.0.1:${port}/${database}`)

/**
 * The one role owns the database and what is in it, and migrates; the other runs, and owns nothing. Neither is a superuser:
 * whoever gets hold of a connection cannot read the machine's files or run programs, and on the one that is used all the
 * time not switch off what guards the records either.
 */
export const prepare = Effect.fn("Database.prepare")(function* (cluster: Cluster, port: number) {
  const { password } = cluster
  // Whoever runs was told it by this start, so nobody has to keep it.
  const runningPassword = randomBytes(32).toString("base64url")
  yield* Effect.gen(function* () {
    const sql = yield* PgClient.PgClient
    for (const [role, secret, rights] of [
      [name, password, "createdb"],
      [runningRole, runningPassword, "nocreatedb"]
    ] as const) {
      const roles = yield* sql`select from pg_roles where rolname = ${role}`
      if (roles.length === 0) yield* sql`create role ${sql(role)}`
      // Every time, since the password file may have been replaced. It stands in the statement, which a trace would hold.
      yield* Effect.withTracerEnabled(
        sql`alter role ${sql(role)} login ${sql.literal(rights)} password ${sql.literal(`'${secret}'`)}`,
        false
      )
    }
    const databases = yield* sql`select from pg_database where datname = ${name}`
    if (databases.length === 0) yield* sql`create database ${sql(name)} owner ${sql(name)}`
  }).pipe(
    Effect.provide(PgClient.layer({ url: url(superuser, password, port, "postgres"), maxConnections: 1 }))
  )
  return {
    url: url(runningRole, runningPassword, port, name),
    ownerUrl: url(name, password, port, name)
  }
})
