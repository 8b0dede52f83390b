/**
 * Compares balances with transfers, and transfers with the records of their purposes. One snapshot is read, so a ledger in
 * use can be checked. Each check is a statement that selects the differences.
 */
import { Duration, Effect, Schema } from "effect"
import { SqlClient } from "effect/sql"
import type { LedgerCheck } from "../../../services/Audit.ts"
import { findAll, findOne, transaction, withStatementTimeout } from "../sql.ts"
import { maxPosted } from "../credit/transfers.ts"

const maxReported = 100

const Totals = Schema.Struct({
  accounts: Schema.Int,
  total: Schema.BigInt,
  issued: Schema.BigInt,
  with_agents: Schema.BigInt,
  with_owners: Schema.BigInt,
  in_pools: Schema.BigInt,
  gateway_revenue: Schema.BigInt,
  frozen: Schema.BigInt
})

const Counted = Schema.Struct({
  transfers: Schema.Int,
  open_pendings: Schema.Int,
  claim_grants: Schema.BigInt,
  claim_grants_due: Schema.Int,
  plan_credit: Schema.BigInt,
  purchases: Schema.BigInt,
  refunds: Schema.BigInt,
  top_ups: Schema.BigInt,
  stakes: Schema.Int,
  open_stakes: Schema.BigInt,
  pools_settled: Schema.Int,
  rewards: Schema.BigInt,
  gateway_calls: Schema.Int,
  gateway_reserved: Schema.BigInt
})

/** The triggers, by table, that guard the ledger between two checks. */
const guards = [
  ["accounts", "accounts_kept"],
  ["accounts", "accounts_moved_by_transfers"],
  ["accounts", "accounts_opened_empty"],
  ["agents", "agents_account_opened"],
  ["operators", "operators_account_opened"],
  ["transfers", "transfers_append_only"],
  ["transfers", "transfers_applied"],
  ["audit_chain", "audit_chain_append_only"],
  ["audit_log", "audit_log_append_only"],
  ["audit_log", "audit_log_chained"],
  ["checkout_sessions", "checkout_sessions_append_only"],
  ["payment_events", "payment_events_append_only"],
  ["payments", "payments_append_only"],
  ["purchases", "purchases_append_only"],
  ["challenges", "challenges_pool_account_opened"],
  ["pool_rewards", "pool_rewards_append_only"],
  ["pool_settlements", "pool_settlements_append_only"],
  ["stakes", "stakes_append_only"],
  ["gateway_calls", "gateway_calls_append_only"],
  ["gateway_calls", "gateway_calls_counted"]
] as const

const totals = findOne(Totals)
const counted = findOne(Counted)
const findings = findAll(Schema.Struct({ finding: Schema.String }))

export const verifyLedger = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  return yield* transaction(sql)(
    // Whole tables are compared. With old statistics the planner may choose nested loops, which would not end.
    withStatementTimeout(sql, Duration.minutes(15), {
      work_mem: "64MB",
      enable_bitmapscan: "on",
      enable_nestloop: "off"
    })(snapshot(sql))
  ).pipe(
    Effect.provideService(
      SqlClient.BeginTransaction,
      "begin transaction isolation level repeatable read read only"
    )
  )
})

