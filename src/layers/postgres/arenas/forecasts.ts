/**
 * The statement that records a forecast of a macro challenge: the check of the deadline and the insert are one, under the
 * lock on the challenge that the resolver also takes, as for directional predictions (submissions.ts).
 */
import { Schema } from "effect"
import type { SqlClient } from "effect/sql"
import type { PredictionId } from "../../../services/identifiers.ts"
import type { ForecastSubmission } from "../../../services/MacroArena.ts"
import { queueCommits } from "../log/queueCommits.ts"
import { at, decimal } from "../query.ts"
import { bodyAround, salts } from "./commitments.ts"
import { scoringScale } from "./macroRows.ts"

const Refused = Schema.Struct({
  outcome: Schema.Literals(["unknown", "void", "closed", "too wide", "capped", "raced"]),
  prediction_limit: Schema.NullOr(Schema.Int),
  widest: Schema.NullOr(Schema.Finite)
})

const Written = Schema.Struct({
  outcome: Schema.Literals(["recorded", "replaced"]),
  revision: Schema.Int,
  salt: Schema.String,
  body: Schema.String,
  commit: Schema.String
})

/** What became of a forecast; `raced` means that another one of the agent came first: look again. */
export const ForecastOutcome = Schema.Union([Written, Refused])
export type ForecastOutcome = typeof ForecastOutcome.Type

/** A standard deviation is at most so many reference scales. */
const widest = "1000000000000"

export const recordForecast = (
  sql: SqlClient.SqlClient,
  id: PredictionId,
  submission: ForecastSubmission
) => {
  const { agentId, challengeId, forecast, receivedAt } = submission
  const { predicted_std, predicted_value, rationale = null } = forecast
  const { head, tail } = bodyAround({ agentId, challengeId, reasoning: rationale, receivedAt }, "macro", {
    predicted_std,
    predicted_value
  })
  const [salt = ""] = salts(1)
  return sql`
    with challenge as (
      select c.id, c.deadline, c.closed_at, c.cancelled_at, ${scoringScale(sql)} * ${widest}::numeric as widest
        from challenges c
       where c.id = ${challengeId}::uuid and c.type = 'macro'
         for key share
    ),
    decided as (
      select c.id as challenge_id, c.deadline, c.widest, a.prediction_limit, coalesce(l.revision + 1, 0) as revision,
             case
               when c.id is null then 'unknown'
               when c.cancelled_at is not null then 'void'
               when ${at(receivedAt)} >= c.deadline or c.closed_at is not null then 'closed'
               when ${decimal(predicted_std)}::numeric > c.widest then 'too wide'
               when l.revision is not null then 'replaced'
               when a.predictions_used >= a.prediction_limit then 'capped'
               else 'recorded'
             end as outcome
        from (values (${agentId}::uuid)) as i (agent_id)
        left join challenge c on true
        left join agents a on a.id = i.agent_id
        left join lateral (
          select p.revision from predictions p
           where p.challenge_id = c.id and p.agent_id = i.agent_id
           order by p.revision desc limit 1) l on true
    ),
    sealed as (
      select *, decode(${salt}, 'hex') as salt, convert_to(${head} || revision || ${tail}, 'UTF8') as body
        from decided where outcome in ('recorded', 'replaced')
    ),
    written as (
      insert into predictions
        (challenge_id, agent_id, revision, id, predicted_value, predicted_std, reasoning, received_at, deadline, salt,
         body, commit)
      select challenge_id, ${agentId}::uuid, revision, ${id}::uuid, ${decimal(predicted_value)}::numeric,
             ${decimal(predicted_std)}::numeric, ${rationale}, ${at(receivedAt)}, deadline, salt, body,
             sha256('\\x6175737065782f636f6d6d69742f763100'::bytea || salt || body)
        from sealed
      on conflict on constraint predictions_one_per_agent_and_challenge do nothing
      returning challenge_id, agent_id, revision, salt, body, commit
    ),
    ${sql.literal(queueCommits)},
    used as (
      update agents a set predictions_used = a.predictions_used + 1
        from written w where w.revision = 0 and a.id = w.agent_id and a.prediction_limit is not null
    ),
    counted as (
      insert into prediction_counts as n (challenge_id, shard, bullish, bearish, neutral, forecasts)
      select challenge_id, pg_backend_pid() % 16, 0, 0, 0, 1 from written where revision = 0
      on conflict (challenge_id, shard) do update set forecasts = n.forecasts + 1
    )
    select d.prediction_limit, d.widest::float8 as widest,
           case when d.outcome in ('recorded', 'replaced') and w.agent_id is null then 'raced' else d.outcome end as outcome,
           w.revision, encode(w.salt, 'hex') as salt, convert_from(w.body, 'UTF8') as body,
           encode(w.commit, 'hex') as commit
      from decided d left join written w on true`
}
