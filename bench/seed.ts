/** What the scenarios find in their databases, written by SQL. */
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import {
  agentCount,
  agentPrefix,
  challengePrefix,
  hotChallenges,
  ownerPrefix,
  spreadChallenges,
  uuidText
} from "./world.ts"

/** Two halves at once, over the two connections of `Database.patient`: a million rows are most of what a scenario waits for. */
const inParts = <A, E, R>(count: number, write: (first: number, last: number) => Effect.Effect<A, E, R>) => {
  const middle = Math.floor(count / 2)
  const parts: ReadonlyArray<readonly [number, number]> = [
    [0, middle - 1],
    [middle, count - 1]
  ]
  return Effect.forEach(parts, ([first, last]) => write(first, last), { concurrency: 2, discard: true })
}

/**
 * Claimed agents, numbered from 0, one more than asked for: the sample. Their claim grants are paid, or the service would pay
 * a hundred thousand of them within its first minute, in the middle of some measurement.
 */
export const agents = Effect.fnUntraced(function* (count: number) {
  const sql = yield* SqlClient.SqlClient
  const id = sql.literal(uuidText(agentPrefix, "n"))
  // Each of its own owner: the agents of one count as one in a pool.
  const owner = sql.literal(uuidText(ownerPrefix, "n"))
  yield* inParts(count + 1, (first, last) =>
    Effect.andThen(
      sql`
    insert into operators (id, created_at)
    select ${owner}::uuid, now() - interval '90 days' from generate_series(${first}::int, ${last}::int) as n`,
      sql`
    insert into agents
      (id, name, type, languages, model_provider, model_name, model_capability_tag, hosting_mode, policy_profile,
       disclosure_level, default_spaces, auth_method, requested_scopes, secret_hash, created_at, provisional_until,
       challenge_passed_at, first_token_at, claimed_at, owner_id, claim_grant)
    select ${id}::uuid, 'Bench agent ' || n, 'trader', '{en}', 'Acme', 'acme-' || n % 40, 'general', 'self_hosted',
           'standard', 'public', '{finance}', 'client_credentials', '{prediction:submit,challenge:read}',
           sha256(convert_to(n::text, 'UTF8')), now() - interval '90 days', now() - interval '83 days',
           now() - interval '90 days', now() - interval '90 days', now() - interval '89 days',
           ${owner}::uuid, 0
      from generate_series(${first}::int, ${last}::int) as n`
    )
  )
  yield* sql`vacuum (analyze) agents`
})

/** Challenges from number `first` to `last`, open for another day, or long due. */
export const challenges = Effect.fnUntraced(function* (first: number, last: number, state: "open" | "due") {
  const sql = yield* SqlClient.SqlClient
  const id = sql.literal(uuidText(challengePrefix, "n"))
  const deadline = sql.literal(state === "open" ? "now() + interval '1 day'" : "now() - interval '2 hours'")
  yield* sql`
    insert into challenges
      (id, type, kind, target, question, created_at, deadline, resolve_at, close_price_until, cancel_at, open_price,
       dead_zone_pct, resolution_criteria, resolution_criteria_zh)
    select ${id}::uuid, 'directional', 'session', 'GC', 'Which way will gold move? (' || n || ')',
           now() - interval '1 day', ${deadline}, ${deadline} + interval '1 minute', ${deadline} + interval '1 day',
           ${deadline} + interval '7 days', 2000, 0.3, 'criteria', 'criteria'
      from generate_series(${first}::int, ${last}::int) as n`
  yield* sql`analyze challenges`
})

/** Everything that predictions need. */
export const predictWorld = Effect.gen(function* () {
  yield* agents(agentCount)
  yield* challenges(0, spreadChallenges + hotChallenges, "open")
})

/**
 * The figures of every agent, as if each had been scored three times a day on ten days or more: the sums fit together,
 * so that averages and intervals come out as they would.
 */
export const standings = Effect.fnUntraced(function* (count: number) {
  const sql = yield* SqlClient.SqlClient
  const id = sql.literal(uuidText(agentPrefix, "n"))
  yield* sql`
    insert into agent_figures
      (board, agent_id, verified, scored, score_sum, binary_scored, correct, brier_sum, last_day, day_count, day_sum,
       days, sum_day_sq, sum_day_cross, sum_day_count_sq)
    select b.board, ${id}::uuid, true, 3 * (g + 1), m * 3 * (g + 1), 3 * (g + 1), round(1.5 * (g + 1)),
           0.25 * 3 * (g + 1), current_date, 3, 3 * m, g, g * (9 * m * m + 60), 9 * m * g, 9 * g
      from generate_series(0, ${count - 1}::int) as n
      cross join (values ('global'), ('commodities')) as b (board)
      cross join lateral (select 10 + n % 40 as g, 20 + (n::bigint * 7919 % 60013) / 1000.0 as m) as f`
  yield* sql`
    insert into boards (board, agents, updated_at)
    select board, ${count}::int, now() from (values ('global'), ('commodities')) as b (board)`
  yield* sql`vacuum (analyze) agent_figures`
})

/** Pools of macro challenges from number `first` on, each forecast by the first so many agents. */
export const pools = Effect.fnUntraced(function* (first: number, count: number, forecasters: number) {
  const sql = yield* SqlClient.SqlClient
  const agent = sql.literal(uuidText(agentPrefix, "a"))
  const challenge = sql.literal(uuidText(challengePrefix, "n"))
  yield* sql`
    insert into challenges
      (id, type, kind, target, question, created_at, deadline, resolve_at, close_price_until, cancel_at,
       resolution_criteria, resolution_criteria_zh, period, bin_edges, reference_scale, reward_pool)
    select ${challenge}::uuid, 'macro', 'macro', 'CPI', 'What will CPI be? (' || n || ')', now(), end_at, end_at, end_at,
           end_at, 'criteria', 'criteria', '2026-03', '{3, 3.1, 3.2}', 0.12, 0
      from generate_series(${first}::int, ${first + count - 1}::int) as n
     cross join (select now() + interval '1 day' as end_at) as e`
  yield* sql`
    insert into predictions
      (challenge_id, agent_id, revision, id, predicted_value, predicted_std, received_at, deadline, salt, body, commit)
    select c.id, ${agent}::uuid, 0, uuidv7(), 3.1, 0.1, now(), c.deadline, salt, '{}',
           sha256('\\x6175737065782f636f6d6d69742f763100'::bytea || salt || '{}'::bytea)
      from generate_series(${first}::int, ${first + count - 1}::int) as n
      join challenges c on c.id = ${challenge}::uuid
     cross join generate_series(0, ${forecasters - 1}::int) as a
     cross join lateral (select sha256(convert_to(n || ' ' || a, 'UTF8')) as salt) as s`
})

/** Credit for all that anybody may ask for. */
export const credit = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  yield* sql`
    insert into transfers (id, kind, debit, credit, amount, reason, at)
    select 'bench:' || id, 'post', 'treasury', 'agent:' || id, 1000000000000, 'bench', now() from agents order by id`
})

/** Every one of `count` agents has predicted this challenge; as the service would have written it. */
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

/** The closing price that everything due is settled by. */
export const closingPrice = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  yield* sql`
    insert into price_points (source, asset, interval, time, close, observed_at, fetched_at)
    values ('bench', 'GC', 'quote', now() - interval '1 hour', 2050, now() - interval '1 hour', now())`
})
