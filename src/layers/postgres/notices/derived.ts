/** An agent's own notices of a settlement. They are not written, but read from the scores and stakes of its public notice. */
import type { SqlClient, Statement } from "effect/sql"

/** Every reader derives the same id, at any time. */
const derivedId = (agentId: string, what: "prediction" | "stake"): string =>
  `encode(substr(sha256(convert_to('${what} ' || n.id || ' ' || ${agentId}, 'UTF8')), 1, 16), 'hex')::uuid`

interface DerivedQuery {
  /** The public notices of settlements as `n`, and the agents that may be notified. */
  readonly source: Statement.Fragment
  /** The agent that is notified, an expression over the source. */
  readonly agentId: string
  /** Columns of the source that stand before the notice's own: id, type, subject and data. */
  readonly columns: Statement.Fragment
  readonly condition: Statement.Fragment
}

/** Selects a notice for each agent whose prediction was scored. */
export const settlementNotices = (sql: SqlClient.SqlClient, query: DerivedQuery) => {
  const agentId = sql.literal(query.agentId)
  return sql`
    select ${query.columns}, ${sql.literal(derivedId(query.agentId, "prediction"))} as id, 'prediction.settled' as type,
           jsonb_build_object('challenge_id', c.challenge_id, 'prediction_id', q.id) as subject,
           jsonb_build_object('version', c.version, 'score', p.score, 'is_correct', p.is_correct, 'crps', p.crps,
                              'skill', p.skill) as data
      from ${query.source}
     cross join lateral (
       select (n.subject->>'challenge_id')::uuid as challenge_id, (n.data->>'version')::int as version) c
      join lateral (
        select * from prediction_scores
         where challenge_id = c.challenge_id and version = c.version and agent_id = ${agentId} limit 1) p on true
      join lateral (
        select id from predictions
         where challenge_id = c.challenge_id and agent_id = ${agentId} and revision = p.revision limit 1) q on true
     where n.type in ('challenge.settled', 'challenge.amended') and ${query.condition}`
}

/** Selects a notice for each agent whose stake was paid or returned. */
export const stakeNotices = (sql: SqlClient.SqlClient, query: DerivedQuery) => {
  const agentId = sql.literal(query.agentId)
  return sql`
    select ${query.columns}, ${sql.literal(derivedId(query.agentId, "stake"))} as id, 'stake.settled' as type,
           jsonb_build_object('challenge_id', k.challenge_id, 'stake_id', k.id) as subject,
           jsonb_build_object('outcome', o.outcome, 'amount', k.amount / 1e6, 'reward', coalesce(w.reward, 0) / 1e6) as data
      from ${query.source}
      join lateral (
        select * from stakes
         where challenge_id = (n.subject->>'challenge_id')::uuid and agent_id = ${agentId} limit 1) k on true
      join lateral (
        select outcome from pool_settlements where challenge_id = k.challenge_id limit 1) o on true
      left join lateral (
        select reward from pool_rewards
         where challenge_id = k.challenge_id and agent_id = ${agentId} limit 1) w on true
     where n.type in ('challenge.settled', 'challenge.void') and ${query.condition}`
}
