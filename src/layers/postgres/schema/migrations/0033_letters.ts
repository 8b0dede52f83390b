import { Effect } from "effect"
import { SqlClient } from "effect/sql"

/**
 * `search_letters` gives the letters of a text that have no case by Unicode: most scripts without spaces have words of
 * one letter, which make no pair for `search_grams`.
 */
export const letterFunction = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  yield* sql`
    create or replace function search_letters(text text) returns text[]
      language sql immutable parallel safe cost 1000
      begin atomic
        select coalesce(array_agg(distinct c), '{}')
          from unnest(string_to_array(search_text(text), null)) u (c)
         where c ~ '[[:alpha:]]' collate "pg_unicode_fast" and upper(c collate "pg_unicode_fast") = c;
      end`
})
