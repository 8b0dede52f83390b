import { Effect, Layer, Option, Schema, Struct } from "effect"
import { SqlClient } from "effect/sql"
import { Credits, CreditTransaction, Grant, IdempotencyKeyReused } from "../../../services/Credits.ts"
import { NotFound } from "../../../services/errors.ts"
import { isUuid } from "../../../services/identifiers.ts"
import { Cursors, cutPage, invalidCursor } from "../../../services/paging.ts"
import { makeLedgerCheck } from "./ledgerCheck.ts"
import { makePlanCredit } from "./planCredit.ts"
import { orTooMuch } from "./creditErrors.ts"
import { makeTopUps } from "./topUps.ts"
import { accountOf, makeTransfers, treasury } from "./transfers.ts"
import { findAll, findOne, findOption, isoTimestamp } from "../sql.ts"

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

const make = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  /** Transfers are listed in the order in which they were recorded. */
  const seqCursor = (yield* Cursors).codec(
    "transfers",
    Schema.Struct({ seq: Schema.String.check(Schema.isPattern(/^\d{1,18}$/)) })
  )
  const transfers = yield* makeTransfers
  const { payPlans } = yield* makePlanCredit
  const { topUp, topUpOf } = yield* makeTopUps
  const { check } = yield* makeLedgerCheck
  const balanceRow = findOption(BalanceRow)
  const transactionRows = findAll(TransactionRow)
  const movementRows = findAll(MovementRow)
  const grantRow = findOne(GrantRow)

  const accountRow = (account: string) =>
    balanceRow(sql`select posted - held as available, held as frozen from accounts where id = ${account}`)

  const balance: Credits["Service"]["balance"] = Effect.fn("Credits.balance")(function* (agentId) {
    const found = yield* accountRow(accountOf({ kind: "agent", id: agentId }))
    if (Option.isNone(found)) {
      return yield* new NotFound({ detail: `There is no agent ${agentId.slice(0, 64)}.` })
    }
    const { available, frozen } = found.value
    return { available_balance: available, frozen_balance: frozen, currency: "CREDITS" }
  })

  const transactions: Credits["Service"]["transactions"] = Effect.fn("Credits.transactions")(
    function* (agentId, page) {
      const after = Option.getOrNull(seqCursor.decode(page.cursor, "agent"))
      if (after === null) return yield* invalidCursor()
      const account = accountOf({ kind: "agent", id: agentId })
      const before = after === undefined ? sql`` : sql`and seq < ${after.seq}::bigint`
      // Each side by its own index, and of what comes in only what has come.
      const rows = yield* transactionRows(sql`
        with newest as (
          (select * from transfers where debit = ${account} ${before} order by seq desc limit ${page.limit + 1})
          union all
          (select * from transfers where credit = ${account} and kind = 'post' ${before}
            order by seq desc limit ${page.limit + 1})
           order by seq desc
           limit ${page.limit + 1}
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
      const { items, next_cursor } = cutPage(rows, page.limit, (last) =>
        seqCursor.encode({ seq: String(last.seq) }, "agent")
      )
      return { items: items.map((row) => Struct.omit(row, ["seq"])), next_cursor }
    }
  )

  const movements: Credits["Service"]["movements"] = Effect.fn("Credits.movements")(function* (owner, page) {
    const after = Option.getOrNull(seqCursor.decode(page.cursor, "owner"))
    if (after === null) return yield* invalidCursor()
    const account = accountOf({ kind: "owner", id: owner })
    const before = after === undefined ? sql`` : sql`and seq < ${after.seq}::bigint`
    const rows = yield* movementRows(sql`
      with newest as (
        (select * from transfers where debit = ${account} and kind = 'post' ${before}
          order by seq desc limit ${page.limit + 1})
        union all
        (select * from transfers where credit = ${account} and kind = 'post' ${before}
          order by seq desc limit ${page.limit + 1})
         order by seq desc
         limit ${page.limit + 1}
      )
      select t.id, case when t.debit = ${account} then -t.amount else t.amount end as change, t.reason, t.at, t.seq,
             g.name as agent_name
        from newest t
        left join accounts a on a.id = t.credit
        left join agents g on g.id = a.agent_id
       order by t.seq desc`)
    const { items, next_cursor } = cutPage(rows, page.limit, (last) =>
      seqCursor.encode({ seq: String(last.seq) }, "owner")
    )
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

  const grant: Credits["Service"]["grant"] = Effect.fn("Credits.grant")(function* (to, asked) {
    const account = accountOf(to)
    const found = isUuid(to.id) ? yield* accountRow(account) : Option.none()
    if (Option.isNone(found)) {
      return yield* new NotFound({ detail: `There is no ${to.kind} ${to.id.slice(0, 64)}.` })
    }
    const { amount, idempotency_key, reason } = asked
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

  return Credits.of({
    balance,
    transactions,
    grant,
    topUp,
    topUpOf,
    movements,
    payPlans,
    check
  })
})

export const layer = Layer.effect(Credits, make)
