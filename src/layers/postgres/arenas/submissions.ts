/**
 * The statement that records predictions. It takes any number of items and gives each its own outcome; the check of
 * the deadline and the insert are one statement.
 *
 * Why it cannot be raced: `for key share` on the challenge waits for a resolver (which locks `for update`) and then
 * reads the row as the resolver left it, and makes a resolver wait until this insert has committed. Two first
 * predictions of one agent meet in the primary key; two of a provisional agent's last in `agents_provisional_limit`.
 * The loser of such a race is told to look again, and then sees what won. Rows are locked and written in the order of
 * their keys, so two statements never wait for each other in a ring.
 *
 * Rows are found by key, one probe an item: the planner knows neither how many items there are nor how the table has
 * grown since, and this plan is right for all of them.
 */
import { Schema } from "effect"
import type { DateTime } from "effect"
import type { SqlClient } from "effect/sql"
import type { Direction } from "../../../services/Challenges.ts"
import type { AgentId, PredictionId } from "../../../services/identifiers.ts"
import { queueId } from "../log/queueId.ts"
import { at, column, decimal } from "../query.ts"
import { bodyAround, committed, salts } from "./commitments.ts"

export interface SubmissionItem {
  readonly id: PredictionId
  readonly challengeId: string
  readonly agentId: AgentId
  readonly direction: Direction
  readonly confidence: number
  readonly reasoning: string | null
  readonly isRevision: boolean
  readonly receivedAt: DateTime.Utc
}

const Refused = Schema.Struct({
  position: Schema.Int,
  outcome: Schema.Literals(["unknown", "cancelled", "closed", "duplicate", "capped", "raced"]),
  prediction_limit: Schema.NullOr(Schema.Int)
})

const Written = Schema.Struct({
  position: Schema.Int,
  outcome: Schema.Literals(["recorded", "revised"]),
  revision: Schema.Int,
  salt: Schema.String,
  body: Schema.String,
  commit: Schema.String
})

/** What became of one item; `raced` means that another submission of the agent came first: look again. */
export const SubmissionOutcome = Schema.Union([Written, Refused])
export type SubmissionOutcome = typeof SubmissionOutcome.Type

/** An agent appears at most once among the items; `SubmissionOutcome` is what a row of the answer holds. */
export const recordPredictions = (sql: SqlClient.SqlClient, items: ReadonlyArray<SubmissionItem>) => {
  const bodies = items.map((item) =>
    bodyAround(item, "directional", { confidence: item.confidence, direction: item.direction })
  )
  return sql`
    with item as (
      select * from unnest(
        ${column(
          "uuid",
          items.map((item) => item.id)
        )}, ${column(
          "uuid",
          items.map((item) => item.challengeId)
        )},
        ${column(
          "uuid",
          items.map((item) => item.agentId)
        )}, ${column(
          "text",
          items.map((item) => item.direction)
        )},
        ${column(
          "numeric",
          items.map((item) => decimal(item.confidence))
        )},
        ${column(
          "text",
          items.map((item) => item.reasoning)
        )},
        ${column(
          "bool",
          items.map((item) => item.isRevision)
        )},
        ${column(
          "timestamptz",
          items.map((item) => at(item.receivedAt))
        )},
        ${column("text", salts(items.length))},
        ${column(
          "text",
          bodies.map((body) => body.head)
        )}, ${column(
          "text",
          bodies.map((body) => body.tail)
        )}
      ) with ordinality as i (id, challenge_id, agent_id, direction, confidence, reasoning, is_revision, received_at,
                              salt, head, tail, position)
    ),
    challenge as (
      select c.*
        from (select distinct challenge_id from item order by challenge_id) i
       cross join lateral (
         select c.id, c.deadline, c.closed_at, c.cancelled_at
           from challenges c
          where c.id = i.challenge_id and c.type = 'directional'
            for key share) c
    ),
    decided as (
      select i.*, c.deadline, a.prediction_limit, l.direction as replaces,
             coalesce(l.revision + 1, 0) as revision,
             case
               when c.id is null then 'unknown'
               when c.cancelled_at is not null then 'cancelled'
               when i.received_at >= c.deadline or c.closed_at is not null then 'closed'
               when l.revision is not null and not i.is_revision then 'duplicate'
               when l.revision is not null then 'revised'
               when a.predictions_used >= a.prediction_limit then 'capped'
               else 'recorded'
             end as outcome
        from item i
        left join challenge c on c.id = i.challenge_id
        left join lateral (
          select a.prediction_limit, a.predictions_used from agents a where a.id = i.agent_id limit 1) a on true
        left join lateral (
          select p.revision, p.direction from predictions p
           where p.challenge_id = i.challenge_id and p.agent_id = i.agent_id
           order by p.revision desc limit 1) l on true
    ),
    sealed as (
      select *, decode(salt, 'hex') as salt_bytes, convert_to(head || revision || tail, 'UTF8') as body
        from decided where outcome in ('recorded', 'revised')
    ),
    written as (
      insert into predictions
        (challenge_id, agent_id, revision, id, direction, confidence, reasoning, received_at, deadline, salt, body, commit,
         entry, queue_id)
      select challenge_id, agent_id, revision, id, direction, confidence, reasoning, received_at, deadline, salt_bytes,
             body, commit, log_commit_entry(challenge_id, commit), ${sql.literal(queueId)}
        from ${committed(sql, "salt_bytes")}
       order by challenge_id, agent_id
      on conflict on constraint predictions_one_per_agent_and_challenge do nothing
      returning challenge_id, agent_id, revision, direction, salt, body, commit
    ),
    limited as (
      select a.id from agents a
       where a.id in (select agent_id from written where revision = 0) and a.prediction_limit is not null
       order by a.id
         for no key update
    ),
    used as (
      update agents a set predictions_used = a.predictions_used + 1 from limited l where a.id = l.id
    ),
    counted as (
      insert into prediction_counts as n (challenge_id, shard, bullish, bearish, neutral)
      select w.challenge_id, pg_backend_pid() % 16,
             sum((w.direction = 'bullish')::int - coalesce(d.replaces = 'bullish', false)::int),
             sum((w.direction = 'bearish')::int - coalesce(d.replaces = 'bearish', false)::int),
             sum((w.direction = 'neutral')::int - coalesce(d.replaces = 'neutral', false)::int)
        from written w join decided d using (challenge_id, agent_id)
       group by w.challenge_id
       order by w.challenge_id
      on conflict (challenge_id, shard) do update set
        bullish = n.bullish + excluded.bullish,
        bearish = n.bearish + excluded.bearish,
        neutral = n.neutral + excluded.neutral
    )
    select d.position::int, d.prediction_limit,
           case when d.outcome in ('recorded', 'revised') and w.agent_id is null then 'raced' else d.outcome end as outcome,
           w.revision, encode(w.salt, 'hex') as salt, convert_from(w.body, 'UTF8') as body,
           encode(w.commit, 'hex') as commit
      from decided d
      left join written w on w.challenge_id = d.challenge_id and w.agent_id = d.agent_id
     order by d.position`
}
