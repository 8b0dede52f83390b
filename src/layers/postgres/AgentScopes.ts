import { Effect, Layer, Option, Schema } from "effect"
import { SqlClient } from "effect/sql"
import { AgentScopes } from "../../services/AgentScopes.ts"
import type { ScopeStanding } from "../../services/AgentScopes.ts"
import { NotFound } from "../../services/errors.ts"
import type { AgentId } from "../../services/identifiers.ts"
import { Scope, allScopes, effectiveScopes } from "../../services/Scopes.ts"
import { column, maybe } from "./query.ts"

/**
 * What agents `a` asked for, in the order of the interface's list. `llm:keys`, its last, has a column of its own, which is
 * null of agents that registered before there was this scope: they have it with `prediction:submit`.
 */
const makesKeys =
  "coalesce(a.makes_gateway_keys, a.requested_scopes && '{prediction:submit,prediction:write}')"
export const requestedScopesColumn = (sql: SqlClient.SqlClient) =>
  sql.literal(
    `case when ${makesKeys} then a.requested_scopes || array['llm:keys'] else a.requested_scopes end as requested_scopes`
  )

/** The same as an agent's row has it. */
export const scopeColumns = (requested: ReadonlyArray<Scope>) => ({
  requested_scopes: requested.filter((scope) => scope !== "llm:keys"),
  makes_gateway_keys: requested.includes("llm:keys")
})

const Row = Schema.Struct({ requested_scopes: Schema.Array(Scope), claimed: Schema.Boolean })

const note = (withheld: ReadonlyArray<Scope>): string =>
  withheld.length === 0
    ? "Effective as of the next token: request one. Tokens already held stay as they are."
    : "Effective as of the next token: request one. Tokens already held stay as they are. What is withheld is enabled once the operator has claimed the agent."

const standing = (row: typeof Row.Type): ScopeStanding => {
  const effective = effectiveScopes(row.requested_scopes, row.claimed ? "claimed" : "provisional")
  const held = new Set(effective)
  const withheld = row.requested_scopes.filter((scope) => !held.has(scope))
  return {
    requested_scopes: row.requested_scopes,
    effective_scopes: effective,
    withheld_scopes: withheld,
    note: note(withheld)
  }
}

const make = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const row = maybe(Row)

  const answer = (agentId: AgentId, found: Option.Option<typeof Row.Type>) =>
    Option.match(found, {
      onNone: () => Effect.fail(new NotFound({ detail: `There is no agent ${agentId}.` })),
      onSome: (agent) => Effect.succeed(standing(agent))
    })

  const get: AgentScopes["Service"]["get"] = Effect.fn("AgentScopes.get")(function* (agentId) {
    const found = yield* row(sql`
      select ${requestedScopesColumn(sql)}, a.claimed_at is not null as claimed from agents a where a.id = ${agentId}::uuid`)
    return yield* answer(agentId, found)
  })

  const add: AgentScopes["Service"]["add"] = Effect.fn("AgentScopes.add")(function* (agentId, change) {
    const added = scopeColumns(change.add)
    // One statement, in the order of the interface's list: of two changes at once neither is lost.
    const found = yield* row(sql`
      update agents a set requested_scopes = array(
          select known.scope from unnest(${column("text", allScopes)}) with ordinality as known (scope, place)
           where known.scope = any(a.requested_scopes) or known.scope = any(${column("text", added.requested_scopes)})
           order by known.place),
             makes_gateway_keys = ${sql.literal(makesKeys)} or ${added.makes_gateway_keys}
       where a.id = ${agentId}::uuid
      returning ${requestedScopesColumn(sql)}, a.claimed_at is not null as claimed`)
    return yield* answer(agentId, found)
  })

  return AgentScopes.of({ get, add })
})

export const layer = Layer.effect(AgentScopes, make)
