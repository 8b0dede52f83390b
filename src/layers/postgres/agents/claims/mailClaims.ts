/** Claiming by one click in a mail: the link proves the address, so it needs no sign-in and no pairing code. */
import { DateTime, Effect, Option, Schema } from "effect"
import { SqlClient } from "effect/sql"
import { mailClaimPage, notMinePage, ClaimLinkEnded } from "../../../../services/Claims.ts"
import type { Claims, MailClaimView } from "../../../../services/Claims.ts"
import { EmailAddress, emailAddressOf, mailboxOf } from "../../../../services/emails.ts"
import type { AgentId } from "../../../../services/identifiers.ts"
import { RateLimiter } from "../../../../services/RateLimiter.ts"
import { Mailer } from "../../../../services/Mailer.ts"
import type { MailKind } from "../../../../services/Mailer.ts"
import { Settings } from "../../../../services/Settings.ts"
import { claimText } from "../../../mail/texts.ts"
import type { AboutAgent } from "../../../mail/texts.ts"
import { isToken, makeToken, sha256 } from "../../../crypto/secrets.ts"
import { makeAccounts } from "../operators/accounts.ts"
import { execute, findOption, orDie, timestamp, transaction } from "../../sql.ts"
import { agentOf, endOf, linkColumns, linkFields } from "./agentRows.ts"
import type { Ownership } from "./ownership.ts"
import { alreadyClaimed, noLink } from "./errors.ts"

const LinkRow = Schema.Struct({ ...linkFields, email: EmailAddress, declined: Schema.Boolean })

/** Whom a mail about an agent goes to, and what about. */
export interface Notice {
  readonly agentId: AgentId
  readonly agentName: string
  readonly provisionalUntil: DateTime.Utc
  readonly to: EmailAddress
  readonly kind: MailKind
  readonly text: (about: AboutAgent) => { readonly subject: string; readonly text: string }
}

const reasons: Record<ClaimLinkEnded["reason"], string> = {
  expired: "This link is too old: a newer mail has one that works, or ask the agent for its claim link.",
  replaced: "A newer mail has a link that took the place of this one.",
  declined: "You said that this is not your agent."
}

