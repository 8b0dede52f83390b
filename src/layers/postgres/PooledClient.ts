/**
 * The driver's SQL client over a pool of our own connections: waits for a connection and for an answer have a limit, and a connection
 * that has become useless is not kept.
 */
import type { Socket } from "node:net"
import { PgClient } from "@effect/sql-pg"
import type { PgConnection } from "@effect/sql-pg"
import { Clock, Context, Duration, Effect, Metric, Pool, Predicate, Schedule, Stream } from "effect"
import type { Scope } from "effect"
import type { Reactivity } from "effect/reactivity"
import { SqlClient, SqlError } from "effect/sql"
import type { SqlConnection } from "effect/sql"
import type { Connect } from "./connection.ts"
import type { Watched, makeWatch } from "./ConnectionWatch.ts"

/** The server's time limit for a statement, if it is longer than the pool's. */
export const StatementTimeout = Context.Reference<Duration.Duration>(
  "auspex/layers/postgres/StatementTimeout",
  { defaultValue: () => Duration.zero }
)

/** The maximum wait for a connection, if it is longer than the pool's. */
export const ConnectionWait = Context.Reference<Duration.Duration>("auspex/layers/postgres/ConnectionWait", {
  defaultValue: () => Duration.zero
})

export interface PoolOptions {
  /** The pool's name in metrics. */
  readonly name: "requests" | "background"
  readonly connect: Connect
  readonly maxConnections: number
  /** The maximum wait for a connection, the time to open one included. */
  readonly maxWait: Duration.Duration
  readonly statementTimeout: Duration.Duration
  /** The watch over all pools on one server. */
  readonly watch: Effect.Success<ReturnType<typeof makeWatch>>
  readonly spanAttributes: Readonly<Record<string, unknown>>
}

export interface Pooled {
  readonly client: SqlClient.SqlClient
  /** True while all its connections are in use. */
  readonly isBusy: Effect.Effect<boolean>
}

interface Session {
  readonly connection: PgConnection.PgConnection
  readonly socket: Socket
  readonly watched: Watched
}

const idleTimeout = Duration.seconds(60)

const stateOf = ({ reason: { cause } }: SqlError.SqlError): string =>
  Predicate.hasProperty(cause, "code") ? String(cause.code) : ""

/** True if the connection has ended, or its server shuts down, takes no writes or has a full disk: another server may take over. */
const isUseless = (error: SqlError.SqlError): boolean =>
  error.reason._tag === "ConnectionError" || /^(57P0.|25006|53100)$/.test(stateOf(error))

/** True if the server takes no writes: it was demoted, and all connections of the pool lead to it. */
const isReadOnly = (error: SqlError.SqlError): boolean => stateOf(error) === "25006"

const connectionError = (message: string, operation: string) =>
  new SqlError.SqlError({
    reason: new SqlError.ConnectionError({ cause: new Error(message), message, operation })
  })

const gauge = (name: string, description: string) => (pool: string) =>
  Metric.gauge(`database_${name}`, { description, attributes: { pool } })
const oldestGauge = gauge("oldest_statement_seconds", "Age of the oldest statement in flight, by pool")
const inUseGauge = gauge("connections_in_use", "Connections in use, by pool")
const waitingGauge = gauge("waiting", "Statements and transactions that wait for a connection, by pool")

const counter = (name: string, description: string) => (pool: string) =>
  Metric.counter(`database_${name}_total`, { description, incremental: true, attributes: { pool } })
const refusedCounter = counter("waits_refused", "Waits for a connection that took too long, by pool")
const silentCounter = counter("silent_connections", "Connections destroyed because no answer came, by pool")

type Guard = <A>(statement: Effect.Effect<A, SqlError.SqlError>) => Effect.Effect<A, SqlError.SqlError>

const asConnection = (connection: PgConnection.PgConnection, guard: Guard): SqlConnection.Connection => {
  const rows =
    (prepare: boolean): SqlConnection.Connection["execute"] =>
    (sql, params, transform) =>
      guard(
        Effect.map(connection.query(sql, params, prepare), ({ rows }) =>
          transform === undefined ? rows : transform(rows)
        )
      )
  return {
    execute: rows(true),
    executeUnprepared: rows(false),
    executeRaw: (sql, params) => guard(connection.query(sql, params)),
    executeValues: (sql, params) => guard(connection.queryValues(sql, params)),
    executeValuesUnprepared: (sql, params) => guard(connection.queryValues(sql, params, false)),
    // All rows are read at once, so that a slow reader does not count towards the server's time limit.
    executeStream: (sql, params, transform) => Stream.fromIterableEffect(rows(false)(sql, params, transform))
  }
}

