/** Fragments that let PostgreSQL shape values as the API shows them, so that rows need no further conversion. */
import type { SqlClient } from "effect/sql"

/** A timestamp column as ISO 8601, UTC, with milliseconds. `column` is our own text, never input. */
export const iso = (sql: SqlClient.SqlClient, column: string) =>
  sql.literal(`to_char(${column} at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')`)
