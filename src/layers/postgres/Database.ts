/** The connection pool and the schema. Sessions have time limits for statements and idle transactions. */
import {
  Clock,
  Context,
  Data,
  DateTime,
  Duration,
  Effect,
  Layer,
  Metric,
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
import * as Notifications from "./Notifications.ts"
import * as PooledClient from "./PooledClient.ts"
import { firstWithMinProgram, migrations } from "./schema/index.ts"
import type { Index, Migration } from "./schema/index.ts"
import { grantTo } from "./schema/privileges.ts"

/** The database cannot be used: it is newer than this program, or serves another site. */
export class DatabaseMismatch extends Data.TaggedError("DatabaseMismatch")<{ readonly message: string }> {}

/**
 * Our statements find rows by index for any values, so one generic plan serves, and planning would take longer than the statement. A
 * statement that reads half a table sets `force_custom_plan` in its transaction.
 */
export const planCacheMode = "force_generic_plan"

/**
 * A bitmap scan reads all matching rows before the first one, while a page of a list wants the first rows in index order, which a
 * generic plan cannot know. Nor does it know that a range of the log is short, and would compile the statement (JIT).
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
 * Background statements read ten rows or a million, so each execution is planned for its values. They may take longer than a request
 * waits.
 */
const backgroundTimeout = Duration.seconds(30)
const backgroundSettings = {
  ...sessionSettings(backgroundTimeout),
  plan_cache_mode: "force_custom_plan",
  enable_bitmapscan: "on"
}

/** The server also ends a session whose client has disappeared, and thus frees the locks of its transaction. */
const keepAlive = { tcp_keepalives_idle: "10", tcp_keepalives_interval: "2", tcp_keepalives_count: "3" }

/** All options have a default. */
export interface ClientOptions {
  /** The connections that serve requests. More of them would only queue inside PostgreSQL. */
  readonly connections?: number
  /** The connections for settlement and the log: two at least. */
  readonly backgroundConnections?: number
  /**
   * The source of a session's settings. Behind a pooler it is the role: a pooler lends a session of the server to many clients, and
   * rejects settings that a connection sends at its start.
   */
  readonly settingsFrom?: "connection" | "role"
  /** The server's time limit for a request's statement. */
  readonly statementTimeout?: Duration.Duration
  readonly maxWait?: Duration.Duration
}

const requestTimeout = Duration.seconds(5)
const requestWait = Duration.seconds(4)

/** The pool for requests and the background client of one database. */
export const client = (url: Redacted.Redacted, options: ClientOptions = {}) =>
  Layer.effectContext(
    Effect.gen(function* () {
      const { backgroundConnections = 2, settingsFrom, statementTimeout = requestTimeout } = options
      const to = yield* connectTo(url, latestMigration)
      const watch = yield* makeWatch(statementTimeout)
      const connect = (settings: SessionSettings) =>
        to.connect(settingsFrom === "role" ? {} : { ...settings, ...keepAlive })
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
          connect: connect(settings),
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
        ),
        Context.add(
          Notifications.Notifications,
          Notifications.make(connect(sessionSettings(statementTimeout)))
        )
      )
    })
  ).pipe(Layer.provide(Reactivity.layer))

/** One connection, for the work before anything is served, which waits longer for it than a request does. */
const oneConnection = (url: Redacted.Redacted) =>
  client(url, { connections: 1, maxWait: Duration.seconds(30) })

export const latestMigration = Math.max(...Object.keys(migrations).map((name) => Number.parseInt(name, 10)))

/** The advisory lock of migrations; any fixed number. */
export const migrationLock = 4_280_771_001n

/** A migration that waits for a lock makes every later user of the table wait, so it never waits for long. */
const lockTimeout = "2s"

/** The pause between two attempts, in which other users of the tables proceed. */
const lockPause = "5 seconds"

/** Receives the changes of the schema at a start, and the reasons to wait. */
export const Progress = Context.Reference<(what: string) => Effect.Effect<void>>(
  "auspex/layers/postgres/Progress",
  { defaultValue: () => () => Effect.void }
)

