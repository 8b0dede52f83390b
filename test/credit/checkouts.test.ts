/** Purchases without a message about them: the server asks the provider, and an answer counts once, whatever messages come. */
import { assert, layer } from "@effect/vitest"
import { DateTime, Effect, Layer, Option, References, Result } from "effect"
import { SqlClient } from "effect/sql"
import { TestClock } from "effect/testing"
import * as Jobs from "../../src/jobs/Jobs.ts"
import type { OperatorId } from "../../src/services/domain/ids.ts"
import { Payments } from "../../src/services/Payments.ts"
import { concurrently, times } from "../support/concurrently.ts"
import { anotherOperator } from "../support/agents.ts"
import { moveTo, plus } from "../support/challenges.ts"
import { credits, creditFindings, stateOf } from "../support/credit.ts"
import { countOf } from "../support/database.ts"
import { withDatabaseAt } from "../support/databaseTime.ts"
import { testServices } from "../support/services.ts"
import {
  begun,
  deliver,
  large,
  paymentsReplica,
  selling,
  stripeEvent,
  StripeServer,
  stripeServer
} from "../support/stripe.ts"
import type { EventObject } from "../support/stripe.ts"
import { passing, until } from "../support/waiting.ts"

const shop = selling.pipe(
  Layer.provideMerge(stripeServer),
  Layer.provideMerge(testServices()),
  Layer.provide(Layer.succeed(References.MinimumLogLevel, "Fatal"))
)

const followUp = Payments.use((payments) => payments.followUp)
const awaited = countOf((sql) => sql`select count(*)::int as count from awaited_checkouts`)

/** A world without awaited checkouts. */
const afresh = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  yield* sql`delete from awaited_checkouts`
  const server = yield* StripeServer
  server.behave("sound")
  return { server, since: server.lookedUp.length, owner: yield* anotherOperator }
})

/** Makes Stripe's answer about a checkout that began now. */
const told = Effect.fnUntraced(function* (session: EventObject, status: string, more: EventObject = {}) {
  const { become } = yield* StripeServer
  const created = Math.floor(DateTime.toEpochMillis(yield* DateTime.now) / 1000)
  become(session, { status, created, expires_at: created + 86_400, ...more })
})

const has = Effect.fnUntraced(function* (owner: OperatorId, amount: number) {
  assert.strictEqual((yield* stateOf(`owner:${owner}`)).posted, credits(amount))
})

const purchaseOf = (owner: OperatorId, id: string) =>
  Effect.map(
    Payments.use((payments) => payments.purchaseOf(owner, id)),
    Option.getOrThrow
  )

