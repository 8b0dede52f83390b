/** Credit of agents and owners: balances, transactions, and every source of credit but purchases and pools. */
import { Effect, Layer, Option, Schema, Struct, Predicate, DateTime } from "effect"
import { SqlClient } from "effect/sql"
import type { SqlError } from "effect/sql"
import {
  Credits,
  CreditTransaction,
  Grant,
  IdempotencyKeyReused,
  wholeCredits,
  creditsOf,
  InsufficientCredit
} from "../../../services/Credits.ts"
import { NotFound, InvalidRequest } from "../../../services/domain/errors.ts"
import { isUuid, AgentId } from "../../../services/domain/ids.ts"
import type { OperatorId } from "../../../services/domain/ids.ts"
import { Cursors } from "../../../services/domain/paging.ts"
import { aboveMax, accountOf, makeTransfers, treasury, maxPosted } from "./transfers.ts"
import {
  boundNow,
  findAll,
  findOne,
  findOption,
  whenGiven,
  isoTimestamp,
  orDie,
  sqlDefect,
  timestamp
} from "../sql.ts"
import { Plan } from "../../../services/Operators.ts"
import { Settings } from "../../../services/Settings.ts"

const BalanceRow = Schema.Struct({ available: Schema.BigInt, frozen: Schema.BigInt })

const TransactionRow = Schema.Struct({
  ...CreditTransaction.fields,
  amount: Schema.BigInt,
  available_change: Schema.BigInt,
  frozen_change: Schema.BigInt,
  seq: Schema.BigInt
})

const MovementRow = Schema.Struct({
  id: Schema.String,
  change: Schema.BigInt,
  reason: Schema.String,
  agent_name: Schema.NullOr(Schema.String),
  at: Schema.DateTimeUtcFromDate,
  seq: Schema.BigInt
})

const GrantRow = Schema.Struct({ ...Grant.fields, amount: Schema.BigInt })

const TopUpRow = Schema.Struct({
  agent_id: AgentId,
  amount: Schema.BigInt,
  at: Schema.DateTimeUtcFromDate
})

const topUpId = (owner: OperatorId, key: string): string => `topup:${owner}:${key}`

/** The number of owners paid by one statement, which holds the treasury's row until it commits. */
const planBatch = 1000

/** The constraint that refused a statement. */
const constraintOf = (error: SqlError.SqlError): unknown =>
  Predicate.hasProperty(error.reason.cause, "constraint") ? error.reason.cause.constraint : undefined

/** Reports a full account to the caller; any other failure is a defect. */
const orTooMuch = (error: SqlError.SqlError) =>
  constraintOf(error) === "accounts_exact"
    ? Effect.fail(InvalidRequest.of("amount", aboveMax))
    : sqlDefect(error)

