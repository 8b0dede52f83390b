/** The data of the scenarios, written by SQL. */
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import { agents, inParts } from "../test/support/growth/agents.ts"
import { agentPrefix, challengePrefix, uuidText } from "../test/support/growth/identifiers.ts"
import { agentCount, hotChallenges, spreadChallenges } from "./world.ts"

const states = {
  open: { deadline: "now() + interval '1 day'", resolvedAt: "null" },
  due: { deadline: "now() - interval '2 hours'", resolvedAt: "null" },
  resolved: { deadline: "now() - interval '2 hours'", resolvedAt: "now()" }
}

/** Inserts challenges from number `first` to `last`, open for another day, long due, or resolved. */
export const challenges = Effect.fnUntraced(function* (
  first: number,
  last: number,
  state: keyof typeof states
) {
  const sql = yield* SqlClient.SqlClient
  const id = sql.literal(uuidText(challengePrefix, "n"))
  const deadline = sql.literal(states[state].deadline)
  const resolvedAt = sql.literal(states[state].resolvedAt)
  yield* sql`
    insert into challenges
      (id, type, kind, target, question, created_at, deadline, resolve_at, close_price_until, cancel_at, open_price,
       dead_zone_pct, resolution_criteria, resolution_criteria_zh, closed_at, resolved_at, odds, reference_loss)
    select ${id}::uuid, 'directional', 'session', 'GC', 'Which way will gold move? (' || n || ')',
           now() - interval '1 day', ${deadline}, ${deadline} + interval '1 minute', ${deadline} + interval '1 day',
           ${deadline} + interval '7 days', 2000, 0.3, 'criteria', 'criteria', ${resolvedAt}, ${resolvedAt}, array_fill(1.0 / 3, '{3}'), 2.0 / 3
      from generate_series(${first}::int, ${last}::int) as n`
  yield* sql`analyze challenges`
})

/**
 * Inserts resolved challenges without counting them: the trigger would update one row so often in one transaction that it gets ever
 * slower.
 */
export const pastChallenges = Effect.fnUntraced(function* (first: number, count: number) {
  const sql = yield* SqlClient.SqlClient
  yield* sql`alter table challenges disable trigger challenges_counted`
  yield* challenges(first, first + count - 1, "resolved")
  yield* sql`alter table challenges enable trigger challenges_counted`
})

/** Inserts everything that predictions need. */
export const predictWorld = Effect.gen(function* () {
  yield* agents(agentCount)
  yield* challenges(0, spreadChallenges + hotChallenges, "open")
})

/** Puts every agent on a leaderboard. */
export const leaderboard = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  yield* sql`
    insert into agent_stats
      (board, agent_id, verified, scored, score_sum, binary_scored, correct, brier_sum, last_day, day_count, day_sum)
    select 'global', id, true, 50, n % 5000, 50, 25, 20, current_date, 50, n % 5000
      from (select id, row_number() over () as n from agents) a`
  yield* sql`insert into boards (board, agents, updated_at) values ('global', ${agentCount}::int, now())`
})

/** Inserts a prediction of each of `count` agents on this challenge, in the service's form. */
export const predictionsOn = Effect.fnUntraced(function* (challenge: number, count: number) {
  const sql = yield* SqlClient.SqlClient
  const agent = sql.literal(uuidText(agentPrefix, "n"))
  const challengeIs = sql.literal(uuidText(challengePrefix, String(challenge)))
  yield* inParts(
    count,
    (first, last) => sql`
    insert into predictions
      (challenge_id, agent_id, revision, id, direction, confidence, reasoning, received_at, deadline, salt, body, commit)
    select c.id, ${agent}::uuid, 0, uuidv7(), direction, confidence, null, received_at, c.deadline, salt, body,
           sha256('\\x6175737065782f636f6d6d69742f763100'::bytea || salt || body)
      from challenges c
      cross join generate_series(${first}::int, ${last}::int) as n
      cross join lateral (
        select (array['bullish', 'bearish', 'neutral'])[1 + n % 3] as direction, (n % 101) / 100.0 as confidence,
               c.deadline - interval '1 hour' as received_at, sha256(convert_to(n::text, 'UTF8')) as salt) as p
      cross join lateral (
        select convert_to('{"agent_id":"' || ${agent} || '","challenge_id":"' || c.id || '","kind":"directional",'
          || '"reasoning_sha256":null,"received_at":"' || received_at || '","revision":0,"values":{"confidence":'
          || confidence || ',"direction":"' || direction || '"}}', 'UTF8') as body) as sealed
     where c.id = ${challengeIs}::uuid`
  )
  yield* sql`
    insert into prediction_counts (challenge_id, shard, bullish, bearish, neutral)
    select challenge_id, 0, count(*) filter (where direction = 'bullish'), count(*) filter (where direction = 'bearish'),
           count(*) filter (where direction = 'neutral')
      from predictions where challenge_id = ${challengeIs}::uuid group by challenge_id`
})

/** Inserts the closing price that settles everything due. */
export const closingPrice = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  yield* sql`
    insert into price_points (source, asset, interval, time, close, observed_at, fetched_at)
    values ('bench', 'GC', 'quote', now() - interval '1 hour', 2050, now() - interval '1 hour', now())`
})
