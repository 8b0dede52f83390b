/**
 * The ledger's transfers. One statement records any number of them, moves the balances by a trigger, and locks the accounts in the
 * order of their ids, within the caller's transaction. A transaction that records several times keeps to that order; the treasury
 * comes last, so that nobody holds it for long.
 */
import { Data, DateTime, Effect, Schema } from "effect"
import { SqlClient } from "effect/sql"
import type { Holder } from "../../../services/Credits.ts"
import { findAll, retryingConflicts, rowsOf, timestamp } from "../sql.ts"
import { poolFunding } from "../../../scoring/pools.ts"

/** The account that all credit comes from. */
export const treasury = "treasury"

/** The maximum of micro-credits that an agent or an owner can have (the constraint accounts_exact). */
export const maxPosted = 1_000_000_000_000_000n

/** The complaint about an amount that would exceed `maxPosted`. */
export const aboveMax = "Expected less: no account holds more than 1 000 000 000 credits"

export const accountOf = ({ kind, id }: Holder): string => `${kind}:${id.toLowerCase()}`

/** Amounts are micro-credits. A `post` with a `pendingId` takes its amount out of that pending transfer, and frees the rest. */
export interface Transfer {
  /** The id is derived from the purpose of the transfer, so that nothing is transferred twice. */
  readonly id: string
  readonly kind: "pending" | "post" | "void"
  readonly debit: string
  readonly credit: string
  readonly amount: bigint
  readonly pendingId?: string
  readonly reason: string
}

/** Another transfer is recorded under one of these ids. */
export class TransferDiffers extends Data.TaggedError("TransferDiffers")<{
  readonly ids: ReadonlyArray<string>
}> {}

const Id = Schema.Struct({ id: Schema.String })

export const makeTransfers = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const ids = findAll(Id)

  const rows = (transfers: ReadonlyArray<Transfer>) =>
    rowsOf(sql, "requested", transfers, {
      id: ["text", ({ id }) => id],
      kind: ["text", ({ kind }) => kind],
      debit: ["text", ({ debit }) => debit],
      credit: ["text", ({ credit }) => credit],
      amount: ["int8", ({ amount }) => amount],
      pending_id: ["text", ({ pendingId }) => pendingId ?? null],
      reason: ["text", ({ reason }) => reason]
    })

  /** Records new transfers. A transfer that is recorded already stays unchanged, and must be the same. */
  const record = Effect.fn("Credits.record")(function* (transfers: ReadonlyArray<Transfer>) {
    const now = yield* DateTime.now
    const made = yield* retryingConflicts(sql`
      insert into transfers (id, kind, debit, credit, amount, pending_id, reason, at)
      select id, kind, debit, credit, amount, pending_id, reason, ${timestamp(now)}::timestamptz from ${rows(transfers)} order by requested.id collate "C"
      on conflict (id) do nothing
      returning 1`)
    if (made.length === transfers.length) return
    const different = yield* ids(sql`
      select requested.id from ${rows(transfers)} join transfers t on t.id = requested.id
       where (t.kind, t.debit, t.credit, t.amount, t.pending_id, t.reason)
             is distinct from (requested.kind, requested.debit, requested.credit, requested.amount, requested.pending_id, requested.reason)`)
    if (different.length > 0) return yield* new TransferDiffers({ ids: different.map(({ id }) => id) })
  })

  return { record }
})

export const poolAccount = (challengeId: string): string => `pool:${challengeId}`

interface AgentAmount {
  readonly challengeId: string
  readonly agentId: string
  readonly amount: bigint
}

const agentAccount = (agentId: string): string => accountOf({ kind: "agent", id: agentId })

const stakeId = ({ agentId, challengeId }: AgentAmount): string => `stake:${challengeId}:${agentId}`

/** Funds a reward pool above 0. The ids of a pool's transfers name its challenge and the agent. */
export const funding = (challengeId: string, rewardPool: bigint): Transfer => ({
  id: `fund:${challengeId}`,
  kind: "post",
  debit: treasury,
  credit: poolAccount(challengeId),
  amount: poolFunding(rewardPool),
  reason: "reward pool"
})

export const reserve = (stake: AgentAmount, reason: string): Transfer => ({
  id: stakeId(stake),
  kind: "pending",
  debit: agentAccount(stake.agentId),
  credit: poolAccount(stake.challengeId),
  amount: stake.amount,
  reason
})

/** Releases the whole stake, whatever the outcome. */
export const release = (stake: AgentAmount): Transfer => ({
  id: `release:${stake.challengeId}:${stake.agentId}`,
  kind: "void",
  debit: agentAccount(stake.agentId),
  credit: poolAccount(stake.challengeId),
  amount: stake.amount,
  pendingId: stakeId(stake),
  reason: "stake returned"
})

export const reward = ({ agentId, amount, challengeId }: AgentAmount): Transfer => ({
  id: `reward:${challengeId}:${agentId}`,
  kind: "post",
  debit: poolAccount(challengeId),
  credit: agentAccount(agentId),
  amount,
  reason: "pool reward"
})

/** Returns the part of the funding that was not paid out. */
export const remainder = (challengeId: string, amount: bigint): Transfer => ({
  id: `return:${challengeId}`,
  kind: "post",
  debit: poolAccount(challengeId),
  credit: treasury,
  amount,
  reason: "reward pool, what was not paid"
})
