import { Effect } from "effect"
import { SqlClient } from "effect/sql"

/** Events whose time of publication is unknown, and the parts of a feed's last document that were not understood. */
export const undatedEvents = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  // If this is false, published_at is the stated day or time without a zone, or else the time when the item was first seen.
  yield* sql`alter table events add column published_at_known boolean not null default true`
  yield* sql`alter table feeds add column warning text`
})
