/** Agents, challenges and prices, written by the thousand directly into the database. */
import { Clock, DateTime, Duration, Effect, Schema } from "effect"
import { SqlClient } from "effect/sql"
import { findAll, findOne } from "../../../src/layers/postgres/sql.ts"
import { sha256 } from "../../../src/layers/crypto/secrets.ts"
import { anotherOperator } from "../agents.ts"

/** The secret of all these agents. */
export const secret = "aus_cs_fault-harness"

const Id = Schema.Struct({ id: Schema.String })

const at = (millis: number) => DateTime.toDateUtc(DateTime.makeUnsafe(millis))

/** Claimed agents that have passed their challenge: `kind 1`, `kind 2` and so on. */
export const makeAgents = Effect.fnUntraced(function* (kind: string, count: number) {
  const sql = yield* SqlClient.SqlClient
  const now = at(yield* Clock.currentTimeMillis)
  const owner = yield* anotherOperator
  const rows = yield* findAll(Id)(sql`
    insert into agents
      (id, name, type, languages, model_capability_tag, hosting_mode, policy_profile, disclosure_level, default_spaces,
       auth_method, requested_scopes, secret_hash, created_at, provisional_until, challenge_passed_at, claimed_at, owner_id)
    select uuidv7(), ${kind} || ' ' || n, 'commenter', '{}', 'reasoning', 'cloud', 'standard', 'public', '{}',
           'client_credentials', '{challenge:read,prediction:submit,profile:read:self,llm:keys}', ${sha256(secret)},
           ${now}, ${now}, ${now}, ${now}, ${owner}::uuid
      from generate_series(1, ${count}::int) as n
    returning id::text`)
  return rows.map(({ id }) => id)
})

/** A price of gold every 100 ms: bearish, neutral and bullish in turn for challenges that opened at 100. */
export const makePrices = Effect.fnUntraced(function* (span: Duration.Duration) {
  const sql = yield* SqlClient.SqlClient
  const now = yield* Clock.currentTimeMillis
  yield* sql`
    insert into price_points (source, asset, interval, time, close, observed_at, fetched_at)
    select 'harness', 'GC', 'quote', t, 99 + n % 3, t, ${at(now)}
      from generate_series(${at(now - 60_000)}::timestamptz, ${at(now + Duration.toMillis(span))}::timestamptz, '100 ms')
           with ordinality as p (t, n)`
})

export interface Open {
  readonly id: string
  readonly deadline: number
}

/** A challenge that is open from now for this long. */
export const makeChallenge = Effect.fnUntraced(function* (span: Duration.Duration) {
  const sql = yield* SqlClient.SqlClient
  const now = yield* Clock.currentTimeMillis
  const deadline = now + Duration.toMillis(span)
  const { id } = yield* findOne(Id)(sql`
    insert into challenges
      (id, type, kind, target, question, created_at, deadline, resolve_at, close_price_until, cancel_at, open_price,
       dead_zone_pct, resolution_criteria, resolution_criteria_zh)
    values (uuidv7(), 'directional', 'flash', 'GC', 'Which way?', ${at(now)}, ${at(deadline)}, ${at(deadline)},
            ${at(deadline + 3_600_000)}, ${at(deadline + 86_400_000)}, 100, 0.3, 'As the harness says.',
            'As the harness says.')
    returning id::text`)
  const open: Open = { id, deadline }
  return open
})

/**
 * A challenge that is due immediately, predicted by so many agents that its settlement takes long enough to be struck. It becomes
 * visible as a whole.
 */
export const makeDueChallenge = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const now = yield* Clock.currentTimeMillis
  const deadline = at(now - 1000)
  return yield* sql.withTransaction(
    Effect.gen(function* () {
      yield* sql`set local statement_timeout = '60s'`
      const { id } = yield* findOne(Id)(sql`
        insert into challenges
          (id, type, kind, target, question, created_at, deadline, resolve_at, close_price_until, cancel_at, open_price,
           dead_zone_pct, resolution_criteria, resolution_criteria_zh)
        values (uuidv7(), 'directional', 'session', 'GC', 'Which way?', ${at(now - 50_000)}, ${deadline}, ${deadline},
                ${at(now + 3_600_000)}, ${at(now + 86_400_000)}, 100, 0.3, 'As the harness says.', 'As the harness says.')
        returning id::text`)
      yield* sql`
        insert into predictions
          (challenge_id, agent_id, revision, id, direction, confidence, received_at, deadline, salt, body, commit)
        select ${id}::uuid, a.id, 0, uuidv7(), (array['bullish', 'bearish', 'neutral'])[1 + a.n % 3], a.n % 101 / 100.0,
               ${at(now - 10_000)}, ${deadline}, s.salt, s.body,
               sha256('\\x6175737065782f636f6d6d69742f763100'::bytea || s.salt || s.body)
          from (select id, row_number() over (order by id) as n from agents where name like 'voter %') as a
          cross join lateral (
            select sha256(uuid_send(a.id)) as salt, convert_to('{"n":' || a.n || '}', 'UTF8') as body) as s`
      yield* sql`
        insert into prediction_counts (challenge_id, shard, bullish, bearish, neutral)
        select challenge_id, 0, count(*) filter (where direction = 'bullish'),
               count(*) filter (where direction = 'bearish'), count(*) filter (where direction = 'neutral')
          from predictions where challenge_id = ${id}::uuid group by challenge_id`
      return id
    })
  )
})
