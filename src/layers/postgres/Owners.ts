import { DateTime, Effect, Layer, Option, Schema } from "effect"
import { SqlClient } from "effect/sql"
import { NotFound } from "../../services/errors.ts"
import { AgentId, isUuid } from "../../services/identifiers.ts"
import { Owner, Owners } from "../../services/Owners.ts"
import { Timestamp } from "../../services/text.ts"
import { statusAt } from "./agentStanding.ts"
import { many, maybe, orDefect } from "./query.ts"
import { iso } from "./wire.ts"

const instant = Schema.DateTimeUtcFromDate
const { agents: _, ...ownFields } = Owner.fields
const OwnerRow = Schema.Struct(ownFields)
const AgentRow = Schema.Struct({
  agent_id: AgentId,
  name: Schema.String,
  claimed: Timestamp,
  claimed_at: instant,
  challenge_passed_at: Schema.NullOr(instant),
  provisional_until: instant,
  suspended_at: Schema.NullOr(instant)
})

const make = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const ownerRow = maybe(OwnerRow)
  const agentRows = many(AgentRow)
  const noOwner = (id: string) => new NotFound({ detail: `There is no owner ${id.slice(0, 64)}.` })

  const get: Owners["Service"]["get"] = Effect.fn("Owners.get")(function* (ownerId) {
    if (!isUuid(ownerId)) return yield* noOwner(ownerId)
    const found = yield* ownerRow(sql`
      select id::text as owner_id, plan, email, ${iso(sql, "created_at")} as created_at
        from operators where id = ${ownerId}::uuid`)
    if (Option.isNone(found)) return yield* noOwner(ownerId)
    const now = yield* DateTime.now
    const agents = yield* agentRows(sql`
      select id::text as agent_id, name, ${iso(sql, "claimed_at")} as claimed, claimed_at, challenge_passed_at,
             provisional_until, suspended_at
        from agents where owner_id = ${ownerId}::uuid
       order by claimed_at desc, id`)
    return {
      ...found.value,
      agents: agents.map((agent) => ({
        agent_id: agent.agent_id,
        name: agent.name,
        status: statusAt(agent, now),
        claimed_at: agent.claimed
      }))
    }
  })

  const change: Owners["Service"]["change"] = Effect.fn("Owners.change")(function* (ownerId, { plan }) {
    if (!isUuid(ownerId)) return yield* noOwner(ownerId)
    const changed = yield* sql`
      update operators set plan = ${plan} where id = ${ownerId}::uuid returning 1`.pipe(orDefect)
    return changed.length === 0 ? yield* noOwner(ownerId) : yield* get(ownerId)
  })

  return Owners.of({ get, change })
})

export const layer = Layer.effect(Owners, make)
