/** The agents of an owner, claimed last first. As many as one may own, so a page of them is all of them. */
import { DateTime, Effect, Schema } from "effect"
import { SqlClient } from "effect/sql"
import { AgentId } from "../../../../services/identifiers.ts"
import { AuthMethod } from "../../../../services/Registry.ts"
import { statusAt } from "../agentStatus.ts"
import { findAll } from "../../sql.ts"

const instant = Schema.DateTimeUtcFromDate

const AgentRow = Schema.Struct({
  id: AgentId,
  name: Schema.String,
  auth_method: AuthMethod,
  model_provider: Schema.NullOr(Schema.String),
  model_name: Schema.NullOr(Schema.String),
  created_at: instant,
  claimed_at: instant,
  challenge_passed_at: Schema.NullOr(instant),
  provisional_until: instant,
  suspended_at: Schema.NullOr(instant),
  available: Schema.BigInt,
  frozen: Schema.BigInt,
  credit_arena_enabled: Schema.Boolean
})

export const makeOwnedAgents = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const rows = findAll(AgentRow)
  return Effect.fnUntraced(function* (ownerId: string) {
    const now = yield* DateTime.now
    const agents = yield* rows(sql`
      select o.id::text, name, auth_method, model_provider, model_name, created_at, claimed_at, challenge_passed_at,
             provisional_until, suspended_at, a.posted - a.held as available, a.held as frozen,
             credit_arena_enabled
        from agents o join accounts a on a.id = 'agent:' || o.id
       where o.owner_id = ${ownerId}::uuid
       order by claimed_at desc, o.id`)
    return agents.map((agent) => ({
      agentId: agent.id,
      name: agent.name,
      status: statusAt(agent, now),
      authMethod: agent.auth_method,
      modelProvider: agent.model_provider,
      modelName: agent.model_name,
      createdAt: agent.created_at,
      claimedAt: agent.claimed_at,
      credit: { available: agent.available, frozen: agent.frozen },
      creditArenaEnabled: agent.credit_arena_enabled
    }))
  })
})
