/**
 * The statement that records an answer to a price-event question: the check of the deadline and the insert are one, under
 * the lock on the challenge that the resolver also takes, as for directional predictions (submissions.ts).
 */
import { Schema } from "effect"
import type { SqlClient } from "effect/sql"
import type { PredictionId } from "../../../services/identifiers.ts"
import type { PriceEventSubmission } from "../../../services/PriceEvents.ts"
import { at } from "../query.ts"
import { Recorded, recordedColumns, recordedRows, recording, seal } from "./recording.ts"
import type { Values } from "./recording.ts"

const Refused = Schema.Struct({
  outcome: Schema.Literals(["unknown", "not subscribed", "void", "closed", "duplicate", "capped", "raced"]),
  prediction_limit: Schema.NullOr(Schema.Int)
})

/** What became of an answer; `raced` means that another one of the agent came first: look again. */
export const AnswerOutcome = Schema.Union([Recorded, Refused])
export type AnswerOutcome = typeof AnswerOutcome.Type

export const recordAnswer = (
  sql: SqlClient.SqlClient,
  id: PredictionId,
  { agentId, challengeId, prediction, receivedAt }: PriceEventSubmission,
  values: Values
) => {
  const { is_revision = false, reasoning = null } = prediction
  const sealed = seal({ id, agentId, challengeId, type: "price_event", values, reasoning, receivedAt })
  // "Binary price-event predictions can be revised like directional ones. Numeric ones are revised by resubmitting."
  const mayReplace = is_revision || "predicted_value" in values
  return sql`
    with challenge as (
      select c.id, c.target, c.deadline, c.closed_at, c.cancelled_at
        from challenges c
       where c.id = ${challengeId}::uuid and c.type = 'price_event'
         for key share
    ),
    decided as (
      select c.id as challenge_id, c.deadline, a.prediction_limit, coalesce(l.revision + 1, 0) as revision,
             l.direction as replaces,
             case
               when c.id is null then 'unknown'
               when not exists (
                 select from prediction_scopes where agent_id = i.agent_id and target = c.target) then 'not subscribed'
               when c.cancelled_at is not null then 'void'
               when ${at(receivedAt)} >= c.deadline or c.closed_at is not null then 'closed'
               when l.revision is not null and not ${mayReplace}::boolean then 'duplicate'
               when l.revision is not null then 'replaced'
               when a.predictions_used >= a.prediction_limit then 'capped'
               else 'recorded'
             end as outcome
        from (values (${agentId}::uuid)) as i (agent_id)
        left join challenge c on true
        left join agents a on a.id = i.agent_id
        left join lateral (
          select p.revision, p.direction from predictions p
           where p.challenge_id = c.id and p.agent_id = i.agent_id
           order by p.revision desc limit 1) l on true
    ),
    ${recording(sql, sealed)}
    select d.prediction_limit, ${recordedColumns(sql)}
      ${recordedRows(sql)}`
}
