import { Effect } from "effect"
import { SqlClient } from "effect/sql"

/** Stores which programs may run on the schema, so that an older one can check this beside a newer one. */
export const minProgram = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  // The oldest program, by the newest migration that it knows.
  yield* sql`alter table instance add column min_program int not null default 1`
})
