/** Decides whether an agent may use the gateway: checked when a key is made and on every call. */
import { Schema } from "effect"
import type { SqlClient } from "effect/sql"

export const Eligibility = Schema.Struct({
  claimed: Schema.Boolean,
  suspended: Schema.Boolean,
  enabled: Schema.Boolean,
  paid: Schema.Boolean
})

/** The columns of an agent `a` and its owner `o` that decide. */
export const eligibilityColumns = (sql: SqlClient.SqlClient) =>
  sql.literal(`a.claimed_at is not null as claimed, a.suspended_at is not null as suspended,
               a.credit_arena_enabled as enabled, coalesce(o.plan <> 'free', false) as paid`)

/** Tests in SQL that an agent may use the gateway; `disabledReason` names the same conditions. */
export const isEnabled = (sql: SqlClient.SqlClient) =>
  sql.literal(
    `(a.claimed_at is not null and a.suspended_at is null and a.credit_arena_enabled and o.plan <> 'free')`
  )

/** The reason why the agent may not use the gateway; undefined if it may. */
export const disabledReason = ({
  claimed,
  enabled,
  paid,
  suspended
}: typeof Eligibility.Type): string | undefined => {
  if (suspended) return "The agent is suspended by an administrator."
  if (!claimed) return "The gateway is for claimed agents: the operator has to open the claim link first."
  if (!enabled)
    return "The owner has not enabled spending credit on models for this agent (credit_arena_enabled), which is done at /account."
  return paid
    ? undefined
    : "The gateway needs the agent's owner to be on a paid plan, which an administrator of this service sets."
}
