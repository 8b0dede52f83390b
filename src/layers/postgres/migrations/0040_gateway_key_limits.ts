import { Effect } from "effect"
import { SqlClient } from "effect/sql"

/** Who may make gateway keys, and how many of an agent's keys are live. */
export const gatewayKeyLimits = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient

  // Whether `llm:keys` was asked for. It stands here and not in `requested_scopes`, because instances of the version before
  // read no scope that they do not know. Null of agents that registered without knowing of it: they have it with
  // `prediction:submit`.
  yield* sql`alter table agents add column makes_gateway_keys boolean`

  // The live keys of an agent are counted when it gets another one.
  yield* sql`
    create index gateway_keys_live on gateway_keys (agent_id, expires_at) where revoked_at is null`
})