layer(shop)("A checkout without a message", (it) => {
  it.effect("A checkout is looked up after ten minutes, and credited once, whatever message follows", () =>
    Effect.gen(function* () {
      const { owner, server, since } = yield* afresh
      const { purchaseId, session } = yield* begun(owner, large)
      yield* told(session, "complete")
      yield* TestClock.adjust("599 seconds")
      yield* followUp
      assert.lengthOf(server.lookedUp, since)
      yield* TestClock.adjust("1 second")
      yield* followUp
      assert.deepStrictEqual(server.lookedUp.slice(since), [session.id])
      yield* has(owner, 2200)
      const purchase = yield* purchaseOf(owner, purchaseId)
      assert.deepInclude(purchase, { state: "paid", payment_id: session.payment_intent })
      assert.deepStrictEqual(
        purchase.events.map(({ event_id, outcome }) => [event_id, outcome]),
        [[`asked:${session.id}:paid`, "credited"]]
      )
      yield* deliver(stripeEvent("checkout.session.completed", session))
      yield* TestClock.adjust("1 day")
      yield* followUp
      assert.lengthOf(server.lookedUp, since + 1)
      yield* has(owner, 2200)
      assert.deepStrictEqual(yield* creditFindings, [])
    })
  )

  it.effect("A checkout is credited once when messages come during a look-up, on two replicas", () =>
    Effect.gen(function* () {
      const { owner } = yield* afresh
      const { session } = yield* begun(owner)
      yield* told(session, "complete")
      yield* TestClock.adjust("10 minutes")
      const event = stripeEvent("checkout.session.completed", session)
      const replicas = [yield* Payments, yield* paymentsReplica]
      const done = yield* concurrently(
        times(20, (index) => {
          const replica = replicas[index % 2]
          return index % 4 < 2 ? deliver(event, replica) : (replica?.followUp ?? Effect.void)
        })
      )
      assert.lengthOf(done.filter(Result.isSuccess), 20)
      yield* has(owner, 500)
      assert.deepStrictEqual(yield* creditFindings, [])
    })
  )

  it.effect("A checkout is looked up by one of two replicas", () =>
    Effect.gen(function* () {
      const { owner, server, since } = yield* afresh
      const ids = yield* Effect.replicateEffect(
        Effect.gen(function* () {
          const { session } = yield* begun(owner)
          yield* told(session, "open", { payment_status: "unpaid" })
          return session.id
        }),
        9
      )
      yield* TestClock.adjust("10 minutes")
      const replicas = [yield* Payments, yield* paymentsReplica]
      yield* concurrently(times(4, (index) => replicas[index % 2]?.followUp ?? Effect.void))
      assert.deepStrictEqual(server.lookedUp.slice(since).toSorted(), ids.toSorted())
    })
  )

  it.effect("A checkout is looked up less and less often while it is open, and never after it expired", () =>
    Effect.gen(function* () {
      const { owner, server, since } = yield* afresh
      const { purchaseId, session } = yield* begun(owner)
      yield* told(session, "open", { payment_status: "unpaid" })
      const beganAt = yield* DateTime.now
      const minutes: Array<number> = []
      for (let minute = 5; minute <= 120; minute += 5) {
        yield* moveTo(plus(beganAt, `${minute} minutes`))
        const before = server.lookedUp.length
        yield* followUp
        if (server.lookedUp.length > before) minutes.push(minute)
      }
      assert.deepStrictEqual(minutes, [10, 20, 30, 45, 70, 105])
      yield* has(owner, 0)
      assert.strictEqual((yield* purchaseOf(owner, purchaseId)).state, "open")
      yield* told(session, "expired", { payment_status: "unpaid" })
      yield* moveTo(plus(beganAt, "1 day"))
      yield* followUp
      assert.strictEqual((yield* purchaseOf(owner, purchaseId)).state, "expired")
      assert.lengthOf(server.lookedUp, since + minutes.length + 1)
      assert.strictEqual(yield* awaited, 0)
    })
  )

  it.effect("A checkout is looked up after ten minutes, also if it began by a clock that was ahead", () =>
    Effect.gen(function* () {
      const { owner, server, since } = yield* afresh
      const now = yield* DateTime.now
      yield* moveTo(plus(now, "40 days"))
      const { session } = yield* withDatabaseAt(now)(begun(owner, large))
      yield* moveTo(now)
      yield* told(session, "complete")
      yield* TestClock.adjust("10 minutes")
      yield* followUp
      assert.deepStrictEqual(server.lookedUp.slice(since), [session.id])
      yield* has(owner, 2200)
    })
  )

  it.effect("A checkout is given up after thirty days, also where Stripe does not know it", () =>
    Effect.gen(function* () {
      const { owner, server } = yield* afresh
      const { session } = yield* begun(owner)
      yield* begun(owner)
      yield* told(session, "complete", { payment_status: "unpaid" })
      yield* TestClock.adjust("29 days")
      yield* followUp
      assert.strictEqual(yield* awaited, 2)
      yield* TestClock.adjust("1 day")
      yield* followUp
      assert.strictEqual(yield* awaited, 0)
      const before = server.lookedUp.length
      yield* TestClock.adjust("1 day")
      yield* followUp
      assert.lengthOf(server.lookedUp, before)
    })
  )

  it.effect("A checkout waits for its money as after a message, and is credited when it has come", () =>
    Effect.gen(function* () {
      const { owner } = yield* afresh
      const { purchaseId, session } = yield* begun(owner)
      yield* told(session, "complete", { payment_status: "unpaid" })
      yield* TestClock.adjust("10 minutes")
      yield* followUp
      assert.strictEqual((yield* purchaseOf(owner, purchaseId)).state, "processing")
      yield* has(owner, 0)
      yield* told(session, "complete")
      yield* TestClock.adjust("3 days")
      yield* followUp
      assert.strictEqual((yield* purchaseOf(owner, purchaseId)).state, "paid")
      yield* has(owner, 500)
    })
  )

  it.effect("A checkout that does not fit its record, or is about something else, credits nothing", () =>
    Effect.gen(function* () {
      const { owner } = yield* afresh
      const cheap = yield* begun(owner)
      yield* told(cheap.session, "complete", { amount_total: 499 })
      const foreign = yield* begun(owner)
      yield* told(foreign.session, "complete", { metadata: {} })
      yield* TestClock.adjust("10 minutes")
      yield* followUp
      yield* has(owner, 0)
      const outcomes = Effect.map(purchaseOf(owner, cheap.purchaseId), ({ events }) =>
        events.map(({ outcome }) => outcome)
      )
      assert.deepStrictEqual(yield* outcomes, ["mismatch"])
      assert.deepStrictEqual((yield* purchaseOf(owner, foreign.purchaseId)).events, [])
    })
  )

  it.effect.each(["fails", "rejects", "talks nonsense"] as const)(
    "A checkout is looked up again when Stripe %s",
    (mood) =>
      Effect.gen(function* () {
        const { owner, server } = yield* afresh
        const { session } = yield* begun(owner)
        yield* told(session, "complete")
        yield* TestClock.adjust("10 minutes")
        server.behave(mood)
        yield* followUp
        yield* has(owner, 0)
        server.behave("sound")
        yield* TestClock.adjust("10 minutes")
        yield* followUp
        yield* has(owner, 500)
      })
  )

  it.effect("A run of the job looks up at most fifty checkouts, the longest waiting first", () =>
    Effect.gen(function* () {
      const { server, since } = yield* afresh
      const sessions: Array<string> = []
      for (let buyer = 0; buyer < 6; buyer++) {
        const owner = yield* anotherOperator
        for (let n = 0; n < 10; n++) {
          const { session } = yield* begun(owner)
          yield* told(session, "open", { payment_status: "unpaid" })
          sessions.push(session.id)
          yield* TestClock.adjust("1 millis")
        }
      }
      yield* TestClock.adjust("10 minutes")
      yield* followUp
      assert.deepStrictEqual(server.lookedUp.slice(since).toSorted(), sessions.slice(0, 50).toSorted())
      yield* followUp
      assert.deepStrictEqual(server.lookedUp.slice(since + 50).toSorted(), sessions.slice(50).toSorted())
    })
  )
})

layer(shop)("A checkout with a message about its end", (it) => {
  it.effect.each([
    "checkout.session.completed",
    "checkout.session.expired",
    "checkout.session.async_payment_failed"
  ])("A checkout with the message %s is not looked up", (type) =>
    Effect.gen(function* () {
      const { owner, server, since } = yield* afresh
      const { session } = yield* begun(owner)
      yield* deliver(stripeEvent(type, session))
      yield* TestClock.adjust("10 minutes")
      yield* followUp
      assert.lengthOf(server.lookedUp, since)
      assert.strictEqual(yield* awaited, 0)
    })
  )
})

layer(shop)("The job that looks up checkouts", (it) => {
  it.effect("The job for checkouts looks them up every five minutes", () =>
    Effect.gen(function* () {
      const { owner, server, since } = yield* afresh
      const { session } = yield* begun(owner)
      yield* told(session, "complete")
      yield* Layer.build(Jobs.checkouts)
      // A run that is still at the database when the clock moves on comes five minutes later.
      const looked = until(() => server.lookedUp.length > since)
      yield* passing(looked, "5 minutes", 50)
      assert.deepStrictEqual(server.lookedUp.slice(since), [session.id])
    })
  )
})
