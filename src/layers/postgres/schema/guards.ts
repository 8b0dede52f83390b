/** Triggers that reject changes of tables with `restrict_violation`, whichever role asks. */
import { Effect } from "effect"
import { SqlClient } from "effect/sql"

export const rejectChange = SqlClient.SqlClient.use(
  (sql) => sql`
    create function reject_change() returns trigger language plpgsql as $$
    begin
      raise exception '% is append-only: % refused', tg_table_name, lower(tg_op) using errcode = 'restrict_violation';
    end
    $$`
)

/** Rows are added, never changed or deleted. */
export const appendOnly = (table: string) =>
  SqlClient.SqlClient.use(
    (sql) => sql`
      create trigger ${sql(`${table}_append_only`)} before update or delete or truncate on ${sql(table)}
        for each statement execute function reject_change()`
  )

/** Rows may change, and are never deleted. */
export const kept = (table: string) =>
  SqlClient.SqlClient.use(
    (sql) => sql`
      create trigger ${sql(`${table}_kept`)} before delete or truncate on ${sql(table)}
        for each statement execute function reject_change()`
  )

/**
 * The declaration of a function that does more than the running role may do. It runs as the owner of the tables, and finds them in
 * their schema only, where nobody else can create a table of the same name.
 */
export const asOwner = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const [row] = yield* sql`select quote_ident(current_schema())`.values
  return sql.literal(`security definer set search_path = ${String(row?.[0])}, pg_temp`)
})
