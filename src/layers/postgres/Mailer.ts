import { DateTime, Duration, Effect, Layer, Metric, Option, Schema } from "effect"
import { SecureRandom } from "effect/crypto"
import { SqlClient } from "effect/sql"
import { EmailAddress } from "../../services/domain/emails.ts"
import {
  DeliveryFailed,
  Mailer,
  mailKinds,
  MailTransport,
  maxSends,
  urgencies
} from "../../services/Mailer.ts"
import type { MailOutcome, Urgency } from "../../services/Mailer.ts"
import { Settings } from "../../services/Settings.ts"
import { encryption } from "../crypto/encryption.ts"
import { doublingPause } from "./retryPause.ts"
import { mailUrgency } from "./schema/operations.ts"
import { boundTime, boundNow, execute, findAll, findOption, intervalOf, timestamp } from "./sql.ts"

/** A lease is longer than a send that times out. */
const lease = Duration.minutes(1)
const timeout = Duration.seconds(30)
const firstPause = Duration.seconds(30)
const maxPause = Duration.hours(1)
/** Rows of sent and failed mails are kept this long for those who look for a lost mail. */
const retention = Duration.days(7)
const maxError = 500

const LeasedRow = Schema.Struct({
  id: Schema.String,
  // Any text is allowed: a newer version beside this one may send mails of unknown kinds.
  kind: Schema.String,
  recipient: EmailAddress,
  encrypted: Schema.Uint8Array,
  attempts: Schema.Int,
  created_at: Schema.DateTimeUtcFromDate,
  expires_at: Schema.DateTimeUtcFromDate,
  is_over: Schema.Boolean
})
type Leased = typeof LeasedRow.Type

const Content = Schema.Struct({
  subject: Schema.String,
  text: Schema.String,
  unsubscribeUrl: Schema.NullOr(Schema.String)
})
const contentText = Schema.fromJsonString(Content)

const outcomes = Metric.counter("mails_total", {
  description: "Attempts to send a mail, by kind and outcome",
  incremental: true
})

const waitingGauge = Metric.gauge("mails_waiting", { description: "Mails that wait to be sent, by kind" })
const oldestGauge = Metric.gauge("mails_oldest_seconds", {
  description: "How long the oldest mail has waited to be sent, by kind; digests are spread over an hour"
})

const Waiting = Schema.Struct({
  kind: Schema.String,
  count: Schema.Int,
  created_at: Schema.DateTimeUtcFromDate
})

