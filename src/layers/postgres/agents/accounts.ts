/** Creates accounts and sessions for every way of signing in, within the caller's transaction. */
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

  /** Finds the account that holds the mailbox of an address. */
  const find = (email: EmailAddress) =>
    accountRow(sql`select id::text, email from operators where mailbox = ${mailboxOf(email)}`)

  /** Only the account's own address signs in to it. */
  const entered = (account: Option.Option<typeof AccountRow.Type>, email: EmailAddress) =>
    Option.map(
      Option.filter(account, (found) => found.email === email),
      (found) => found.id
    )

  /** Only an address that is not disposable gets a new account. */
  const mayBeNew = (email: EmailAddress) => !isOfDomains(email, settings.disposableDomains)

  /**
   * Finds the address that mail goes to: the one the mailbox's account was made with. Not every host delivers `ada+x@` to `ada@`, so
   * another form must not sign in.
   */
  const ownAddress = (email: EmailAddress) =>
    Effect.map(find(email), Option.match({ onNone: () => email, onSome: (account) => account.email }))

  /**
   * Finds or makes the operator of an address that was just proved. It is none if an account was made meanwhile with another form of
   * the address.
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
    // A concurrent first sign-in, perhaps with another form of the address, made the account.
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
