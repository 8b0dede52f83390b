import { DateTime, Duration, Effect, Layer, Option, Schema } from "effect"
import { SecureRandom } from "effect/crypto"
import { SqlClient } from "effect/sql"
import { DisposableAddress, EmailAddress, mailboxOf } from "../../../services/emails.ts"
import { NotFound } from "../../../services/errors.ts"
import { SignInRefused } from "../../../services/IdentityProvider.ts"
import { isUuid, OperatorId } from "../../../services/identifiers.ts"
import { Operators } from "../../../services/Operators.ts"
import type { Operator } from "../../../services/Operators.ts"
import { Plan } from "../../../services/Owners.ts"
import { Settings } from "../../../services/Settings.ts"
import { isToken, sha256 } from "../../crypto/secrets.ts"
import { makeAccounts } from "./operators/accounts.ts"
import { makeOwnedAgents } from "./operators/ownedAgents.ts"
import { makeSignInLinks } from "./operators/signInLinks.ts"
import { execute, findOne, findOption, orDie, timestamp, transaction } from "../sql.ts"
import { makeSecretRotation } from "../secretRotation.ts"

/** A session's use is noted this often at most, so that a page view is rarely a write. */
const useNoted = Duration.minutes(1)
/** How long ended links are kept: one that is clicked late still says what became of it. */
const memory = Duration.days(7)

const instant = Schema.DateTimeUtcFromDate

const OperatorRow = Schema.Struct({ id: OperatorId, email: Schema.NullOr(EmailAddress), plan: Plan })
const AccountRow = Schema.Struct({
  ...OperatorRow.fields,
  available: Schema.BigInt,
  frozen: Schema.BigInt
})
const SessionRow = Schema.Struct({ ...OperatorRow.fields, last_used_at: instant })
const IdRow = Schema.Struct({ id: OperatorId })

const operatorOf = ({ id, email, plan }: typeof OperatorRow.Type): Operator => ({
  operatorId: id,
  email,
  plan
})

