import { Effect } from "effect"
import type { DateTime } from "effect"
import type { SqlClient, Statement } from "effect/sql"
import { at, orDefect } from "../query.ts"

/**
 * Ends submissions to the challenges `c` of a condition whose deadline has passed, and answers how many there were: waits
 * for those under way, and those that come later see a closed challenge.
 */
export const closeChallenges = (
  sql: SqlClient.SqlClient,
  condition: Statement.Fragment,
  now: DateTime.Utc
): Effect.Effect<number> =>
  sql`
    with due as (
      select c.id from challenges c
       where ${condition} and c.closed_at is null and c.resolved_at is null and c.cancelled_at is null
         and c.deadline <= ${at(now)}
       order by c.id
         for update
    ),
    closed as (
      update challenges c set closed_at = ${at(now)} from due where c.id = due.id
      returning c.id, c.closed_at
    )
    insert into log_pending (type, challenge_id, version, closed_at)
    select 'challenge.close', id, 1, closed_at from closed order by id
    returning 1`.pipe(
    orDefect,
    Effect.map((rows) => rows.length)
  )
