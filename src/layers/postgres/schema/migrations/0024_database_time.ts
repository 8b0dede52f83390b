import { Effect } from "effect"
import { SqlClient } from "effect/sql"

/**
 * The database's clock, which bounds every statement that cannot be undone. Only the owner of the schema can replace the function:
 * tests and the season's own server let it follow a clock that they move.
 */
export const databaseTime = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  yield* sql`
    create function database_time() returns timestamptz language sql stable parallel safe return clock_timestamp()`
  yield* sql`grant execute on function database_time() to public`
})
