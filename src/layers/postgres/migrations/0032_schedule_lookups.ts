import { Effect } from "effect"
import { SqlClient } from "effect/sql"

/** What is due by schedule is looked for again and again: neither all events nor all macro challenges are read for it. */
export const scheduleLookups = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient

  yield* sql`create index events_published_at on events (published_at)`
  yield* sql`
    create index challenges_macro_period on challenges (target, period)
      where type = 'macro' and cancelled_at is null`
})