const make = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  /** Transfers are listed in the order in which they were recorded. */
  const seqPages = (yield* Cursors).list(
    "transfers",
    Schema.Struct({ seq: Schema.String.check(Schema.isPattern(/^\d{1,18}$/)) })
  )
  const transfers = yield* makeTransfers
  const { planCredit } = yield* Settings
  const balanceRow = findOption(BalanceRow)
  const transactionRows = findAll(TransactionRow)
  const movementRows = findAll(MovementRow)
  const grantRow = findOne(GrantRow)
  const topUpRow = findOption(TopUpRow)
  const available = findOne(Schema.Struct({ available: Schema.BigInt }))
  const paid = findOne(Schema.Struct({ owners: Schema.Int }))

  const accountRow = (account: string) =>
    balanceRow(sql`select posted - held as available, held as frozen from accounts where id = ${account}`)

  const balance: Credits["Service"]["balance"] = Effect.fn("Credits.balance")(function* (agentId) {
    const found = yield* accountRow(accountOf({ kind: "agent", id: agentId }))
    if (Option.isNone(found)) return yield* NotFound.agent(agentId)
    const { available, frozen } = found.value
    return { available_balance: available, frozen_balance: frozen, currency: "CREDITS" }
  })

  const transactions: Credits["Service"]["transactions"] = Effect.fn("Credits.transactions")(
    function* (agentId, page) {
      const { after, toPage, limit } = yield* seqPages.decode(page, "agent")
      const account = accountOf({ kind: "agent", id: agentId })
      const before = whenGiven(sql, after, (last) => sql`and seq < ${last.seq}::bigint`)
      // Each side is read by its own index; incoming transfers count only once they are posted.
      const rows = yield* transactionRows(sql`
        with newest as (
          (select * from transfers where debit = ${account} ${before} order by seq desc limit ${limit})
          union all
          (select * from transfers where credit = ${account} and kind = 'post' ${before}
            order by seq desc limit ${limit})
           order by seq desc
           limit ${limit}
        )
        select t.id as transaction_id, t.kind, t.amount, c.available_change, c.frozen_change, t.reason,
               ${isoTimestamp(sql, "t.at")} as created_at, t.seq
          from newest t
          left join lateral (select amount from transfers where id = t.pending_id limit 1) as p on true
         cross join lateral (
           select case when t.kind = 'pending' then t.amount when t.debit = ${account} then -coalesce(p.amount, 0)
                       else 0 end as frozen_change,
                  case when t.kind <> 'post' then 0 when t.debit = ${account} then -t.amount
                       else t.amount end as posted_change) as m
         cross join lateral (
           select m.frozen_change, m.posted_change - m.frozen_change as available_change) as c
         order by t.seq desc`)
      const { items, next_cursor } = toPage(rows, (last) => ({ seq: String(last.seq) }))
      return { items: items.map((row) => Struct.omit(row, ["seq"])), next_cursor }
    }
  )

  const movements: Credits["Service"]["movements"] = Effect.fn("Credits.movements")(function* (owner, page) {
    const { after, toPage, limit } = yield* seqPages.decode(page, "owner")
    const account = accountOf({ kind: "owner", id: owner })
    const before = whenGiven(sql, after, (last) => sql`and seq < ${last.seq}::bigint`)
    const rows = yield* movementRows(sql`
      with newest as (
        (select * from transfers where debit = ${account} and kind = 'post' ${before}
          order by seq desc limit ${limit})
        union all
        (select * from transfers where credit = ${account} and kind = 'post' ${before}
          order by seq desc limit ${limit})
         order by seq desc
         limit ${limit}
      )
      select t.id, case when t.debit = ${account} then -t.amount else t.amount end as change, t.reason, t.at, t.seq,
             g.name as agent_name
        from newest t
        left join accounts a on a.id = t.credit
        left join agents g on g.id = a.agent_id
       order by t.seq desc`)
    const { items, next_cursor } = toPage(rows, (last) => ({ seq: String(last.seq) }))
    return {
      items: items.map(({ agent_name, at, change, id, reason }) => ({
        id,
        change,
        reason,
        agentName: agent_name,
        at
      })),
      next_cursor
    }
  })

  const grant: Credits["Service"]["grant"] = Effect.fn("Credits.grant")(function* (to, request) {
    const account = accountOf(to)
    const found = isUuid(to.id) ? yield* accountRow(account) : Option.none()
    if (Option.isNone(found)) return yield* NotFound.of(to.kind, to.id)
    const { amount, idempotency_key, reason } = request
    const id = `grant:admin:${account}:${idempotency_key}`
    const transfer = { id, kind: "post", debit: treasury, credit: account, amount, reason } as const
    yield* transfers.record([transfer]).pipe(
      Effect.catchTags({
        SqlError: orTooMuch,
        TransferDiffers: () =>
          Effect.fail(
            new IdempotencyKeyReused({
              detail: `The idempotency_key ${idempotency_key} gave this ${to.kind} another amount, or for another reason: take a new key for a new grant.`
            })
          )
      })
    )
    return yield* grantRow(sql`
      select id, credit as account, amount, reason, ${isoTimestamp(sql, "at")} as created_at from transfers where id = ${id}`)
  })

  const topUpOf: Credits["Service"]["topUpOf"] = Effect.fn("Credits.topUpOf")(function* (owner, key) {
    const found = yield* topUpRow(sql`
      select substr(credit, 7) as agent_id, amount, at from transfers where id = ${topUpId(owner, key)}`)
    return Option.map(found, ({ agent_id, amount, at }) => ({ agentId: agent_id, amount, at }))
  })

  const orNotCovered = (account: string) =>
    Effect.fnUntraced(function* (error: SqlError.SqlError) {
      if (constraintOf(error) !== "accounts_covered") return yield* orTooMuch(error)
      const left = yield* available(
        sql`select posted - held as available from accounts where id = ${account}`
      )
      return yield* new InsufficientCredit({
        detail: `amount: Expected at most ${creditsOf(left.available)} credits, which is what your account has`,
        available: left.available
      })
    })

  /**
   * An agent keeps its owner for ever, so the owner that is looked up is still the owner when the transfer is recorded. The ledger's
   * constraint keeps the owner's account covered.
   */
  const topUp: Credits["Service"]["topUp"] = Effect.fn("Credits.topUp")(function* (owner, agentId, request) {
    const owned = isUuid(agentId)
      ? yield* sql`
          select 1 from agents where id = ${agentId}::uuid and owner_id = ${owner}::uuid`.pipe(orDie)
      : []
    if (owned.length === 0) return yield* NotFound.notOwned()
    const { amount, idempotency_key } = request
    const debit = accountOf({ kind: "owner", id: owner })
    const credit = accountOf({ kind: "agent", id: agentId })
    const id = topUpId(owner, idempotency_key)
    yield* transfers
      .record([{ id, kind: "post", debit, credit, amount, reason: "top-up by the owner" }])
      .pipe(
        Effect.catchTags({
          SqlError: orNotCovered(debit),
          TransferDiffers: () =>
            Effect.fail(
              new IdempotencyKeyReused({
                detail:
                  "This form has moved another amount, or to another agent, so nothing was moved now: open the page again."
              })
            )
        })
      )
    return yield* Effect.flatMap(topUpOf(owner, idempotency_key), Effect.fromOption).pipe(Effect.orDie)
  })

  /**
   * Pays each owner's plan credit of the calendar month (UTC). `operators.credited` is the owner's credit for
   * `credited_month` so far, so any number of replicas may pay, and an owner who moves to a better plan gets the
   * difference within the month. Nothing is taken back when an owner leaves a plan. Owners that another replica is
   * paying are skipped; a full account gets the part that it has room for. A transfer's id holds the month's total,
   * which only grows.
   */
  const payBatch = Effect.fnUntraced(function* (plan: Plan, credit: bigint) {
    const now = yield* boundNow(sql)
    const month = `${DateTime.formatIsoDateUtc(now).slice(0, 7)}-01`
    const { owners } = yield* paid(sql`
      with due as (
        select id, case when credited_month = ${month}::date then ${credit}::int8 - credited else ${credit}::int8 end as amount
          from operators
         where plan = ${plan} and (credited_month, credited) < (${month}::date, ${credit}::int8)
         order by credited_month, credited, id limit ${planBatch} for no key update skip locked
      ),
      room as (
        select d.id, least(d.amount, a.room) as amount
          from (select * from due order by id) d
         cross join lateral (
           select ${maxPosted}::int8 - posted as room from accounts where id = 'owner:' || d.id for no key update) a
      ),
      marked as (
        update operators o set credited_month = ${month}::date, credited = ${credit}::int8
          from room r where o.id = r.id returning o.id, r.amount
      ),
      given as (
        insert into transfers (id, kind, debit, credit, amount, reason, at)
        select 'plan:' || id || ':' || ${month.slice(0, 7)}::text || ':' || ${credit}::int8, 'post', ${treasury}, 'owner:' || id, amount,
               'credit of the ' || ${plan}::text || ' plan for ' || ${month.slice(0, 7)}::text, ${timestamp(now)}::timestamptz
          from marked where amount > 0 order by id
      )
      select count(*)::int as owners from marked`)
    return owners
  })

  const payPlan = Effect.fnUntraced(function* (plan: Plan) {
    const credit = wholeCredits(planCredit[plan])
    if (credit === 0n) return 0
    let all = 0
    let owners: number
    do {
      owners = yield* payBatch(plan, credit)
      all += owners
    } while (owners === planBatch)
    return all
  })

  const payPlans = Effect.gen(function* () {
    const owners = (yield* Effect.forEach(Plan.literals, payPlan)).reduce((sum, each) => sum + each, 0)
    if (owners > 0)
      yield* Effect.logInfo("the credit of plans was paid").pipe(Effect.annotateLogs({ owners }))
  }).pipe(Effect.withSpan("Credits.payPlans"))

  return Credits.of({
    balance,
    transactions,
    grant,
    topUp,
    topUpOf,
    movements,
    payPlans
  })
})

export const layer = Layer.effect(Credits, make)
