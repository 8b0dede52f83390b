/** What must be true of what credit is given for, and of what leaves owners' accounts, each as a statement that names what is not. */
import type { SqlClient } from "effect/sql"

/** Triggers that keep the records of purchases and of administrators' calls, by table. */
export const incomeGuards = [
  ["audit_chain", "audit_chain_append_only"],
  ["audit_log", "audit_log_append_only"],
  ["audit_log", "audit_log_chained"],
  ["checkout_sessions", "checkout_sessions_append_only"],
  ["payment_events", "payment_events_append_only"],
  ["payments", "payments_append_only"],
  ["purchases", "purchases_append_only"]
] as const

export const incomeChecks = (sql: SqlClient.SqlClient, maxReported: number) => {
  const limit = sql.literal(String(maxReported))

  /** Credit moves and is frozen for the reasons that there are, each of which is held against its own records. */
  const unfounded = sql`
    select 'transfer ' || t.id || case t.kind when 'post' then ' gives ' when 'void' then ' lets go for ' else ' freezes for ' end
           || t.credit || ' ' || t.amount || ' micro-credits for no reason that is recorded' as finding
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
     order by 1 limit ${limit}`

  /**
   * Whatever an administrator gave, a call is recorded that asked for it: the same amount for the same account under the same key.
   * Calls are not decoded: a refused one may have said anything.
   */
  const grants = sql`
    with asked as (
      select case action when 'grantAgent' then 'agent:' else 'owner:' end
               || lower(substring(path from '/([0-9A-Fa-f-]{36})/credits')) as account,
             substring(body from '"idempotency_key"\\s*:\\s*"([^"\\\\]*)"') as key,
             round(substring(body from '"amount"\\s*:\\s*([0-9]+(?:[.][0-9]+)?(?:[eE][+-]?[0-9]{1,2})?)')::numeric * 1000000)
               as amount
        from audit_log where action in ('grantAgent', 'grantOwner')
    )
    select 'transfer ' || t.id || ' gives ' || t.credit || ' ' || t.amount
           || ' micro-credits, and no call of an administrator is recorded that asked for it' as finding
      from transfers t
     where t.id >= 'grant:admin:' and t.id < 'grant:admin;'
       and ((t.kind, t.debit) is distinct from ('post', 'treasury')
            or not exists (
              select from asked a
               where 'grant:admin:' || a.account || ':' || a.key = t.id and a.account = t.credit and a.amount = t.amount))
     order by 1 limit ${limit}`

  /**
   * What an owner gives an agent, it gives one that it owns by then. Claim and transfer may be stamped by the clocks of
   * two replicas, of which neither is ready when it is 2 s off the database's.
   */
  const topUps = sql`
    select 'transfer ' || t.id || ' from ' || t.debit || ' to ' || t.credit
           || case when 'owner:' || a.owner_id is distinct from t.debit then ', who does not own it'
                   else ', before it was claimed' end as finding
      from transfers t left join agents a on 'agent:' || a.id = t.credit
     where t.debit >= 'owner:' and t.debit < 'owner;' and t.credit >= 'agent:' and t.credit < 'agent;'
       and ('owner:' || a.owner_id is distinct from t.debit or t.at < a.claimed_at - interval '4 seconds')
    union all
    select 'transfer ' || id || ' is no top-up of the owner that its id names'
      from transfers
     where id >= 'topup:' and id < 'topup;'
       and (kind, debit, credit >= 'agent:' and credit < 'agent;', pending_id)
           is distinct from ('post', 'owner:' || split_part(id, ':', 2), true, null)
     order by 1 limit ${limit}`

  /** An owner got in a month no more than the largest of what its plans came to by then, and got it in that month. */
  const planCredit = sql`
    with given as (
      select id, split_part(id, ':', 2) as owner, split_part(id, ':', 3) as month, debit, credit, kind, amount,
             case when split_part(id, ':', 4) ~ '^[0-9]{1,18}$' then split_part(id, ':', 4)::bigint end as total,
             to_char(at at time zone 'UTC', 'YYYY-MM') as given_in
        from transfers where id >= 'plan:' and id < 'plan;'
    )
    select 'transfer ' || id || ' is no credit of a plan of the owner that its id names' as finding
      from given
     where (kind, debit, credit) is distinct from ('post', 'treasury', 'owner:' || owner) or total is null
    union all
    select 'transfer ' || g.id || case when g.given_in <> g.month then ' is of ' || g.given_in
                                       else ', and the last month for which its owner got anything is an earlier one' end
      from given g left join operators o on o.id::text = g.owner
     where g.given_in <> g.month or coalesce(to_char(o.credited_month, 'YYYY-MM'), '') < g.month
    union all
    select 'owner ' || owner || ' got ' || sum(amount) || ' micro-credits of its plans in ' || month || ', which came to '
           || max(total)
      from given group by owner, month having sum(amount) > max(total)
    union all
    select 'owner ' || o.id || ' is said to have got ' || o.credited || ' micro-credits of its plans in ' || g.month
           || ', its transfers say ' || max(g.total)
      from given g join operators o on o.id::text = g.owner and to_char(o.credited_month, 'YYYY-MM') = g.month
     group by o.id, o.credited, g.month having max(g.total) > o.credited
     order by 1 limit ${limit}`

  /** What was paid was credited, once, and nothing else was credited as a purchase. */
  const purchases = sql`
    with credited as (
      select substr(id, 10) as purchase, kind, debit, credit, amount from transfers
       where id >= 'purchase:' and id < 'purchase;'
    ),
    paid as (
      select p.id, p.owner_id, p.credits from payments d join purchases p on p.id = d.purchase_id
    )
    select 'purchase ' || coalesce(p.id::text, c.purchase)
           || case when p.id is null then ' was credited, and not paid'
                   when c.purchase is null then ' was paid, and not credited'
                   else ' was not credited as it was paid' end as finding
      from paid p full join credited c on c.purchase = p.id::text
     where (c.kind, c.debit, c.credit, c.amount)
           is distinct from ('post', 'treasury', 'owner:' || p.owner_id, p.credits)
     order by 1 limit ${limit}`

  /** Of a purchase no more is taken back than it came to, and only after something was told of it. */
  const takenBack = sql`
    with taken as (
      select id, split_part(id, ':', 2) as purchase, split_part(id, ':', 3) as event, kind, debit, credit, amount
        from transfers where id >= 'refund:' and id < 'refund;'
    )
    select 'transfer ' || t.id || ' takes back what no purchase of ' || t.debit || ' came to' as finding
      from taken t
      left join purchases p on p.id::text = t.purchase
      left join payment_events e on e.event_id = t.event
     where e.event_id is null or (t.kind, t.debit, t.credit) is distinct from ('post', 'owner:' || p.owner_id, 'treasury')
    union all
    select 'of purchase ' || p.id || ' more was taken back than it came to'
      from taken t join purchases p on p.id::text = t.purchase
     group by p.id, p.credits having sum(t.amount) > p.credits
     order by 1 limit ${limit}`

  return [unfounded, grants, topUps, planCredit, purchases, takenBack]
}
