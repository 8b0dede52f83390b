import { DateTime, Duration, Effect, Layer, Option, Schema } from "effect"
import { SecureRandom } from "effect/crypto"
import { SqlClient } from "effect/sql"
import { DisposableAddress, EmailAddress, mailboxOf } from "../../../services/domain/emails.ts"
import { NotFound } from "../../../services/domain/errors.ts"
import {
  SignInRejected,
  Operators,
  Plan,
  signInPage,
  toAccount,
  ReturnTo,
  SignInLinkEnded,
  Owner
} from "../../../services/Operators.ts"
import { isUuid, OperatorId, AgentId } from "../../../services/domain/ids.ts"
import type { Operator, SignInView } from "../../../services/Operators.ts"
import { Settings } from "../../../services/Settings.ts"
import { isToken, sha256, makeToken } from "../../crypto/secrets.ts"
import { makeAccounts } from "./accounts.ts"
import {
  boundTime,
  execute,
  findOne,
  findOption,
  orDie,
  timestamp,
  transaction,
  findAll,
  isoTimestamp
} from "../sql.ts"
import { makeSecretRotation } from "./credentials.ts"
import { AuthMethod } from "../../../services/domain/credentials.ts"
import { statusAt } from "../../../services/domain/agentStatus.ts"
import { RateLimiter } from "../../../services/RateLimiter.ts"
import { Mailer } from "../../../services/Mailer.ts"
import { textsOf } from "../../mail/language.ts"
import { encryption } from "../../crypto/encryption.ts"

/** A session's use is stored at most this often, so that few page views write. */
const useNotedEvery = Duration.minutes(1)
/** Ended links are kept this long, so that a late click is told the reason. */
const retention = Duration.days(7)

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

const AgentRow = Schema.Struct({
  id: AgentId,
  name: Schema.String,
  auth_method: AuthMethod,
  model_provider: Schema.NullOr(Schema.String),
  model_name: Schema.NullOr(Schema.String),
  created_at: instant,
  claimed_at: instant,
  challenge_passed_at: Schema.NullOr(instant),
  provisional_until: instant,
  suspended_at: Schema.NullOr(instant),
  available: Schema.BigInt,
  frozen: Schema.BigInt,
  credit_arena_enabled: Schema.Boolean
})

const LinkRow = Schema.Struct({
  email: EmailAddress,
  return_to: Schema.Uint8Array,
  expires_at: instant,
  superseded_at: Schema.NullOr(instant),
  used_at: Schema.NullOr(instant)
})

const UsedRow = Schema.Struct({ email: EmailAddress, return_to: Schema.Uint8Array })

const unknownLink = () => new NotFound({ detail: "There is no such sign-in link." })

const reasons: Record<SignInLinkEnded["reason"], string> = {
  expired: "This sign-in link is too old",
  replaced: "A newer sign-in link took the place of this one",
  used: "This sign-in link has been used"
}

const ended = (reason: SignInLinkEnded["reason"]) =>
  new SignInLinkEnded({ detail: `${reasons[reason]}: ask for a new one.`, reason })

const { agents: _, ...ownFields } = Owner.fields
const OwnerRow = Schema.Struct(ownFields)