const snapshot = Effect.fnUntraced(function* (sql: SqlClient.SqlClient) {
  /** The sum of the transfers whose ids have this prefix. */
  const sumOf = (prefix: string) =>
    sql.literal(
      `(select coalesce(sum(amount), 0)::bigint from transfers where id >= '${prefix}:' and id < '${prefix};')`
    )

  const { total, ...sums } = yield* totals(sql`
    select count(*)::int as accounts, coalesce(sum(posted), 0)::bigint as total,
           coalesce(-sum(posted) filter (where kind = 'treasury'), 0)::bigint as issued,
           coalesce(sum(posted) filter (where kind = 'agent'), 0)::bigint as with_agents,
           coalesce(sum(posted) filter (where kind = 'owner'), 0)::bigint as with_owners,
           coalesce(sum(posted) filter (where kind = 'pool'), 0)::bigint as in_pools,
           coalesce(sum(posted) filter (where kind = 'gateway_revenue'), 0)::bigint as gateway_revenue,
           coalesce(sum(held), 0)::bigint as frozen
      from accounts`)
  const counts = yield* counted(sql`
    select (select count(*)::int from transfers) as transfers,
           (select count(*)::int from transfers p
             where p.kind = 'pending' and not exists (select 1 from transfers r where r.pending_id = p.id)) as open_pendings,
           (select coalesce(sum(claim_grant), 0)::bigint from agents) as claim_grants,
           (select count(*)::int from agents where claimed_at is not null and claim_grant is null) as claim_grants_due,
           ${sumOf("plan")} as plan_credit, ${sumOf("purchase")} as purchases, ${sumOf("refund")} as refunds,
           ${sumOf("topup")} as top_ups,
           (select count(*)::int from stakes) as stakes,
           (select coalesce(sum(amount), 0)::bigint from stakes s
             where not exists (select 1 from pool_settlements p where p.challenge_id = s.challenge_id)) as open_stakes,
           (select count(*)::int from pool_settlements) as pools_settled,
           (select coalesce(sum(paid), 0)::bigint from pool_settlements) as rewards,
           (select count(*)::int from gateway_calls) as gateway_calls,
           (select coalesce(sum(amount), 0)::bigint from gateway_reservations) as gateway_reserved`)
  const found = yield* Effect.forEach(
    [...accountChecks(sql), ...incomeChecks(sql), ...poolChecks(sql), ...gatewayChecks(sql), unguarded(sql)],
    findings
  )
  const unbalanced = total === 0n ? [] : [`the sum of all balances is ${total} micro-credits, not 0`]
  const differences = [...unbalanced, ...found.flat().map(({ finding }) => finding)]
  const checked: LedgerCheck = { ...sums, ...counts, differences }
  return checked
})

/** Checks that balances are the sums of transfers and that each pending transfer ends once. */
const accountChecks = (sql: SqlClient.SqlClient) => {
  /** An account's balance is the sum of its posted transfers, and it holds the sum of its open pending ones. */
  const balances = sql`
    with journal as (
      select account, sum(posted) as posted, sum(held) as held
        from (
          select debit as account, -amount as posted, 0 as held from transfers where kind = 'post'
          union all
          select credit, amount, 0 from transfers where kind = 'post'
          union all
          select p.debit, 0, p.amount from transfers p
           where p.kind = 'pending' and not exists (select 1 from transfers r where r.pending_id = p.id)) as moves
       group by account
    )
    select case when a.id is null then 'transfers name ' || j.account || ', which is no account'
                else 'account ' || a.id || ' has ' || a.posted || ' micro-credits and holds ' || a.held
                     || ', its transfers sum to ' || coalesce(j.posted, 0) || ' and ' || coalesce(j.held, 0) end as finding
      from accounts a full join journal j on j.account = a.id
     where a.id is null or (a.posted, a.held) is distinct from (coalesce(j.posted, 0), coalesce(j.held, 0))
     order by 1 limit ${maxReported}`

  const overdrawn = sql`
    select 'account ' || id || ' has ' || posted || ' micro-credits and holds ' || held as finding
      from accounts where held < 0 or (kind <> 'treasury' and posted < held)
     order by id limit ${maxReported}`

  const resolutions = sql`
    select 'transfer ' || r.id || ' does not fit the pending one it ends, ' || r.pending_id as finding
      from transfers r left join transfers p on p.id = r.pending_id
     where r.pending_id is not null
       and ((p.kind, p.debit, p.credit) is distinct from ('pending', r.debit, r.credit) or r.amount > p.amount
            or (r.kind = 'void' and r.amount <> p.amount))
     order by r.id limit ${maxReported}`

  const resolvedTwice = sql`
    select 'transfer ' || pending_id || ' is ended ' || count(*) || ' times' as finding
      from transfers where pending_id is not null group by pending_id having count(*) > 1
     order by pending_id limit ${maxReported}`

  const withoutAccount = sql`
    select 'account ' || h.account || ' is missing' as finding
      from (select 'agent:' || id as account from agents union all select 'owner:' || id from operators) as h
     where not exists (select 1 from accounts a where a.id = h.account)
     order by 1 limit ${maxReported}`

  /** A claimed agent got its claim grant once, and nobody else got one. */
  const claimGrants = sql`
    with granted as (
      select substr(id, 13) as agent, debit, credit, amount from transfers where id >= 'grant:claim:' and id < 'grant:claim;'
    )
    select 'agent ' || coalesce(a.id::text, g.agent) || ' records a claim grant of '
           || coalesce(a.claim_grant, 0) || ' micro-credits, its transfer moved ' || coalesce(g.amount, 0) as finding
      from agents a full join granted g on g.agent = a.id::text
     where coalesce(a.claim_grant, 0) <> coalesce(g.amount, 0)
        or (g.amount is not null and (g.debit, g.credit) is distinct from ('treasury', 'agent:' || a.id))
     order by 1 limit ${maxReported}`

  return [balances, overdrawn, resolutions, resolvedTwice, withoutAccount, claimGrants]
}

