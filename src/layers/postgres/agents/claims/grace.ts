/**
 * The end of grace windows. Issuance pauses by the clock, whether this ran or not; here the transition is recorded and
 * the operator told: two days before, one day before, and when it has come. A notice that was missed is not given late.
 */
import { DateTime, Duration, Effect, Metric, Option, Schema } from "effect"
import { SqlClient } from "effect/sql"
import type { Claims, GraceReport } from "../../../../services/Claims.ts"
import { AgentId } from "../../../../services/identifiers.ts"
import type { MailKind } from "../../../../services/Mailer.ts"
import { pausedText, reminderText } from "../../../mail/texts.ts"
import type { AboutAgent } from "../../../mail/texts.ts"
import { findAll, orDie, timestamp, transaction } from "../../sql.ts"
import type { MailClaims } from "./mailClaims.ts"

interface NoticeKind {
  /** From 1 on: what `agents.grace_notices` is once it has been given. */
  readonly number: number
  readonly lead: Duration.Duration
  readonly kind: MailKind
  readonly text: (about: AboutAgent) => { readonly subject: string; readonly text: string }
}

const twoDays: NoticeKind = {
  number: 1,
  lead: Duration.days(2),
  kind: "grace_reminder",
  text: (about) => reminderText({ ...about, left: "Two days" })
}
const oneDay: NoticeKind = {
  number: 2,
  lead: Duration.days(1),
  kind: "grace_reminder",
  text: (about) => reminderText({ ...about, left: "One day" })
}
const paused: NoticeKind = { number: 3, lead: Duration.zero, kind: "issuance_paused", text: pausedText }

/** Each with the one after, which takes its place once it is due. */
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

export const makeGrace = Effect.fnUntraced(function* (mails: MailClaims) {
  const sql = yield* SqlClient.SqlClient
  const dueRows = findAll(DueRow)

  // The index is on agents with a notice to come, which has to be said for it to be used.
  const isDue = (notice: NoticeKind, next: NoticeKind | undefined, now: DateTime.Utc) => sql`
    a.claimed_at is null and a.challenge_passed_at is not null and a.grace_notices < 3
    and a.grace_notices = any(${Array.from({ length: notice.number }, (_, index) => index)}::int[])
    and a.provisional_until <= ${timestamp(DateTime.addDuration(now, notice.lead))}
    ${next === undefined ? sql`` : sql`and a.provisional_until > ${timestamp(DateTime.addDuration(now, next.lead))}`}`

  /** Whether there is anybody to tell, and news to tell: what lies before the agent passed, the claim mail has said. */
  const isToBeMailed = (notice: NoticeKind) => sql`(
    coalesce(strpos(a.operator_contact, '@'), 0) > 0
    and a.provisional_until - make_interval(secs => ${Duration.toSeconds(notice.lead)}) > a.challenge_passed_at)`

  const given = (notice: NoticeKind, now: DateTime.Utc) =>
    notice === paused
      ? sql`grace_notices = ${notice.number}, issuance_paused_at = ${timestamp(now)}`
      : sql`grace_notices = ${notice.number}`

  /** Records a notice for agents whose operators get no mail; answers how many there were. */
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

  /** Records a notice and mails it, both or neither. An operator who wants no mail, or had enough today, gets none. */
  const tell = Effect.fnUntraced(function* (notice: NoticeKind, agent: Due, now: DateTime.Utc) {
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
          text: notice.text
        })
        return { recorded: 1, mailed: 1 }
      })
    )
  })

  const tellAll = Effect.fnUntraced(function* (
    notice: NoticeKind,
    next: NoticeKind | undefined,
    now: DateTime.Utc
  ) {
    const told = { recorded: 0, mailed: 0 }
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
        const { recorded, mailed } = yield* tell(notice, agent, now)
        told.recorded += recorded
        told.mailed += mailed
      }
    } while (agents.length === mailBatch)
    return told
  })

  const remindDue: Claims["Service"]["remindDue"] = Effect.gen(function* () {
    const now = yield* DateTime.now
    const report = { reminded: 0, paused: 0 }
    for (const [notice, next] of notices) {
      const quiet = yield* recordQuietly(notice, next, now)
      const told = yield* tellAll(notice, next, now)
      report.reminded += told.mailed
      if (notice === paused) report.paused += quiet + told.recorded
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
