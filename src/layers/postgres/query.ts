/**
 * Statements whose rows are decoded by a schema. Our own SQL shapes the rows, so a row that does not fit, or a
 * statement that fails, is a defect: services list domain errors only.
 */
import { PgTypes } from "@effect/sql-pg"
import { Cause, DateTime, Effect, Option, Predicate, Result, Schema } from "effect"
import { SqlError } from "effect/sql"
import type { Statement } from "effect/sql"
import { StoreUnavailable } from "../../services/errors.ts"

type Rows = Effect.Effect<ReadonlyArray<unknown>, SqlError.SqlError>

/** What passes by itself: the database is away, or busy for longer than a statement may wait. */
const transient: ReadonlySet<string> = new Set([
  "ConnectionError",
  "LockTimeoutError",
  "StatementTimeoutError",
  "DeadlockError",
  "SerializationError"
])

/** What the client leaves unclassified: the server is shut down, crashes or starts (57P), or has no room left (53). */
const transientStates = /^(57P|53)/

const passesByItself = ({ reason }: SqlError.SqlError): boolean =>
  transient.has(reason._tag) ||
  reason.operation === "connect" ||
  (Predicate.hasProperty(reason.cause, "code") && transientStates.test(String(reason.cause.code)))

/** An SQL failure as a defect: one that passes by itself is told apart, so that callers are asked to try again. */
export const sqlDefect = (error: SqlError.SqlError): Effect.Effect<never> =>
  Effect.die(passesByItself(error) ? new StoreUnavailable({ cause: error }) : error)

const diedOfSql = (cause: Cause.Cause<unknown>): SqlError.SqlError | undefined =>
  cause.reasons
    .filter(Cause.isDieReason)
    .map(({ defect }) => defect)
    .find(SqlError.isSqlError)

/** A transaction that loses its connection dies of its rollback, whatever it had failed with: that passes by itself too. */
export const rollbackDefect = <A, E, R>(effect: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
  Effect.catchCause(effect, (cause) => {
    const error = diedOfSql(cause)
    return error === undefined ? Effect.failCause(cause) : sqlDefect(error)
  })

/** A statement, or a transaction without errors of its own, whose failures are defects. */
export const orDefect = <A, R>(
  effect: Effect.Effect<A, SqlError.SqlError | Schema.SchemaError, R>
): Effect.Effect<A, never, R> =>
  rollbackDefect(Effect.catchTags(effect, { SqlError: sqlDefect, SchemaError: Effect.die }))

/** All rows. */
export const many = <Row>(row: Schema.ConstraintDecoder<Row>) => {
  const decode = Schema.decodeUnknownEffect(Schema.Array(row))
  return (statement: Rows): Effect.Effect<ReadonlyArray<Row>> => orDefect(Effect.flatMap(statement, decode))
}

/** The first row, if there is one. */
export const maybe = <Row>(row: Schema.ConstraintDecoder<Row>) => {
  const all = many(row)
  return (statement: Rows): Effect.Effect<Option.Option<Row>> =>
    Effect.map(all(statement), (rows) => Option.fromUndefinedOr(rows[0]))
}

/** The one row that must be there. */
export const one = <Row>(row: Schema.ConstraintDecoder<Row>) => {
  const first = maybe(row)
  return (statement: Rows): Effect.Effect<Row> =>
    Effect.orDie(Effect.flatMap(first(statement), Effect.fromOption))
}

/** A statement without rows of interest. */
export const run = (statement: Statement.Statement<object>): Effect.Effect<void> =>
  Effect.asVoid(orDefect(statement))

/** An instant as a statement's parameter. */
export const at = (instant: DateTime.DateTime): Date => DateTime.toDateUtc(instant)

/**
 * A column of values as one array parameter, for `unnest`. The type is said, because an array of nulls does not show it;
 * `numeric` takes decimal texts.
 */
export const column = (
  type: "uuid" | "text" | "bytea" | "numeric" | "bool" | "timestamptz" | "int4" | "int8",
  values: ReadonlyArray<string | number | bigint | boolean | Date | Uint8Array | null>
) => Result.getOrThrow(PgTypes.array(values, PgTypes.OID[type]))

/** An exact decimal as a statement's parameter: a number binds as float8, so it travels as text. */
export const decimal = (value: number): string => String(value)
