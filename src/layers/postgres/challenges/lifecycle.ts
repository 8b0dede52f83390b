/** The statements by which challenges of any type begin and end, each with its log entry and its notices. */
import { Effect } from "effect"
import type { DateTime } from "effect"
import type { SqlClient, Statement } from "effect/sql"
import { challengeCreate, voided } from "../log/entries.ts"
import type { CreatedChallenge, Voided } from "../log/entries.ts"
import { insertChallengeNotices } from "../notices/insertNotices.ts"
import { noReference } from "./reference.ts"
import type { FrozenReference } from "./reference.ts"
import { levelColumns, levelValues } from "../levels.ts"
import { arrayParam, boundTime, execute, isoTimestamp, orDie, timestamp } from "../sql.ts"

export const createChallenge = (
  sql: SqlClient.SqlClient,
  created: CreatedChallenge,
  reference: FrozenReference = noReference
): Effect.Effect<void> =>
  execute(sql`
    with created as (
      insert into challenges
        (id, type, kind, target, event_id, question, created_at, deadline, resolve_at, close_price_until, cancel_at,
         resolution_criteria, resolution_criteria_zh, open_price, dead_zone_pct, period, unit, bin_edges,
         reference_scale, decimal_step, categories, reference, reward_pool, pool_owner_rule, ${levelColumns(sql)}, window_from, rule_version,
         volatility, odds, reference_loss)
      values (${created.challenge_id}::uuid, ${created.challenge_type}, ${created.kind}, ${created.asset},
              ${created.event_id}, ${created.question}, ${timestamp(created.created_at)}, ${timestamp(created.deadline)},
              ${timestamp(created.resolve_at)}, ${timestamp(created.close_price_until)}, ${timestamp(created.cancel_at)},
              ${created.resolution_criteria}, ${created.resolution_criteria_zh}, ${created.open_price}::numeric,
              ${created.dead_zone_pct}::numeric, ${created.period}, ${created.unit},
              ${created.bin_edges === null ? null : arrayParam("numeric", created.bin_edges)}::numeric[],
              ${created.reference_scale}::numeric, ${created.decimal_step}::numeric,
              ${created.categories === null ? null : arrayParam("text", created.categories)}::text[],
              ${created.reference === null ? null : arrayParam("numeric", created.reference)}::numeric[],
              (${created.reward_pool}::numeric * 1000000)::bigint, ${created.pool_owner_rule}::boolean,
              ${levelValues(sql, created)},
              ${created.window_from === null ? null : timestamp(created.window_from)}::timestamptz,
              ${created.rule_version}::smallint, ${reference.volatility}::numeric,
              ${reference.odds === null ? null : arrayParam("numeric", reference.odds)}::numeric[], ${reference.loss}::numeric)
      returning *
    ),
    inserted_notices as (${insertChallengeNotices(sql, {
      type: "challenge.opened",
      at: "c.created_at",
      data: sql`jsonb_build_object('question', c.question, 'deadline', ${isoTimestamp(sql, "c.deadline")},
                                   'resolve_at', ${isoTimestamp(sql, "c.resolve_at")})`,
      from: sql`created c`
    })})
    insert into log_pending (type, challenge_id, version, entry)
    select 'challenge.create', id, 1, ${challengeCreate(created)} from created`)

/**
 * Closes the challenges `c` that meet the condition and whose deadline has passed, and returns how many. It waits for
 * submissions that hold the row; later ones find the challenge closed.
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
         and c.deadline <= ${boundTime(sql, now)}
       order by c.id
         for update
    ),
    closed as (
      update challenges c set closed_at = ${boundTime(sql, now)} from due where c.id = due.id
      returning c.*
    ),
    inserted_notices as (${insertChallengeNotices(sql, {
      type: "challenge.closed",
      at: "c.closed_at",
      data: sql`jsonb_build_object('deadline', ${isoTimestamp(sql, "c.deadline")})`,
      from: sql`closed c`
    })})
    insert into log_pending (type, challenge_id, version, closed_at)
    select 'challenge.close', id, 1, closed_at from closed order by id
    returning 1`.pipe(
    orDie,
    Effect.map((rows) => rows.length)
  )

/** Inserts the notices that the challenges `c` of this source are void. */
export const insertVoidNotices = (sql: SqlClient.SqlClient, from: Statement.Fragment) =>
  insertChallengeNotices(sql, {
    type: "challenge.void",
    at: "c.cancelled_at",
    data: sql`jsonb_build_object('reason', c.cancel_reason)`,
    from
  })

/**
 * Cancels a directional challenge that has not ended and meets the condition, and returns whether it did. The row lock waits for
 * submissions under way; later ones are rejected. The log gets a close, then the void.
 */
export const cancelChallenge = (
  sql: SqlClient.SqlClient,
  challenge: Omit<Voided, "pool">,
  condition: Statement.Fragment
): Effect.Effect<boolean> =>
  sql`
    with locked as (
      select id from challenges
       where id = ${challenge.challenge_id}::uuid and ${condition}
         for update
    ),
    cancelled as (
      update challenges c set cancelled_at = ${timestamp(challenge.voided_at)}, cancel_reason = ${challenge.reason}
        from locked where c.id = locked.id and c.resolved_at is null and c.cancelled_at is null
      returning c.*
    ),
    inserted_notices as (${insertVoidNotices(sql, sql`cancelled c`)}),
    ends as (
      select id, 'challenge.close' as type, cancelled_at as closed_at, null::bytea as entry, 1 as step
        from cancelled where closed_at is null
      union all
      select id, 'void', null, ${voided({ ...challenge, pool: null })}, 2 from cancelled
    )
    insert into log_pending (type, challenge_id, version, closed_at, entry)
    select type, id, 1, closed_at, entry from ends order by step
    returning 1`.pipe(
    orDie,
    Effect.map((rows) => rows.length > 0)
  )