const hear = (what: string) => Effect.flatMap(Progress, (heard) => heard(what))

const tell = (what: string) => Effect.andThen(Effect.logInfo(what), hear(what))

/** The schema as the database has it. */
interface SchemaState {
  /** The newest migration that has run; 0 for none. */
  readonly newest: number
  /** The oldest program, by the newest migration it knows, that works on this schema. */
  readonly minProgram: number
}

/** A schema that began with another migration is not of a released version. */
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

/** True if other users of the tables kept the lock and nothing was done. */
const lostLock = (error: unknown): boolean =>
  SqlError.isSqlError(error)
    ? error.reason._tag === "LockTimeoutError" || error.reason._tag === "DeadlockError"
    : Predicate.hasProperty(error, "cause") && lostLock(error.cause)

/** Retries work that got no lock, in real time and without a limit: a backup holds its locks until it ends. */
const untilUnlocked = <A, E, R>(work: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
  Effect.tapError(work, (error) =>
    lostLock(error)
      ? tell("a migration waits for a lock that a backup or a long transaction holds; it is tried again")
      : Effect.void
  ).pipe(
    Effect.retry({ while: lostLock, schedule: Schedule.spaced(lockPause) }),
    Effect.provideService(Clock.Clock, Clock.Clock.defaultValue())
  )

/** Reads without the advisory lock, so that a start that has nothing to migrate does not wait for another instance. */
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

/**
 * Runs a transaction for which replicas take turns, and which never waits long for a lock. The result is none while another replica
 * has the turn: a transaction that waited for it would stay open, and an index build of that replica waits for all open ones.
 */
const ifTurn = Effect.fnUntraced(function* <A, E, R>(work: Effect.Effect<A, E, R>) {
  const sql = yield* SqlClient.SqlClient
  return yield* sql.withTransaction(
    Effect.gen(function* () {
      const [turn] = yield* sql`select pg_try_advisory_xact_lock(${migrationLock})`.values
      if (turn?.[0] !== true) return Option.none<A>()
      yield* sql`set local lock_timeout = ${sql.literal(`'${lockTimeout}'`)}`
      return Option.some(yield* work)
    })
  )
}, untilUnlocked)

const turnPause = Schedule.spaced("500 millis")

/** Waits for the turn and then runs the work. */
const inTurn = <A, E, R>(work: Effect.Effect<A, E, R>) =>
  ifTurn(work).pipe(
    Effect.tap((done) =>
      Option.isNone(done) ? hear("another instance migrates the database") : Effect.void
    ),
    Effect.repeat({ until: Option.isSome, schedule: turnPause }),
    Effect.map(Option.getOrThrow),
    Effect.provideService(Clock.Clock, Clock.Clock.defaultValue())
  )

const numberOf = (name: string): number => Number.parseInt(name, 10)

/** Builds an index. An index that a failed attempt left behind is invalid and is built again. */
const buildIndex = Effect.fnUntraced(function* ({ definition, name }: Index, say: typeof tell) {
  const sql = yield* SqlClient.SqlClient
  const [found] = yield* sql`select indisvalid from pg_index where indexrelid = to_regclass(${name})`.values
  if (found?.[0] === true) return
  yield* say(`the index ${name} is built, which keeps nobody from reading and writing`)
  if (found !== undefined) yield* sql`drop index concurrently ${sql(name)}`
  yield* sql`create index concurrently ${sql(name)} ${sql.literal(definition)}`
})

/**
 * Builds indexes outside of a transaction, on a connection without time limits: `create index concurrently` waits for every older
 * transaction. Its session holds the turn to the end, and tries for it without waiting, since a session that waits for it is an open
 * transaction, too.
 */
const buildIndexes = (
  url: Redacted.Redacted,
  name: string,
  indexes: ReadonlyArray<Index>,
  say: typeof tell
) =>
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    yield* sql`set statement_timeout = 0`
    yield* sql`set lock_timeout = 0`
    yield* Effect.repeat(sql`select pg_try_advisory_lock(${migrationLock})`.values, {
      until: ([row]) => row?.[0] === true,
      schedule: turnPause
    })
    if ((yield* schemaState).newest >= numberOf(name)) return
    yield* Effect.forEach(indexes, (index) => buildIndex(index, say), { discard: true })
  }).pipe(
    Effect.provide(oneConnection(url), { local: true }),
    Effect.provideService(PooledClient.StatementTimeout, Duration.infinity),
    Effect.provideService(Clock.Clock, Clock.Clock.defaultValue())
  )

