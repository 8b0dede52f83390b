/** Claims by links of both kinds: reads the agent of a link, and makes an operator its owner. */
import { AlreadyClaimed, AgentLimitReached } from "../../../services/Claims.ts"
import { NotFound } from "../../../services/domain/errors.ts"
import { DateTime, Schema, Effect } from "effect"
import type { Statement } from "effect/sql"
import type { ClaimableAgent } from "../../../services/Claims.ts"
import { AgentId, OperatorId } from "../../../services/domain/ids.ts"
import { SqlClient } from "effect/sql"
import { wholeCredits } from "../../../services/Credits.ts"
import { Settings } from "../../../services/Settings.ts"
import { accountOf, makeTransfers, maxPosted, treasury } from "../credit/transfers.ts"
import { insertAgentNotices } from "../notices/insertNotices.ts"
import { execute, findOne, isoTimestamp, timestamp } from "../sql.ts"

export const alreadyClaimed = () =>
  new AlreadyClaimed({ detail: "This agent is already claimed: it has an owner." })

export const noLink = () => new NotFound({ detail: "There is no such claim link." })

const instant = Schema.DateTimeUtcFromDate

const agentFields = {
  agent_id: AgentId,
  name: Schema.String,
  bio: Schema.NullOr(Schema.String),
  model_provider: Schema.NullOr(Schema.String),
  model_name: Schema.NullOr(Schema.String),
  owner_org: Schema.NullOr(Schema.String),
  created_at: instant,
  provisional_until: instant,
  predictions_used: Schema.Int,
  owner_id: Schema.NullOr(OperatorId)
}

/** A link `l` joined with its agent `a`. */
export const linkFields = {
  ...agentFields,
  expires_at: instant,
  superseded_at: Schema.NullOr(instant)
}
const LinkedAgent = Schema.Struct(linkFields)
type LinkedAgent = typeof LinkedAgent.Type

export const linkColumns = (sql: SqlClient.SqlClient) =>
  sql.literal(`
    a.id::text as agent_id, a.name, a.bio, a.model_provider, a.model_name, a.owner_org, a.created_at,
    a.provisional_until, a.predictions_used, a.owner_id::text, l.expires_at, l.superseded_at`)

export const agentOf = (row: LinkedAgent): ClaimableAgent => ({
  agentId: row.agent_id,
  name: row.name,
  bio: row.bio,
  modelProvider: row.model_provider,
  modelName: row.model_name,
  ownerOrg: row.owner_org,
  createdAt: row.created_at,
  provisionalUntil: row.provisional_until,
  challengesPredicted: row.predictions_used
})

/** Names the most specific reason that a link cannot claim, if there is one. */
export const endOf = (row: LinkedAgent, now: DateTime.Utc) => {
  if (row.owner_id !== null) return { state: "claimed", claimedBy: row.owner_id } as const
  if (row.superseded_at !== null) return { state: "replaced" } as const
  return DateTime.isGreaterThanOrEqualTo(now, row.expires_at) ? ({ state: "expired" } as const) : undefined
}

const Owned = Schema.Struct({ agents: Schema.Int })
const Grant = Schema.Struct({ granted: Schema.BigInt })

/** Makes operators the owners of agents, within the caller's transaction. */
export const makeOwnership = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const settings = yield* Settings
  const transfers = yield* makeTransfers
  const owned = findOne(Owned)
  const grant = findOne(Grant)
  const claimGrant = wholeCredits(settings.claimGrant)

  /** Makes the ranks official. Rows that a settlement holds are skipped, since it may take minutes; `confirmRanks` finishes them. */
  const takeRanks = (agents: Statement.Fragment) =>
    execute(sql`
      with held as (
        select f.board, f.agent_id from agent_stats f
         where not f.verified and ${agents}
         order by f.agent_id, f.board
           for update skip locked
      )
      update agent_stats f set verified = true
        from held where f.board = held.board and f.agent_id = held.agent_id`)

  /**
   * Grants the credit for a claim, once; `agents.claim_grant` records the amount. A full account gets what it has room for, so that
   * it stops no claim.
   */
  const payGrant = Effect.fnUntraced(function* (agentId: AgentId) {
    const account = accountOf({ kind: "agent", id: agentId })
    const { granted } = yield* grant(sql`
      select least(${claimGrant}::int8, ${maxPosted}::int8 - posted) as granted
        from accounts where id = ${account} for no key update`)
    yield* execute(sql`update agents set claim_grant = ${granted} where id = ${agentId}::uuid`)
    if (granted === 0n) return
    const id = `grant:claim:${agentId}`
    yield* transfers
      .record([
        { id, kind: "post", debit: treasury, credit: account, amount: granted, reason: "claim grant" }
      ])
      // An agent is claimed once.
      .pipe(Effect.catchTag("TransferDiffers", Effect.die))
  })

  /** Makes `operatorId` the owner. Exactly one call ever succeeds for an agent. */
  const own = Effect.fn("Claims.own")(function* (agentId: AgentId, operatorId: OperatorId) {
    const now = yield* DateTime.now
    // An operator's claims take turns, so that its limit holds.
    yield* execute(sql`select 1 from operators where id = ${operatorId}::uuid for no key update`)
    const { agents } = yield* owned(sql`
      select count(*)::int as agents from agents where owner_id = ${operatorId}::uuid`)
    if (agents >= settings.agentsPerOperator) {
      return yield* new AgentLimitReached({
        detail: `An operator may own ${settings.agentsPerOperator} agents at most, and you own as many.`
      })
    }
    const claimed = yield* sql`
      with claimed as (
        update agents
           set claimed_at = ${timestamp(now)}, owner_id = ${operatorId}::uuid, prediction_limit = null
         where id = ${agentId}::uuid and claimed_at is null
        returning id, claimed_at
      ),
      inserted_notices as (${insertAgentNotices(sql, {
        type: "agent.claimed",
        agentId: "a.id",
        cause: "a.id::text",
        subject: "jsonb_build_object('agent_id', a.id)",
        data: sql`jsonb_build_object('claimed_at', ${isoTimestamp(sql, "a.claimed_at")})`,
        at: sql`a.claimed_at`,
        from: sql`claimed a`
      })})
      select 1 from claimed`
    if (claimed.length === 0) return yield* alreadyClaimed()
    yield* takeRanks(sql`f.agent_id = ${agentId}::uuid`)
    yield* payGrant(agentId)
  })

  /** Housekeeping: makes ranks official that a settlement held or wrote while a claim committed. */
  const confirmRanks = Effect.gen(function* () {
    const now = yield* DateTime.now
    const since = DateTime.subtract(now, { hours: 1 })
    yield* takeRanks(sql`f.agent_id in (select id from agents where claimed_at >= ${timestamp(since)})`)
  }).pipe(Effect.withSpan("Claims.confirmRanks"))

  return { own, confirmRanks }
})

export type Ownership = Effect.Success<typeof makeOwnership>
