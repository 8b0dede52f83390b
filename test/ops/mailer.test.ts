/** The outbox of mails: each is sent once, when it can be, for as long as it means anything. */
import { assert, layer } from "@effect/vitest"
import { DateTime, Deferred, Effect, Fiber, Layer, Metric, Option, Schema } from "effect"
import { SecureRandom } from "effect/crypto"
import { SqlClient } from "effect/sql"
import { TestClock } from "effect/testing"
import * as Jobs from "../../src/jobs/Jobs.ts"
import * as MailerLayer from "../../src/layers/postgres/Mailer.ts"
import { Mailer, DeliveryFailed } from "../../src/services/Mailer.ts"
import type { Mail } from "../../src/services/Mailer.ts"
import { address } from "../support/agents.ts"
import { isFull } from "../support/breadth.ts"
import { asOwner, countOf, rowsOf } from "../support/database.ts"
import { Mailbox } from "../support/mailbox.ts"
import { testServices } from "../support/services.ts"
import { settings } from "../support/settings.ts"

const enqueue = Effect.fnUntraced(function* (fields: Partial<Mail> = {}) {
  const now = yield* DateTime.now
  yield* Mailer.use((mailer) =>
    mailer.enqueue({
      kind: "claim",
      to: address("ada@example.org"),
      subject: "Hello",
      text: "A secret link\n",
      expiresAt: DateTime.add(now, { days: 2 }),
      ...fields
    })
  )
})

const drain = Mailer.use((mailer) => mailer.drain)

const stored = rowsOf(
  Schema.Struct({
    attempts: Schema.Int,
    state: Schema.String,
    last_error: Schema.NullOr(Schema.String),
    encrypted: Schema.Boolean
  }),
  (sql) => sql`
    select attempts, last_error, encrypted is not null as encrypted,
           case when sent_at is not null then 'sent' when failed_at is not null then 'failed' else 'waiting' end as state
      from mails order by id`
)

const refusing = (permanent: boolean) => () => new DeliveryFailed({ reason: "no", permanent })

layer(testServices())("A mail that is taken", (it) => {
  it.effect("A mail that is taken is sent once, as it was written", () =>
    Effect.gen(function* () {
      const { delivered } = yield* Mailbox
      yield* enqueue({ unsubscribeUrl: "https://auspex.example/no" })
      assert.deepStrictEqual(yield* drain, { sent: 1, deferred: 0, failed: 0 })
      assert.deepStrictEqual(yield* drain, { sent: 0, deferred: 0, failed: 0 })
      const [message] = delivered
      assert.strictEqual(delivered.length, 1)
      assert.deepInclude(message, {
        to: address("ada@example.org"),
        subject: "Hello",
        text: "A secret link\n",
        unsubscribeUrl: "https://auspex.example/no"
      })
    })
  )

  it.effect("A mail is not sent when its cause is rolled back", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      yield* Effect.flip(sql.withTransaction(Effect.andThen(enqueue(), Effect.fail("no"))))
      assert.deepStrictEqual(yield* drain, { sent: 0, deferred: 0, failed: 0 })
    })
  )
})

layer(testServices())("The text of a waiting mail", (it) => {
  it.effect("A mail is encrypted while it waits, and gone once it is sent", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      yield* enqueue({ subject: "the-subject", text: "https://auspex.example/sign-in/the-link" })
      const row = JSON.stringify(
        yield* sql`select mails::text as row, encode(encrypted, 'escape') as encrypted from mails`
      )
      for (const secret of ["the-subject", "the-link"]) assert.notInclude(row, secret)
      yield* drain
      assert.deepStrictEqual(
        (yield* stored).map(({ encrypted, state }) => [state, encrypted]),
        [["sent", false]]
      )
    })
  )

  it.effect("A mail that is encrypted under another token secret is given up, not sent as noise", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      yield* enqueue()
      yield* sql`update mails set encrypted = decode('00', 'hex') || encrypted where sent_at is null`
      assert.deepStrictEqual(yield* drain, { sent: 0, deferred: 0, failed: 1 })
    })
  )
})

