/** How accounts and sessions come about, whichever way an operator signed in. Joins the caller's transaction. */
import { DateTime, Effect, Schema } from "effect"
import { SecureRandom } from "effect/crypto"
import { SqlClient } from "effect/sql"
import type { EmailAddress } from "../../../services/emails.ts"
import { OperatorId } from "../../../services/identifiers.ts"
import type { NewSession } from "../../../services/Operators.ts"
import { Settings } from "../../../services/Settings.ts"
import { makeToken, sha256 } from "../../secrets.ts"
import { at, one, run } from "../query.ts"

const IdRow = Schema.Struct({ id: OperatorId })

export const makeAccounts = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const random = yield* SecureRandom.SecureRandom
  const settings = yield* Settings
  const idRow = one(IdRow)

  /** The operator of an address that has just been proved; made if new. */
  const ofEmail = Effect.fnUntraced(function* (email: EmailAddress) {
    const id = yield* random.uuidV7()
    const now = yield* DateTime.now
    // The update changes nothing: it makes the statement answer the row that is there.
    const row = yield* idRow(sql`
      insert into operators as o (id, email, created_at) values (${id}::uuid, ${email}, ${at(now)})
      on conflict on constraint operators_one_per_email do update set email = o.email
      returning o.id::text`)
    return row.id
  })

  const startSession = Effect.fnUntraced(function* (operatorId: OperatorId) {
    const secret = makeToken("session")
    const now = yield* DateTime.now
    const expiresAt = DateTime.addDuration(now, settings.sessionTtl)
    yield* run(sql`
      insert into operator_sessions (secret_hash, operator_id, created_at, last_used_at, expires_at)
      values (${sha256(secret)}, ${operatorId}::uuid, ${at(now)}, ${at(now)}, ${at(expiresAt)})`)
    const session: NewSession = { operatorId, secret, expiresAt }
    return session
  })

  return { ofEmail, startSession }
})
