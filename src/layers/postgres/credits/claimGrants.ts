/** What an agent gets for being claimed, once: `agents.claim_grant` says how much it was. */
import { DateTime, Effect, Schema } from "effect"
import { SqlClient } from "effect/sql"
import { wholeCredits } from "../../../services/Credits.ts"
import type { AgentId } from "../../../services/identifiers.ts"
import { Settings } from "../../../services/Settings.ts"
import { at, one } from "../query.ts"
import { accountOf, makeTransfers, treasury } from "./transfers.ts"

const reason = "claim grant"

/** So many agents are paid in one statement, which holds the treasury so long. */
const batch = 1000

const Paid = Schema.Struct({ agents: Schema.Int })

export const makeClaimGrants = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const settings = yield* Settings
  const transfers = yield* makeTransfers
  const paid = one(Paid)
  const amount = wholeCredits(settings.claimGrant)

  /** Joins the claim's transaction, which has written `amount` to the agent. */
  const pay = (agentId: AgentId) =>
    amount === 0n
      ? Effect.void
      : transfers
          .record([
            {
              id: `grant:claim:${agentId}`,
              kind: "post",
              debit: treasury,
              credit: accountOf({ kind: "agent", id: agentId }),
              amount,
              reason
            }
          ])
          // An agent is claimed once.
          .pipe(Effect.catchTag("TransferDiffers", Effect.die))

  /** What another replica is paying just now is passed over. */
  const payBatch = Effect.fnUntraced(function* () {
    const now = yield* DateTime.now
    const { agents } = yield* paid(sql`
      with due as (
        select id from agents where claimed_at is not null and claim_grant is null
         order by id limit ${batch} for no key update skip locked
      ),
      marked as (
        update agents a set claim_grant = ${amount} from due where a.id = due.id returning a.id
      ),
      granted as (
        insert into transfers (id, kind, debit, credit, amount, reason, at)
        select 'grant:claim:' || id, 'post', ${treasury}, 'agent:' || id, ${amount}, ${reason}, ${at(now)}::timestamptz
          from marked where ${amount} > 0 order by id
      )
      select count(*)::int as agents from marked`)
    return agents
  })

  const payEarlier = Effect.gen(function* () {
    let all = 0
    let agents: number
    do {
      agents = yield* payBatch()
      all += agents
    } while (agents === batch)
    if (all > 0) yield* Effect.logInfo("claim grants paid").pipe(Effect.annotateLogs({ agents: all }))
  }).pipe(Effect.withSpan("Credits.grantEarlierClaims"))

  return { amount, pay, payEarlier }
})
