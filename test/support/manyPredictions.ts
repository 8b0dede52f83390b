/** Agents and predictions by the hundred thousand: written by SQL, exactly as the service writes them. */
import { DateTime, Effect } from "effect"
import { SqlClient } from "effect/sql"
import { someOperator } from "./agents.ts"

const agentId = "('0190a000-0000-7000-8000-' || lpad(to_hex(n), 12, '0'))"

/** Claimed agents, numbered from 0. */
export const manyAgents = Effect.fnUntraced(function* (count: number) {
  const sql = yield* SqlClient.SqlClient
  const owner = yield* someOperator
  const now = DateTime.toDateUtc(yield* DateTime.now)
  yield* sql`
    insert into agents
      (id, name, type, languages, model_capability_tag, hosting_mode, policy_profile, disclosure_level, default_spaces,
       auth_method, requested_scopes, secret_hash, created_at, provisional_until, challenge_passed_at, claimed_at,
       owner_id)
    select ${sql.literal(agentId)}::uuid, 'agent ' || n, 'trader', '{en}', 'general', 'self_hosted', 'standard', 'public',
           '{finance}', 'client_credentials', '{prediction:submit,llm:keys}', sha256(convert_to(n::text, 'UTF8')), ${now}, ${now},
           ${now}, ${now}, ${owner}::uuid
      from generate_series(0, ${count - 1}::int) as n`
})

/** First predictions of these agents on a challenge, with their counts; they wait for the log. */
export const predictionsOn = Effect.fnUntraced(function* (
  challengeId: string,
  agents: { readonly from: number; readonly to: number },
  receivedAt: DateTime.Utc
) {
  const sql = yield* SqlClient.SqlClient
  yield* sql`
    with sealed as (
      select c.id as challenge_id, agent_id, direction, confidence, c.deadline, salt,
             convert_to('{"agent_id":"' || agent_id || '","challenge_id":"' || c.id || '","kind":"directional",'
               || '"reasoning_sha256":null,"received_at":"' || ${DateTime.formatIso(receivedAt)}::text
               || '","revision":0,"values":{"confidence":' || trim_scale(confidence) || ',"direction":"' || direction
               || '"}}', 'UTF8') as body
        from challenges c
       cross join generate_series(${agents.from}::int, ${agents.to}::int) as n
       cross join lateral (
         select ${sql.literal(agentId)} as agent_id, (array['bullish', 'bearish', 'neutral'])[1 + n % 3] as direction,
                (n % 101) / 100.0 as confidence, sha256(convert_to(c.id || ' ' || n, 'UTF8')) as salt) as p
       where c.id = ${challengeId}::uuid
         for key share of c
    ),
    written as (
      insert into predictions
        (challenge_id, agent_id, revision, id, direction, confidence, received_at, deadline, salt, body, commit)
      select challenge_id, agent_id::uuid, 0, uuidv7(), direction, confidence, ${DateTime.toDateUtc(receivedAt)}, deadline,
             salt, body, commit
        from sealed
       cross join lateral (
         select sha256('\\x6175737065782f636f6d6d69742f763100'::bytea || salt || body) as commit) c
       order by agent_id
      returning challenge_id, direction, commit
    ),
    logged as (
      insert into log_pending (type, challenge_id, commit, entry)
      select 'prediction.commit', challenge_id, commit, log_commit_entry(challenge_id, commit) from written
    )
      insert into prediction_counts as k (challenge_id, shard, bullish, bearish, neutral)
      select challenge_id, pg_backend_pid() % 16, count(*) filter (where direction = 'bullish'),
             count(*) filter (where direction = 'bearish'), count(*) filter (where direction = 'neutral')
        from written group by challenge_id
      on conflict (challenge_id, shard) do update set
        bullish = k.bullish + excluded.bullish, bearish = k.bearish + excluded.bearish,
        neutral = k.neutral + excluded.neutral`
})