/**
 * Runs a migration unless another replica has done it meanwhile; returns true if it ran. It is done whole or not at all, and never
 * waits long for a lock.
 */
const runMigration = Effect.fnUntraced(function* (
  url: Redacted.Redacted,
  name: string,
  { functions, indexes, minProgram, run }: Migration,
  say: typeof tell
) {
  const sql = yield* SqlClient.SqlClient
  if (functions !== undefined) yield* inTurn(functions)
  if (indexes !== undefined) yield* buildIndexes(url, name, indexes, say)
  return yield* inTurn(
    Effect.gen(function* () {
      yield* sql`set local statement_timeout = 0`
      const ran = yield* Migrator.make({})({ loader: Migrator.fromRecord({ [name]: run }) }).pipe(
        Effect.provideService(PooledClient.StatementTimeout, Duration.infinity)
      )
      if (minProgram > 1) {
        yield* sql`update instance set min_program = ${minProgram} where min_program < ${minProgram}`
      }
      return ran.length > 0
    })
  )
})

/** Claims the database for this site, and grants the running role its privileges. */
const claim = Effect.fnUntraced(function* ({ runsAs, site }: Migrating) {
  const sql = yield* SqlClient.SqlClient
  const now = yield* DateTime.now
  yield* sql`
    insert into instance (site, created_at) values (${site}, ${DateTime.toDateUtc(now)}) on conflict do nothing`
  const [stored] = yield* sql`select site from instance`.values
  if (stored?.[0] !== site) return yield* otherSite(stored?.[0], site)
  if (runsAs !== undefined) yield* grantTo(runsAs)
})

interface Migrating {
  /** The URL of the role that owns, or will own, the tables. */
  readonly url: Redacted.Redacted
  readonly site: Site
  /** Another role that runs on the tables and gets its privileges. */
  readonly runsAs?: string | undefined
  readonly known?: Readonly<Record<string, Migration>>
}

/** The result of a migration of the database. */
export interface Migrated {
  /** The newest migration before; 0 for an empty database. */
  readonly from: number
  /** The migrations that were run, with the time each took. */
  readonly ran: ReadonlyArray<readonly [name: string, duration: Duration.Duration]>
}

/**
 * Brings the schema up to date and claims the database for this site. Replicas that start at once take turns. A schema that is newer
 * than this program and still works with it is left as it is.
 */
export const migrate = Effect.fn("Database.migrate")(
  function* (options: Migrating) {
    const { known = migrations, url } = options
    const { newest } = yield* untilUnlocked(schemaState)
    const pending = Object.entries(known).filter(([name]) => numberOf(name) > newest)
    if (newest === 0) yield* tell("the database is empty: its tables are made")
    // On empty tables, a log line for each index would say nothing.
    const say = newest === 0 ? hear : tell
    const ran: Array<readonly [string, Duration.Duration]> = []
    for (const [name, migration] of pending) {
      if (newest > 0) yield* tell(`the migration ${name} is run`)
      const [duration, hasRun] = yield* Effect.timed(runMigration(url, name, migration, say))
      if (hasRun) ran.push([name, duration])
    }
    // A start without a migration does not wait: the instance that has the turn does the same work.
    const finish = pending.length > 0 ? inTurn : ifTurn
    if (newest <= latestMigration) yield* finish(claim(options))
    const done: Migrated = { from: newest, ran }
    return done
  },
  (effect, { url }) => Effect.provide(effect, oneConnection(url), { local: true })
)

