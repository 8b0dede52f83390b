/**
 * The connection pool and the schema. Sessions have time limits for statements and idle transactions.
 */
import {
  Clock,
  Context,
  Data,
  DateTime,
  Duration,
  Effect,
  Layer,
  Option,
  Predicate,
  Schedule,
  Schema
} from "effect"
import type { Redacted } from "effect"
import { Reactivity } from "effect/reactivity"
import { Migrator, SqlClient, SqlError } from "effect/sql"
import type { Site } from "../../services/Settings.ts"
import * as BackgroundClient from "./BackgroundClient.ts"
import { DatabaseUrlUnusable, connectTo } from "./connection.ts"
import type { SessionSettings } from "./connection.ts"
import { makeWatch } from "./ConnectionWatch.ts"
import * as PooledClient from "./PooledClient.ts"
import { firstWithMinProgram, migrations } from "./schema/index.ts"
import type { Migration } from "./schema/index.ts"
import { grantTo } from "./schema/privileges.ts"

/** The database cannot be used: it is newer than this program, or serves another site. */
export class DatabaseMismatch extends Data.TaggedError("DatabaseMismatch")<{ readonly message: string }> {}

/**
 * Our statements find rows by index for any values, so one generic plan serves, and planning would take longer than the
 * statement. What reads half a table sets `force_custom_plan` in its transaction.
 */
export const planCacheMode = "force_generic_plan"

/**
 * A bitmap scan reads all matching rows before the first one, while a page of a list wants the first rows in index order,
 * which a generic plan cannot know. Nor does it know that a range of the log is short, and would compile the statement (JIT).
 */
export const plannerSettings = { plan_cache_mode: planCacheMode, enable_bitmapscan: "off", jit: "off" }

const sessionSettings = (statementTimeout: Duration.Duration) => ({
  statement_timeout: `${Duration.toMillis(statementTimeout)}`,
  lock_timeout: "4000",
  idle_in_transaction_session_timeout: "15000",
  timezone: "UTC",
  ...plannerSettings
})

/**
 * Background statements read ten rows or a million, so each execution is planned for its values. They may take longer than
 * a request waits.
 */
const backgroundTimeout = Duration.seconds(30)
const backgroundSettings = {
  ...sessionSettings(backgroundTimeout),
  plan_cache_mode: "force_custom_plan",
  enable_bitmapscan: "on"
}

/** The server, too, ends a session whose client is gone without a word, and with it the locks of its transaction. */
const keepAlive = { tcp_keepalives_idle: "10", tcp_keepalives_interval: "2", tcp_keepalives_count: "3" }

/** All have a default. */
export interface ClientOptions {
  /** To serve requests. More would only queue inside PostgreSQL. */
  readonly connections?: number
  /** For settlement and the log: two at least. */
  readonly backgroundConnections?: number
  /** Where the settings of sessions come from: a pooler lends a server's session to many, and refuses what is sent at the start. */
  readonly settingsFrom?: "connection" | "role"
  /** What the server lets a request's statement take. */
  readonly statementTimeout?: Duration.Duration
  /** How long is waited for a connection. */
  readonly maxWait?: Duration.Duration
}

const requestTimeout = Duration.seconds(5)
const requestWait = Duration.seconds(4)

/** The pool for requests and the background client of one database. */
export const client = (url: Redacted.Redacted, options: ClientOptions = {}) =>
  Layer.effectContext(
    Effect.gen(function* () {
      const { backgroundConnections = 2, settingsFrom, statementTimeout = requestTimeout } = options
      const to = yield* connectTo(url)
      const watch = yield* makeWatch(statementTimeout)
      const pool = (
        name: "requests" | "background",
        maxConnections: number,
        timeout: Duration.Duration,
        maxWait: Duration.Duration,
        settings: SessionSettings
      ) =>
        PooledClient.make({
          name,
          maxConnections,
          watch,
          connect: to.connect(settingsFrom === "role" ? {} : { ...settings, ...keepAlive }),
          statementTimeout: timeout,
          maxWait,
          spanAttributes: {
            "db.namespace": to.url.database ?? to.url.username ?? "postgres",
            "server.address": to.url.hosts[0].host,
            "server.port": to.url.hosts[0].port
          }
        })
      const sql = yield* pool(
        "requests",
        options.connections ?? 18,
        statementTimeout,
        options.maxWait ?? requestWait,
        sessionSettings(statementTimeout)
      )
      const background = yield* pool(
        "background",
        backgroundConnections,
        backgroundTimeout,
        options.maxWait ?? backgroundTimeout,
        backgroundSettings
      )
      return Context.make(SqlClient.SqlClient, sql.client).pipe(
        Context.add(
          BackgroundClient.BackgroundClient,
          yield* BackgroundClient.make(sql.client, background, backgroundConnections)
        )
      )
    })
  ).pipe(Layer.provide(Reactivity.layer))

