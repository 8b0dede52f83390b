/** Where a prediction stands in the log, beside whatever else is read of it. */
import type { SqlClient } from "effect/sql"

/** A column `leaf_index`: null until the prediction has its place. `commit` is our own text, never input. */
export const leafIndexOf = (sql: SqlClient.SqlClient, commit: string) => sql`
  (select index::float8 from log_entries
    where type = 'prediction.commit' and commit = ${sql.literal(commit)}) as leaf_index`