/** The server answers ROLLBACK if the transaction was aborted before. */
const commit = (connection: SqlConnection.Connection): Effect.Effect<void, SqlError.SqlError> =>
  Effect.flatMap(connection.executeRaw("commit", []), (result) => {
    if (!Predicate.hasProperty(result, "command") || result.command !== "ROLLBACK") return Effect.void
    const message = "the transaction was aborted before its commit"
    return Effect.fail(
      new SqlError.SqlError({
        reason: new SqlError.UnknownError({ cause: new Error(message), message, operation: "commit" })
      })
    )
  })

export const make = Effect.fnUntraced(function* (
  options: PoolOptions
): Effect.fn.Return<Pooled, never, Scope.Scope | Reactivity.Reactivity> {
  const { name } = options
  const refused = refusedCounter(name)
  const silent = silentCounter(name)
  // The counters exist from the start, so that alerts find them.
  yield* Effect.all([Metric.update(refused, 0), Metric.update(silent, 0)])
  const oldest = oldestGauge(name)
  const inUse = inUseGauge(name)
  const waiting = waitingGauge(name)
  const runFork = Effect.runForkWith(yield* Effect.context<Scope.Scope>())
  const sessions = new Set<Session>()

  /** Ends a connection once nobody uses it. */
  const retire = (session: Session) => void runFork(Pool.invalidate(pool, session))

  const acquire = Effect.gen(function* () {
    const { connection, socket } = yield* options.connect
    const watched = options.watch(() => {
      retire(session)
      socket.destroy()
      runFork(Metric.update(silent, 1))
    })
    const session: Session = { connection, socket, watched }
    sessions.add(session)
    socket.once("close", () => retire(session))
    yield* Effect.addFinalizer(() =>
      Effect.sync(() => {
        watched.forget()
        sessions.delete(session)
      })
    )
    return session
  })

  const pool: Pool.Pool<Session, SqlError.SqlError> = yield* Pool.makeWithTTL({
    acquire,
    min: 0,
    max: options.maxConnections,
    timeToLive: idleTimeout,
    timeToLiveStrategy: "usage"
  })

  /** The pool may still hand out a connection that has just closed. */
  const living: Effect.Effect<Session, SqlError.SqlError, Scope.Scope> = Effect.filterOrElse(
    Pool.get(pool),
    ({ socket }) => !socket.destroyed,
    (session) => Effect.andThen(Pool.invalidate(pool, session), living)
  )

  /** The wait is in real time, the only time that the server knows. */
  const leased = Effect.flatMap(ConnectionWait, (wait) => {
    const duration = Duration.max(wait, options.maxWait)
    return Effect.timeoutOrElse(living, {
      duration,
      orElse: () =>
        Effect.andThen(
          Metric.update(refused, 1),
          connectionError(`no connection became free within ${Duration.format(duration)}`, "acquire")
        )
    }).pipe(Effect.provideService(Clock.Clock, Clock.Clock.defaultValue()))
  })

  const guardOf =
    (session: Session): Guard =>
    (statement) =>
      Effect.flatMap(StatementTimeout, (own) => {
        session.watched.sent(Duration.max(own, options.statementTimeout))
        return statement.pipe(
          Effect.onExit(() => Effect.sync(session.watched.ended)),
          Effect.catch((error) => {
            if (isUseless(error)) retire(session)
            if (isReadOnly(error)) sessions.forEach(retire)
            return session.watched.isSilent()
              ? connectionError("PostgreSQL gave no answer in time", "query")
              : Effect.fail(error)
          })
        )
      })

  const observe = Effect.flatMap(Pool.stats(pool), ({ pending, used }) =>
    Effect.all([
      Metric.update(inUse, used),
      Metric.update(waiting, pending),
      Metric.update(oldest, Math.max(0, ...[...sessions].map(({ watched }) => watched.age())))
    ])
  )
  yield* observe.pipe(
    Effect.repeat(Schedule.spaced("1 second")),
    Effect.provideService(Clock.Clock, Clock.Clock.defaultValue()),
    Effect.forkScoped
  )

  const client = yield* SqlClient.make({
    acquirer: Effect.map(leased, (session) => asConnection(session.connection, guardOf(session))),
    // A statement that outlives its transaction fails instead of becoming part of another one.
    transactionAcquirer: Effect.flatMap(leased, (session) =>
      Effect.map(session.connection.pin, (pinned) => asConnection(pinned, guardOf(session)))
    ),
    compiler: PgClient.makeCompiler(undefined, false),
    driver: "pg",
    prepareTransactionControls: true,
    commit,
    releaseSavepoint: (savepoint) => `release savepoint ${savepoint}`,
    spanAttributes: Object.entries({ "db.system.name": "postgresql", ...options.spanAttributes })
  })
  const pooled: Pooled = { client, isBusy: Effect.map(Pool.stats(pool), ({ max, used }) => used === max) }
  return pooled
})