export const latestMigration = Math.max(...Object.keys(migrations).map((name) => Number.parseInt(name, 10)))

/** The advisory lock for migrating; any fixed number. */
const migrationLock = 4_280_771_001n

/** What waits for a lock of a migration waits in front of everybody who uses the table: so never for long. */
const lockTimeout = "2s"

/** Between two attempts, in which whoever uses the tables gets on. */
const lockPause = "5 seconds"

/** The schema as the database has it. */
interface SchemaState {
  /** The newest migration that was run; 0: none. */
  readonly newest: number
  /** The oldest program, by the newest migration it knows, that works on this schema. */
  readonly minProgram: number
}

/** A schema that began with another migration is not one of ours. */
const unreleased = () =>
  new DatabaseMismatch({
    message:
      "The database has a schema from before the first release, which cannot be migrated: start with an empty database."
  })

const tooNew = ({ minProgram, newest }: SchemaState) =>
  new DatabaseMismatch({
    message: `The database has migration ${newest} and needs a program that knows migration ${minProgram}, this one knows ${latestMigration}: start the newer program.`
  })

const otherSite = (stored: unknown, site: Site) =>
  new DatabaseMismatch({
    message: `The database serves the site "${String(stored)}", AUSPEX_SITE is "${site}": each site has a database of its own.`
  })

const isLockTimeout = (error: unknown): boolean =>
  SqlError.isSqlError(error)
    ? error.reason._tag === "LockTimeoutError"
    : Predicate.hasProperty(error, "cause") && isLockTimeout(error.cause)

/** Tries again, in real time and for as long as it takes, what did not get a lock: a backup holds one until it ends. */
const untilUnlocked = <A, E, R>(work: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
  Effect.tapError(work, (error) =>
    isLockTimeout(error)
      ? Effect.logInfo("a migration waits for a lock that others hold; it is tried again")
      : Effect.void
  ).pipe(
    Effect.retry({ while: isLockTimeout, schedule: Schedule.spaced(lockPause) }),
    Effect.provideService(Clock.Clock, Clock.Clock.defaultValue())
  )

/** Reads without a lock of its own, so that a start that has nothing to migrate waits for nobody. */
const schemaState = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const [exists] = yield* sql`select to_regclass('effect_sql_migrations') is not null`.values
  const nothing: SchemaState = { newest: 0, minProgram: 1 }
  if (exists?.[0] !== true) return nothing
  const [found] = yield* sql`
    select max(migration_id)::int, max(name) filter (where migration_id = 1) from effect_sql_migrations`
    .values
  const newest = Number(found?.[0] ?? 0)
  if (newest === 0) return nothing
  if (found?.[1] !== "baseline") return yield* unreleased()
  if (newest < firstWithMinProgram) return { newest, minProgram: 1 }
  const [stored] = yield* sql`select min_program from instance`.values
  const state: SchemaState = { newest, minProgram: Number(stored?.[0] ?? 1) }
  return state.minProgram > latestMigration ? yield* tooNew(state) : state
})

/** One transaction at a time of all replicas', which never waits long for a lock. */
const inTurn = Effect.fnUntraced(function* <A, E, R>(work: Effect.Effect<A, E, R>) {
  const sql = yield* SqlClient.SqlClient
  return yield* sql.withTransaction(
    Effect.gen(function* () {
      yield* sql`set local lock_timeout = ${sql.literal(`'${lockTimeout}'`)}`
      yield* sql`select pg_advisory_xact_lock(${migrationLock})`
      return yield* work
    })
  )
}, untilUnlocked)

