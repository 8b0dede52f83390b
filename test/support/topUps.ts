/** Owners with agents and credit of their own. */
import { Context, DateTime, Effect, Layer, Schema } from "effect"
import { SqlClient } from "effect/sql"
import * as CreditsOnPostgres from "../../src/layers/postgres/credit/Credits.ts"
import { findOne } from "../../src/layers/postgres/sql.ts"
import { Credits } from "../../src/services/Credits.ts"
import type { OperatorId } from "../../src/services/domain/ids.ts"
import { provisionalAgent } from "./builders.ts"
import { fund } from "./ledger.ts"
import { anotherOperator } from "./operators.ts"
import { settings } from "./settings.ts"

/** Another replica's credit: the same database, nothing else in common. */
export const creditsReplica = Effect.map(
  Layer.build(Layer.fresh(CreditsOnPostgres.layer).pipe(Layer.provide(settings()))),
  (context) => Context.get(context, Credits)
)

/** An agent that this operator has claimed, without credit. */
export const agentOf = Effect.fnUntraced(function* (owner: OperatorId) {
  const sql = yield* SqlClient.SqlClient
  const agentId = yield* provisionalAgent()
  yield* sql`
    update agents
       set claimed_at = ${DateTime.toDateUtc(yield* DateTime.now)}, owner_id = ${owner}::uuid, prediction_limit = null
     where id = ${agentId}::uuid`
  return agentId
})

/** An owner of so many agents, with so many credits in its account. */
export const ownerOf = Effect.fnUntraced(function* (agents: number, amount: number) {
  const owner = yield* anotherOperator
  yield* fund(`owner:${owner}`, amount)
  return { owner, agents: yield* Effect.replicateEffect(agentOf(owner), agents) }
})

/** Gives the owner of an agent so many credits. */
export const fundOwnerOf = Effect.fnUntraced(function* (agentId: string, amount: number) {
  const sql = yield* SqlClient.SqlClient
  const { owner } = yield* findOne(Schema.Struct({ owner: Schema.String }))(
    sql`select owner_id::text as owner from agents where id = ${agentId}::uuid`
  )
  yield* fund(`owner:${owner}`, amount)
  return owner
})
