import { Effect } from "effect"
import { SqlClient } from "effect/sql"

/** News feeds that events are made from: how each stands, and which of its items are events already. */
export const feeds = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient

  yield* sql`
    create table feeds (
      url text primary key,
      -- When it is asked next. Whoever asks it moves this first, so no two replicas ask at once.
      due_at timestamptz not null,
      -- What it answered with last, for conditional requests.
      etag text,
      last_modified text,
      asked_at timestamptz,
      answered_at timestamptz,
      -- In a row; each makes the pause before the next try longer.
      failures integer not null default 0 constraint feeds_failures check (failures >= 0),
      failure text
    )`

  // An item is known by its guid within its feed, and by its address anywhere: each is a key, and a key is taken once.
  yield* sql`
    create table feed_items (
      key bytea primary key constraint feed_items_key check (octet_length(key) = 32),
      event_id text not null constraint feed_items_event references events (id),
      feed_url text not null constraint feed_items_feed references feeds (url),
      seen_at timestamptz not null
    )`
  yield* sql`create index feed_items_event_id on feed_items (event_id)`
  yield* sql`create index feed_items_feed_url on feed_items (feed_url)`
})
