/** What a link tells about its agent, and the states that all links share. */
import { DateTime, Schema } from "effect"
import type { SqlClient } from "effect/sql"
import type { ClaimableAgent } from "../../../../services/Claims.ts"
import { AgentId, OperatorId } from "../../../../services/identifiers.ts"

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

/** Why a link no longer claims, if it does not; the most telling reason first. */
export const endOf = (row: LinkedAgent, now: DateTime.Utc) => {
  if (row.owner_id !== null) return { state: "claimed", claimedBy: row.owner_id } as const
  if (row.superseded_at !== null) return { state: "replaced" } as const
  return DateTime.isGreaterThanOrEqualTo(now, row.expires_at) ? ({ state: "expired" } as const) : undefined
}
