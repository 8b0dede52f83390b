import { Effect, Layer, Option, Schema } from "effect"
import { SqlClient } from "effect/sql"
import { AgentCredentials } from "../../services/AgentCredentials.ts"
import { AgentId, isUuid } from "../../services/identifiers.ts"
import { Limits } from "../../services/Limits.ts"
import { InvalidClient } from "../../services/Tokens.ts"
import { sameHash, sha256 } from "../secrets.ts"
import { maybe } from "./query.ts"

const SecretRow = Schema.Struct({ id: AgentId, secret_hash: Schema.Uint8Array })

/** Compared with when the agent is unknown, so that both answers take the same work. */
const nobodysHash = sha256("nobody")

const make = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const limits = yield* Limits
  const secretRow = maybe(SecretRow)

  const verifySecret: AgentCredentials["Service"]["verifySecret"] = Effect.fn(
    "AgentCredentials.verifySecret"
  )(function* (presented) {
    yield* limits.check("token_failures", presented.address)
    const found = isUuid(presented.agentId)
      ? yield* secretRow(sql`select id::text, secret_hash from agents where id = ${presented.agentId}::uuid`)
      : Option.none()
    const hash = Option.match(found, { onNone: () => nobodysHash, onSome: (agent) => agent.secret_hash })
    const matches = sameHash(sha256(presented.clientSecret), hash)
    if (Option.isSome(found) && matches) return found.value.id
    yield* limits.take("token_failures", presented.address)
    const detail = "The agent is unknown or the client_secret is wrong."
    return yield* new InvalidClient({ detail, error_description: detail })
  })

  return AgentCredentials.of({ verifySecret })
})

export const layer = Layer.effect(AgentCredentials, make)
