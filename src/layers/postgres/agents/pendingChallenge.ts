/** Tells an agent that its registration challenge comes first. */
import { Effect, Option, Schema } from "effect"
import { SqlClient } from "effect/sql"
import type { AgentId } from "../../../services/domain/ids.ts"
import { Settings } from "../../../services/Settings.ts"
import { findOption } from "../sql.ts"

const Pending = Schema.Struct({ id: Schema.String, attempts: Schema.Int, max_attempts: Schema.Int })

/** The URL that takes the answer to a registration challenge. */
export const submitUrl = (baseUrl: string, challengeId: string): string =>
  `${baseUrl}/api/v1/agent/challenge/${challengeId}/submit`

/** Says what the agent must do first: submit an answer, or register again. */
export const makeWhyPending = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const { baseUrl } = yield* Settings
  const pending = findOption(Pending)

  return Effect.fnUntraced(function* (agentId: AgentId) {
    const found = yield* pending(sql`
      select id::text, attempts, max_attempts from registration_challenges where agent_id = ${agentId}::uuid`)
    return Option.match(found, {
      onNone: () => "The registration challenge has not been passed yet.",
      onSome: ({ attempts, id, max_attempts }) =>
        attempts < max_attempts
          ? `The registration challenge has not been passed yet: submit an answer to ${submitUrl(baseUrl, id)} first.`
          : `All ${max_attempts} attempts at the registration challenge are used: register again.`
    })
  })
})
