/**
 * Statements whose rows are decoded by a schema, and transactions. Our own SQL shapes the rows, so a row that does not fit, or a
 * statement that fails, is a defect: services list domain errors only.
 */
import { PgTypes } from "@effect/sql-pg"
import {
  Cause,
  Clock,
  Context,
  Data,
  DateTime,
  Duration,
  Effect,
  Option,
  Predicate,
  Random,
  Result,
  Schema
} from "effect"
import { SqlError } from "effect/sql"
import type { SqlClient, Statement } from "effect/sql"
import { StoreUnavailable } from "../../services/domain/errors.ts"
import { LimitReached } from "../../services/RateLimiter.ts"
import { StatementTimeout } from "./PooledClient.ts"

/** A decimal as PostgreSQL prints it, without trailing zeros, as texts and log entries write it. */
export const exact = (sql: SqlClient.SqlClient, column: string) => sql.literal(`trim_scale(${column})::text`)

/** An amount of micro-credits in credits, as log entries write it. */
export const credits = (sql: SqlClient.SqlClient, amount: string) =>
  exact(sql, `(${amount})::numeric / 1000000`)

/** A fragment, or an empty one if it is not wanted. */
export const when = (
  sql: SqlClient.SqlClient,
  isWanted: boolean,
  fragment: () => Statement.Fragment
): Statement.Fragment => (isWanted ? fragment() : sql.literal(""))

/** A fragment made from a value, or an empty one without a value. */
export const whenGiven = <Value>(
  sql: SqlClient.SqlClient,
  value: Value | null | undefined,
  fragment: (value: Value) => Statement.Fragment
): Statement.Fragment => (value === undefined || value === null ? sql.literal("") : fragment(value))

/** The condition of a page after an id: `column` with its comparison, for example `c.id <`. It is empty on the first page. */
export const pageAfter = (
  sql: SqlClient.SqlClient,
  column: string,
  after: string | null | undefined
): Statement.Fragment => whenGiven(sql, after, (id) => sql`and ${sql.literal(column)} ${id}::uuid`)

type Rows = Effect.Effect<ReadonlyArray<unknown>, SqlError.SqlError>

/** Transient errors: the database is away, or busy for longer than a statement may wait. */
const transient: ReadonlySet<string> = new Set([
  "ConnectionError",
  "LockTimeoutError",
  "StatementTimeoutError",
  "DeadlockError",
  "SerializationError"
])

/**
 * Transient errors that the client leaves unclassified: the server shuts down, crashes or starts (57P), lacks resources (53), or
 * takes no writes, as a standby does (25006).
 */
const transientStates = /^(57P|53|25006)/

const passesByItself = ({ reason }: SqlError.SqlError): boolean =>
  transient.has(reason._tag) ||
  reason.operation === "connect" ||
  (Predicate.hasProperty(reason.cause, "code") && transientStates.test(String(reason.cause.code)))

const Places = Schema.fromJsonString(Schema.Array(Schema.Int))
const RefusedByLimit = Schema.Struct({ constraint: Schema.Literal("limit_windows_room"), detail: Places })
const asRefusedByLimit = Schema.decodeUnknownOption(RefusedByLimit)

/** An SQL failure as a defect. Transient ones are marked, so that callers are asked to try again; so are full limits. */
export const sqlDefect = (error: SqlError.SqlError): Effect.Effect<never> => {
  if (passesByItself(error)) return Effect.die(new StoreUnavailable({ cause: error }))
  const refused = asRefusedByLimit(error.reason.cause)
  return Effect.die(
    Option.match(refused, {
      onNone: () => error,
      onSome: ({ detail }) => new LimitReached({ places: detail })
    })
  )
}

const diedOfSql = (cause: Cause.Cause<unknown>): SqlError.SqlError | undefined =>
  cause.reasons
    .filter(Cause.isDieReason)
    .map(({ defect }) => defect)
    .find(SqlError.isSqlError)