layer(testServices())("A mail that is not taken", (it) => {
  it.effect("A mail is tried again after 30 s, 1 min, 2 min up to an hour, until its link ends", () =>
    Effect.gen(function* () {
      const mailbox = yield* Mailbox
      const now = yield* DateTime.now
      mailbox.answer(refusing(false))
      yield* enqueue({ kind: "sign_in", expiresAt: DateTime.add(now, { minutes: 10 }) })
      const attempts: Array<number> = []
      for (let second = 0; second <= 700; second += 10) {
        const { deferred, failed } = yield* drain
        if (deferred + failed > 0) attempts.push(second)
        yield* TestClock.adjust("10 seconds")
      }
      assert.deepStrictEqual(attempts, [0, 30, 90, 210, 450])
      assert.deepStrictEqual(yield* stored, [
        { attempts: 5, state: "failed", last_error: "no", encrypted: false }
      ])
    })
  )

  it.effect("A mail that was not taken is sent when the server is back", () =>
    Effect.gen(function* () {
      const mailbox = yield* Mailbox
      mailbox.answer(refusing(false))
      yield* enqueue()
      assert.strictEqual((yield* drain).deferred, 1)
      mailbox.answer(() => Effect.void)
      assert.strictEqual((yield* drain).sent, 0)
      yield* TestClock.adjust("30 seconds")
      assert.strictEqual((yield* drain).sent, 1)
    })
  )

  it.effect("A mail is given up at once when it is refused for good", () =>
    Effect.gen(function* () {
      const mailbox = yield* Mailbox
      mailbox.answer(refusing(true))
      yield* enqueue()
      assert.deepStrictEqual(yield* drain, { sent: 0, deferred: 0, failed: 1 })
    })
  )

  it.effect("A mail is not sent late: a link that has ended would only confuse", () =>
    Effect.gen(function* () {
      const mailbox = yield* Mailbox
      mailbox.answer(() => Effect.void)
      const before = mailbox.delivered.length
      yield* enqueue()
      yield* TestClock.adjust("2 days")
      assert.deepStrictEqual(yield* drain, { sent: 0, deferred: 0, failed: 1 })
      assert.strictEqual(mailbox.delivered.length, before)
    })
  )
})

layer(testServices())("Replicas", (it) => {
  const replica = Layer.fresh(MailerLayer.layer).pipe(
    Layer.provide([settings(), SecureRandom.layerWebCrypto])
  )

  it.effect("Replicas that drain at once send each mail once", () =>
    Effect.gen(function* () {
      const { delivered } = yield* Mailbox
      yield* Effect.forEach(
        Array.from({ length: 100 }, (_, index) => index),
        (index) => enqueue({ subject: `Mail ${index}` }),
        { concurrency: 8 }
      )
      const reports = yield* Effect.all(
        [drain, Effect.provide(drain, replica), Effect.provide(drain, replica)],
        { concurrency: "unbounded" }
      )
      assert.strictEqual(
        reports.reduce((sum, { sent }) => sum + sent, 0),
        100
      )
      assert.strictEqual(new Set(delivered.map(({ subject }) => subject)).size, 100)
      assert.strictEqual(delivered.length, 100)
    })
  )

  it.effect("A mail is another replica's to send when its holder has died, after a minute", () =>
    Effect.gen(function* () {
      const mailbox = yield* Mailbox
      const before = mailbox.delivered.length
      yield* enqueue()
      const taken = yield* Deferred.make<void>()
      mailbox.answer(() => Effect.andThen(Deferred.succeed(taken, undefined), Effect.never))
      const dying = yield* Effect.forkChild(Effect.provide(drain, replica))
      yield* Deferred.await(taken)
      yield* Fiber.interrupt(dying)
      mailbox.answer(() => Effect.void)
      assert.strictEqual((yield* drain).sent, 0)
      yield* TestClock.adjust("1 minute")
      assert.strictEqual((yield* drain).sent, 1)
      assert.strictEqual(mailbox.delivered.length, before + 1)
    })
  )
})

/** The migration of a newer version does this. */
const admitNewerKinds = asOwner(
  SqlClient.SqlClient.use((sql) => sql`alter table mails drop constraint if exists mails_kind`)
)

/** Puts mails of a kind into the queue, due since long before now. */
const waiting = (kind: string, count: number) =>
  Effect.gen(function* () {
    const now = yield* DateTime.now
    const [from, until] = [DateTime.subtract(now, { hours: 1 }), DateTime.add(now, { hours: 1 })]
    yield* SqlClient.SqlClient.use(
      (sql) => sql`
        insert into mails (id, kind, recipient, encrypted, created_at, expires_at, due_at)
        select uuidv7(), ${kind}, 'ada' || n || '@example.org', encrypted, ${DateTime.toDateUtc(from)},
               ${DateTime.toDateUtc(until)}, ${DateTime.toDateUtc(from)}
          from generate_series(1, ${count}::int) n
         cross join (select encrypted from mails where encrypted is not null limit 1) m`
    )
  })

