import type { SqlClient } from "effect/sql"

/** Selects the `NameTag` of an agent `a`, whose row has its id and its `held_name`. */
export const disambiguator = (sql: SqlClient.SqlClient) =>
  sql.literal(`case when a.held_name is null then right(a.id::text, 8) end`)