const make = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const random = yield* SecureRandom.SecureRandom
  const transport = yield* MailTransport
  const { decrypt, encrypt } = encryption((yield* Settings).tokenSecret, "mail")
  const leasedRow = findOption(LeasedRow)
  const waitingRows = findAll(Waiting)
  const decodeContent = Schema.decodeUnknownOption(contentText)

  const enqueue: Mailer["Service"]["enqueue"] = Effect.fn("Mailer.enqueue")(function* (mail) {
    const id = yield* random.uuidV7()
    const now = yield* DateTime.now
    const content = JSON.stringify({
      subject: mail.subject,
      text: mail.text,
      unsubscribeUrl: mail.unsubscribeUrl ?? null
    })
    yield* execute(sql`
      insert into mails (id, kind, recipient, encrypted, created_at, expires_at, due_at)
      values (${id}::uuid, ${mail.kind}, ${mail.to}, ${encrypt(content)}, ${timestamp(now)}, ${timestamp(mail.expiresAt)}, ${mail.dueAt === undefined ? boundTime(sql, now) : timestamp(mail.dueAt)})`)
  })

  /** Leases a mail. Attempts are counted here, so that a mail that crashes the process runs out of them. */
  const leaseNext = Effect.fnUntraced(function* (urgency: Urgency) {
    const now = yield* DateTime.now
    return yield* leasedRow(sql`
      with due as (
        select id from mails
         where sent_at is null and failed_at is null
           and ${sql.literal(mailUrgency)} = ${urgencies.indexOf(urgency)}::int and due_at <= ${boundTime(sql, now)}
         order by due_at, id
         limit 1
           for update skip locked
      )
      update mails m
         set attempts = m.attempts + 1, due_at = ${boundTime(sql, now)} + ${intervalOf(sql, lease)}
        from due
       where m.id = due.id
      returning m.id::text, m.kind, m.recipient, m.encrypted, m.attempts, m.created_at, m.expires_at, m.expires_at <= ${boundTime(sql, now)} as is_over`)
    // It runs many times a second, mostly without a result, so it is not traced.
  }, Effect.withTracerEnabled(false))

  const deliver = Effect.fnUntraced(function* (mail: Leased, urgency: Urgency) {
    if (mail.is_over) {
      return yield* new DeliveryFailed({ reason: "what it links to has ended", permanent: true })
    }
    const content = Option.flatMap(decrypt(mail.encrypted), decodeContent)
    if (Option.isNone(content)) {
      return yield* new DeliveryFailed({
        reason: "it was encrypted under another AUSPEX_TOKEN_SECRET",
        permanent: true
      })
    }
    yield* transport
      .deliver({ id: mail.id, to: mail.recipient, urgency, createdAt: mail.created_at, ...content.value })
      .pipe(
        Effect.timeoutOrElse({
          duration: timeout,
          orElse: () => new DeliveryFailed({ reason: "the mail server took too long", permanent: false })
        })
      )
  })

  const record = Effect.fnUntraced(function* (mail: Leased, failure: Option.Option<DeliveryFailed>) {
    // A result after the end of the lease is dropped.
    const ours = sql`id = ${mail.id}::uuid and attempts = ${mail.attempts} and sent_at is null and failed_at is null`
    if (Option.isNone(failure)) {
      yield* execute(
        sql`update mails set sent_at = ${timestamp(yield* DateTime.now)}, encrypted = null, last_error = null where ${ours}`
      )
      return "sent" as const
    }
    // A clock that is ahead gives up no mail whose link still lives.
    const now = yield* boundNow(sql)
    const next = DateTime.addDuration(now, doublingPause(mail.attempts, firstPause, maxPause))
    const { permanent, reason } = failure.value
    const error = reason.replaceAll("\0", "").slice(0, maxError)
    if (permanent || DateTime.isGreaterThanOrEqualTo(next, mail.expires_at)) {
      yield* execute(sql`
        update mails set failed_at = ${timestamp(now)}, encrypted = null, last_error = ${error} where ${ours}`)
      return "failed" as const
    }
    yield* execute(sql`update mails set due_at = ${timestamp(next)}, last_error = ${error} where ${ours}`)
    return "deferred" as const
  })

  const send = Effect.fn("Mailer.send")(function* (mail: Leased, urgency: Urgency) {
    const failure = yield* deliver(mail, urgency).pipe(Effect.flip, Effect.option)
    const outcome: MailOutcome = yield* record(mail, failure)
    yield* Metric.update(Metric.withAttributes(outcomes, { kind: mail.kind, outcome }), 1)
    if (Option.isSome(failure)) {
      yield* Effect.logWarning(
        outcome === "failed"
          ? "a mail was given up"
          : "the mail server did not take a mail; it is sent again later"
      ).pipe(
        Effect.annotateLogs({
          mail_id: mail.id,
          kind: mail.kind,
          attempt: mail.attempts,
          reason: failure.value.reason
        })
      )
    }
    return outcome
  })

  const sendNext: Mailer["Service"]["sendNext"] = Effect.fnUntraced(function* (urgency) {
    const leased = yield* leaseNext(urgency)
    return Option.isSome(leased) ? Option.some(yield* send(leased.value, urgency)) : Option.none()
  })

  const drain: Mailer["Service"]["drain"] = Effect.gen(function* () {
    const seen = { sent: 0, deferred: 0, failed: 0 }
    const sends = urgencies.flatMap((urgency) =>
      Array.from({ length: maxSends[urgency] }, () =>
        sendNext(urgency).pipe(
          Effect.tap((outcome) => Effect.sync(() => Option.isSome(outcome) && (seen[outcome.value] += 1))),
          Effect.repeat({ while: Option.isSome })
        )
      )
    )
    yield* Effect.all(sends, { concurrency: "unbounded", discard: true })
    return seen
  })

  const measure: Mailer["Service"]["measure"] = Effect.gen(function* () {
    const now = DateTime.toEpochMillis(yield* DateTime.now)
    const waiting = yield* waitingRows(sql`
      select kind, count(*)::int as count, min(created_at) as created_at from mails
       where sent_at is null and failed_at is null group by kind`)
    for (const kind of new Set([...mailKinds, ...waiting.map((each) => each.kind)])) {
      const found = waiting.find((each) => each.kind === kind)
      const oldest = found === undefined ? 0 : (now - DateTime.toEpochMillis(found.created_at)) / 1000
      yield* Metric.update(Metric.withAttributes(waitingGauge, { kind }), found?.count ?? 0)
      yield* Metric.update(Metric.withAttributes(oldestGauge, { kind }), oldest)
    }
  }).pipe(Effect.withSpan("Mailer.measure"))

  const trim: Mailer["Service"]["trim"] = Effect.gen(function* () {
    const now = yield* DateTime.now
    yield* execute(sql`
      delete from mails
       where (sent_at is not null or failed_at is not null) and created_at < ${boundTime(sql, now, retention)}`)
  }).pipe(Effect.withSpan("Mailer.trim"))

  return Mailer.of({ enqueue, sendNext, drain, measure, trim })
})

export const layer = Layer.effect(Mailer, make)
