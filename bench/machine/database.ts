/** One embedded PostgreSQL for the whole bench, exactly as production starts it, and a database for each scenario. */
import { chmodSync, rmSync } from "node:fs"
import { dirname, join } from "node:path"
import { PgClient } from "@effect/sql-pg"
import { Effect, Redacted } from "effect"
import { SqlClient } from "effect/sql"
import { superuser } from "../../src/layers/embedded/Cluster.ts"
import * as EmbeddedPostgres from "../../src/layers/embedded/EmbeddedPostgres.ts"
import * as Database from "../../src/layers/postgres/Database.ts"
import { site } from "../world.ts"
import { temporaryFolder } from "./processes.ts"

export interface Postgres {
  readonly url: Redacted.Redacted
  readonly pid: number
}

/** Starts in a temporary directory, which is removed at the end. */
export const start = Effect.gen(function* () {
  const directory = yield* temporaryFolder
  // PostgreSQL's account must be able to enter if root runs the bench.
  chmodSync(directory, 0o755)
  // The finalizer is added before the server starts, so that it runs after the server has stopped.
  let elsewhere: string | undefined
  yield* Effect.addFinalizer(() =>
    Effect.sync(() => {
      if (elsewhere !== undefined) rmSync(elsewhere, { recursive: true, force: true })
    })
  )
  const running = yield* EmbeddedPostgres.start({
    dataDir: join(directory, "data"),
    // Two servers' pools and pgbench need the connections; nothing else differs from production.
    settings: { max_connections: "200" }
  })
  if (running.relocatedFrom !== null) elsewhere = dirname(running.clusterDir)
  // The bench makes databases, fills them and reads their plans, so it acts as the owner.
  const postgres: Postgres = { url: running.ownerUrl, pid: running.pid }
  return postgres
})

/** A small pool for the bench's own statements. */
export const seeding = (url: string) =>
  PgClient.layer({
    url: Redacted.make(url),
    maxConnections: 2,
    // The name has a number, so that it does not count as an instance from before heartbeats.
    applicationName: "bench/0",
    startupParameters: { timezone: "UTC" }
  })

/** Flushes earlier writes, so that the next measurement does not wait for them. */
export const checkpoint = (postgres: Postgres) => {
  const url = new URL(Redacted.value(postgres.url))
  url.username = superuser
  return Effect.gen(function* () {
    yield* (yield* SqlClient.SqlClient)`checkpoint`
  }).pipe(Effect.provide(seeding(url.href)))
}

/** A new migrated database. */
export const create = Effect.fnUntraced(function* (postgres: Postgres, name: string) {
  const maintenance = Redacted.value(postgres.url)
  yield* Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    yield* sql`create database ${sql(name)}`
  }).pipe(Effect.provide(seeding(maintenance)))
  const url = new URL(maintenance)
  url.pathname = `/${name}`
  yield* Database.migrate({ url: Redacted.make(url.href), site })
  return url.href
})
