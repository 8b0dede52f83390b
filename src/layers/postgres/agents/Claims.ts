/** Implements claims by a link and its pairing code, claims by one click in a mail, and the end of grace windows. */
import { Effect, Layer, DateTime, Option, Schema, Duration, Metric } from "effect"
import {
  Claims,
  claimPage,
  ClaimLinkEnded,
  ClaimLocked,
  NotClaimableYet,
  WrongPairingCode,
  mailClaimPage,
  notMinePage
} from "../../../services/Claims.ts"
import {
  makeOwnership,
  agentOf,
  endOf,
  linkColumns,
  linkFields,
  alreadyClaimed,
  noLink
} from "./ownership.ts"
import { SqlClient } from "effect/sql"
import type { ClaimView, MailClaimView, GraceReport } from "../../../services/Claims.ts"
import { AgentId } from "../../../services/domain/ids.ts"
import { Timestamp } from "../../../services/domain/text.ts"
import { RateLimiter } from "../../../services/RateLimiter.ts"
import { Settings } from "../../../services/Settings.ts"
import {
  isToken,
  makePairingCode,
  makeToken,
  pairingCodeHmac,
  sameHash,
  sha256
} from "../../crypto/secrets.ts"
import {
  boundNow,
  execute,
  findAll,
  findOne,
  findOption,
  whenGiven,
  isoTimestamp,
  orDie,
  timestamp,
  transaction
} from "../sql.ts"
import type { Ownership } from "./ownership.ts"
import { EmailAddress, emailAddressOf, mailboxOf } from "../../../services/domain/emails.ts"
import { Mailer } from "../../../services/Mailer.ts"
import type { MailKind } from "../../../services/Mailer.ts"
import { textsOf } from "../../mail/language.ts"
import type { AboutAgent, MailTexts, Text } from "../../mail/texts.ts"
import { makeAccounts } from "./accounts.ts"
import { makeWhyPending } from "./pendingChallenge.ts"

const LinkRow = Schema.Struct({ ...linkFields, wrong_codes: Schema.Int })
const Try = Schema.Struct({ agent_id: AgentId, code_hmac: Schema.Uint8Array, wrong_codes: Schema.Int })
const RefreshedRow = Schema.Struct({
  provisional_until: Schema.DateTimeUtcFromDate,
  prediction_limit: Schema.NullOr(Schema.Int),
  passed: Schema.Boolean,
  claimed: Schema.Boolean
})

const ended = (reason: "expired" | "replaced") =>
  new ClaimLinkEnded({
    detail:
      reason === "expired"
        ? "This claim link is too old: the agent can make a new one with claim-link/refresh."
        : "The agent has made a newer claim link: this one no longer works.",
    reason
  })

const locked = () =>
  new ClaimLocked({
    detail: "Too many wrong pairing codes: the agent can make a new link and code with claim-link/refresh."
  })

