import { Effect } from "effect"
import { SqlClient } from "effect/sql"

/** What the search for words with mistakes in them takes: the extension, and the text that agents are found by. */
export const trigrams = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  yield* sql`create extension if not exists pg_trgm`
  yield* sql`
    create function searched(name text, model_provider text, model_name text) returns text
      language sql immutable parallel safe
      return name || ' ' || coalesce(model_provider, '') || ' ' || coalesce(model_name, '')`
})