/** Compares the transfers that give credit, and those out of owners' accounts, with their records. */
const incomeChecks = (sql: SqlClient.SqlClient) => {
  /** Every transfer has one of the known purposes; the checks below compare each purpose with its records. */
  const unfounded = sql`
    select 'transfer ' || t.id || case t.kind when 'post' then ' gives ' when 'void' then ' releases for ' else ' freezes for ' end
           || t.credit || ' ' || t.amount || ' micro-credits without a recorded reason' as finding
      from transfers t
     where case split_part(t.id, ':', 1)
             when 'grant' then t.id ~ '^grant:(admin|claim):' and (t.kind, t.debit) = ('post', 'treasury')
             when 'plan' then (t.kind, t.debit) = ('post', 'treasury')
             when 'purchase' then (t.kind, t.debit) = ('post', 'treasury')
             when 'refund' then (t.kind, t.credit) = ('post', 'treasury')
             when 'topup' then t.kind = 'post' and t.debit >= 'owner:' and t.debit < 'owner;'
             when 'fund' then (t.kind, t.debit, 'fund:' || substr(t.credit, 6)) = ('post', 'treasury', t.id)
             when 'return' then (t.kind, t.credit, 'return:' || substr(t.debit, 6)) = ('post', 'treasury', t.id)
             when 'reward' then t.kind = 'post' and t.id = 'reward' || substr(t.debit, 5) || substr(t.credit, 6)
             when 'stake' then t.kind = 'pending' and t.id = 'stake' || substr(t.credit, 5) || substr(t.debit, 6)
             when 'release' then t.kind = 'void' and t.id = 'release' || substr(t.pending_id, 6)
             when 'gw' then (t.kind, t.credit) = ('pending', 'gateway_revenue')
             when 'cap' then t.kind <> 'pending' and t.id = 'cap:' || t.pending_id and t.credit = 'gateway_revenue'
           end is not true
     order by 1 limit ${maxReported}`

  /**
   * Every grant by an administrator has a recorded call with the same account, amount and key. Calls are searched by
   * pattern, because the body of a rejected call need not be JSON.
   */
  const grants = sql`
    with requested as (
      select case action when 'grantAgent' then 'agent:' else 'owner:' end
               || lower(substring(path from '/([0-9A-Fa-f-]{36})/credits')) as account,
             substring(body from '"idempotency_key"\\s*:\\s*"([^"\\\\]*)"') as key,
             round(substring(body from '"amount"\\s*:\\s*([0-9]+(?:[.][0-9]+)?(?:[eE][+-]?[0-9]{1,2})?)')::numeric * 1000000)
               as amount
        from audit_log where action in ('grantAgent', 'grantOwner')
    )
    select 'transfer ' || t.id || ' gives ' || t.credit || ' ' || t.amount
           || ' micro-credits without a recorded call of an administrator' as finding
      from transfers t
     where t.id >= 'grant:admin:' and t.id < 'grant:admin;'
       and ((t.kind, t.debit) is distinct from ('post', 'treasury')
            or not exists (
              select from requested a
               where 'grant:admin:' || a.account || ':' || a.key = t.id and a.account = t.credit and a.amount = t.amount))
     order by 1 limit ${maxReported}`

  /**
   * Owners give credit only to agents that they own at that time. Claim and transfer may carry the clocks of two replicas,
   * each up to 2 s off the database's clock.
   */
  const topUps = sql`
    select 'transfer ' || t.id || ' from ' || t.debit || ' to ' || t.credit
           || case when 'owner:' || a.owner_id is distinct from t.debit then ', which it does not own'
                   else ', before it was claimed' end as finding
      from transfers t left join agents a on 'agent:' || a.id = t.credit
     where t.debit >= 'owner:' and t.debit < 'owner;' and t.credit >= 'agent:' and t.credit < 'agent;'
       and ('owner:' || a.owner_id is distinct from t.debit or t.at < a.claimed_at - interval '4 seconds')
    union all
    select 'transfer ' || id || ' is not a top-up by the owner in its id'
      from transfers
     where id >= 'topup:' and id < 'topup;'
       and (kind, debit, credit >= 'agent:' and credit < 'agent;', pending_id)
           is distinct from ('post', 'owner:' || split_part(id, ':', 2), true, null)
     order by 1 limit ${maxReported}`

  /** An owner gets at most the credit of its best plan of a month, and gets it within that month. */
  const planCredit = sql`
    with given as (
      select id, split_part(id, ':', 2) as owner, split_part(id, ':', 3) as month, debit, credit, kind, amount,
             case when split_part(id, ':', 4) ~ '^[0-9]{1,18}$' then split_part(id, ':', 4)::bigint end as total,
             to_char(at at time zone 'UTC', 'YYYY-MM') as given_in
        from transfers where id >= 'plan:' and id < 'plan;'
    )
    select 'transfer ' || id || ' is not plan credit of the owner in its id' as finding
      from given
     where (kind, debit, credit) is distinct from ('post', 'treasury', 'owner:' || owner) or total is null
    union all
    select 'transfer ' || g.id || case when g.given_in <> g.month then ' was made in ' || g.given_in
                                       else ' is for a month after the last one that its owner was credited for' end
      from given g left join operators o on o.id::text = g.owner
     where g.given_in <> g.month or coalesce(to_char(o.credited_month, 'YYYY-MM'), '') < g.month
    union all
    select 'owner ' || owner || ' got ' || sum(amount) || ' micro-credits of its plans in ' || month || ', which give '
           || max(total)
      from given group by owner, month having sum(amount) > max(total)
    union all
    select 'owner ' || o.id || ' records ' || o.credited || ' micro-credits of its plans in ' || g.month
           || ', its transfers gave ' || max(g.total)
      from given g join operators o on o.id::text = g.owner and to_char(o.credited_month, 'YYYY-MM') = g.month
     group by o.id, o.credited, g.month having max(g.total) > o.credited
     order by 1 limit ${maxReported}`

  /** Every paid purchase is credited once, and nothing else is credited as a purchase. */
  const purchases = sql`
    with credited as (
      select substr(id, 10) as purchase, kind, debit, credit, amount from transfers
       where id >= 'purchase:' and id < 'purchase;'
    ),
    paid as (
      select p.id, p.owner_id, p.credits from payments d join purchases p on p.id = d.purchase_id
    )
    select 'purchase ' || coalesce(p.id::text, c.purchase)
           || case when p.id is null then ' was credited but not paid'
                   when c.purchase is null then ' was paid but not credited'
                   else ' was not credited as it was paid' end as finding
      from paid p full join credited c on c.purchase = p.id::text
     where (c.kind, c.debit, c.credit, c.amount)
           is distinct from ('post', 'treasury', 'owner:' || p.owner_id, p.credits)
     order by 1 limit ${maxReported}`

  /** A refund needs an event of the payment provider, and all refunds of a purchase are at most its credit. */
  const takenBack = sql`
    with taken as (
      select id, split_part(id, ':', 2) as purchase, split_part(id, ':', 3) as event, kind, debit, credit, amount
        from transfers where id >= 'refund:' and id < 'refund;'
    )
    select 'transfer ' || t.id || ' takes credit from ' || t.debit || ' without a recorded refund of a purchase' as finding
      from taken t
      left join purchases p on p.id::text = t.purchase
      left join payment_events e on e.event_id = t.event
     where e.event_id is null or (t.kind, t.debit, t.credit) is distinct from ('post', 'owner:' || p.owner_id, 'treasury')
    union all
    select 'the refunds of purchase ' || p.id || ' exceed its credit'
      from taken t join purchases p on p.id::text = t.purchase
     group by p.id, p.credits having sum(t.amount) > p.credits
     order by 1 limit ${maxReported}`

  return [unfounded, grants, topUps, planCredit, purchases, takenBack]
}