/** The privileges of a role on the tables. */
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

/** Explains the settings that a pooler rejects on a connection (PgBouncer's words). */
const remedyOf = (setting: string, why: string): string => {
  if (!why.includes("unsupported startup parameter:")) return ""
  return setting === "DATABASE_URL"
    ? " It is a pooler: set AUSPEX_DATABASE_SETTINGS=role (docs/operations.md, PgBouncer)."
    : " It is a pooler: migrations need PostgreSQL itself."
}

/** An address that cannot be reached or read is a fault of the setting, so the error names the setting. */
const namingSetting =
  (setting: "DATABASE_URL" | "AUSPEX_MIGRATION_URL") =>
  <E>(error: E | SqlError.SqlError | DatabaseUrlUnusable) => {
    if (error instanceof DatabaseUrlUnusable) {
      return new DatabaseMismatch({ message: `${setting} cannot be used: ${error.message}.` })
    }
    if (!SqlError.isSqlError(error)) return error
    const { cause, message, operation, _tag } = error.reason
    const isReadOnly = Predicate.hasProperty(cause, "code") && cause.code === "25006"
    if (operation !== "connect" && _tag !== "ConnectionError" && !isReadOnly) return error
    const why = cause instanceof Error ? cause.message : message
    return new DatabaseMismatch({
      message: `The PostgreSQL of ${setting} cannot be used: ${why}.${remedyOf(setting, why)}`
    })
  }

/** Migrates as the owner, also for the running role if that is another one. */
const migrateAsOwner = Effect.fnUntraced(
  function* (url: Redacted.Redacted, site: Site, runsAs: string | undefined) {
    const { owner, owns, role } = yield* Effect.provide(currentRole, oneConnection(url), { local: true })
    if (owner !== null && !owns) {
      return yield* new DatabaseMismatch({
        message: `The tables of the database belong to the role "${owner}", and AUSPEX_MIGRATION_URL is of "${role}", who may not change them.`
      })
    }
    return yield* migrate({ url, site, runsAs: runsAs === role ? undefined : runsAs })
  },
  Effect.mapError(namingSetting("AUSPEX_MIGRATION_URL"))
)

const lettersGauge = Metric.gauge("database_knows_letters", {
  description:
    "1 if LC_CTYPE of the database knows the letters of every script; 0: search forgives mistakes in ASCII only"
})

/** Checks that the schema is up to date, is of this site, and may be used. */
const check = Effect.fnUntraced(function* ({ migrates, site }: Options) {
  const sql = yield* SqlClient.SqlClient
  const { owner, owns, reads, role } = yield* currentRole
  if (!reads) {
    const remedy = migrates
      ? "start once with AUSPEX_MIGRATION_URL"
      : "run npm run migrate with AUSPEX_MIGRATION_URL"
    return yield* new DatabaseMismatch({
      message:
        owner === null
          ? `The role "${role}" of DATABASE_URL finds no tables of Auspex, and ${migrates ? "may not make any: set AUSPEX_MIGRATION_URL to a role that may" : "AUSPEX_MIGRATE is off: run npm run migrate"}.`
          : `The role "${role}" of DATABASE_URL may not use the tables of Auspex: ${remedy}, by which "${owner}" lets it.`
    })
  }
  const { newest } = yield* untilUnlocked(schemaState)
  if (newest < latestMigration) {
    const remedy = migrates
      ? `the role "${role}" of DATABASE_URL may not migrate: set AUSPEX_MIGRATION_URL, or start once where it is set`
      : "AUSPEX_MIGRATE is off: run npm run migrate"
    return yield* new DatabaseMismatch({
      message: `The database has migration ${newest}, this program needs ${latestMigration}, and ${remedy}.`
    })
  }
  const [stored] = yield* sql`select site from instance`.values
  if (stored?.[0] !== site) return yield* otherSite(stored?.[0], site)
  const [letters] = yield* sql`
    select datctype from pg_database where datname = current_database() and datctype in ('C', 'POSIX')`.values
  yield* Metric.update(lettersGauge, letters === undefined ? 1 : 0)
  if (letters !== undefined) {
    yield* Effect.logWarning(
      `The database has LC_CTYPE ${String(letters[0])}: search forgives mistakes in ASCII words only. ` +
        `A database with LC_CTYPE C.UTF-8 knows all letters (docs/operations.md, "Letters of every script").`
    )
  }
  if (owns) {
    yield* Effect.logWarning(
      `The role "${role}" of DATABASE_URL can switch off what guards the records, for their tables are its own: ` +
        `set AUSPEX_MIGRATION_URL to it, and DATABASE_URL to a role that owns nothing (docs/operations.md).`
    )
  }
})