const make = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const settings = yield* Settings
  const random = yield* SecureRandom.SecureRandom
  const accounts = yield* makeAccounts
  const links = yield* makeSignInLinks
  const ownedAgents = yield* makeOwnedAgents
  const rotate = yield* makeSecretRotation
  const sessionRow = findOption(SessionRow)
  const accountRow = findOption(AccountRow)
  const identityRow = findOption(IdRow)
  const createdRow = findOne(IdRow)

  const accountOf = (issuer: string, subject: string) =>
    identityRow(sql`
      select operator_id::text as id from operator_identities where issuer = ${issuer} and subject = ${subject}`)

  /** Of two first sign-ins at once one makes the account: the other waits for it, and its own operator is not kept. */
  const createAccount = Effect.fnUntraced(function* (
    issuer: string,
    subject: string,
    email: EmailAddress | null
  ) {
    const id = yield* random.uuidV7()
    const now = yield* DateTime.now
    yield* execute(
      sql`select pg_advisory_xact_lock(hashtextextended(${JSON.stringify([issuer, subject])}, 0))`
    )
    const existing = yield* accountOf(issuer, subject)
    if (Option.isSome(existing)) return existing.value.id
    if (email !== null && !accounts.mayBeNew(email)) return yield* DisposableAddress.of(email)
    const made = yield* orDie(sql`
      insert into operators (id, email, mailbox, created_at)
      values (${id}::uuid, ${email}, ${email === null ? null : mailboxOf(email)}, ${timestamp(now)})
      on conflict do nothing returning 1`)
    // Never the account that holds it: only a link in a mail proves whose the mailbox is today.
    if (made.length === 0) {
      return yield* new SignInRefused({
        detail: "Another account has the mailbox of your address: sign in there by a mail to it."
      })
    }
    const created = yield* createdRow(sql`
      insert into operator_identities (issuer, subject, operator_id, created_at)
      values (${issuer}, ${subject}, ${id}::uuid, ${timestamp(now)})
      returning operator_id::text as id`)
    return created.id
  })

  const signInWithIdentity: Operators["Service"]["signInWithIdentity"] = Effect.fn(
    "Operators.signInWithIdentity"
  )(function* ({ issuer, subject, email }) {
    const known = yield* accountOf(issuer, subject)
    const operatorId = Option.isSome(known)
      ? known.value.id
      : yield* transaction(sql)(createAccount(issuer, subject, email))
    if (email !== null && accounts.mayBeNew(email)) {
      // A mailbox that another account has stays there.
      const mailbox = mailboxOf(email)
      yield* sql`
        update operators set email = ${email}, mailbox = ${mailbox}
         where id = ${operatorId}::uuid and email is null
           and not exists (select 1 from operators where email = ${email} or mailbox = ${mailbox})`.pipe(
        Effect.catchReason("SqlError", "UniqueViolation", () => Effect.void),
        orDie
      )
    }
    return yield* accounts.startSession(operatorId)
  })

  const session: Operators["Service"]["session"] = Effect.fn("Operators.session")(function* (secret) {
    if (!isToken("session", secret)) return Option.none()
    const now = yield* DateTime.now
    const found = yield* sessionRow(sql`
      select o.id::text, o.email, o.plan, s.last_used_at
        from operator_sessions s join operators o on o.id = s.operator_id
       where s.secret_hash = ${sha256(secret)} and s.expires_at > ${timestamp(now)}
         and s.last_used_at > ${timestamp(DateTime.subtractDuration(now, settings.sessionIdle))}`)
    if (Option.isNone(found)) return Option.none()
    if (DateTime.isLessThan(found.value.last_used_at, DateTime.subtractDuration(now, useNoted))) {
      yield* execute(sql`
        update operator_sessions set last_used_at = greatest(last_used_at, ${timestamp(now)})
         where secret_hash = ${sha256(secret)}`)
    }
    return Option.some(operatorOf(found.value))
  })

  const signOut: Operators["Service"]["signOut"] = Effect.fn("Operators.signOut")(function* (secret) {
    yield* execute(sql`delete from operator_sessions where secret_hash = ${sha256(secret)}`)
  })

  const account: Operators["Service"]["account"] = Effect.fn("Operators.account")(function* (operatorId) {
    const found = isUuid(operatorId)
      ? yield* accountRow(sql`
          select o.id::text, email, plan, a.posted - a.held as available, a.held as frozen
            from operators o join accounts a on a.id = 'owner:' || o.id
           where o.id = ${operatorId}::uuid`)
      : Option.none()
    if (Option.isNone(found)) return yield* new NotFound({ detail: "There is no such operator." })
    const { available, frozen } = found.value
    return {
      operator: operatorOf(found.value),
      credit: { available, frozen },
      agents: yield* ownedAgents(operatorId)
    }
  })

  const rotateSecret: Operators["Service"]["rotateSecret"] = Effect.fn("Operators.rotateSecret")(function* ({
    operatorId,
    agentId,
    gatewayKeys
  }) {
    const rotated =
      isUuid(agentId) && isUuid(operatorId)
        ? yield* rotate(sql`id = ${agentId}::uuid and owner_id = ${operatorId}::uuid`, gatewayKeys)
        : Option.none()
    // Somebody else's agent is as unknown as one that does not exist.
    if (Option.isNone(rotated)) {
      return yield* new NotFound({ detail: "You own no agent with this identifier." })
    }
    return rotated.value
  })

  const allowSpending: Operators["Service"]["allowSpending"] = Effect.fn("Operators.allowSpending")(
    function* ({ agentId, isAllowed, operatorId }) {
      const changed = isUuid(agentId)
        ? yield* sql`
            update agents set credit_arena_enabled = ${isAllowed}
             where id = ${agentId}::uuid and owner_id = ${operatorId}::uuid
            returning 1`.pipe(orDie)
        : []
      if (changed.length === 0)
        return yield* new NotFound({ detail: "You own no agent with this identifier." })
    }
  )

  const trim: Operators["Service"]["trim"] = Effect.gen(function* () {
    const now = yield* DateTime.now
    yield* links.trim(memory)
    yield* execute(sql`delete from operator_sessions where expires_at <= ${timestamp(now)}`)
  }).pipe(Effect.withSpan("Operators.trim"))

  return Operators.of({
    requestSignIn: links.requestSignIn,
    viewSignIn: links.viewSignIn,
    signIn: links.signIn,
    signInWithIdentity,
    session,
    signOut,
    account,
    rotateSecret,
    allowSpending,
    trim
  })
})

export const layer = Layer.effect(Operators, make)
