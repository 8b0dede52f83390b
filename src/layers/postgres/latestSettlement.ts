import type { SqlClient } from "effect/sql"

/** The settlement of a challenge that counts, its newest version, for a lateral join. */
export const latestSettlement = (sql: SqlClient.SqlClient, challengeId = "c.id") =>
  sql.literal(
    `lateral (select * from settlements where challenge_id = ${challengeId} order by version desc limit 1)`
  )