/** Our statements use features of PostgreSQL 18. */
export const minVersion = 180_000

/** Checks the version of the server and the encoding of the database. */
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

/** Checks settings that come from the role: statements rely on those of a request's connection. */
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

interface Options extends ClientOptions {
  readonly url: Redacted.Redacted
  /** The URL of the role that migrates; none if the role of `url` does. */
  readonly ownerUrl: Option.Option<Redacted.Redacted>
  readonly site: Site
  /** True if a start migrates. */
  readonly migrates: boolean
}

/** Checks the server and, if a session's settings come from the role, these. It comes before every other check. */
const checkSession = (settingsFrom: Options["settingsFrom"]) =>
  Effect.andThen(checkServer, settingsFrom === "role" ? checkSettings : Effect.void)

/** Migrates as the owner, if there is one; the check then finds a role without privileges. */
const migrateFirst = Effect.fnUntraced(function* ({
  ownerUrl,
  settingsFrom,
  site,
  url
}: Omit<Options, "migrates">) {
  const { mayMake, owner, owns, role } = yield* currentRole
  // The owner keeps its privileges, whichever role migrates.
  if (Option.isSome(ownerUrl)) {
    return Option.some(yield* migrateAsOwner(ownerUrl.value, site, owns ? undefined : role))
  }
  // A pooler may give each statement another session.
  const mayMigrate = settingsFrom !== "role" && (owns || (owner === null && mayMake))
  return mayMigrate ? Option.some(yield* migrate({ url, site })) : Option.none()
})

/** A start may wait longer for its first connection than a request: of several hosts some may not answer. */
const startWait = Duration.seconds(30)

type Preparation = Omit<Options, "migrates"> & Required<Pick<Options, "settingsFrom">>

/** Does the work of `npm run migrate`: every change of the schema that a start would make, and nothing else. */
export const prepare = Effect.fn("Database.prepare")(
  function* (options: Preparation) {
    yield* checkSession(options.settingsFrom)
    const migrated = yield* migrateFirst(options)
    yield* check({ ...options, migrates: true })
    return Option.getOrElse(migrated, (): Migrated => ({ from: latestMigration, ran: [] }))
  },
  (effect, { settingsFrom, url }) =>
    effect.pipe(
      Effect.provide(client(url, { connections: 1, settingsFrom }), { local: true }),
      Effect.provideService(PooledClient.ConnectionWait, startWait),
      Effect.mapError(namingSetting("DATABASE_URL"))
    )
)

/** A pool on a database that fits this program. */
export const layer = (options: Options) =>
  Layer.effectDiscard(
    Effect.gen(function* () {
      yield* checkSession(options.settingsFrom)
      if (options.migrates) yield* migrateFirst(options)
      yield* check(options)
    }).pipe(Effect.provideService(PooledClient.ConnectionWait, startWait))
  ).pipe(
    Layer.provideMerge(client(options.url, options)),
    Layer.catch((error) => Layer.effectContext(Effect.fail(namingSetting("DATABASE_URL")(error))))
  )
