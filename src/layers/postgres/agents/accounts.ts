/** How accounts and sessions come about, whichever way an operator signed in. Joins the caller's transaction. */
import { DateTime, Effect, Option, Schema } from "effect"
import { SecureRandom } from "effect/crypto"
import { SqlClient } from "effect/sql"
import { DisposableAddress, EmailAddress, isOfDomains, mailboxOf } from "../../../services/domain/emails.ts"
import { OperatorId } from "../../../services/domain/ids.ts"
import type { NewSession } from "../../../services/Operators.ts"
import { Settings } from "../../../services/Settings.ts"
import { makeToken, sha256 } from "../../crypto/secrets.ts"
import { execute, findOption, timestamp } from "../sql.ts"

const AccountRow = Schema.Struct({ id: OperatorId, email: EmailAddress })

export const makeAccounts = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const random = yield* SecureRandom.SecureRandom
  const settings = yield* Settings
  const accountRow = findOption(AccountRow)

  /** The account of the mailbox of an address. */
  const find = (email: EmailAddress) =>
    accountRow(sql`select id::text, email from operators where mailbox = ${mailboxOf(email)}`)

  /** An account is entered by its own address alone. */
  const entered = (account: Option.Option<typeof AccountRow.Type>, email: EmailAddress) =>
    Option.map(
      Option.filter(account, (found) => found.email === email),
      (found) => found.id
    )

  /** Whether an account would be made for this address, if it were proved. */
  const mayBeNew = (email: EmailAddress) => !isOfDomains(email, settings.disposableDomains)

  /**
   * Where mail for an address goes: to the one that the account of its mailbox was made with. Not every host takes what
   * stands behind a `+` for a form of an address, and nobody else is to be let in by one.
   */
  const ownAddress = (email: EmailAddress) =>
    Effect.map(find(email), Option.match({ onNone: () => email, onSome: (account) => account.email }))

  /**
   * The operator of an address that has just been proved; made if new. None where another form of it has become that of an
   * account since it was mailed to.
   */
  const ofEmail = Effect.fnUntraced(function* (email: EmailAddress) {
    const known = yield* find(email)
    if (Option.isSome(known)) return entered(known, email)
    if (!mayBeNew(email)) return yield* DisposableAddress.of(email)
    const id = yield* random.uuidV7()
    const now = yield* DateTime.now
    yield* execute(sql`
      insert into operators (id, email, mailbox, created_at)
      values (${id}::uuid, ${email}, ${mailboxOf(email)}, ${timestamp(now)})
      on conflict do nothing`)
    // Of two first sign-ins at once, in whichever form of the address, one made it.
    return entered(yield* find(email), email)
  })

  const startSession = Effect.fnUntraced(function* (operatorId: OperatorId) {
    const secret = makeToken("session")
    const now = yield* DateTime.now
    const expiresAt = DateTime.addDuration(now, settings.sessionTtl)
    yield* execute(sql`
      insert into operator_sessions (secret_hash, operator_id, created_at, last_used_at, expires_at)
      values (${sha256(secret)}, ${operatorId}::uuid, ${timestamp(now)}, ${timestamp(now)}, ${timestamp(expiresAt)})`)
    const session: NewSession = { operatorId, secret, expiresAt }
    return session
  })

  return { find, mayBeNew, ofEmail, ownAddress, startSession }
})
