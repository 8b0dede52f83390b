/**
 * Counts by direction, and the odds of pools if an operator says so, are published in steps before a deadline, and live
 * from the deadline on. Reads never take a step, so all replicas show the same.
 */
import { DateTime, Option } from "effect"
import type { SqlClient } from "effect/sql"
import type { CountSteps } from "../../../services/Settings.ts"
import { isoTimestamp, timestamp, when } from "../sql.ts"
import { countsOfChallenge, hasStatus } from "./challengeRows.ts"

/** True if the counts of a challenge `c` are live. */
export const areCountsLive = (
  sql: SqlClient.SqlClient,
  steps: Option.Option<CountSteps>,
  now: DateTime.Utc
) => (Option.isNone(steps) ? sql`true` : sql`c.deadline <= ${timestamp(now)}`)

/** The time of the published counts of a challenge `c`, by its last step `k`; null if they are live before the deadline. */
export const countsAsOf = (
  sql: SqlClient.SqlClient,
  steps: Option.Option<CountSteps>,
  now: DateTime.Utc
) => sql`
  case when c.deadline <= ${timestamp(now)} then ${isoTimestamp(sql, "c.deadline")}
       ${when(sql, Option.isSome(steps), () => sql`else ${isoTimestamp(sql, "coalesce(k.published_at, c.created_at)")}`)} end`

const since = ({ after }: CountSteps, now: DateTime.Utc) => timestamp(DateTime.subtractDuration(now, after))

/**
 * Takes the due steps of directional challenges. A step is due once enough more claimed owners have answered, whatever
 * the number of their agents. The `where` of the update checks again under the row lock, because another replica may
 * have taken the step.
 */
export const insertPublishedCounts = (sql: SqlClient.SqlClient, steps: CountSteps, now: DateTime.Utc) => sql`
  insert into published_counts as k (challenge_id, published_at, bullish, bearish, neutral, owners)
  select d.id, ${timestamp(now)}, d.bullish, d.bearish, d.neutral, o.owners
    from (
      select c.id, n.bullish, n.bearish, n.neutral,
             case when l.challenge_id is null then 0 else coalesce(l.owners, l.bullish + l.bearish + l.neutral) end as before
        from challenges c
        left join published_counts l on l.challenge_id = c.id
        ${countsOfChallenge(sql)}
       where c.type = 'directional' and ${hasStatus(sql, "open", now)}
         and coalesce(l.published_at, c.created_at) <= ${since(steps, now)}
         and n.bullish + n.bearish + n.neutral - coalesce(l.bullish + l.bearish + l.neutral, 0) >= ${steps.answers}::int
       order by c.id offset 0) d
   cross join lateral (
     select count(distinct a.owner_id)::int as owners
       from predictions p join agents a on a.id = p.agent_id
      where p.challenge_id = d.id and a.claimed_at is not null) o
   where o.owners - d.before >= ${steps.answers}::int
   order by d.id
  on conflict (challenge_id) do update
     set published_at = excluded.published_at, bullish = excluded.bullish, bearish = excluded.bearish,
         neutral = excluded.neutral, owners = excluded.owners
   where k.published_at <= ${since(steps, now)}
     and excluded.owners - coalesce(k.owners, k.bullish + k.bearish + k.neutral) >= ${steps.answers}::int`

/** Takes the due steps of credit pools in the same way. */
export const insertPublishedOdds = (sql: SqlClient.SqlClient, steps: CountSteps, now: DateTime.Utc) => sql`
  insert into published_odds as k (challenge_id, published_at, stakers, bins)
  select c.id, ${timestamp(now)}, n.stakers, n.bins
    from challenges c
    left join published_odds l on l.challenge_id = c.id
   cross join lateral (
     select sum(stakers)::int as stakers,
            jsonb_agg(jsonb_build_object('bin', bin, 'staked', staked::text, 'stakers', stakers) order by bin) as bins
       from pool_bins where challenge_id = c.id) n
   where c.type = 'macro' and ${hasStatus(sql, "open", now)}
     and coalesce(l.published_at, c.created_at) <= ${since(steps, now)}
     and n.stakers - coalesce(l.stakers, 0) >= ${steps.answers}::int
   order by c.id
  on conflict (challenge_id) do update
     set published_at = excluded.published_at, stakers = excluded.stakers, bins = excluded.bins
   where k.published_at <= ${since(steps, now)} and excluded.stakers - k.stakers >= ${steps.answers}::int`
