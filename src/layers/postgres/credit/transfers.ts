/**
 * How credit moves: any number of transfers in one statement, which also moves the balances (a trigger) and takes the
 * accounts' locks in the order of their ids. Joins the caller's transaction; one that records several times does so in
 * the order of the accounts' ids too. The treasury comes last in it, so that nobody holds it for long.
 */
import { Data, DateTime, Effect, Schema } from "effect"
import { SqlClient } from "effect/sql"
import type { Holder } from "../../../services/Credits.ts"
import { findAll, retryingConflicts, rowsOf, timestamp } from "../sql.ts"

/** Where all credit comes from. */
export const treasury = "treasury"

/** The most micro-credits that an agent or an owner can have (the constraint accounts_exact). */
export const maxPosted = 1_000_000_000_000_000n

export const accountOf = ({ kind, id }: Holder): string => `${kind}:${id.toLowerCase()}`

/** In micro-credits. A `post` with a `pendingId` takes of it what it needs, and the rest is free again. */
export interface Transfer {
  /** Derived from what the transfer is for: the same id is the same transfer. */
  readonly id: string
  readonly kind: "pending" | "post" | "void"
  readonly debit: string
  readonly credit: string
  readonly amount: bigint
  readonly pendingId?: string
  readonly reason: string
}

/** A transfer with this id has been recorded, and is another. */
export class TransferDiffers extends Data.TaggedError("TransferDiffers")<{
  readonly ids: ReadonlyArray<string>
}> {}

const Id = Schema.Struct({ id: Schema.String })

export const makeTransfers = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const ids = findAll(Id)

  const rows = (transfers: ReadonlyArray<Transfer>) =>
    rowsOf(sql, "asked", transfers, {
      id: ["text", ({ id }) => id],
      kind: ["text", ({ kind }) => kind],
      debit: ["text", ({ debit }) => debit],
      credit: ["text", ({ credit }) => credit],
      amount: ["int8", ({ amount }) => amount],
      pending_id: ["text", ({ pendingId }) => pendingId ?? null],
      reason: ["text", ({ reason }) => reason]
    })

  /** Records what is new; what is recorded already stays as it is, and must be the same. */
  const record = Effect.fn("Credits.record")(function* (transfers: ReadonlyArray<Transfer>) {
    const now = yield* DateTime.now
    const made = yield* retryingConflicts(sql`
      insert into transfers (id, kind, debit, credit, amount, pending_id, reason, at)
      select id, kind, debit, credit, amount, pending_id, reason, ${timestamp(now)}::timestamptz from ${rows(transfers)} order by asked.id collate "C"
      on conflict (id) do nothing
      returning 1`)
    if (made.length === transfers.length) return
    const different = yield* ids(sql`
      select asked.id from ${rows(transfers)} join transfers t on t.id = asked.id
       where (t.kind, t.debit, t.credit, t.amount, t.pending_id, t.reason)
             is distinct from (asked.kind, asked.debit, asked.credit, asked.amount, asked.pending_id, asked.reason)`)
    if (different.length > 0) return yield* new TransferDiffers({ ids: different.map(({ id }) => id) })
  })

  return { record }
})
