import { Effect } from "effect"
import type { SqlClient } from "effect/sql"
import { voided } from "../log/entries.ts"
import type { Voided } from "../log/entries.ts"
import { at, orDefect } from "../query.ts"

/**
 * Cancels a directional challenge that has not ended, and says whether it did. The row is locked against submissions first: whoever
 * has submitted is in, whoever comes later is refused. In the log a challenge ends by a close, and the void follows.
 */
export const cancelChallenge = (
  sql: SqlClient.SqlClient,
  challenge: Omit<Voided, "pool">
): Effect.Effect<boolean> =>
  sql`
    with locked as (select id from challenges where id = ${challenge.challenge_id}::uuid for update),
    cancelled as (
      update challenges c set cancelled_at = ${at(challenge.voided_at)}, cancel_reason = ${challenge.reason}
        from locked where c.id = locked.id and c.resolved_at is null and c.cancelled_at is null
      returning c.id, c.closed_at, c.cancelled_at
    ),
    ends as (
      select id, 'challenge.close' as type, cancelled_at as closed_at, null::bytea as entry, 1 as step
        from cancelled where closed_at is null
      union all
      select id, 'void', null, ${voided({ ...challenge, pool: null })}, 2 from cancelled
    )
    insert into log_pending (type, challenge_id, version, closed_at, entry)
    select type, id, 1, closed_at, entry from ends order by step
    returning 1`.pipe(
    orDefect,
    Effect.map((rows) => rows.length > 0)
  )