export const makeMailClaims = Effect.fnUntraced(function* ({ own }: Ownership) {
  const sql = yield* SqlClient.SqlClient
  const settings = yield* Settings
  const limits = yield* RateLimiter
  const mailer = yield* Mailer
  const accounts = yield* makeAccounts
  const linkRow = findOption(LinkRow)

  /**
   * The address that mails about an agent go to, if any may: that of the mailbox's account or else a real one that is not disposable, whose holder has not
   * declined, with room for another mail today. Counts that mail. Not within a transaction, which would hold the mailbox's window for its whole
   * length.
   */
  const recipient = Effect.fnUntraced(function* (
    contact: string | null,
    limit: "claim_mails" | "reminder_mails"
  ) {
    const address = emailAddressOf(contact ?? "")
    if (Option.isNone(address) || !accounts.mayBeNew(address.value)) return Option.none<EmailAddress>()
    const mailbox = mailboxOf(address.value)
    const declined = yield* sql`select 1 from declined_mailboxes where mailbox = ${mailbox}`.pipe(orDie)
    if (declined.length > 0) return Option.none<EmailAddress>()
    const room = yield* Effect.option(limits.consume(limit, mailbox))
    return Option.isSome(room) ? Option.some(yield* accounts.ownAddress(address.value)) : Option.none()
  })

  /** Mails a link that ends the ones before. Joins the caller's transaction. */
  const mailLink = Effect.fnUntraced(function* (notice: Notice) {
    const now = yield* DateTime.now
    const expiresAt = DateTime.addDuration(now, settings.claimLinkTtl)
    const token = makeToken("mailClaim")
    yield* execute(sql`
      update mail_claims set superseded_at = ${timestamp(now)}
       where agent_id = ${notice.agentId}::uuid and superseded_at is null and used_at is null`)
    yield* execute(sql`
      insert into mail_claims (token_hash, agent_id, email, created_at, expires_at)
      values (${sha256(token)}, ${notice.agentId}::uuid, ${notice.to}, ${timestamp(now)}, ${timestamp(expiresAt)})`)
    const notMine = settings.baseUrl + notMinePage(token)
    const text = notice.text({
      baseUrl: settings.baseUrl,
      agentName: notice.agentName,
      link: settings.baseUrl + mailClaimPage(token),
      expiresAt,
      provisionalUntil: notice.provisionalUntil,
      notMine
    })
    yield* mailer.enqueue({ kind: notice.kind, to: notice.to, ...text, unsubscribeUrl: notMine, expiresAt })
  })

  const inviteOperator: Claims["Service"]["inviteOperator"] = Effect.fn("Claims.inviteOperator")(
    function* (agent) {
      const to = yield* recipient(agent.contact, "claim_mails")
      if (Option.isNone(to)) return
      const notice: Notice = {
        agentId: agent.agentId,
        agentName: agent.name,
        provisionalUntil: agent.provisionalUntil,
        to: to.value,
        kind: "claim",
        text: claimText
      }
      yield* transaction(sql)(mailLink(notice))
    }
  )

  const find = Effect.fnUntraced(function* (token: string) {
    if (!isToken("mailClaim", token)) return yield* noLink()
    const found = yield* linkRow(sql`
      select ${linkColumns(sql)}, l.email, l.used_at is not null as declined
        from mail_claims l join agents a on a.id = l.agent_id
       where l.token_hash = ${sha256(token)}`)
    return yield* Option.match(found, { onNone: noLink, onSome: Effect.succeed })
  })

  const viewMailClaim: Claims["Service"]["viewMailClaim"] = Effect.fn("Claims.viewMailClaim")(
    function* (token) {
      const row = yield* find(token)
      const about = { agent: agentOf(row), email: row.email }
      const end = endOf(row, yield* DateTime.now)
      const view = (): MailClaimView => {
        if (end?.state === "claimed") return { ...end, ...about }
        // Used up without a claim is what "not mine" leaves.
        if (row.declined) return { state: "declined", ...about }
        return { ...(end ?? { state: "open", expiresAt: row.expires_at }), ...about }
      }
      return view()
    }
  )

  const claimByMail: Claims["Service"]["claimByMail"] = Effect.fn("Claims.claimByMail")(function* (token) {
    const view = yield* viewMailClaim(token)
    if (view.state === "claimed") return yield* alreadyClaimed()
    if (view.state !== "open") {
      return yield* new ClaimLinkEnded({ detail: reasons[view.state], reason: view.state })
    }
    const claimed = Effect.gen(function* () {
      const operatorId = yield* accounts.ofEmail(view.email)
      if (Option.isNone(operatorId)) {
        return yield* new ClaimLinkEnded({ detail: reasons.replaced, reason: "replaced" })
      }
      yield* own(view.agent.agentId, operatorId.value)
      const now = yield* DateTime.now
      const used = yield* sql`
        update mail_claims set used_at = ${timestamp(now)}
         where token_hash = ${sha256(token)} and superseded_at is null and used_at is null
        returning 1`
      if (used.length === 0) {
        return yield* new ClaimLinkEnded({ detail: reasons.replaced, reason: "replaced" })
      }
      return { agent: view.agent, session: yield* accounts.startSession(operatorId.value) }
    })
    return yield* transaction(sql)(claimed)
  })

  const notMine: Claims["Service"]["notMine"] = Effect.fn("Claims.notMine")(function* (token) {
    const { agent_id, email } = yield* find(token)
    const now = yield* DateTime.now
    const declined = Effect.gen(function* () {
      yield* execute(sql`
        insert into declined_mailboxes (mailbox, declined_at) values (${mailboxOf(email)}, ${timestamp(now)})
        on conflict do nothing`)
      yield* execute(sql`
        update mail_claims set used_at = ${timestamp(now)} where agent_id = ${agent_id}::uuid and used_at is null`)
    })
    yield* transaction(sql)(declined)
    return email
  })

  return { inviteOperator, viewMailClaim, claimByMail, notMine, recipient, mailLink }
})

export type MailClaims = Effect.Success<ReturnType<typeof makeMailClaims>>
