import { Effect } from "effect"
import { SqlClient } from "effect/sql"

/** Which programs may run on the schema, so that an older one knows whether it still may beside a newer one. */
export const minProgram = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  // The oldest, by the newest migration that it knows.
  yield* sql`alter table instance add column min_program int not null default 1`
})
