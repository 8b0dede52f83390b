import { Effect } from "effect"
import { SqlClient } from "effect/sql"

/** Events whose time of publication is not known, and what was not understood in the last document of a feed. */
export const undatedEvents = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  // False: published_at is the stated day or time without a zone, or else when the item was first seen.
  yield* sql`alter table events add column published_at_known boolean not null default true`
  yield* sql`alter table feeds add column warning text`
})
