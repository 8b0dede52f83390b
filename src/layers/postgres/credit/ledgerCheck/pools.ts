/**
 * What must be true of credit pools, each as a statement that names what is not: stakes beside their transfers, pools
 * beside their stakes, rewards beside both, and the 50 % rule as every stake met it.
 */
import type { SqlClient } from "effect/sql"
import { maxPosted } from "../transfers.ts"

/** Triggers that keep the records of pools, by table. */
export const poolGuards = [
  ["challenges", "challenges_pool_account_opened"],
  ["pool_rewards", "pool_rewards_append_only"],
  ["pool_settlements", "pool_settlements_append_only"],
  ["stakes", "stakes_append_only"]
] as const

export const poolChecks = (sql: SqlClient.SqlClient, maxReported: number) => {
  const limit = sql.literal(String(maxReported))

  /** Transfers whose ids begin so, each with the challenge and, where it is of one, the agent that its id names. */
  const transfersOf = (kind: string) =>
    sql.literal(
      `(select split_part(id, ':', 2) as challenge, split_part(id, ':', 3) as agent, id, kind, debit, credit, amount, pending_id
          from transfers where id >= '${kind}:' and id < '${kind};')`
    )

  /** Each stake is frozen by a transfer of its own, and nothing else is frozen as a stake. */
  const frozen = sql`
    select coalesce('transfer ' || t.id, 'the stake of agent ' || s.agent_id || ' in the pool of challenge ' || s.challenge_id)
           || ' does not fit ' || case when s.id is null then 'any stake' else 'its stake, or its transfer is missing' end as finding
      from stakes s
      full join ${transfersOf("stake")} t on t.challenge = s.challenge_id::text and t.agent = s.agent_id::text
     where (t.kind, t.debit, t.credit, t.amount)
           is distinct from ('pending', 'agent:' || s.agent_id, 'pool:' || s.challenge_id, s.amount)
     order by 1 limit ${limit}`

  /** "A settled or void pool has no open stake": each is let go once by then, and none before. */
  const released = sql`
    select 'the stake of agent ' || s.agent_id || ' in the pool of challenge ' || s.challenge_id || ' is '
           || case when p.challenge_id is null then 'let go before its pool is settled'
                   else 'not let go whole by its release, and its pool is settled' end as finding
      from stakes s
      left join pool_settlements p on p.challenge_id = s.challenge_id
      left join transfers r on r.pending_id = 'stake:' || s.challenge_id || ':' || s.agent_id
     where case when p.challenge_id is null then r.id is not null
                else (r.id, r.kind, r.amount) is distinct from
                     ('release:' || s.challenge_id || ':' || s.agent_id, 'void', s.amount) end
     order by 1 limit ${limit}`

  /** Whoever staked on the winning bin of a pool that was paid has a reward, even one of nothing, and nobody else. */
  const winners = sql`
    select 'agent ' || coalesce(w.agent_id, r.agent_id) || ' in the pool of challenge '
           || coalesce(w.challenge_id, r.challenge_id)
           || case when r.agent_id is null then ' is on the winning bin and has no reward'
                   else ' has a reward and is not on the winning bin' end as finding
      from (
        select s.challenge_id, s.agent_id from stakes s
          join pool_settlements p
            on p.challenge_id = s.challenge_id and p.outcome = 'paid' and p.winning_bin = s.bin) w
      full join pool_rewards r on r.challenge_id = w.challenge_id and r.agent_id = w.agent_id
     where w.agent_id is null or r.agent_id is null
     order by 1 limit ${limit}`

  const paid = sql`
    select 'the reward of agent ' || coalesce(r.agent_id::text, t.agent) || ' in the pool of challenge '
           || coalesce(r.challenge_id::text, t.challenge) || ' is said to be ' || coalesce(r.reward, 0)
           || ' micro-credits, its transfer says ' || coalesce(t.amount, 0) as finding
      from (select * from pool_rewards where reward > 0) r
      full join ${transfersOf("reward")} t on t.challenge = r.challenge_id::text and t.agent = r.agent_id::text
     where (t.kind, t.debit, t.credit, t.amount, t.pending_id)
           is distinct from ('post', 'pool:' || r.challenge_id, 'agent:' || r.agent_id, r.reward, null)
     order by 1 limit ${limit}`

  /** Only an account that is full keeps a winner from what it earned. */
  const withheld = sql`
    select 'agent ' || r.agent_id || ' in the pool of challenge ' || r.challenge_id || ' was not paid ' || r.withheld
           || ' micro-credits, and its account was never full' as finding
      from pool_rewards r
     where r.withheld > 0
       and ${sql.literal(String(maxPosted))} > (
         select coalesce(sum(amount), 0) from transfers where credit = 'agent:' || r.agent_id and kind = 'post')
     order by 1 limit ${limit}`

  /** What a settled pool says of itself follows from its challenge, its stakes and its rewards. */
  const settlements = sql`
    select 'the pool of challenge ' || p.challenge_id || ': ' || w.wrong as finding
      from pool_settlements p
      left join challenges c on c.id = p.challenge_id
      left join settlements v on v.challenge_id = p.challenge_id and v.version = 1
      left join (select challenge_id, count(*) as stakes, sum(amount) as staked from stakes group by challenge_id) s
        on s.challenge_id = p.challenge_id
      left join (select challenge_id, count(*) as winners, sum(reward) as paid from pool_rewards group by challenge_id) r
        on r.challenge_id = p.challenge_id
     cross join lateral (values
       (case when (c.resolved_at is null and c.cancelled_at is null) or c.id is null
             then 'it is settled, and its challenge has not ended' end),
       (case when p.reward_pool is distinct from c.reward_pool then 'its reward pool is not that of its challenge' end),
       (case when p.winning_bin is distinct from
                  case when v.actual_value is not null then (
                    select count(*) from unnest(c.bin_edges) as edge where edge <= v.actual_value) end
             then 'its winning bin is not where the value lies' end),
       (case when (p.outcome = 'paid') <> (p.winners > 0) then 'its outcome does not fit its winners' end),
       (case when (p.stakes, p.staked) is distinct from (coalesce(s.stakes, 0), coalesce(s.staked, 0))
             then 'stakes and staked are not those of its stakes' end),
       (case when (p.winners, p.paid) is distinct from (coalesce(r.winners, 0), coalesce(r.paid, 0))
             then 'winners and paid are not those of its rewards' end),
       (case when p.paid > ceil(p.reward_pool * 1.25) then 'it has paid more than it was funded with' end)
     ) w (wrong)
     where w.wrong is not null
     order by 1 limit ${limit}`

  /** A pool is funded when it opens, and empty once it is settled. Challenges that ended before there were pools have none. */
  const funding = sql`
    select 'the pool of challenge ' || c.id || ': ' || w.wrong as finding
      from challenges c
      left join pool_settlements p on p.challenge_id = c.id
      left join accounts a on a.id = 'pool:' || c.id
      left join transfers f on f.id = 'fund:' || c.id
      left join transfers r on r.id = 'return:' || c.id
     cross join lateral (
       select coalesce(c.resolved_at, c.cancelled_at) is not null as ended, ceil(c.reward_pool * 1.25) as due) e
     cross join lateral (values
       (case when a.id is null then 'it has no account' end),
       (case when e.ended and p.challenge_id is null
                  and (f.id is not null or exists (select 1 from stakes s where s.challenge_id = c.id))
             then 'it is not settled, and its challenge has ended' end),
       (case when (p.challenge_id is not null or not e.ended) and e.due > 0
                  and (f.kind, f.debit, f.credit, f.amount) is distinct from ('post', 'treasury', a.id, e.due::bigint)
             then 'it is not funded with ' || e.due || ' micro-credits' end),
       (case when f.id is not null and e.due = 0 then 'it is funded, and has no reward pool' end),
       (case when p.challenge_id is not null and coalesce(f.amount, 0) - p.paid > 0
                  and (r.kind, r.debit, r.credit, r.amount)
                      is distinct from ('post', a.id, 'treasury', coalesce(f.amount, 0) - p.paid)
             then 'what it did not pay did not return' end),
       (case when r.id is not null and p.challenge_id is null then 'credit returned before it is settled' end),
       (case when p.challenge_id is not null and a.posted <> 0 then 'it is settled, and not empty' end)
     ) w (wrong)
     where c.type = 'macro' and w.wrong is not null
     order by 1 limit ${limit}`

  const bins = sql`
    select 'bin ' || coalesce(b.bin, s.bin) || ' of the pool of challenge ' || coalesce(b.challenge_id, s.challenge_id)
           || ' is said to hold ' || coalesce(b.staked, 0) || ' micro-credits of ' || coalesce(b.stakers, 0)
           || ', its stakes say ' || coalesce(s.staked, 0) || ' of ' || coalesce(s.stakers, 0) as finding
      from pool_bins b
      full join (
        select challenge_id, bin, sum(amount) as staked, count(*) as stakers from stakes group by challenge_id, bin) s
        on s.challenge_id = b.challenge_id and s.bin = b.bin
     where (b.staked, b.stakers) is distinct from (s.staked, s.stakers)
     order by 1 limit ${limit}`

  /**
   * "A stake that would push the agent's amount in a bin above 50% of that bin's total" is refused, where the agents of
   * one owner are one, and the first on an empty bin is not: played again in the order in which stakes were taken.
   */
  const concentration = sql`
    select 'the stake of agent ' || agent_id || ' in the pool of challenge ' || challenge_id || ', ' || amount
           || ' micro-credits, was taken on a bin that held ' || held || ', ' || own || ' of them its owner''s' as finding
      from (
        select challenge_id, agent_id, amount,
               coalesce(sum(amount) over before_in_bin, 0) as held,
               case when owner_id is null then 0 else coalesce(sum(amount) over before_of_owner, 0) end as own
          from stakes
        window before_in_bin as (
                 partition by challenge_id, bin order by position rows between unbounded preceding and 1 preceding),
               before_of_owner as (
                 partition by challenge_id, bin, owner_id order by position
                 rows between unbounded preceding and 1 preceding)) t
     where held > 0 and amount + own > held - own
     order by 1 limit ${limit}`

  return [frozen, released, winners, paid, withheld, settlements, funding, bins, concentration]
}
