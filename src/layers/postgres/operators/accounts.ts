/** How accounts and sessions come about, whichever way an operator signed in. Joins the caller's transaction. */
import { DateTime, Effect, Option, Schema } from "effect"
import { SecureRandom } from "effect/crypto"
import { SqlClient } from "effect/sql"
import { DisposableAddress, isOfDomains, mailboxOf } from "../../../services/emails.ts"
import type { EmailAddress } from "../../../services/emails.ts"
import { OperatorId } from "../../../services/identifiers.ts"
import type { NewSession } from "../../../services/Operators.ts"
import { Settings } from "../../../services/Settings.ts"
import { makeToken, sha256 } from "../../secrets.ts"
import { at, maybe, run, transaction } from "../query.ts"

const AccountRow = Schema.Struct({ id: OperatorId, holds_mailbox: Schema.Boolean })

export const makeAccounts = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const random = yield* SecureRandom.SecureRandom
  const settings = yield* Settings
  const accountRow = maybe(AccountRow)

  /** The account of an address: the one that has it exactly, else the one that holds its mailbox. */
  const find = (email: EmailAddress) =>
    accountRow(sql`
      select id::text, mailbox is not null as holds_mailbox
        from operators where email = ${email} or mailbox = ${mailboxOf(email)}
       order by (email = ${email}) desc limit 1`)

  /** Gives an account its mailbox, unless another one holds it. */
  const takeMailbox = (id: OperatorId, mailbox: string) =>
    sql`
      update operators set mailbox = ${mailbox}
       where id = ${id}::uuid and mailbox is null
         and not exists (select from operators where mailbox = ${mailbox})`.pipe(
      Effect.catchReason("SqlError", "UniqueViolation", () => Effect.fail("held" as const)),
      transaction(sql),
      Effect.ignore
    )

  /** Whether an account would be made for this address, if it were proved. */
  const mayBeNew = (email: EmailAddress) => !isOfDomains(email, settings.disposableDomains)

  /** The operator of an address that has just been proved; made if new. */
  const ofEmail = Effect.fnUntraced(function* (email: EmailAddress) {
    const mailbox = mailboxOf(email)
    const known = yield* find(email)
    if (Option.isSome(known)) {
      if (!known.value.holds_mailbox) yield* takeMailbox(known.value.id, mailbox)
      return known.value.id
    }
    if (!mayBeNew(email)) return yield* DisposableAddress.of(email)
    const id = yield* random.uuidV7()
    const now = yield* DateTime.now
    yield* run(sql`
      insert into operators (id, email, mailbox, created_at)
      values (${id}::uuid, ${email}, ${mailbox}, ${at(now)})
      on conflict do nothing`)
    // Of two first sign-ins at once, in whichever form of the address, one made it.
    return (yield* Effect.orDie(Effect.flatMap(find(email), Effect.fromOption))).id
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

  return { find, mayBeNew, ofEmail, startSession }
})
