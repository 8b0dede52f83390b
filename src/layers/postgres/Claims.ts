import { DateTime, Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import { Claims } from "../../services/Claims.ts"
import { Settings } from "../../services/Settings.ts"
import { makeClaimToken, makePairingCode, pairingCodeHmac, sha256 } from "../secrets.ts"
import { at, run } from "./query.ts"

const make = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const settings = yield* Settings
  const hmac = pairingCodeHmac(settings.tokenSecret)

  const issueLink: Claims["Service"]["issueLink"] = Effect.fn("Claims.issueLink")(function* (agent) {
    const now = yield* DateTime.now
    const expiresAt = DateTime.addDuration(now, settings.claimLinkTtl)
    const token = makeClaimToken()
    const code = makePairingCode()
    yield* run(sql`
      update claim_links set superseded_at = ${at(now)}
       where agent_id = ${agent.agentId}::uuid and superseded_at is null and used_at is null`)
    yield* run(sql`
      insert into claim_links (token_hash, agent_id, code_hmac, created_at, expires_at)
      values (${sha256(token)}, ${agent.agentId}::uuid, ${hmac(code)}, ${at(now)}, ${at(expiresAt)})`)
    return {
      claim_url: `${settings.baseUrl}/claim/${token}`,
      pairing_code: code,
      provisional_until: DateTime.formatIso(agent.provisionalUntil),
      provisional_prediction_limit: agent.predictionLimit
    }
  })

  return Claims.of({ issueLink })
})

export const layer = Layer.effect(Claims, make)
