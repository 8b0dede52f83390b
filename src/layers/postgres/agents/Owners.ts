import { DateTime, Effect, Layer, Option, Schema } from "effect"
import { SqlClient } from "effect/sql"
import { NotFound } from "../../../services/errors.ts"
import { isUuid } from "../../../services/identifiers.ts"
import { Owner, Owners } from "../../../services/Owners.ts"
import { makeOwnedAgents } from "./operators/ownedAgents.ts"
import { findOption, isoTimestamp, orDie } from "../sql.ts"

const { agents: _, ...ownFields } = Owner.fields
const OwnerRow = Schema.Struct(ownFields)

const make = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const ownedAgents = yield* makeOwnedAgents
  const ownerRow = findOption(OwnerRow)
  const noOwner = (id: string) => new NotFound({ detail: `There is no owner ${id.slice(0, 64)}.` })

  const get: Owners["Service"]["get"] = Effect.fn("Owners.get")(function* (ownerId) {
    if (!isUuid(ownerId)) return yield* noOwner(ownerId)
    const found = yield* ownerRow(sql`
      select id::text as owner_id, plan, email, ${isoTimestamp(sql, "created_at")} as created_at
        from operators where id = ${ownerId}::uuid`)
    if (Option.isNone(found)) return yield* noOwner(ownerId)
    const agents = yield* ownedAgents(ownerId)
    return {
      ...found.value,
      agents: agents.map(({ agentId, name, status, claimedAt }) => ({
        agent_id: agentId,
        name,
        status,
        claimed_at: DateTime.formatIso(claimedAt)
      }))
    }
  })

  const change: Owners["Service"]["change"] = Effect.fn("Owners.change")(function* (ownerId, { plan }) {
    if (!isUuid(ownerId)) return yield* noOwner(ownerId)
    const changed = yield* sql`
      update operators set plan = ${plan} where id = ${ownerId}::uuid returning 1`.pipe(orDie)
    return changed.length === 0 ? yield* noOwner(ownerId) : yield* get(ownerId)
  })

  return Owners.of({ get, change })
})

export const layer = Layer.effect(Owners, make)