/** A transaction that loses its connection dies by its rollback, which is transient, too. */
const rollbackDefect = <A, E, R>(effect: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
  Effect.catchCause(effect, (cause) => {
    const error = diedOfSql(cause)
    return error === undefined ? Effect.failCause(cause) : sqlDefect(error)
  })

/** Conflicts: nothing was done, and the next attempt usually succeeds. */
const conflicts: ReadonlySet<string> = new Set(["DeadlockError", "SerializationError"])

const maxRetries = 5

/**
 * A pause after a deadlock lets the survivor finish; an immediate retry would often meet it again. Each pause is twice as long as the
 * one before, since many batches and single answers may compete for the rows of one agent. It is real time, since the database does
 * not wait by a test's clock.
 */
const pause = (retries: number) =>
  Random.nextIntBetween(10, 50).pipe(
    Effect.flatMap((millis) => Effect.sleep(millis * 2 ** (maxRetries - retries))),
    Effect.provideService(Clock.Clock, Clock.Clock.defaultValue())
  )

const conflictIn = (cause: Cause.Cause<unknown>): SqlError.SqlError | undefined => {
  if (Cause.hasInterrupts(cause)) return undefined
  const errors = cause.reasons.map((reason) => {
    const error = Cause.isFailReason(reason) ? reason.error : Cause.isDieReason(reason) && reason.defect
    return error instanceof StoreUnavailable ? error.cause : error
  })
  return errors.filter(SqlError.isSqlError).find(({ reason }) => conflicts.has(reason._tag))
}

/**
 * A defect of a transaction that needs a lock which another may hold for long. The outermost transaction is rolled back, which frees
 * its locks, and run again after `freed`.
 */
export class LockHeld extends Data.TaggedError("LockHeld")<{
  readonly what: string
  readonly freed: Effect.Effect<void>
}> {}

const maxWaits = 20

const lockHeldIn = (cause: Cause.Cause<unknown>): LockHeld | undefined =>
  cause.reasons
    .filter(Cause.isDieReason)
    .map(({ defect }) => defect)
    .find((defect) => defect instanceof LockHeld)

/** True within a transaction: a conflict ends it, so only the whole transaction can be tried again. */
const InTransaction = Context.Reference<boolean>("auspex/layers/postgres/InTransaction", {
  defaultValue: () => false
})

/** A statement or transaction that is tried again when it meets a deadlock, a serialization failure or a `LockHeld`. */
export const retryingConflicts = <A, E, R>(effect: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> => {
  const attempt = (retries: number, waits: number): Effect.Effect<A, E, R> =>
    Effect.catchCause(effect, (cause) =>
      Effect.flatMap(InTransaction, (isPart) => {
        const lock = lockHeldIn(cause)
        const conflict = conflictIn(cause)
        if (isPart || (lock === undefined && conflict === undefined)) return Effect.failCause(cause)
        if (lock !== undefined) {
          return waits === 0
            ? Effect.die(new StoreUnavailable({ cause: new Error(`${lock.what} stays locked`) }))
            : Effect.andThen(lock.freed, attempt(retries, waits - 1))
        }
        return retries === 0
          ? Effect.failCause(cause)
          : Effect.logWarning("a statement met a conflict; it or its transaction is tried again").pipe(
              Effect.annotateLogs({ conflict: conflict?.reason._tag }),
              Effect.andThen(pause(retries)),
              Effect.andThen(attempt(retries - 1, waits))
            )
      })
    )
  return attempt(maxRetries, maxWaits)
}

/**
 * Runs the work in a transaction; within another one of the same client it is a savepoint of that. After a conflict, or if a lock is
 * held (`LockHeld`), the outermost transaction is run again, so its work must do nothing that a rollback does not undo. SQL failures
 * are defects.
 */
export const transaction =
  (sql: SqlClient.SqlClient) =>
  <A, E, R>(work: Effect.Effect<A, E, R>): Effect.Effect<A, Exclude<E, SqlError.SqlError>, R> =>
    Effect.provideService(work, InTransaction, true).pipe(
      sql.withTransaction,
      retryingConflicts,
      Effect.catchIf(SqlError.isSqlError, sqlDefect),
      rollbackDefect
    )

/** True if the fiber is within a transaction of this client. */
export const isInTransaction = (sql: SqlClient.SqlClient): Effect.Effect<boolean> =>
  Effect.map(Effect.serviceOption(sql.transactionService), Option.isSome)

/** A statement that may fail: within a transaction, which would end with it, it is a savepoint. */
export const savepoint =
  (sql: SqlClient.SqlClient) =>
  <A, E, R>(statement: Effect.Effect<A, E, R>): Effect.Effect<A, E | SqlError.SqlError, R> =>
    Effect.flatMap(isInTransaction(sql), (isPart) => (isPart ? sql.withTransaction(statement) : statement))

/** A statement whose failures are defects. */
export const orDie = <A, R>(
  effect: Effect.Effect<A, SqlError.SqlError | Schema.SchemaError, R>
): Effect.Effect<A, never, R> =>
  Effect.catchTags(retryingConflicts(effect), { SqlError: sqlDefect, SchemaError: Effect.die })

/** All rows. */
export const findAll = <Row>(row: Schema.ConstraintDecoder<Row>) => {
  const decode = Schema.decodeUnknownEffect(Schema.Array(row))
  return (statement: Rows): Effect.Effect<ReadonlyArray<Row>> => orDie(Effect.flatMap(statement, decode))
}

/** The first row, if there is one. */
export const findOption = <Row>(row: Schema.ConstraintDecoder<Row>) => {
  const all = findAll(row)
  return (statement: Rows): Effect.Effect<Option.Option<Row>> =>
    Effect.map(all(statement), (rows) => Option.fromUndefinedOr(rows[0]))
}

/** The one row that must exist. */
export const findOne = <Row>(row: Schema.ConstraintDecoder<Row>) => {
  const first = findOption(row)
  return (statement: Rows): Effect.Effect<Row> =>
    Effect.orDie(Effect.flatMap(first(statement), Effect.fromOption))
}

/** A statement whose rows are not needed. */
export const execute = (statement: Statement.Statement<object>): Effect.Effect<void> =>
  Effect.asVoid(orDie(statement))

/** Sets settings until the end of the open transaction. */
const setLocal = (sql: SqlClient.SqlClient, settings: Readonly<Record<string, string>>) => {
  const set = Object.entries(settings).map(([name, value]) => sql`set_config(${name}, ${value}, true)`)
  return execute(sql`select ${sql.csv(set)}`)
}

/** Plans the statements for the values at hand, since one value may be rare and another common. */
export const plannedByValues =
  (sql: SqlClient.SqlClient, settings: Readonly<Record<string, string>> = {}) =>
  <A, E, R>(work: Effect.Effect<A, E, R>) =>
    transaction(sql)(
      Effect.andThen(setLocal(sql, { plan_cache_mode: "force_custom_plan", ...settings }), work)
    )

/** Sets another time limit for the statements of the open transaction. */
export const withStatementTimeout =
  (
    sql: SqlClient.SqlClient,
    timeout: Duration.Duration,
    /** Other settings that the transaction needs. */
    settings: Readonly<Record<string, string>> = {}
  ) =>
  <A, E, R>(work: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
    Effect.andThen(
      setLocal(sql, { statement_timeout: String(Duration.toMillis(timeout)), ...settings }),
      Effect.provideService(work, StatementTimeout, timeout)
    )

/** An instant as a statement's parameter. */
export const timestamp = (instant: DateTime.DateTime): Date => DateTime.toDateUtc(instant)

/** A duration as an interval of PostgreSQL. */
export const intervalOf = (sql: SqlClient.SqlClient, duration: Duration.Duration) =>
  sql`${Duration.toMillis(duration)}::float8 * interval '1 millisecond'`

/**
 * The earlier of this instance's time and the database's, or a duration before it. Every statement that cannot be undone compares
 * with it: a clock that is ahead closes, voids, pays and deletes nothing too early.
 */
export const boundTime = (
  sql: SqlClient.SqlClient,
  now: DateTime.Utc,
  ago: Duration.Duration = Duration.zero
) => sql`
  (select least(${timestamp(now)}::timestamptz, date_trunc('milliseconds', database_time()))
          - ${intervalOf(sql, ago)})`

const BoundRow = Schema.Struct({ now: Schema.DateTimeUtcFromDate })

/** The time of `boundTime` as a value: a run decides by it and dates its writes with it. */
export const boundNow = (sql: SqlClient.SqlClient): Effect.Effect<DateTime.Utc> =>
  DateTime.now.pipe(
    Effect.flatMap((now) => findOne(BoundRow)(sql`select ${boundTime(sql, now)} as now`)),
    Effect.map(({ now }) => now)
  )

/**
 * A column of values as one array parameter, for `unnest`. The type is explicit, because an array of nulls does not show it;
 * `numeric` takes decimal texts.
 */
export const arrayParam = (type: ColumnType, values: ReadonlyArray<ColumnValue>) =>
  Result.getOrThrow(PgTypes.array(values, PgTypes.OID[type]))

type ColumnType = "uuid" | "text" | "bytea" | "numeric" | "bool" | "timestamptz" | "int4" | "int8"
type ColumnValue = string | number | bigint | boolean | Date | Uint8Array | null

/** Columns by name: the type, and the value of an item. */
export type ColumnsOf<Item> = Readonly<Record<string, readonly [ColumnType, (item: Item) => ColumnValue]>>

/** The columns of items as array parameters, with commas between. */
export const arraysOf = <Item>(
  sql: SqlClient.SqlClient,
  items: ReadonlyArray<Item>,
  columns: ColumnsOf<Item>
) => sql.csv(Object.values(columns).map(([type, valueOf]) => sql`${arrayParam(type, items.map(valueOf))}`))

/**
 * Items as rows of a statement, `from ${rowsOf(sql, "i", items, { id: ["uuid", (item) => item.id] })}`: a column by its name, type
 * and value, and `position`, from 1, last.
 */
export const rowsOf = <Item>(
  sql: SqlClient.SqlClient,
  alias: string,
  items: ReadonlyArray<Item>,
  columns: ColumnsOf<Item>
) => {
  const names = [...Object.keys(columns), "position"].join(", ")
  return sql`unnest(${arraysOf(sql, items, columns)}) with ordinality as ${sql.literal(`${alias} (${names})`)}`
}

/** An exact decimal as a statement's parameter: a number would be bound as float8, so it travels as text. */
export const decimal = (value: number): string => String(value)

/** A timestamp column as ISO 8601, UTC, with milliseconds. `column` is our own text, never input. */
export const isoTimestamp = (sql: SqlClient.SqlClient, column: string) =>
  sql.literal(`to_char(${column} at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')`)
