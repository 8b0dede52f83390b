/** A new client_secret for an agent, as its owner or an administrator has it. */
import { DateTime, Effect, Option, Schema } from "effect"
import { SqlClient } from "effect/sql"
import type { Statement } from "effect/sql"
import { AgentId } from "../../services/identifiers.ts"
import type { GatewayKeysAtRotation, SecretRotation } from "../../services/Registry.ts"
import { makeClientSecret, sha256 } from "../crypto/secrets.ts"
import { findOption, orDie, timestamp, transaction } from "./sql.ts"

export const makeSecretRotation = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const agentRow = findOption(Schema.Struct({ id: AgentId }))

  /** The agent that this condition finds, if there is one. All its tokens end, and its live gateway keys if so asked. */
  return Effect.fnUntraced(function* (agent: Statement.Fragment, gatewayKeys: GatewayKeysAtRotation) {
    const secret = makeClientSecret()
    const now = yield* DateTime.now
    const rotated = Effect.gen(function* () {
      const found = yield* agentRow(sql`
        update agents set secret_hash = ${sha256(secret)}, key_set_at = ${timestamp(now)}, token_epoch = token_epoch + 1
         where ${agent} returning id::text`)
      if (Option.isNone(found)) return Option.none<SecretRotation>()
      const { id } = found.value
      // A statement of its own, which sees the key that was made while the first one waited for the agent.
      const revoked =
        gatewayKeys === "revoke"
          ? yield* sql`
              update gateway_keys set revoked_at = ${timestamp(now)}
               where agent_id = ${id}::uuid and revoked_at is null and (expires_at is null or expires_at > ${timestamp(now)})
              returning 1`
          : []
      return Option.some({ agent_id: id, client_secret: secret, revoked_gateway_keys: revoked.length })
    })
    return yield* transaction(sql)(orDie(rotated))
  })
})
