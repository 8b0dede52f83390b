/**
 * The end of a statement that records one prediction, whatever its form: after it has decided, under the lock on the
 * challenge, what becomes of it. Predictions that come in numbers are written by a statement of their own
 * (submissions.ts).
 */
import { Schema } from "effect"
import type { DateTime } from "effect"
import type { SqlClient } from "effect/sql"
import type { ChallengeType } from "../../../services/Challenges.ts"
import type { AgentId, PredictionId } from "../../../services/identifiers.ts"
import { queueId } from "../log/queueId.ts"
import { at, decimal } from "../query.ts"
import { bodyAround, committed, salts } from "./commitments.ts"

/** What a prediction says: a direction or a normal distribution. */
export type Values =
  | { readonly direction: "bullish" | "bearish"; readonly confidence: number }
  | { readonly predicted_value: number; readonly predicted_std: number }

interface Sent {
  readonly id: PredictionId
  readonly agentId: AgentId
  readonly challengeId: string
  readonly type: typeof ChallengeType.Type
  readonly values: Values
  readonly reasoning: string | null
  readonly receivedAt: DateTime.Utc
}

const columnsOf = (values: Values) =>
  "direction" in values
    ? { direction: values.direction, confidence: decimal(values.confidence), value: null, std: null }
    : {
        direction: null,
        confidence: null,
        value: decimal(values.predicted_value),
        std: decimal(values.predicted_std)
      }

/** A prediction with the salt and the canonical body that it commits to. */
export const seal = (sent: Sent) => {
  const [salt = ""] = salts(1)
  return { ...sent, ...bodyAround(sent, sent.type, sent.values), salt }
}

/** The columns of a prediction that was written. */
export const Recorded = Schema.Struct({
  outcome: Schema.Literals(["recorded", "replaced"]),
  revision: Schema.Int,
  salt: Schema.String,
  body: Schema.String,
  commit: Schema.String
})

/**
 * Writes the prediction, its commit for the log, and the counts, where the one row of `decided` says `recorded` or
 * `replaced`; it has `challenge_id`, `deadline`, `revision`, and the direction that it `replaces`, if any.
 */
export const recording = (sql: SqlClient.SqlClient, sealed: ReturnType<typeof seal>) => {
  const { confidence, direction, std, value } = columnsOf(sealed.values)
  return sql`
    sealed as (
      select *, decode(${sealed.salt}, 'hex') as salt,
             convert_to(${sealed.head} || revision || ${sealed.tail}, 'UTF8') as body
        from decided where outcome in ('recorded', 'replaced')
    ),
    written as (
      insert into predictions
        (challenge_id, agent_id, revision, id, direction, confidence, predicted_value, predicted_std, reasoning,
         received_at, deadline, salt, body, commit, entry, queue_id)
      select challenge_id, ${sealed.agentId}::uuid, revision, ${sealed.id}::uuid, ${direction}, ${confidence}::numeric,
             ${value}::numeric, ${std}::numeric, ${sealed.reasoning}, ${at(sealed.receivedAt)}, deadline, salt, body,
             commit, log_commit_entry(challenge_id, commit), ${sql.literal(queueId)}
        from ${committed(sql, "salt")}
      on conflict on constraint predictions_one_per_agent_and_challenge do nothing
      returning challenge_id, agent_id, revision, direction, salt, body, commit
    ),
    used as (
      update agents a set predictions_used = a.predictions_used + 1
        from written w where w.revision = 0 and a.id = w.agent_id and a.prediction_limit is not null
    ),
    counted as (
      insert into prediction_counts as n (challenge_id, shard, bullish, bearish, neutral, forecasts)
      select w.challenge_id, pg_backend_pid() % 16,
             (w.direction is not distinct from 'bullish')::int - (d.replaces is not distinct from 'bullish')::int,
             (w.direction is not distinct from 'bearish')::int - (d.replaces is not distinct from 'bearish')::int,
             0, (w.direction is null)::int
        from written w join decided d using (challenge_id)
       where w.revision = 0 or w.direction is distinct from d.replaces
      on conflict (challenge_id, shard) do update set
        bullish = n.bullish + excluded.bullish,
        bearish = n.bearish + excluded.bearish,
        forecasts = n.forecasts + excluded.forecasts
    )`
}

/** The columns of `Recorded`; an outcome of `raced` means that another one of the agent came first: look again. */
export const recordedColumns = (sql: SqlClient.SqlClient) => sql`
  case when d.outcome in ('recorded', 'replaced') and w.agent_id is null then 'raced' else d.outcome end as outcome,
  w.revision, encode(w.salt, 'hex') as salt, convert_from(w.body, 'UTF8') as body, encode(w.commit, 'hex') as commit`

export const recordedRows = (sql: SqlClient.SqlClient) => sql`from decided d left join written w on true`
