import type { SqlClient } from "effect/sql"

/** The `NameTag` of an agent `a`, of whose row its id and its `held_name` are there. */
export const nameTag = (sql: SqlClient.SqlClient) =>
  sql.literal(`case when a.held_name is null then right(a.id::text, 8) end`)
