/**
 * What must be true of the gateway, each as a statement that names what is not: calls beside their transfers, reservations
 * beside theirs, and the sums that are kept beside what they sum up.
 */
import type { SqlClient } from "effect/sql"

/** Triggers that keep the records of calls, by table. */
export const gatewayGuards = [
  ["gateway_calls", "gateway_calls_append_only"],
  ["gateway_calls", "gateway_calls_counted"]
] as const

export const gatewayChecks = (sql: SqlClient.SqlClient, maxReported: number) => {
  const limit = sql.literal(String(maxReported))

  /** The revenue is what calls cost, each charged once, out of its own reservation. */
  const charged = sql`
    select 'call ' || coalesce(c.id::text, substr(t.id, 8)) || ' is said to have cost ' || coalesce(c.cost, 0)
           || ' micro-credits, its transfer says ' || coalesce(t.amount, 0) as finding
      from (select * from gateway_calls where cost > 0) c
      full join (
        select * from transfers where id >= 'cap:gw:' and id < 'cap:gw;' and kind = 'post') t on t.id = 'cap:gw:' || c.id
     where (t.debit, t.credit, t.amount, t.pending_id)
           is distinct from ('agent:' || c.agent_id, 'gateway_revenue', c.cost, 'gw:' || c.id)
     order by 1 limit ${limit}`

  /** What is frozen for calls is what calls under way have reserved. */
  const reserved = sql`
    select 'call ' || coalesce(r.call_id::text, substr(p.id, 4)) || ' has reserved ' || coalesce(r.amount, 0)
           || ' micro-credits, and ' || coalesce(p.amount, 0) || ' are frozen for it' as finding
      from gateway_reservations r
      full join (
        select * from transfers p
         where id >= 'gw:' and id < 'gw;' and kind = 'pending'
           and not exists (select 1 from transfers e where e.pending_id = p.id)) p on p.id = 'gw:' || r.call_id
     where (p.debit, p.credit, p.amount) is distinct from ('agent:' || r.agent_id, 'gateway_revenue', r.amount)
     order by 1 limit ${limit}`

  const limits = sql`
    select 'gateway key ' || k.id || ' has spent ' || k.spent || ' micro-credits and holds ' || k.held || ', its calls say '
           || coalesce(c.cost, 0) || ' and ' || coalesce(r.amount, 0) as finding
      from gateway_keys k
      left join (select key_id, sum(cost) as cost from gateway_calls group by key_id) c on c.key_id = k.id
      left join (select key_id, sum(amount) as amount from gateway_reservations group by key_id) r on r.key_id = k.id
     where k.credit_limit is not null and (k.spent, k.held) is distinct from (coalesce(c.cost, 0), coalesce(r.amount, 0))
     order by 1 limit ${limit}`

  const days = sql`
    select 'the calls of agent ' || coalesce(d.agent_id, c.agent_id) || ' with key ' || coalesce(d.key_id, c.key_id) || ' of '
           || coalesce(d.model, c.model) || ' on ' || coalesce(d.day, c.day) || ' do not add up' as finding
      from gateway_days d
      full join (
        select agent_id, key_id, model, (created_at at time zone 'UTC')::date as day, count(*) as calls,
               count(*) filter (where error is not null) as failed, sum(prompt_tokens) as prompt,
               sum(completion_tokens) as completion, sum(cost) as cost
          from gateway_calls group by agent_id, key_id, model, day) c
        on (c.agent_id, c.key_id, c.model, c.day) = (d.agent_id, d.key_id, d.model, d.day)
     where (d.calls, d.failed_calls, d.prompt_tokens, d.completion_tokens, d.cost)
           is distinct from (c.calls, c.failed, c.prompt, c.completion, c.cost)
     order by 1 limit ${limit}`

  return [charged, reserved, limits, days]
}