layer(testServices())("A mail with a link that somebody waits for", (it) => {
  const others = [
    "digest",
    "grace_reminder",
    "issuance_paused",
    "credit_alert",
    "webhook_disabled",
    "a_newer_kind"
  ]
  it.effect.each(
    (["sign_in", "claim"] as const).flatMap((kind) => others.map((other) => [kind, other] as const))
  )("A mail such as %s is sent at once while every send of %s hangs and a thousand wait", ([kind, other]) =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const mailbox = yield* Mailbox
      yield* sql`delete from mails`
      yield* admitNewerKinds
      yield* enqueue({ kind: "agent_suspended" })
      yield* waiting(other, 1000)
      const before = mailbox.delivered.length
      mailbox.answer(({ urgency }) => (urgency === "urgent" ? Effect.void : Effect.never))
      yield* Layer.build(Jobs.layer)
      yield* TestClock.adjust("10 seconds")
      yield* enqueue({ kind, subject: "A link" })
      const sent = countOf(
        (sql) => sql`select count(*)::int as count from mails where sent_at is not null`
      ).pipe(Effect.tap(TestClock.adjust("100 millis")))
      yield* Effect.repeat(sent, { until: (count) => count > 0 })
      assert.deepStrictEqual(
        mailbox.delivered.slice(before).map(({ subject }) => subject),
        ["A link"]
      )
    })
  )

  it.effect.runIf(isFull)("A mail with a link is found among a hundred thousand others by an index", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      yield* enqueue({ kind: "digest" })
      yield* waiting("digest", 100_000)
      yield* sql`update mails set encrypted = decode('00', 'hex') where encrypted is not null`
      yield* enqueue({ kind: "sign_in" })
      const read = countOf(
        (sql) => sql`
          select (idx_tup_fetch + seq_tup_read)::int as count from pg_stat_xact_user_tables where relname = 'mails'`
      )
      const [before, after] = yield* sql
        .withTransaction(Effect.all([read, Mailer.use((mailer) => mailer.sendNext("urgent")), read]))
        .pipe(
          Effect.map(
            ([first, outcome, last]) => [first, last, assert.isTrue(Option.isSome(outcome))] as const
          )
        )
      assert.isBelow(after - before, 20)
    })
  )
})

layer(testServices())("The gauges of the queue", (it) => {
  it.effect("The gauges tell by kind how many mails wait and since when, and nothing of those sent", () =>
    Effect.gen(function* () {
      const mailbox = yield* Mailbox
      const gauges = Effect.gen(function* () {
        yield* Mailer.use((mailer) => mailer.measure)
        const metrics = yield* Metric.snapshot
        const of = (id: string, kind: string) =>
          metrics.find((each) => each.id === id && each.attributes?.["kind"] === kind)?.state
        return ["sign_in", "claim", "digest", "a_newer_kind"].map((kind) => [
          kind,
          of("mails_waiting", kind),
          of("mails_oldest_seconds", kind)
        ])
      })
      const value = (each: number) => ({ value: each })
      yield* admitNewerKinds
      yield* enqueue({ kind: "sign_in" })
      yield* TestClock.adjust("90 seconds")
      yield* enqueue({ kind: "sign_in" })
      yield* waiting("a_newer_kind", 3)
      yield* enqueue({ kind: "digest", dueAt: DateTime.add(yield* DateTime.now, { hours: 1 }) })
      assert.deepStrictEqual(yield* gauges, [
        ["sign_in", value(2), value(90)],
        ["claim", value(0), value(0)],
        ["digest", value(1), value(0)],
        ["a_newer_kind", value(3), value(3600)]
      ])
      mailbox.answer(() => Effect.void)
      assert.strictEqual((yield* drain).sent, 5)
      yield* TestClock.adjust("30 minutes")
      assert.deepStrictEqual((yield* gauges).slice(0, 3), [
        ["sign_in", value(0), value(0)],
        ["claim", value(0), value(0)],
        ["digest", value(1), value(1800)]
      ])
    })
  )
})

layer(testServices())("Mails that have ended", (it) => {
  it.effect("Mails that have ended are forgotten after a week, those that wait are not", () =>
    Effect.gen(function* () {
      const mailbox = yield* Mailbox
      const now = yield* DateTime.now
      yield* enqueue()
      yield* drain
      mailbox.answer(refusing(false))
      yield* enqueue({ expiresAt: DateTime.add(now, { days: 30 }) })
      yield* drain
      yield* TestClock.adjust("8 days")
      yield* Mailer.use((mailer) => mailer.trim)
      assert.deepStrictEqual(
        (yield* stored).map(({ state }) => state),
        ["waiting"]
      )
    })
  )
})