const make = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const settings = yield* Settings
  const random = yield* SecureRandom.SecureRandom
  const accounts = yield* makeAccounts
  const limits = yield* RateLimiter
  const mailer = yield* Mailer
  const rotate = yield* makeSecretRotation
  const sessionRow = findOption(SessionRow)
  const accountRow = findOption(AccountRow)
  const identityRow = findOption(IdRow)
  const createdRow = findOne(IdRow)
  const agentRows = findAll(AgentRow)
  const linkRow = findOption(LinkRow)
  const usedRow = findOption(UsedRow)
  const ownerRow = findOption(OwnerRow)
  const { decrypt, encrypt } = encryption(settings.tokenSecret, "return path")
  const decodeReturnTo = Schema.decodeUnknownOption(ReturnTo)

  const returnToOf = (encrypted: Uint8Array): ReturnTo =>
    Option.getOrElse(Option.flatMap(decrypt(encrypted), decodeReturnTo), () => toAccount)

  const requestSignIn: Operators["Service"]["requestSignIn"] = Effect.fn("Operators.requestSignIn")(
    function* ({ email, returnTo, address }) {
      yield* limits.consume("sign_ins", address)
      if (!accounts.mayBeNew(email) && Option.isNone(yield* accounts.find(email))) {
        return yield* DisposableAddress.of(email)
      }
      yield* limits.consume("sign_in_mails", mailboxOf(email))
      const to = yield* accounts.ownAddress(email)
      const now = yield* DateTime.now
      const expiresAt = DateTime.addDuration(now, settings.signInLinkTtl)
      const token = makeToken("signIn")
      yield* transaction(sql)(
        Effect.gen(function* () {
          // Concurrent requests take turns, or each would leave a live link.
          yield* execute(sql`select pg_advisory_xact_lock(hashtextextended(${`sign in ${to}`}, 0))`)
          yield* execute(sql`
              update sign_in_links set superseded_at = ${timestamp(now)}
               where email = ${to} and superseded_at is null and used_at is null`)
          yield* execute(sql`
              insert into sign_in_links (token_hash, email, return_to, created_at, expires_at)
              values (${sha256(token)}, ${to}, ${encrypt(returnTo)}, ${timestamp(now)}, ${timestamp(expiresAt)})`)
          yield* mailer.enqueue({
            kind: "sign_in",
            to,
            ...textsOf(settings.site).signIn({
              baseUrl: settings.baseUrl,
              link: settings.baseUrl + signInPage(token),
              expiresAt
            }),
            expiresAt
          })
        })
      )
    }
  )

  const viewSignIn: Operators["Service"]["viewSignIn"] = Effect.fn("Operators.viewSignIn")(function* (token) {
    if (!isToken("signIn", token)) return yield* unknownLink()
    const found = yield* linkRow(sql`
      select email, return_to, expires_at, superseded_at, used_at
        from sign_in_links where token_hash = ${sha256(token)}`)
    if (Option.isNone(found)) return yield* unknownLink()
    const { email, return_to, expires_at, superseded_at, used_at } = found.value
    const view = (state: "expired" | "replaced" | "used"): SignInView => ({ state })
    if (used_at !== null) return view("used")
    if (superseded_at !== null) return view("replaced")
    if (DateTime.isGreaterThanOrEqualTo(yield* DateTime.now, expires_at)) return view("expired")
    return { state: "open", email, returnTo: returnToOf(return_to) }
  })

  const signIn: Operators["Service"]["signIn"] = Effect.fn("Operators.signIn")(function* (token) {
    const now = yield* DateTime.now
    const used = Effect.gen(function* () {
      // One statement, so that only one of two concurrent clicks signs in.
      const link = yield* usedRow(sql`
        update sign_in_links set used_at = ${timestamp(now)}
         where token_hash = ${sha256(token)} and used_at is null and superseded_at is null and expires_at > ${timestamp(now)}
        returning email, return_to`)
      if (Option.isNone(link)) return Option.none()
      const operatorId = yield* accounts.ofEmail(link.value.email)
      if (Option.isNone(operatorId)) return yield* ended("replaced")
      const session = yield* accounts.startSession(operatorId.value)
      return Option.some({ session, returnTo: returnToOf(link.value.return_to) })
    })
    const signedIn = yield* transaction(sql)(used)
    if (Option.isSome(signedIn)) return signedIn.value
    const { state } = yield* viewSignIn(token)
    // A link that reads as open here was ended after the statement above.
    return yield* ended(state === "open" ? "expired" : state)
  })

  const accountOf = (issuer: string, subject: string) =>
    identityRow(sql`
      select operator_id::text as id from operator_identities where issuer = ${issuer} and subject = ${subject}`)

  /** One of two concurrent first sign-ins makes the account; the other waits for it and discards its own. */
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
    // The account that holds the mailbox does not sign in here: only a link in a mail proves its present holder.
    if (made.length === 0) {
      return yield* new SignInRejected({
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
      // If the mailbox belongs to another account, it stays with that account.
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
    if (DateTime.isLessThan(found.value.last_used_at, DateTime.subtractDuration(now, useNotedEvery))) {
      yield* execute(sql`
        update operator_sessions set last_used_at = greatest(last_used_at, ${timestamp(now)})
         where secret_hash = ${sha256(secret)}`)
    }
    return Option.some(operatorOf(found.value))
  })

  const signOut: Operators["Service"]["signOut"] = Effect.fn("Operators.signOut")(function* (secret) {
    yield* execute(sql`delete from operator_sessions where secret_hash = ${sha256(secret)}`)
  })

  /** All agents of an owner, claimed last first; their number is limited. */
  const ownedAgents = Effect.fnUntraced(function* (ownerId: string) {
    const now = yield* DateTime.now
    const agents = yield* agentRows(sql`
    select o.id::text, name, auth_method, model_provider, model_name, created_at, claimed_at, challenge_passed_at,
           provisional_until, suspended_at, a.posted - a.held as available, a.held as frozen,
           credit_arena_enabled
      from agents o join accounts a on a.id = 'agent:' || o.id
     where o.owner_id = ${ownerId}::uuid
     order by claimed_at desc, o.id`)
    return agents.map((agent) => ({
      agentId: agent.id,
      name: agent.name,
      status: statusAt(agent, now),
      authMethod: agent.auth_method,
      modelProvider: agent.model_provider,
      modelName: agent.model_name,
      createdAt: agent.created_at,
      claimedAt: agent.claimed_at,
      credit: { available: agent.available, frozen: agent.frozen },
      creditArenaEnabled: agent.credit_arena_enabled
    }))
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
    // Another owner's agent is answered as unknown.
    if (Option.isNone(rotated)) {
      return yield* NotFound.notOwned()
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
      if (changed.length === 0) return yield* NotFound.notOwned()
    }
  )

  const noOwner = (id: string) => NotFound.of("owner", id)

  const owner: Operators["Service"]["owner"] = Effect.fn("Operators.owner")(function* (ownerId) {
    if (!isUuid(ownerId)) return yield* noOwner(ownerId)
    const found = yield* ownerRow(sql`
      select id::text as owner_id, plan, email, ${isoTimestamp(sql, "created_at")} as created_at
        from operators where id = ${ownerId}::uuid`)
    if (Option.isNone(found)) return yield* noOwner(ownerId)
    const agents = yield* ownedAgents(ownerId)
    return {
      ...found.value,
      agents: agents.map(({ agentId, name, status, claimedAt }) => ({
        agent_id: agentId,
        name,
        status,
        claimed_at: DateTime.formatIso(claimedAt)
      }))
    }
  })

  const changeOwner: Operators["Service"]["changeOwner"] = Effect.fn("Operators.changeOwner")(function* (
    ownerId,
    { plan }
  ) {
    if (!isUuid(ownerId)) return yield* noOwner(ownerId)
    const changed = yield* sql`
      update operators set plan = ${plan} where id = ${ownerId}::uuid returning 1`.pipe(orDie)
    return changed.length === 0 ? yield* noOwner(ownerId) : yield* owner(ownerId)
  })

  const trim: Operators["Service"]["trim"] = Effect.gen(function* () {
    const now = yield* DateTime.now
    yield* execute(sql`delete from sign_in_links where expires_at < ${boundTime(sql, now, retention)}`)
    yield* execute(sql`delete from operator_sessions where expires_at <= ${boundTime(sql, now)}`)
  }).pipe(Effect.withSpan("Operators.trim"))

  return Operators.of({
    requestSignIn,
    viewSignIn,
    signIn,
    signInWithIdentity,
    session,
    signOut,
    account,
    rotateSecret,
    allowSpending,
    owner,
    changeOwner,
    trim
  })
})

export const layer = Layer.effect(Operators, make)
