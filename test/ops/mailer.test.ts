/** The outbox: what is written is sent once, when it can be, for as long as it means anything. */
import { assert, layer } from "@effect/vitest"
import { DateTime, Deferred, Effect, Fiber, Layer, Schema } from "effect"
import { SecureRandom } from "effect/crypto"
import { SqlClient } from "effect/sql"
import { TestClock } from "effect/testing"
import * as MailerLayer from "../../src/layers/postgres/Mailer.ts"
import { Mailer, DeliveryFailed } from "../../src/services/Mailer.ts"
import type { Mail } from "../../src/services/Mailer.ts"
import { address } from "../support/agents.ts"
import { rowsOf } from "../support/database.ts"
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
  it.effect("is sent once, as it was written", () =>
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

  it.effect("is not sent when what caused it is rolled back", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      yield* Effect.flip(sql.withTransaction(Effect.andThen(enqueue(), Effect.fail("no"))))
      assert.deepStrictEqual(yield* drain, { sent: 0, deferred: 0, failed: 0 })
    })
  )
})

layer(testServices())("What a mail says", (it) => {
  it.effect("is encrypted while it waits, and gone once it is sent", () =>
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

  it.effect("encrypted under another token secret is given up, not sent as noise", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      yield* enqueue()
      yield* sql`update mails set encrypted = decode('00', 'hex') || encrypted where sent_at is null`
      assert.deepStrictEqual(yield* drain, { sent: 0, deferred: 0, failed: 1 })
    })
  )
})

layer(testServices())("A mail that is not taken", (it) => {
  it.effect("is tried again after 30 s, 1 min, 2 min and so on up to an hour, until its link has ended", () =>
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

  it.effect("is sent when the server is back", () =>
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

  it.effect("is given up at once when it is refused for good", () =>
    Effect.gen(function* () {
      const mailbox = yield* Mailbox
      mailbox.answer(refusing(true))
      yield* enqueue()
      assert.deepStrictEqual(yield* drain, { sent: 0, deferred: 0, failed: 1 })
    })
  )

  it.effect("is not sent late: a link that has ended would only confuse", () =>
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

  it.effect("that drain at once send each mail once", () =>
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

  it.effect("a mail is another's to send when its holder has died, after three minutes", () =>
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
      yield* TestClock.adjust("3 minutes")
      assert.strictEqual((yield* drain).sent, 1)
      assert.strictEqual(mailbox.delivered.length, before + 1)
    })
  )
})

layer(testServices())("Mails that have ended", (it) => {
  it.effect("are forgotten after a week, those that wait are not", () =>
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
