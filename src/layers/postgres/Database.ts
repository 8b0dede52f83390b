/**
 * The connection pool and the schema. Sessions have time limits, so that no statement and no forgotten transaction
 * holds anything up for long.
 */
import { PgClient } from "@effect/sql-pg"
import { Context, Data, DateTime, Effect, Layer, Redacted } from "effect"
import { Reactivity } from "effect/reactivity"
import { Migrator, SqlClient } from "effect/sql"
import type { SqlError } from "effect/sql"
import type { Site } from "../../services/Settings.ts"
import * as LogConnection from "./log/LogConnection.ts"
import { migrations } from "./migrations/index.ts"
import * as Patient from "./Patient.ts"
import { keepTexts } from "./preparedStatements.ts"
import { forgetTexts } from "./statementTexts.ts"

/** The database cannot be used as it is: it is newer than this program, or serves another site. */
export class DatabaseMismatch extends Data.TaggedError("DatabaseMismatch")<{ readonly message: string }> {}

/** 16 to 20 connections carried the most in measurements on two cores; more only queue inside PostgreSQL. */
const poolSize = 18

/**
 * Our statements find their rows by index whatever they are asked for, so one plan serves all values, and planning anew
 * each time took longer than the statement itself. What reads half a table asks for `force_custom_plan` in its
 * transaction.
 */
export const planCacheMode = "force_generic_plan"

/**
 * A bitmap reads everything that meets a condition before the first row comes. A page of a list wants the first rows in
 * the order of its index, however many more there are, which a plan for all values cannot know. Nor does it know that a
 * range of the log is short, and would have what takes a millisecond compiled first.
 */
export const plannerSettings = { plan_cache_mode: planCacheMode, enable_bitmapscan: "off", jit: "off" }

/**
 * A client for many small statements at once, each its own transaction that finds its rows by key: several are on their
 * way over one connection, which saves both ends most of what a statement costs beside its work. It is for nothing that
 * may take long, for what was sent after it would wait.
 */
export class Pipelined extends Context.Service<Pipelined, SqlClient.SqlClient>()(
  "auspex/layers/postgres/Pipelined"
) {}

/** Few connections, each with enough to do that it need not wait for us. */
const pipelines = { maxConnections: 8, multiplex: true, multiplexConcurrency: 8 }

/**
 * Spans name the server by what is given beside the URL, and would say "localhost" of every other. What needs more reading than
 * this is left to the client alone.
 */
const serverOf = (url: Redacted.Redacted) => {
  const { hostname = "", pathname = "", port = "", search = "" } = URL.parse(Redacted.value(url)) ?? {}
  if (hostname === "" || /%/.test(hostname + pathname) || /[?&](host|port|dbname)=/.test(search)) return {}
  return {
    host: hostname.replace(/^\[(.*)\]$/, "$1"),
    ...(port !== "" && { port: Number(port) }),
    ...(pathname.length > 1 && { database: pathname.slice(1) })
  }
}

const connectionTo = (url: Redacted.Redacted) => ({
  url,
  ...serverOf(url),
  connectTimeout: "5 seconds" as const,
  idleTimeout: "60 seconds" as const,
  applicationName: "auspex",
  transformJson: false,
  startupParameters: {
    statement_timeout: "5000",
    lock_timeout: "4000",
    idle_in_transaction_session_timeout: "15000",
    timezone: "UTC",
    ...plannerSettings
  }
})

type Clients =
  | PgClient.PgClient
  | SqlClient.SqlClient
  | Pipelined
  | Patient.Patient
  | LogConnection.LogConnection

/** All clients of one database. */
export const client = (url: Redacted.Redacted): Layer.Layer<Clients, SqlError.SqlError> =>
  Layer.mergeAll(
    Layer.effect(
      Pipelined,
      Effect.tap(PgClient.make({ ...connectionTo(url), ...pipelines }), forgetTexts)
    ).pipe(Layer.provide(Reactivity.layer)),
    Patient.layer(connectionTo(url)),
    LogConnection.layer(connectionTo(url)),
    Layer.effectDiscard(Effect.flatMap(PgClient.PgClient, keepTexts)),
    Layer.effectDiscard(Effect.flatMap(PgClient.PgClient, forgetTexts))
  ).pipe(Layer.provideMerge(PgClient.layer({ ...connectionTo(url), maxConnections: poolSize })))

/** Any fixed number: whoever holds this advisory lock migrates, the others wait and find nothing left to do. */
const migrationLock = 4_280_771_001n

export const latestMigration = Math.max(...Object.keys(migrations).map((name) => Number.parseInt(name, 10)))

const run = Migrator.make({})({ loader: Migrator.fromRecord(migrations) })

/** Brings the schema up to date and claims the database for this site. Replicas that start at once take turns. */
export const migrate = Effect.fn("Database.migrate")(function* (site: Site) {
  const sql = yield* SqlClient.SqlClient
  yield* sql.withTransaction(
    Effect.gen(function* () {
      yield* sql`set local statement_timeout = 0`
      yield* sql`set local lock_timeout = 0`
      yield* sql`select pg_advisory_xact_lock(${migrationLock})`
      yield* run
      const [newest] = yield* sql`select max(migration_id)::int as id from effect_sql_migrations`.values
      const id = Number(newest?.[0] ?? 0)
      if (id > latestMigration) {
        return yield* new DatabaseMismatch({
          message: `The database has migration ${id}, this program knows ${latestMigration}: start the newer program.`
        })
      }
      const now = yield* DateTime.now
      yield* sql`
        insert into instance (site, created_at) values (${site}, ${DateTime.toDateUtc(now)}) on conflict do nothing`
      const [stored] = yield* sql`select site from instance`.values
      if (stored?.[0] !== site) {
        return yield* new DatabaseMismatch({
          message: `The database serves the site "${String(stored?.[0])}", AUSPEX_SITE is "${site}": each site has a database of its own.`
        })
      }
    })
  )
})

/** A pool on a migrated database. */
export const layer = (options: { readonly url: Redacted.Redacted; readonly site: Site }) =>
  Layer.effectDiscard(migrate(options.site)).pipe(Layer.provideMerge(client(options.url)))