/** Runs a migration unless another replica has meanwhile: whole or not at all, and never waiting long for a lock. */
const runMigration = Effect.fnUntraced(function* (name: string, migration: Migration) {
  const sql = yield* SqlClient.SqlClient
  yield* inTurn(
    Effect.gen(function* () {
      yield* sql`set local statement_timeout = 0`
      yield* Migrator.make({})({ loader: Migrator.fromRecord({ [name]: migration.run }) }).pipe(
        Effect.provideService(PooledClient.StatementTimeout, Duration.infinity)
      )
      if (migration.minProgram > 1) {
        yield* sql`update instance set min_program = ${migration.minProgram} where min_program < ${migration.minProgram}`
      }
    })
  )
})

/** Makes the database this site's, and gives the running role what it needs. */
const claim = Effect.fnUntraced(function* (site: Site, runsAs: string | undefined) {
  const sql = yield* SqlClient.SqlClient
  const now = yield* DateTime.now
  yield* inTurn(
    Effect.gen(function* () {
      yield* sql`
        insert into instance (site, created_at) values (${site}, ${DateTime.toDateUtc(now)}) on conflict do nothing`
      const [stored] = yield* sql`select site from instance`.values
      if (stored?.[0] !== site) return yield* otherSite(stored?.[0], site)
      if (runsAs !== undefined) yield* grantTo(runsAs)
    })
  )
})

/**
 * Brings the schema up to date and claims the database for this site, as the owner of the tables; `runsAs` is another role,
 * which gets what it needs. Replicas that start at once take turns. A schema that is newer than this program and still
 * works with it is left as it is.
 */
export const migrate = Effect.fn("Database.migrate")(function* (
  site: Site,
  runsAs?: string,
  known: Readonly<Record<string, Migration>> = migrations
) {
  const { newest } = yield* untilUnlocked(schemaState)
  const pending = Object.entries(known).filter(([name]) => Number.parseInt(name, 10) > newest)
  for (const [name, migration] of pending) yield* runMigration(name, migration)
  if (newest <= latestMigration) yield* claim(site, runsAs)
})

/** The rights of a role on the tables. */
const RoleRow = Schema.Struct({
  role: Schema.String,
  owner: Schema.NullOr(Schema.String),
  owns: Schema.Boolean,
  reads: Schema.Boolean,
  mayMake: Schema.Boolean
})

const decodeRole = Schema.decodeUnknownEffect(Schema.Tuple([RoleRow]))

const currentRole = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const rows = yield* sql`
    select current_user::text as role, pg_get_userbyid(c.relowner)::text as owner,
           coalesce(pg_has_role(c.relowner, 'usage'), false) as owns,
           coalesce(has_table_privilege(c.oid, 'select'), false) as reads,
           coalesce(has_schema_privilege(current_schema(), 'create'), false) as "mayMake"
      from (select to_regclass('effect_sql_migrations') as oid) m
      left join pg_class c on c.oid = m.oid`
  const [found] = yield* Effect.orDie(decodeRole(rows))
  return found
})

/** What cannot be reached or read is the setting's fault, and told in a line that names it. */
const namingSetting =
  (setting: string) =>
  <E>(error: E | SqlError.SqlError | DatabaseUrlUnusable) => {
    if (error instanceof DatabaseUrlUnusable) {
      return new DatabaseMismatch({ message: `${setting} cannot be used: ${error.message}.` })
    }
    if (!SqlError.isSqlError(error)) return error
    const { cause, message, operation, _tag } = error.reason
    const isReadOnly = Predicate.hasProperty(cause, "code") && cause.code === "25006"
    if (operation !== "connect" && _tag !== "ConnectionError" && !isReadOnly) return error
    const why = cause instanceof Error ? cause.message : message
    return new DatabaseMismatch({ message: `The PostgreSQL of ${setting} cannot be used: ${why}.` })
  }

/** One connection as the owner, who migrates for the running role if that is another. */
const migrateAsOwner = Effect.fnUntraced(function* (
  url: Redacted.Redacted,
  site: Site,
  runsAs: string | undefined
) {
  yield* Effect.gen(function* () {
    const { owner, owns, role } = yield* currentRole
    if (owner !== null && !owns) {
      return yield* new DatabaseMismatch({
        message: `The tables of the database belong to the role "${owner}", and AUSPEX_MIGRATION_URL is of "${role}", who may not change them.`
      })
    }
    yield* migrate(site, runsAs === role ? undefined : runsAs)
  }).pipe(
    Effect.provide(client(url, { connections: 1 }), { local: true }),
    Effect.mapError(namingSetting("AUSPEX_MIGRATION_URL"))
  )
})