/** Compares stakes with their transfers, pools with their stakes, rewards with both, and every stake with the 50 % rule. */
const poolChecks = (sql: SqlClient.SqlClient) => {
  /** Selects the transfers of a purpose, each with the challenge and the agent that its id names. */
  const transfersOf = (kind: string) =>
    sql.literal(
      `(select split_part(id, ':', 2) as challenge, split_part(id, ':', 3) as agent, id, kind, debit, credit, amount, pending_id
          from transfers where id >= '${kind}:' and id < '${kind};')`
    )

  /** Each stake has its own pending transfer, and no other transfer is pending as a stake. */
  const frozen = sql`
    select coalesce('transfer ' || t.id, 'the stake of agent ' || s.agent_id || ' in the pool of challenge ' || s.challenge_id)
           || ' does not fit ' || case when s.id is null then 'any stake' else 'its stake, or its transfer is missing' end as finding
      from stakes s
      full join ${transfersOf("stake")} t on t.challenge = s.challenge_id::text and t.agent = s.agent_id::text
     where (t.kind, t.debit, t.credit, t.amount)
           is distinct from ('pending', 'agent:' || s.agent_id, 'pool:' || s.challenge_id, s.amount)
     order by 1 limit ${maxReported}`

  /** "A settled or void pool has no open stake": each stake is released with its pool, and none before. */
  const released = sql`
    select 'the stake of agent ' || s.agent_id || ' in the pool of challenge ' || s.challenge_id || ' was '
           || case when p.challenge_id is null then 'released before its pool was settled'
                   else 'not released whole when its pool was settled' end as finding
      from stakes s
      left join pool_settlements p on p.challenge_id = s.challenge_id
      left join transfers r on r.pending_id = 'stake:' || s.challenge_id || ':' || s.agent_id
     where case when p.challenge_id is null then r.id is not null
                else (r.id, r.kind, r.amount) is distinct from
                     ('release:' || s.challenge_id || ':' || s.agent_id, 'void', s.amount) end
     order by 1 limit ${maxReported}`

  /** Exactly the stakes on the winning bin of a paid pool have a reward row, even if the reward is 0. */
  const winners = sql`
    select 'agent ' || coalesce(w.agent_id, r.agent_id) || ' in the pool of challenge '
           || coalesce(w.challenge_id, r.challenge_id)
           || case when r.agent_id is null then ' is on the winning bin but has no reward'
                   else ' has a reward but is not on the winning bin' end as finding
      from (
        select s.challenge_id, s.agent_id from stakes s
          join pool_settlements p
            on p.challenge_id = s.challenge_id and p.outcome = 'paid' and p.winning_bin = s.bin) w
      full join pool_rewards r on r.challenge_id = w.challenge_id and r.agent_id = w.agent_id
     where w.agent_id is null or r.agent_id is null
     order by 1 limit ${maxReported}`

  const paid = sql`
    select 'the reward of agent ' || coalesce(r.agent_id::text, t.agent) || ' in the pool of challenge '
           || coalesce(r.challenge_id::text, t.challenge) || ' is recorded as ' || coalesce(r.reward, 0)
           || ' micro-credits, its transfer moved ' || coalesce(t.amount, 0) as finding
      from (select * from pool_rewards where reward > 0) r
      full join ${transfersOf("reward")} t on t.challenge = r.challenge_id::text and t.agent = r.agent_id::text
     where (t.kind, t.debit, t.credit, t.amount, t.pending_id)
           is distinct from ('post', 'pool:' || r.challenge_id, 'agent:' || r.agent_id, r.reward, null)
     order by 1 limit ${maxReported}`

  /** A reward is withheld only from a full account. */
  const withheld = sql`
    select 'agent ' || r.agent_id || ' in the pool of challenge ' || r.challenge_id || ' was not paid ' || r.withheld
           || ' micro-credits, but its account was never full' as finding
      from pool_rewards r
     where r.withheld > 0
       and ${maxPosted}::int8 > (
         select coalesce(sum(amount), 0) from transfers where credit = 'agent:' || r.agent_id and kind = 'post')
     order by 1 limit ${maxReported}`

  /** The row of a settled pool agrees with its challenge, its stakes and its rewards. */
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
             then 'it is settled, but its challenge has not ended' end),
       (case when p.reward_pool is distinct from c.reward_pool then 'its reward pool is not that of its challenge' end),
       (case when p.winning_bin is distinct from
                  case when v.actual_value is not null then (
                    select count(*) from unnest(c.bin_edges) as edge where edge <= v.actual_value) end
             then 'its winning bin is not where the value lies' end),
       (case when (p.outcome = 'paid') <> (p.winners > 0) then 'its outcome does not fit its winners' end),
       (case when (p.stakes, p.staked) is distinct from (coalesce(s.stakes, 0), coalesce(s.staked, 0))
             then 'its stakes and staked are not the number and sum of its stakes' end),
       (case when (p.winners, p.paid) is distinct from (coalesce(r.winners, 0), coalesce(r.paid, 0))
             then 'its winners and paid are not the number and sum of its rewards' end),
       (case when p.paid > ceil(p.reward_pool * 1.25) then 'it has paid more than it was funded with' end)
     ) w (wrong)
     where w.wrong is not null
     order by 1 limit ${maxReported}`

  /** A pool is funded when it opens, and empty once it is settled. */
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
             then 'it is not settled, but its challenge has ended' end),
       (case when (p.challenge_id is not null or not e.ended) and e.due > 0
                  and (f.kind, f.debit, f.credit, f.amount) is distinct from ('post', 'treasury', a.id, e.due::bigint)
             then 'it is not funded with ' || e.due || ' micro-credits' end),
       (case when f.id is not null and e.due = 0 then 'it is funded, but has no reward pool' end),
       (case when p.challenge_id is not null and coalesce(f.amount, 0) - p.paid > 0
                  and (r.kind, r.debit, r.credit, r.amount)
                      is distinct from ('post', a.id, 'treasury', coalesce(f.amount, 0) - p.paid)
             then 'its unpaid credit was not returned' end),
       (case when r.id is not null and p.challenge_id is null then 'its credit was returned before it was settled' end),
       (case when p.challenge_id is not null and a.posted <> 0 then 'it is settled, but not empty' end)
     ) w (wrong)
     where c.type = 'macro' and w.wrong is not null
     order by 1 limit ${maxReported}`

  const bins = sql`
    select 'bin ' || coalesce(b.bin, s.bin) || ' of the pool of challenge ' || coalesce(b.challenge_id, s.challenge_id)
           || ' records ' || coalesce(b.staked, 0) || ' micro-credits of ' || coalesce(b.stakers, 0)
           || ' agents, its stakes are ' || coalesce(s.staked, 0) || ' of ' || coalesce(s.stakers, 0) as finding
      from pool_bins b
      full join (
        select challenge_id, bin, sum(amount) as staked, count(*) as stakers from stakes group by challenge_id, bin) s
        on s.challenge_id = b.challenge_id and s.bin = b.bin
     where (b.staked, b.stakers) is distinct from (s.staked, s.stakers)
     order by 1 limit ${maxReported}`

  /**
   * Replays the stakes in the order in which they were taken: "a stake that would push the agent's amount in a bin above 50%
   * of that bin's total" is rejected, in a pool with the owner rule the agents of one owner count as one, and the first
   * stake on an empty bin is allowed.
   */
  const concentration = sql`
    select 'the stake of agent ' || agent_id || ' in the pool of challenge ' || challenge_id || ', ' || amount
           || ' micro-credits, was accepted on a bin that held ' || held || ', of which ' || own || ' were its owner''s' as finding
      from (
        select challenge_id, agent_id, amount,
               coalesce(sum(amount) over before_in_bin, 0) as held,
               case when owner_id is null or not coalesce(c.pool_owner_rule, true) then 0
                    else coalesce(sum(amount) over before_of_owner, 0) end as own
          from stakes s join challenges c on c.id = s.challenge_id
        window before_in_bin as (
                 partition by challenge_id, bin order by position rows between unbounded preceding and 1 preceding),
               before_of_owner as (
                 partition by challenge_id, bin, owner_id order by position
                 rows between unbounded preceding and 1 preceding)) t
     where held > 0 and amount + own > held - own
     order by 1 limit ${maxReported}`

  return [frozen, released, winners, paid, withheld, settlements, funding, bins, concentration]
}