/** The claim link and its pairing code. */
const makeClaimLinks = Effect.fnUntraced(function* ({ own }: Ownership) {
  const sql = yield* SqlClient.SqlClient
  const settings = yield* Settings
  const limits = yield* RateLimiter
  const hmac = pairingCodeHmac(settings.tokenSecret)
  const linkRow = findOption(LinkRow)
  const tryRow = findOption(Try)
  const refreshedRow = findOption(RefreshedRow)
  const statusRow = findOne(Schema.Struct({ claimed_at: Schema.NullOr(Timestamp) }))
  const whyPending = yield* makeWhyPending

  const issueLink: Claims["Service"]["issueLink"] = Effect.fn("Claims.issueLink")(function* (agent) {
    const now = yield* DateTime.now
    const expiresAt = DateTime.addDuration(now, settings.claimLinkTtl)
    const token = makeToken("claimLink")
    const code = makePairingCode()
    yield* execute(sql`
      update claim_links set superseded_at = ${timestamp(now)}
       where agent_id = ${agent.agentId}::uuid and superseded_at is null and used_at is null`)
    yield* execute(sql`
      insert into claim_links (token_hash, agent_id, code_hmac, created_at, expires_at)
      values (${sha256(token)}, ${agent.agentId}::uuid, ${hmac(code)}, ${timestamp(now)}, ${timestamp(expiresAt)})`)
    return {
      claim_url: settings.baseUrl + claimPage(token),
      pairing_code: code,
      provisional_until: DateTime.formatIso(agent.provisionalUntil),
      provisional_prediction_limit: agent.predictionLimit
    }
  })

  const refresh: Claims["Service"]["refresh"] = Effect.fn("Claims.refresh")(function* (agentId) {
    yield* limits.consume("claim_refresh", agentId)
    const refreshed = Effect.gen(function* () {
      // Locked until the new link exists, against a concurrent claim or refresh.
      const found = yield* refreshedRow(sql`
        select provisional_until, prediction_limit, challenge_passed_at is not null as passed,
               claimed_at is not null as claimed
          from agents where id = ${agentId}::uuid
           for no key update`)
      if (Option.exists(found, ({ claimed }) => claimed)) return yield* alreadyClaimed()
      if (!Option.exists(found, ({ passed }) => passed)) {
        return yield* new NotClaimableYet({ detail: yield* whyPending(agentId) })
      }
      const { provisional_until, prediction_limit } = yield* Effect.orDie(Effect.fromOption(found))
      return yield* issueLink({
        agentId,
        provisionalUntil: provisional_until,
        predictionLimit: prediction_limit ?? 0
      })
    })
    return yield* transaction(sql)(refreshed)
  })

  const find = Effect.fnUntraced(function* (token: string) {
    if (!isToken("claimLink", token)) return yield* noLink()
    const found = yield* linkRow(sql`
      select ${linkColumns(sql)}, l.wrong_codes
        from claim_links l join agents a on a.id = l.agent_id
       where l.token_hash = ${sha256(token)}`)
    return yield* Option.match(found, { onNone: noLink, onSome: Effect.succeed })
  })

  const viewOf = (row: typeof LinkRow.Type, now: DateTime.Utc): ClaimView => {
    const agent = agentOf(row)
    const end = endOf(row, now)
    if (end !== undefined) return { ...end, agent }
    const triesLeft = Math.max(0, settings.pairingCodeTries - row.wrong_codes)
    return triesLeft === 0
      ? { state: "locked", agent }
      : { state: "open", triesLeft, expiresAt: row.expires_at, agent }
  }

  const view: Claims["Service"]["view"] = Effect.fn("Claims.view")(function* (token) {
    return viewOf(yield* find(token), yield* DateTime.now)
  })

  /** Counts one try if the link has one left. The update's condition decides, also for concurrent tries. */
  const takeTry = Effect.fnUntraced(function* (token: string) {
    const now = yield* DateTime.now
    return yield* tryRow(sql`
      update claim_links l set wrong_codes = l.wrong_codes + 1
        from agents a
       where l.token_hash = ${sha256(token)} and a.id = l.agent_id and a.claimed_at is null
         and l.superseded_at is null and l.used_at is null and l.expires_at > ${timestamp(now)}
         and l.wrong_codes < ${settings.pairingCodeTries}
      returning l.agent_id::text, l.code_hmac, l.wrong_codes`)
  })

  /** Names the reason that no try could be counted. */
  const rejectTry = Effect.fnUntraced(function* (token: string) {
    const { state } = yield* view(token)
    switch (state) {
      case "claimed":
        return yield* alreadyClaimed()
      case "expired":
      case "replaced":
        return yield* ended(state)
      case "locked":
      case "open":
        // A link that reads as open here was claimed by a concurrent try.
        return yield* locked()
    }
  })

  const claimWithCode: Claims["Service"]["claimWithCode"] = Effect.fn("Claims.claimWithCode")(function* ({
    token,
    pairingCode,
    operatorId
  }) {
    const { agent } = yield* view(token)
    const taken = yield* takeTry(token)
    if (Option.isNone(taken)) return yield* rejectTry(token)
    if (!sameHash(hmac(pairingCode), taken.value.code_hmac)) {
      const left = settings.pairingCodeTries - taken.value.wrong_codes
      if (left <= 0) return yield* locked()
      return yield* new WrongPairingCode({
        detail: `This is not the pairing code of this link: ${left} of ${settings.pairingCodeTries} tries are left.`,
        tries_left: left
      })
    }
    const claimed = Effect.gen(function* () {
      yield* own(taken.value.agent_id, operatorId)
      const now = yield* DateTime.now
      const used = yield* sql`
          update claim_links set used_at = ${timestamp(now)}, wrong_codes = wrong_codes - 1
           where token_hash = ${sha256(token)} and superseded_at is null and used_at is null
          returning 1`
      if (used.length === 0) return yield* ended("replaced")
      return agent
    })
    return yield* transaction(sql)(claimed).pipe(
      // The code was right, so another obstacle costs no try.
      Effect.onError(() => Effect.ignoreCause(returnTry(token)))
    )
  })

  const returnTry = (token: string) =>
    sql`update claim_links set wrong_codes = wrong_codes - 1 where token_hash = ${sha256(token)}`.pipe(orDie)

  const status: Claims["Service"]["status"] = Effect.fn("Claims.status")(function* (agentId) {
    const { claimed_at } = yield* statusRow(
      sql`select ${isoTimestamp(sql, "claimed_at")} as claimed_at from agents where id = ${agentId}::uuid`
    )
    return { claimed: claimed_at !== null, claimed_at }
  })

  return { issueLink, refresh, status, view, claimWithCode }
})