/** Without the owner's URL: checks that the schema is up to date, is of this site, and may be used. */
const check = Effect.fnUntraced(function* (site: Site) {
  const sql = yield* SqlClient.SqlClient
  const { owner, owns, reads, role } = yield* currentRole
  if (!reads) {
    return yield* new DatabaseMismatch({
      message:
        owner === null
          ? `The role "${role}" of DATABASE_URL finds no tables of Auspex, and may not make any: set AUSPEX_MIGRATION_URL to a role that may.`
          : `The role "${role}" of DATABASE_URL may not use the tables of Auspex: start once with AUSPEX_MIGRATION_URL, by which "${owner}" lets it.`
    })
  }
  const { newest } = yield* untilUnlocked(schemaState)
  if (newest < latestMigration) {
    return yield* new DatabaseMismatch({
      message: `The database has migration ${newest}, this program needs ${latestMigration}, and the role "${role}" of DATABASE_URL may not migrate: set AUSPEX_MIGRATION_URL, or start once where it is set.`
    })
  }
  const [stored] = yield* sql`select site from instance`.values
  if (stored?.[0] !== site) return yield* otherSite(stored?.[0], site)
  if (owns) {
    yield* Effect.logWarning(
      `The role "${role}" of DATABASE_URL can switch off what guards the records, for their tables are its own: ` +
        `set AUSPEX_MIGRATION_URL to it, and DATABASE_URL to a role that owns nothing (docs/operations.md).`
    )
  }
})

/** Statements use what PostgreSQL 18 brought. */
export const minVersion = 180_000

/** Names hold any character. */
const checkServer = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const [server] = yield* sql`
    select current_setting('server_version_num')::int, current_setting('server_version'),
           current_setting('server_encoding')`.values
  if (Number(server?.[0]) < minVersion) {
    return yield* new DatabaseMismatch({
      message: `The database server is PostgreSQL ${String(server?.[1])}: Auspex needs 18 or later.`
    })
  }
  if (server?.[2] !== "UTF8") {
    return yield* new DatabaseMismatch({
      message: `The database is encoded in ${String(server?.[2])}: make one with encoding 'UTF8'.`
    })
  }
})

/** With settings that come from the role: those of a request's connection, which statements rely on. */
const checkSettings = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const needed = sessionSettings(requestTimeout)
  const rows = yield* sql`
    select lower(name), setting, current_user from pg_settings where lower(name) = any(${Object.keys(needed)})`
    .values
  const set = new Map(rows.map(([name, setting]) => [String(name), String(setting)]))
  const wrong = Object.entries(needed).filter(([name, setting]) => set.get(name) !== setting)
  if (wrong.length === 0) return
  const role = String(rows[0]?.[2])
  return yield* new DatabaseMismatch({
    message: `AUSPEX_DATABASE_SETTINGS is role, and the role "${role}" lacks settings: ${wrong
      .map(([name, setting]) => `alter role "${role}" set ${name} = '${setting}';`)
      .join(" ")}`
  })
})

const prepare = Effect.fn("Database.prepare")(function* (options: Options) {
  const { ownerUrl, settingsFrom, site } = options
  yield* checkServer
  if (settingsFrom === "role") yield* checkSettings
  const { mayMake, owner, owns, role } = yield* currentRole
  // The owner keeps its rights, whoever migrates.
  if (Option.isSome(ownerUrl)) yield* migrateAsOwner(ownerUrl.value, site, owns ? undefined : role)
  else if (owns || (owner === null && mayMake)) yield* migrate(site)
  yield* check(site)
})

interface Options extends ClientOptions {
  readonly url: Redacted.Redacted
  readonly ownerUrl: Option.Option<Redacted.Redacted>
  readonly site: Site
}

/** A start may wait longer for its first connection than a request: of several hosts some may not answer. */
const startWait = Duration.seconds(30)

/** A pool on a migrated database. Its role migrates itself where the owner's URL is not given. */
export const layer = (options: Options) =>
  Layer.effectDiscard(Effect.provideService(prepare(options), PooledClient.ConnectionWait, startWait)).pipe(
    Layer.provideMerge(client(options.url, options)),
    Layer.catch((error) => Layer.effectContext(Effect.fail(namingSetting("DATABASE_URL")(error))))
  )
