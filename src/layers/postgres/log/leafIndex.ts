/** Where a prediction stands in the log, beside whatever else is read of it. */
import type { SqlClient } from "effect/sql"

/**
 * The index of a prediction `p`, of which `queue_id` and `commit` are there; null until it has its place. It is in the only
 * run that begins at or before its id and ends after it, or has an entry of its own: it appeared late, or is from before
 * there were runs.
 */
export const placeOf = (sql: SqlClient.SqlClient) => sql`
  coalesce(
    (select r.first + (
              select sum(least(upper(part), p.queue_id) - lower(part))::int8
                from unnest(r.ids) as part where lower(part) <= p.queue_id)
       from (
         select first, ids from log_runs where lower(ids) <= p.queue_id order by lower(ids) desc limit 1) r
      where r.ids @> p.queue_id),
    (select index from log_entries where type = 'prediction.commit' and commit = p.commit))`

/** `placeOf` as `e.index`; `offset 0` lets it be looked up once, however often it is named. */
export const itsPlace = (sql: SqlClient.SqlClient) => sql`
  cross join lateral (select ${placeOf(sql)} as index offset 0) e`

/** `placeOf` as a column `leaf_index`. */
export const leafIndexOf = (sql: SqlClient.SqlClient) => sql`(${placeOf(sql)})::float8 as leaf_index`
