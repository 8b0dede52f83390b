/**
 * Proves the ledger, from its transfers alone where balances are in question: every figure and every difference is of
 * one snapshot, so that a ledger in use is checked as well as one at rest.
 */
import { Effect, Schema } from "effect"
import { SqlClient } from "effect/sql"
import type { LedgerCheck } from "../../../services/Credits.ts"
import { findAll, findOne, transaction } from "../sql.ts"
import { gatewayChecks, gatewayGuards } from "./ledgerCheck/gateway.ts"
import { incomeChecks, incomeGuards } from "./ledgerCheck/income.ts"
import { poolChecks, poolGuards } from "./ledgerCheck/pools.ts"

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

/** What keeps the ledger true between two checks: triggers, by table. */
const guards = [
  ["accounts", "accounts_kept"],
  ["accounts", "accounts_moved_by_transfers"],
  ["accounts", "accounts_opened_empty"],
  ["agents", "agents_account_opened"],
  ["operators", "operators_account_opened"],
  ["transfers", "transfers_append_only"],
  ["transfers", "transfers_applied"],
  ...incomeGuards,
  ...poolGuards,
  ...gatewayGuards
] as const

export const makeLedgerCheck = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const totals = findOne(Totals)
  const counted = findOne(Counted)
  const findings = findAll(Schema.Struct({ finding: Schema.String }))
  const limit = sql.literal(String(maxReported))

  /** An account has what its transfers brought and took, and holds what its pending ones have not let go. */
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
                     || ', its transfers say ' || coalesce(j.posted, 0) || ' and ' || coalesce(j.held, 0) end as finding
      from accounts a full join journal j on j.account = a.id
     where a.id is null or (a.posted, a.held) is distinct from (coalesce(j.posted, 0), coalesce(j.held, 0))
     order by 1 limit ${limit}`

  const overdrawn = sql`
    select 'account ' || id || ' has ' || posted || ' micro-credits and holds ' || held as finding
      from accounts where held < 0 or (kind <> 'treasury' and posted < held)
     order by id limit ${limit}`

  const resolutions = sql`
    select 'transfer ' || r.id || ' does not fit the pending one it ends, ' || r.pending_id as finding
      from transfers r left join transfers p on p.id = r.pending_id
     where r.pending_id is not null
       and ((p.kind, p.debit, p.credit) is distinct from ('pending', r.debit, r.credit) or r.amount > p.amount
            or (r.kind = 'void' and r.amount <> p.amount))
     order by r.id limit ${limit}`

  const resolvedTwice = sql`
    select 'transfer ' || pending_id || ' is ended ' || count(*) || ' times' as finding
      from transfers where pending_id is not null group by pending_id having count(*) > 1
     order by pending_id limit ${limit}`

  const withoutAccount = sql`
    select h.account || ' is not there' as finding
      from (select 'agent:' || id as account from agents union all select 'owner:' || id from operators) as h
     where not exists (select 1 from accounts a where a.id = h.account)
     order by 1 limit ${limit}`

  /** A claimed agent got what it is said to have got, once, and nobody else got anything for a claim. */
  const claimGrants = sql`
    with granted as (
      select substr(id, 13) as agent, debit, credit, amount from transfers where id >= 'grant:claim:' and id < 'grant:claim;'
    )
    select 'the claim grant of agent ' || coalesce(a.id::text, g.agent) || ' is said to be '
           || coalesce(a.claim_grant, 0) || ' micro-credits, its transfer says ' || coalesce(g.amount, 0) as finding
      from agents a full join granted g on g.agent = a.id::text
     where coalesce(a.claim_grant, 0) <> coalesce(g.amount, 0)
        or (g.amount is not null and (g.debit, g.credit) is distinct from ('treasury', 'agent:' || a.id))
     order by 1 limit ${limit}`

  const unguarded = sql`
    select 'the trigger ' || g.name || ' of ' || g.on_table || ' is missing or switched off' as finding
      from unnest(${sql.literal(`array[${guards.map(([table]) => `'${table}'`).join(", ")}]`)},
                  ${sql.literal(`array[${guards.map(([, name]) => `'${name}'`).join(", ")}]`)}) as g (on_table, name)
     where not exists (
       select 1 from pg_trigger t
        where t.tgrelid = g.on_table::regclass and t.tgname = g.name and t.tgenabled in ('O', 'A'))
     order by 1`

  /** What the transfers came to whose ids begin so. */
  const named = (what: string) =>
    sql.literal(
      `(select coalesce(sum(amount), 0)::bigint from transfers where id >= '${what}:' and id < '${what};')`
    )

  const snapshot = Effect.gen(function* () {
    // Whole tables are compared: row by row, as old statistics may suggest, would take for ever.
    yield* sql`
      select set_config('statement_timeout', '15min', true), set_config('work_mem', '64MB', true),
             set_config('enable_bitmapscan', 'on', true), set_config('enable_nestloop', 'off', true)`
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
             ${named("plan")} as plan_credit, ${named("purchase")} as purchases, ${named("refund")} as refunds,
             ${named("topup")} as top_ups,
             (select count(*)::int from stakes) as stakes,
             (select coalesce(sum(amount), 0)::bigint from stakes s
               where not exists (select 1 from pool_settlements p where p.challenge_id = s.challenge_id)) as open_stakes,
             (select count(*)::int from pool_settlements) as pools_settled,
             (select coalesce(sum(paid), 0)::bigint from pool_settlements) as rewards,
             (select count(*)::int from gateway_calls) as gateway_calls,
             (select coalesce(sum(amount), 0)::bigint from gateway_reservations) as gateway_reserved`)
    const found = yield* Effect.forEach(
      [
        balances,
        overdrawn,
        resolutions,
        resolvedTwice,
        withoutAccount,
        claimGrants,
        ...incomeChecks(sql, maxReported),
        ...poolChecks(sql, maxReported),
        ...gatewayChecks(sql, maxReported),
        unguarded
      ],
      findings
    )
    const unbalanced = total === 0n ? [] : [`all balances together are ${total} micro-credits, not 0`]
    const differences = [...unbalanced, ...found.flat().map(({ finding }) => finding)]
    const checked: LedgerCheck = { ...sums, ...counts, differences }
    return checked
  })

  const check = transaction(sql)(snapshot).pipe(
    Effect.provideService(
      SqlClient.BeginTransaction,
      "begin transaction isolation level repeatable read read only"
    ),
    Effect.withSpan("Credits.check")
  )

  return { check }
})