/** Compares model calls and their reservations with their transfers, and stored sums with the calls. */
const gatewayChecks = (sql: SqlClient.SqlClient) => {
  /** Each call is charged once, from its own reservation. */
  const charged = sql`
    select 'call ' || coalesce(c.id::text, substr(t.id, 8)) || ' records a cost of ' || coalesce(c.cost, 0)
           || ' micro-credits, its transfer moved ' || coalesce(t.amount, 0) as finding
      from (select * from gateway_calls where cost > 0) c
      full join (
        select * from transfers where id >= 'cap:gw:' and id < 'cap:gw;' and kind = 'post') t on t.id = 'cap:gw:' || c.id
     where (t.debit, t.credit, t.amount, t.pending_id)
           is distinct from ('agent:' || c.agent_id, 'gateway_revenue', c.cost, 'gw:' || c.id)
     order by 1 limit ${maxReported}`

  /** The credit frozen for calls equals the reservations of the calls in flight. */
  const reserved = sql`
    select 'call ' || coalesce(r.call_id::text, substr(p.id, 4)) || ' has reserved ' || coalesce(r.amount, 0)
           || ' micro-credits, but ' || coalesce(p.amount, 0) || ' are frozen for it' as finding
      from gateway_reservations r
      full join (
        select * from transfers p
         where id >= 'gw:' and id < 'gw;' and kind = 'pending'
           and not exists (select 1 from transfers e where e.pending_id = p.id)) p on p.id = 'gw:' || r.call_id
     where (p.debit, p.credit, p.amount) is distinct from ('agent:' || r.agent_id, 'gateway_revenue', r.amount)
     order by 1 limit ${maxReported}`

  const limits = sql`
    select 'gateway key ' || k.id || ' records ' || k.spent || ' micro-credits as spent and ' || k.held || ' as held, its calls sum to '
           || coalesce(c.cost, 0) || ' and ' || coalesce(r.amount, 0) as finding
      from gateway_keys k
      left join (select key_id, sum(cost) as cost from gateway_calls group by key_id) c on c.key_id = k.id
      left join (select key_id, sum(amount) as amount from gateway_reservations group by key_id) r on r.key_id = k.id
     where k.credit_limit is not null and (k.spent, k.held) is distinct from (coalesce(c.cost, 0), coalesce(r.amount, 0))
     order by 1 limit ${maxReported}`

  const days = sql`
    select 'the day of agent ' || coalesce(d.agent_id, c.agent_id) || ' with key ' || coalesce(d.key_id, c.key_id) || ' of '
           || coalesce(d.model, c.model) || ' on ' || coalesce(d.day, c.day) || ' is not the sum of its calls' as finding
      from gateway_days d
      full join (
        select agent_id, key_id, model, (created_at at time zone 'UTC')::date as day, count(*) as calls,
               count(*) filter (where error is not null) as failed, sum(prompt_tokens) as prompt,
               sum(completion_tokens) as completion, sum(cost) as cost
          from gateway_calls group by agent_id, key_id, model, day) c
        on (c.agent_id, c.key_id, c.model, c.day) = (d.agent_id, d.key_id, d.model, d.day)
     where (d.calls, d.failed_calls, d.prompt_tokens, d.completion_tokens, d.cost)
           is distinct from (c.calls, c.failed, c.prompt, c.completion, c.cost)
     order by 1 limit ${maxReported}`

  return [charged, reserved, limits, days]
}

const unguarded = (sql: SqlClient.SqlClient) => sql`
  select 'the trigger ' || g.name || ' of ' || g.on_table || ' is missing or switched off' as finding
    from unnest(${sql.literal(`array[${guards.map(([table]) => `'${table}'`).join(", ")}]`)},
                ${sql.literal(`array[${guards.map(([, name]) => `'${name}'`).join(", ")}]`)}) as g (on_table, name)
   where not exists (
     select 1 from pg_trigger t
      where t.tgrelid = g.on_table::regclass and t.tgname = g.name and t.tgenabled in ('O', 'A'))
   order by 1`