const MailLinkRow = Schema.Struct({ ...linkFields, email: EmailAddress, declined: Schema.Boolean })

/** The recipient and the subject of a mail about an agent. */
interface Notice {
  readonly agentId: AgentId
  readonly agentName: string
  readonly provisionalUntil: DateTime.Utc
  readonly to: EmailAddress
  readonly kind: MailKind
  readonly text: (about: AboutAgent) => { readonly subject: string; readonly text: string }
}

const mailLinkReasons: Record<ClaimLinkEnded["reason"], string> = {
  expired: "This link is too old: a newer mail has one that works, or ask the agent for its claim link.",
  replaced: "A newer mail has a link that took the place of this one.",
  declined: "You said that this is not your agent."
}

/** Claims by one click in a mail: the link proves the address, so it needs no sign-in and no pairing code. */
const makeMailClaims = Effect.fnUntraced(function* ({ own }: Ownership) {
  const sql = yield* SqlClient.SqlClient
  const settings = yield* Settings
  const limits = yield* RateLimiter
  const mailer = yield* Mailer
  const accounts = yield* makeAccounts
  const linkRow = findOption(MailLinkRow)

  /**
   * Finds the address for mails about an agent: the one of the mailbox's account, or any that is not disposable. There is none if the
   * holder declined or the day's limit is reached; otherwise the mail is counted. It must not run within a transaction, which would
   * lock the mailbox's window until its end.
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

  /** Mails a new link, which ends the earlier ones, within the caller's transaction. */
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
        text: textsOf(settings.site).claim
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
        // A link used without a claim was declined.
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
      return yield* new ClaimLinkEnded({ detail: mailLinkReasons[view.state], reason: view.state })
    }
    const claimed = Effect.gen(function* () {
      const operatorId = yield* accounts.ofEmail(view.email)
      if (Option.isNone(operatorId)) {
        return yield* new ClaimLinkEnded({ detail: mailLinkReasons.replaced, reason: "replaced" })
      }
      yield* own(view.agent.agentId, operatorId.value)
      const now = yield* DateTime.now
      const used = yield* sql`
        update mail_claims set used_at = ${timestamp(now)}
         where token_hash = ${sha256(token)} and superseded_at is null and used_at is null
        returning 1`
      if (used.length === 0) {
        return yield* new ClaimLinkEnded({ detail: mailLinkReasons.replaced, reason: "replaced" })
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

type MailClaims = Effect.Success<ReturnType<typeof makeMailClaims>>

interface NoticeKind {
  /** The value of `agents.grace_notices` after this notice; the first is 1. */
  readonly number: number
  readonly lead: Duration.Duration
  readonly kind: MailKind
  readonly text: (texts: MailTexts) => (about: AboutAgent) => Text
}

const twoDays: NoticeKind = {
  number: 1,
  lead: Duration.days(2),
  kind: "grace_reminder",
  text: (texts) => (about) => texts.reminder({ ...about, daysLeft: 2 })
}
const oneDay: NoticeKind = {
  number: 2,
  lead: Duration.days(1),
  kind: "grace_reminder",
  text: (texts) => (about) => texts.reminder({ ...about, daysLeft: 1 })
}
const paused: NoticeKind = {
  number: 3,
  lead: Duration.zero,
  kind: "issuance_paused",
  text: (texts) => texts.paused
}

/** Each notice with the next one, which replaces it once due. */
const notices = [
  [twoDays, oneDay],
  [oneDay, paused],
  [paused, undefined]
] as const

const quietBatch = 5000
const mailBatch = 100

const DueRow = Schema.Struct({
  id: AgentId,
  name: Schema.String,
  operator_contact: Schema.NullOr(Schema.String),
  provisional_until: Schema.DateTimeUtcFromDate
})
type Due = typeof DueRow.Type

const pauses = Metric.counter("issuance_paused_total", {
  description: "Agents whose grace window ended unclaimed, so that their token issuance paused",
  incremental: true
})

/**
 * Handles the end of grace windows. Issuance pauses by the clock, whether this job runs or not. The job records the pause, and mails
 * the operator two days before, one day before, and at the end. A missed notice is not sent late.
 */
const makeGraceNotices = Effect.fnUntraced(function* (mails: MailClaims) {
  const sql = yield* SqlClient.SqlClient
  const { site } = yield* Settings
  const dueRows = findAll(DueRow)

  // The condition equals that of the partial index.
  const isDue = (notice: NoticeKind, next: NoticeKind | undefined, now: DateTime.Utc) => sql`
    a.claimed_at is null and a.challenge_passed_at is not null and a.grace_notices < 3
    and a.grace_notices = any(${Array.from({ length: notice.number }, (_, index) => index)}::int[])
    and a.provisional_until <= ${timestamp(DateTime.addDuration(now, notice.lead))}
    ${whenGiven(sql, next, (value) => sql`and a.provisional_until > ${timestamp(DateTime.addDuration(now, value.lead))}`)}`

  /** A notice is mailed if there is a recipient and news: the claim mail already covers the time before the agent passed. */
  const isToBeMailed = (notice: NoticeKind) => sql`(
    coalesce(strpos(a.operator_contact, '@'), 0) > 0
    and a.provisional_until - make_interval(secs => ${Duration.toSeconds(notice.lead)}) > a.challenge_passed_at)`

  const given = (notice: NoticeKind, now: DateTime.Utc) =>
    notice === paused
      ? sql`grace_notices = ${notice.number}, issuance_paused_at = ${timestamp(now)}`
      : sql`grace_notices = ${notice.number}`

  /** Records a notice of agents whose operators get no mail; returns their number. */
  const recordQuietly = Effect.fnUntraced(function* (
    notice: NoticeKind,
    next: NoticeKind | undefined,
    now: DateTime.Utc
  ) {
    let recorded = 0
    let rows: ReadonlyArray<unknown>
    do {
      rows = yield* sql`
        with due as (
          select a.id from agents a
           where ${isDue(notice, next, now)} and not ${isToBeMailed(notice)}
           order by a.provisional_until, a.id
           limit ${quietBatch}
             for no key update skip locked
        )
        update agents a set ${given(notice, now)} from due where a.id = due.id
        returning 1`.pipe(orDie)
      recorded += rows.length
    } while (rows.length === quietBatch)
    return recorded
  })

  /** Records a notice and mails it, both or neither. An operator who declined, or reached the day's limit, gets no mail. */
  const notify = Effect.fnUntraced(function* (notice: NoticeKind, agent: Due, now: DateTime.Utc) {
    const to = yield* mails.recipient(agent.operator_contact, "reminder_mails")
    return yield* transaction(sql)(
      Effect.gen(function* () {
        const recorded = yield* sql`
            update agents set ${given(notice, now)}
             where id = ${agent.id}::uuid and claimed_at is null and grace_notices < ${notice.number}
            returning 1`
        if (recorded.length === 0) return { recorded: 0, mailed: 0 }
        if (Option.isNone(to)) return { recorded: 1, mailed: 0 }
        yield* mails.mailLink({
          agentId: agent.id,
          agentName: agent.name,
          provisionalUntil: agent.provisional_until,
          to: to.value,
          kind: notice.kind,
          text: notice.text(textsOf(site))
        })
        return { recorded: 1, mailed: 1 }
      })
    )
  })

  const notifyAll = Effect.fnUntraced(function* (
    notice: NoticeKind,
    next: NoticeKind | undefined,
    now: DateTime.Utc
  ) {
    const sent = { recorded: 0, mailed: 0 }
    let agents: ReadonlyArray<Due>
    do {
      const rows = yield* dueRows(sql`
        select a.id::text, a.name, a.operator_contact, a.provisional_until
          from agents a
         where ${isDue(notice, next, now)} and ${isToBeMailed(notice)}
         order by a.provisional_until, a.id
         limit ${mailBatch}`)
      agents = rows
      for (const agent of rows) {
        const { recorded, mailed } = yield* notify(notice, agent, now)
        sent.recorded += recorded
        sent.mailed += mailed
      }
    } while (agents.length === mailBatch)
    return sent
  })

  const remindDue: Claims["Service"]["remindDue"] = Effect.gen(function* () {
    const now = yield* boundNow(sql)
    const report = { reminded: 0, paused: 0 }
    for (const [notice, next] of notices) {
      const quiet = yield* recordQuietly(notice, next, now)
      const sent = yield* notifyAll(notice, next, now)
      report.reminded += sent.mailed
      if (notice === paused) report.paused += quiet + sent.recorded
    }
    if (report.paused > 0) {
      yield* Metric.update(pauses, report.paused)
      yield* Effect.logInfo("grace windows have ended").pipe(Effect.annotateLogs({ agents: report.paused }))
    }
    const found: GraceReport = report
    return found
  }).pipe(Effect.withSpan("Claims.remindDue"))

  return { remindDue }
})

const make = Effect.gen(function* () {
  const ownership = yield* makeOwnership
  const links = yield* makeClaimLinks(ownership)
  const mails = yield* makeMailClaims(ownership)
  const { remindDue } = yield* makeGraceNotices(mails)
  return Claims.of({
    ...links,
    inviteOperator: mails.inviteOperator,
    viewMailClaim: mails.viewMailClaim,
    claimByMail: mails.claimByMail,
    notMine: mails.notMine,
    remindDue,
    confirmRanks: ownership.confirmRanks
  })
})

export const layer = Layer.effect(Claims, make)
