import { Effect } from "effect"
import { SqlClient } from "effect/sql"

/**
 * The functions that find words in texts of any script, whatever letters the locale of the database knows:
 * `search_text` folds case and accents, `search_grams` gives the pairs of neighbouring characters, by which an index
 * finds any part of a word of two characters or more.
 */
export const wordFunctions = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  yield* sql`
    create or replace function search_text(text text) returns text
      language sql immutable parallel safe
      begin atomic
        select normalize(casefold(regexp_replace(normalize(text, nfkd), '[\\u0300-\\u036f]', '', 'g') collate "pg_unicode_fast"), nfkc);
      end`
  yield* sql`
    create or replace function search_grams(text text) returns text[]
      language sql immutable parallel safe cost 1000
      begin atomic
        select coalesce(array_agg(distinct c || next), '{}')
          from (
            select c, lead(c) over (order by place) as next
              from unnest(string_to_array(search_text(text), null)) with ordinality u (c, place)) pairs
         where c ~ '\\S' and next ~ '\\S';
      end`
})
