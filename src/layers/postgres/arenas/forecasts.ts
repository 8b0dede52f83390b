/**
 * The statement that records a forecast of a macro challenge: the check of the deadline and the insert are one, under the
 * lock on the challenge that the resolver also takes, as for directional predictions (submissions.ts).
 */
import { Schema } from "effect"
import type { SqlClient } from "effect/sql"
import type { PredictionId } from "../../../services/identifiers.ts"
import type { ForecastSubmission } from "../../../services/MacroArena.ts"
import { at, decimal } from "../query.ts"
import { scoringScale } from "./macroRows.ts"
import { Recorded, recordedColumns, recordedRows, recording, seal } from "./recording.ts"

const Refused = Schema.Struct({
  outcome: Schema.Literals(["unknown", "void", "closed", "too wide", "capped", "raced"]),
  prediction_limit: Schema.NullOr(Schema.Int),
  widest: Schema.NullOr(Schema.Finite)
})

/** What became of a forecast; `raced` means that another one of the agent came first: look again. */
export const ForecastOutcome = Schema.Union([Recorded, Refused])
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
  const values = { predicted_std, predicted_value }
  const sealed = seal({ id, agentId, challengeId, type: "macro", values, reasoning: rationale, receivedAt })
  return sql`
    with challenge as (
      select c.id, c.deadline, c.closed_at, c.cancelled_at, ${scoringScale(sql)} * ${widest}::numeric as widest
        from challenges c
       where c.id = ${challengeId}::uuid and c.type = 'macro'
         for key share
    ),
    decided as (
      select c.id as challenge_id, c.deadline, c.widest, a.prediction_limit, coalesce(l.revision + 1, 0) as revision,
             null::text as replaces,
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
    ${recording(sql, sealed)}
    select d.prediction_limit, d.widest::float8 as widest, ${recordedColumns(sql)}
      ${recordedRows(sql)}`
}
