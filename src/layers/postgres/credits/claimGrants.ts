/** What an agent gets for being claimed, once: `agents.claim_grant` says how much it was. */
import { DateTime, Effect, Schema } from "effect"
import { SqlClient } from "effect/sql"
import { wholeCredits } from "../../../services/Credits.ts"
import type { AgentId } from "../../../services/identifiers.ts"
import { Settings } from "../../../services/Settings.ts"
import { at, one, run } from "../query.ts"
import { accountOf, makeTransfers, mostPosted, treasury } from "./transfers.ts"

const reason = "claim grant"

/** So many agents are paid in one statement, which holds the treasury so long. */
const batch = 1000

const Paid = Schema.Struct({ agents: Schema.Int })

const Due = Schema.Struct({ granted: Schema.BigInt })

export const makeClaimGrants = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const settings = yield* Settings
  const transfers = yield* makeTransfers
  const paid = one(Paid)
  const due = one(Due)
  const amount = wholeCredits(settings.claimGrant)

  /** Of a full account: what it has room for, since that must stop no claim. */
  const roomFor = (account: string) =>
    sql`least(${amount}::int8, ${mostPosted}::int8 - ${sql(account)}.posted)`

  /** Joins the claim's transaction, which has locked the agent and then locks its account. */
  const pay = Effect.fnUntraced(function* (agentId: AgentId) {
    const account = accountOf({ kind: "agent", id: agentId })
    const { granted } = yield* due(sql`
      select ${roomFor("a")} as granted from accounts a where id = ${account} for no key update`)
    yield* run(sql`update agents set claim_grant = ${granted} where id = ${agentId}::uuid`)
    if (granted === 0n) return
    const id = `grant:claim:${agentId}`
    yield* transfers
      .record([{ id, kind: "post", debit: treasury, credit: account, amount: granted, reason }])
      // An agent is claimed once.
      .pipe(Effect.catchTag("TransferDiffers", Effect.die))
  })

  /** What another replica is paying just now is passed over. */
  const payBatch = Effect.fnUntraced(function* () {
    const now = yield* DateTime.now
    const { agents } = yield* paid(sql`
      with due as (
        select id from agents where claimed_at is not null and claim_grant is null
         order by id limit ${batch} for no key update skip locked
      ),
      room as (
        select d.id, a.granted
          from (select id from due order by id) d
         cross join lateral (
           select ${roomFor("accounts")} as granted from accounts where id = 'agent:' || d.id for no key update) a
      ),
      marked as (
        update agents a set claim_grant = r.granted from room r where a.id = r.id returning a.id, a.claim_grant
      ),
      granted as (
        insert into transfers (id, kind, debit, credit, amount, reason, at)
        select 'grant:claim:' || id, 'post', ${treasury}, 'agent:' || id, claim_grant, ${reason}, ${at(now)}::timestamptz
          from marked where claim_grant > 0 order by id
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

  return { pay, payEarlier }
})
