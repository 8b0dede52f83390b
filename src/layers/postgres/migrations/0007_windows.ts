import { Effect } from "effect"
import { SqlClient } from "effect/sql"

/** What a window holds travels in its row, so that one statement counts uses in windows of any size. */
export const windows = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient

  // The defaults are for replicas of the version before, which still count while this one starts.
  yield* sql`
    alter table rate_limits
      add column window_ms bigint not null default 0,
      add column most integer not null default 0`
})
