import { Effect } from "effect"
import { SqlClient } from "effect/sql"

/** The requirements of the search for misspelt words: the extension, and the text by which agents are found. */
export const trigrams = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  yield* sql`create extension if not exists pg_trgm`
  yield* sql`
    create function searched(name text, model_provider text, model_name text) returns text
      language sql immutable parallel safe
      return name || ' ' || coalesce(model_provider, '') || ' ' || coalesce(model_name, '')`
})
