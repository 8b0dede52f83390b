/** A challenge as the API shows it, selected in one place. */
import { DateTime } from "effect"
import type { SqlClient } from "effect/sql"
import type { ChallengeStatus } from "../../../services/Challenges.ts"
import { at } from "../query.ts"
import { iso } from "../wire.ts"

/** Status is derived from the clock: an open challenge past its deadline reads as closed even if no job ran. */
export const statusOf = (sql: SqlClient.SqlClient, now: DateTime.Utc) => sql`
  case when c.cancelled_at is not null then 'cancelled' when c.resolved_at is not null then 'resolved'
       when c.deadline <= ${at(now)} then 'closed' else 'open' end`

/** The condition that `statusOf` is this status, in a form that the indexes serve. */
export const hasStatus = (sql: SqlClient.SqlClient, status: ChallengeStatus, now: DateTime.Utc) => {
  switch (status) {
    case "open":
      return sql`c.resolved_at is null and c.cancelled_at is null and c.deadline > ${at(now)}`
    case "closed":
      return sql`c.resolved_at is null and c.cancelled_at is null and c.deadline <= ${at(now)}`
    case "resolved":
      return sql`c.resolved_at is not null`
    case "cancelled":
      return sql`c.cancelled_at is not null`
  }
}

/** Challenges `c`; the caller adds conditions, order and limit to `from`. */
export const challengeColumns = (sql: SqlClient.SqlClient, now: DateTime.Utc) => sql`
  c.id::text, c.type, c.kind, c.event_id, c.question, c.target as asset, ${statusOf(sql, now)} as status,
  ${iso(sql, "c.created_at")} as created_at, ${iso(sql, "c.deadline")} as deadline,
  ${iso(sql, "c.resolve_at")} as resolve_at, c.open_price::float8 as open_price,
  n.bullish + n.bearish + n.neutral as prediction_count, n.bullish as bullish_count, n.bearish as bearish_count,
  n.neutral as neutral_count, c.resolution_criteria, c.resolution_criteria_zh,
  c.dead_zone_pct::float8 as dead_zone_pct, c.cancel_reason`

/**
 * The challenge `c` of each prediction `p`. With `limit` it is looked up for the rows of the page, one by one: no plan
 * can read and join all of an agent's predictions first.
 */
export const challengeOf = (sql: SqlClient.SqlClient) => sql`
  cross join lateral (select * from challenges where id = p.challenge_id limit 1) c`

/** The counts that `challengeColumns` shows: the sum over the shards. */
export const countsOfChallenge = (sql: SqlClient.SqlClient) => sql`
  cross join lateral (
    select coalesce(sum(bullish), 0)::int as bullish, coalesce(sum(bearish), 0)::int as bearish,
           coalesce(sum(neutral), 0)::int as neutral
      from prediction_counts where challenge_id = c.id) n`
