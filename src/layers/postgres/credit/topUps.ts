/**
 * What owners move to their agents. An agent has one owner for ever, so whoever owns it when it is looked up owns it
 * still when the transfer is recorded; what there is to move is the ledger's own constraint to hold.
 */
import { Effect, Option, Schema } from "effect"
import { SqlClient } from "effect/sql"
import type { SqlError } from "effect/sql"
import { creditsOf, IdempotencyKeyReused, InsufficientCredit } from "../../../services/Credits.ts"
import type { Credits } from "../../../services/Credits.ts"
import { NotFound } from "../../../services/errors.ts"
import { AgentId, isUuid } from "../../../services/identifiers.ts"
import type { OperatorId } from "../../../services/identifiers.ts"
import { findOne, findOption, orDie } from "../sql.ts"
import { constraintOf, orTooMuch } from "./creditErrors.ts"
import { accountOf, makeTransfers } from "./transfers.ts"

const reason = "top-up by the owner"

const TopUpRow = Schema.Struct({
  agent_id: AgentId,
  amount: Schema.BigInt,
  at: Schema.DateTimeUtcFromDate
})

const topUpId = (owner: OperatorId, key: string): string => `topup:${owner}:${key}`

export const makeTopUps = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const transfers = yield* makeTransfers
  const row = findOption(TopUpRow)
  const available = findOne(Schema.Struct({ available: Schema.BigInt }))

  const topUpOf: Credits["Service"]["topUpOf"] = Effect.fn("Credits.topUpOf")(function* (owner, key) {
    const found = yield* row(sql`
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

  const topUp: Credits["Service"]["topUp"] = Effect.fn("Credits.topUp")(function* (owner, agentId, asked) {
    const owned = isUuid(agentId)
      ? yield* sql`
          select 1 from agents where id = ${agentId}::uuid and owner_id = ${owner}::uuid`.pipe(orDie)
      : []
    if (owned.length === 0) return yield* new NotFound({ detail: "You own no agent with this identifier." })
    const { amount, idempotency_key } = asked
    const debit = accountOf({ kind: "owner", id: owner })
    const credit = accountOf({ kind: "agent", id: agentId })
    const id = topUpId(owner, idempotency_key)
    yield* transfers.record([{ id, kind: "post", debit, credit, amount, reason }]).pipe(
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

  return { topUp, topUpOf }
})
