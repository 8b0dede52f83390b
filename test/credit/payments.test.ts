/** Credit that owners buy: a purchase begins once, is credited once and in full whatever Stripe sends, and can be taken back. */
import { assert, layer } from "@effect/vitest"
import { Effect, Fiber, Layer, Option, Random, Result } from "effect"
import { SqlClient } from "effect/sql"
import { Audit } from "../../src/services/Audit.ts"
import { Credits } from "../../src/services/Credits.ts"
import { OperatorId } from "../../src/services/domain/ids.ts"
import { Operators } from "../../src/services/Operators.ts"
import { Payments } from "../../src/services/Payments.ts"
import { concurrently, times } from "../support/concurrently.ts"
import { anotherOperator, agentOf } from "../support/agents.ts"
import { moveTo } from "../support/challenges.ts"
import { credits, creditFindings, record, stateOf } from "../support/credit.ts"
import { firstPage } from "../support/paging.ts"
import { TelemetryRecorder, telemetryRecorder, spanText } from "../support/telemetryRecorder.ts"
import { sampledWhile } from "../support/ledgerWorkload.ts"
import { held, meeting } from "../support/locking.ts"
import { testServices } from "../support/services.ts"
import {
  begun,
  deliver,
  large,
  paymentsReplica,
  selling,
  signatureOf,
  signedNow,
  small,
  stripeEvent,
  StripeServer,
  stripeServer,
  stripeSecretKey,
  stripeTime,
  uneven,
  webhookSecret
} from "../support/stripe.ts"
import { asOwner, countOf } from "../support/database.ts"

const shop = (environment: Readonly<Record<string, string>> = {}) =>
  selling.pipe(Layer.provideMerge(stripeServer), Layer.provideMerge(testServices(environment)))

const has = Effect.fnUntraced(function* (owner: OperatorId, amount: number) {
  assert.strictEqual((yield* stateOf(`owner:${owner}`)).posted, credits(amount))
})

const holds = Effect.gen(function* () {
  assert.deepStrictEqual((yield* Audit.use(({ verifyLedger }) => verifyLedger)).differences, [])
})

const purchaseOf = (owner: OperatorId, id: string) =>
  Effect.map(
    Payments.use((payments) => payments.purchaseOf(owner, id)),
    Option.getOrThrow
  )

const outcomesOf = (owner: OperatorId, id: string) =>
  Effect.map(purchaseOf(owner, id), ({ events }) => events.map(({ kind, outcome }) => [kind, outcome]))

const buying = (owner: OperatorId, name: string | undefined, key: string) =>
  Effect.gen(function* () {
    const { operator } = yield* Operators.use((operators) => operators.account(owner))
    return yield* Payments.use((payments) => payments.begin(operator, { package: name ?? "", key }))
  })

layer(shop())("A purchase", (it) => {
  it.effect("A purchase begins at Stripe with its price, its name, the way back, and its id", () =>
    Effect.gen(function* () {
      const owner = yield* anotherOperator
      const { sessions, checkoutOrigin } = yield* StripeServer
      const { payAt, purchaseId, session } = yield* begun(owner)
      assert.strictEqual(payAt, `${checkoutOrigin}/c/pay/${session.id}`)
      const sent = sessions.at(-1)
      assert.strictEqual(sent?.idempotencyKey, `auspex-${purchaseId}`)
      assert.deepInclude(sent?.fields, {
        mode: "payment",
        client_reference_id: purchaseId,
        "metadata[auspex_purchase]": purchaseId,
        "payment_intent_data[metadata][auspex_purchase]": purchaseId,
        "line_items[0][quantity]": "1",
        "line_items[0][price_data][currency]": "eur",
        "line_items[0][price_data][unit_amount]": "500",
        "line_items[0][price_data][product_data][name]": "500 Auspex credits",
        "adaptive_pricing[enabled]": "false",
        success_url: `http://127.0.0.1:8080/account/credit?purchase=${purchaseId}`,
        cancel_url: "http://127.0.0.1:8080/account/credit"
      })
      assert.deepInclude(yield* purchaseOf(owner, purchaseId), {
        state: "open",
        credits: credits(500),
        amount: 500,
        currency: "eur",
        session_id: session.id,
        paid_at: null,
        events: []
      })
      yield* has(owner, 0)
    })
  )

  it.effect("A form makes one purchase, however often it is sent, also at once and on two replicas", () =>
    Effect.gen(function* () {
      const owner = yield* anotherOperator
      const { operator } = yield* Operators.use((operators) => operators.account(owner))
      const replicas = [yield* Payments, yield* paymentsReplica]
      const done = yield* concurrently(
        times(10, (index) => replicas[index % 2]?.begin(operator, { package: small ?? "", key: "k" })).filter(
          (each) => each !== undefined
        )
      )
      const answers = done.filter(Result.isSuccess).map(({ success }) => JSON.stringify(success))
      assert.lengthOf(answers, 10)
      assert.strictEqual(new Set(answers).size, 1)
      const begunOnes = countOf(
        (sql) => sql`select count(*)::int as count from purchases where owner_id = ${owner}::uuid`
      )
      assert.strictEqual(yield* begunOnes, 1)
    })
  )

  it.effect("Another package by the same form is 409, and a package on other terms is 404", () =>
    Effect.gen(function* () {
      const owner = yield* anotherOperator
      yield* buying(owner, small, "k")
      assert.strictEqual((yield* Effect.flip(buying(owner, large, "k"))).code, "idempotency_key_reused")
      for (const name of ["", "500", "500-499-eur", "501-500-eur", "500-500-usd", `${small} `]) {
        assert.strictEqual((yield* Effect.flip(buying(owner, name, "other"))).code, "not_found")
      }
    })
  )

  it.effect("A purchase is visible to its owner only", () =>
    Effect.gen(function* () {
      const { purchaseId } = yield* begun(yield* anotherOperator)
      const other = yield* anotherOperator
      for (const id of [purchaseId, "x", ""]) {
        assert.isTrue(Option.isNone(yield* Payments.use((payments) => payments.purchaseOf(other, id))))
      }
    })
  )
})

layer(shop({ AUSPEX_LIMIT_PURCHASES: "3/hour" }))("Purchases", (it) => {
  it.effect("Purchases begin as often as the limit says", () =>
    Effect.gen(function* () {
      const owner = yield* anotherOperator
      for (const key of ["a", "b", "c"]) yield* buying(owner, small, key)
      assert.strictEqual((yield* Effect.flip(buying(owner, small, "d"))).code, "rate_limited")
    })
  )
})

layer(shop().pipe(Layer.provideMerge(telemetryRecorder)))(
  "Purchases while Stripe is away or rejects us",
  (it) => {
    it.effect("A purchase fails (503), the same form works later, and no log or trace has a secret", () =>
      Effect.gen(function* () {
        const { behave } = yield* StripeServer
        const owner = yield* anotherOperator
        for (const mood of ["fails", "rejects", "leads elsewhere", "talks nonsense"] as const) {
          behave(mood)
          const rejected = yield* Effect.flip(buying(owner, small, `key ${mood}`.replace(/ /g, "-")))
          assert.strictEqual(rejected.code, "payments_unavailable", mood)
        }
        behave("sound")
        const { payAt } = yield* buying(owner, small, "key-fails")
        assert.match(payAt ?? "", /^http:\/\/localhost:\d+\/c\/pay\/cs_test_/)
        yield* Effect.flip(
          Payments.use((payments) => payments.receive({ body: "{}", signature: "t=1,v1=00" }))
        )
        const { lines, spans } = yield* TelemetryRecorder
        const failed = lines.filter((line) => line.includes("did not begin a checkout"))
        assert.isAtLeast(failed.length, 2)
        for (const line of failed) assert.notInclude(line, "undefined")
        for (const text of [...lines, ...spans.map(spanText)]) {
          assert.notInclude(text, stripeSecretKey)
          assert.notInclude(text, webhookSecret)
        }
      })
    )
  }
)

layer(shop())("A payment", (it) => {
  it.effect("A payment credits the purchase in full, and names it", () =>
    Effect.gen(function* () {
      yield* moveTo(stripeTime)
      const owner = yield* anotherOperator
      const { purchaseId, session } = yield* begun(owner, large)
      yield* deliver(stripeEvent("checkout.session.completed", session))
      yield* has(owner, 2200)
      assert.deepInclude(yield* purchaseOf(owner, purchaseId), {
        state: "paid",
        payment_id: session.payment_intent,
        paid_at: "2026-06-01T00:00:00.000Z"
      })
      const { items } = yield* Credits.use((service) => service.movements(owner, firstPage))
      assert.deepStrictEqual(
        items.map(({ change, id, reason }) => [id, change, reason]),
        [[`purchase:${purchaseId}`, credits(2200), "purchase"]]
      )
      const again = yield* buying(owner, large, "new")
      assert.isNotNull(again.payAt)
      yield* holds
    })
  )

  it.effect("A payment told again, by the same event or another, on two replicas, credits once", () =>
    Effect.gen(function* () {
      yield* moveTo(stripeTime)
      const owner = yield* anotherOperator
      const { purchaseId, session } = yield* begun(owner)
      const bodies = [
        stripeEvent("checkout.session.completed", session),
        stripeEvent("checkout.session.completed", session),
        stripeEvent("checkout.session.async_payment_succeeded", session)
      ]
      const replicas = [yield* Payments, yield* paymentsReplica]
      const { done, findings } = yield* sampledWhile(
        concurrently(times(30, (index) => deliver(bodies[index % 3] ?? "", replicas[index % 2])))
      )
      assert.lengthOf(done.filter(Result.isSuccess), 30)
      assert.deepStrictEqual(findings, [])
      yield* has(owner, 500)
      const outcomes = (yield* outcomesOf(owner, purchaseId)).map(([, outcome]) => outcome)
      assert.deepStrictEqual(outcomes.toSorted(), ["already_paid", "already_paid", "credited"])
      yield* holds
    })
  )

  it.effect("A payment that comes later is waited for: complete and unpaid credits nothing", () =>
    Effect.gen(function* () {
      yield* moveTo(stripeTime)
      const owner = yield* anotherOperator
      const { purchaseId, session } = yield* begun(owner)
      yield* deliver(stripeEvent("checkout.session.completed", { ...session, payment_status: "unpaid" }))
      yield* has(owner, 0)
      assert.strictEqual((yield* purchaseOf(owner, purchaseId)).state, "processing")
      yield* deliver(stripeEvent("checkout.session.async_payment_succeeded", session))
      yield* has(owner, 500)
      assert.strictEqual((yield* purchaseOf(owner, purchaseId)).state, "paid")
    })
  )

  it.effect.each([
    ["failed", "checkout.session.async_payment_failed"],
    ["expired", "checkout.session.expired"]
  ] as const)("A payment that %s credits nothing, unless it came all the same", ([state, type]) =>
    Effect.gen(function* () {
      yield* moveTo(stripeTime)
      const owner = yield* anotherOperator
      const { purchaseId, session } = yield* begun(owner)
      yield* deliver(stripeEvent(type, { ...session, payment_status: "unpaid" }))
      assert.strictEqual((yield* purchaseOf(owner, purchaseId)).state, state)
      yield* has(owner, 0)
      yield* deliver(stripeEvent("checkout.session.completed", session))
      yield* has(owner, 500)
    })
  )

  it.effect("A payment that does not fit its record credits nothing, and is kept for the operator", () =>
    Effect.gen(function* () {
      yield* moveTo(stripeTime)
      const owner = yield* anotherOperator
      const { purchaseId, session } = yield* begun(owner)
      const other = yield* begun(owner)
      for (const change of [
        { amount_total: 499 },
        { amount_total: 501 },
        { amount_total: 0, payment_status: "no_payment_required" },
        { amount_total: null },
        { currency: "usd" },
        { id: "cs_test_another" },
        { id: other.session.id }
      ]) {
        yield* deliver(stripeEvent("checkout.session.completed", { ...session, ...change }))
      }
      yield* has(owner, 0)
      assert.deepStrictEqual(
        yield* outcomesOf(owner, purchaseId),
        times(7, () => ["paid", "mismatch"])
      )
      yield* deliver(stripeEvent("checkout.session.completed", session))
      yield* has(owner, 500)
      yield* holds
    })
  )

  it.effect("A payment for something else is ignored, and so is an unknown kind of event", () =>
    Effect.gen(function* () {
      yield* moveTo(stripeTime)
      const owner = yield* anotherOperator
      const { charge, session } = yield* begun(owner)
      const rows = countOf((sql) => sql`select count(*)::int as count from payment_events`)
      const before = yield* rows
      const unknown = { auspex_purchase: "0190f000-0000-7000-8000-000000000000" }
      for (const metadata of [{}, null, { auspex_purchase: "x" }, unknown]) {
        yield* deliver(stripeEvent("checkout.session.completed", { ...session, metadata }))
        yield* deliver(stripeEvent("charge.refunded", { ...charge(500), metadata }))
      }
      yield* deliver(stripeEvent("invoice.paid", { id: "in_1" }))
      yield* deliver(stripeEvent("some.day.invented", {}))
      assert.strictEqual(yield* rows, before)
      yield* has(owner, 0)
    })
  )
})

layer(shop())("A message", (it) => {
  const rejected = Effect.fnUntraced(function* (message: {
    readonly body: string
    readonly signature: string | undefined
  }) {
    const error = yield* Effect.flip(Payments.use((payments) => payments.receive(message)))
    assert.strictEqual(error.code, "invalid_payment_event")
  })

  it.effect("A message counts if Stripe's library signed these very bytes, within five minutes", () =>
    Effect.gen(function* () {
      yield* moveTo(stripeTime)
      const owner = yield* anotherOperator
      const { session } = yield* begun(owner)
      const body = stripeEvent("checkout.session.completed", session)
      const now = stripeTime.epochMilliseconds / 1000
      const { signature } = yield* signedNow(body)
      yield* rejected({ body, signature: undefined })
      for (const forged of [
        "",
        "x",
        "t=,v1=",
        `t=${now},v1=${"0".repeat(64)}`,
        `t=${now},v0=${signature.replace(/.*v1=/, "")}`,
        signature.replace(/t=\d+/, `t=${now + 1}`),
        signatureOf(body, now, "whsec_another0000000000"),
        signatureOf(`${body} `, now),
        signatureOf(body, now - 301),
        signatureOf(body, now + 301),
        signatureOf(body, now + 365 * 86_400),
        `t=${now},${signatureOf(body, now + 301)}`
      ]) {
        yield* rejected({ body, signature: forged })
      }
      yield* rejected({ body: body.replace('"amount_total":500', '"amount_total":5'), signature })
      yield* has(owner, 0)
      for (const seconds of [now - 300, now + 300]) {
        yield* Payments.use((payments) => payments.receive({ body, signature: signatureOf(body, seconds) }))
      }
      yield* has(owner, 500)
    })
  )

  it.effect("A signed message that is no event of Stripe's is rejected", () =>
    Effect.gen(function* () {
      yield* moveTo(stripeTime)
      for (const body of [
        "",
        "{",
        "[]",
        "null",
        "{}",
        stripeEvent("checkout.session.completed", {}),
        stripeEvent("checkout.session.completed", { amount_total: "500" }),
        stripeEvent("charge.refunded", { amount_refunded: -1, currency: "eur" }),
        stripeEvent("charge.dispute.closed", { status: "lost" }, { id: "" })
      ]) {
        yield* rejected(yield* signedNow(body))
      }
    })
  )
})

layer(shop())("A refund", (it) => {
  it.effect("A refund of a share that is no whole micro-credit takes back one more", () =>
    Effect.gen(function* () {
      yield* moveTo(stripeTime)
      const owner = yield* anotherOperator
      const { charge, session } = yield* begun(owner, uneven)
      yield* deliver(stripeEvent("checkout.session.completed", session))
      yield* deliver(stripeEvent("charge.refunded", charge(1)))
      assert.strictEqual((yield* stateOf(`owner:${owner}`)).posted, 100_000_000n - 333_334n)
    })
  )

  it.effect("A refund takes back its share of the credit, however often it is told", () =>
    Effect.gen(function* () {
      yield* moveTo(stripeTime)
      const owner = yield* anotherOperator
      const { charge, purchaseId, session } = yield* begun(owner, large)
      yield* deliver(stripeEvent("checkout.session.completed", session))
      const half = stripeEvent("charge.refunded", charge(1000))
      yield* deliver(half)
      yield* deliver(half)
      yield* deliver(stripeEvent("charge.refunded", charge(1000)))
      yield* has(owner, 1100)
      // 0.01 of 20.00 is 1.1 credits.
      yield* deliver(stripeEvent("charge.refunded", charge(1001)))
      assert.strictEqual((yield* stateOf(`owner:${owner}`)).posted, 1_098_900_000n)
      // This message is late: its amount is less than the known one.
      yield* deliver(stripeEvent("charge.refunded", charge(500)))
      yield* deliver(stripeEvent("charge.refunded", charge(2000)))
      yield* has(owner, 0)
      assert.strictEqual((yield* purchaseOf(owner, purchaseId)).taken_back, credits(2200))
      yield* holds
    })
  )

  it.effect("A refund takes the rest of the owner's account, and nothing from agents", () =>
    Effect.gen(function* () {
      yield* moveTo(stripeTime)
      const owner = yield* anotherOperator
      const { charge, purchaseId, session } = yield* begun(owner)
      yield* deliver(stripeEvent("checkout.session.completed", session))
      const agent = yield* agentOf(owner)
      yield* Credits.use((service) =>
        service.topUp(owner, agent, { amount: credits(480), idempotency_key: "k" })
      )
      yield* deliver(stripeEvent("charge.refunded", charge(500)))
      yield* has(owner, 0)
      assert.strictEqual((yield* stateOf(`agent:${agent}`)).posted, credits(480))
      assert.deepStrictEqual(yield* outcomesOf(owner, purchaseId), [
        ["paid", "credited"],
        ["refunded", "taken_back"]
      ])
      assert.strictEqual((yield* purchaseOf(owner, purchaseId)).taken_back, credits(20))
      yield* holds
    })
  )

  it.effect("A refund told before its payment has the same result as one told after it", () =>
    Effect.gen(function* () {
      yield* moveTo(stripeTime)
      const owner = yield* anotherOperator
      const { charge, dispute, session } = yield* begun(owner, large)
      yield* deliver(stripeEvent("charge.refunded", charge(500)))
      yield* deliver(stripeEvent("charge.dispute.closed", dispute("lost", 500)))
      yield* has(owner, 0)
      yield* deliver(stripeEvent("checkout.session.completed", session))
      yield* has(owner, 1100)
      yield* holds
    })
  )
})

layer(shop())("A dispute", (it) => {
  it.effect("A dispute is recorded, and takes the credit back when it is lost", () =>
    Effect.gen(function* () {
      yield* moveTo(stripeTime)
      const owner = yield* anotherOperator
      const { dispute, purchaseId, session } = yield* begun(owner)
      yield* deliver(stripeEvent("checkout.session.completed", session))
      yield* deliver(stripeEvent("charge.dispute.created", dispute("needs_response")))
      yield* has(owner, 500)
      yield* deliver(stripeEvent("charge.dispute.closed", dispute("lost")))
      yield* has(owner, 0)
      assert.deepStrictEqual(yield* outcomesOf(owner, purchaseId), [
        ["paid", "credited"],
        ["disputed", "noted"],
        ["dispute_lost", "taken_back"]
      ])
      yield* holds
    })
  )

  it.effect("A dispute lost just while its payment is told takes the credit back", () =>
    Effect.gen(function* () {
      yield* moveTo(stripeTime)
      const owner = yield* anotherOperator
      const { dispute, session } = yield* begun(owner)
      const lost = yield* held(deliver(stripeEvent("charge.dispute.closed", dispute("lost"))))
      const paying = yield* meeting(deliver(stripeEvent("checkout.session.completed", session)))
      yield* lost.commit
      yield* Fiber.join(paying)
      yield* has(owner, 0)
      yield* holds
    })
  )

  it.effect("A dispute that is won takes nothing", () =>
    Effect.gen(function* () {
      yield* moveTo(stripeTime)
      const owner = yield* anotherOperator
      const { dispute, session } = yield* begun(owner)
      yield* deliver(stripeEvent("checkout.session.completed", session))
      for (const status of ["won", "warning_closed", "prevented"]) {
        yield* deliver(stripeEvent("charge.dispute.closed", dispute(status)))
      }
      yield* has(owner, 500)
    })
  )
})

layer(shop())("Messages of Stripe", (it) => {
  it.effect.each([1, 2, 3])(
    "Messages of Stripe in any order and any number have the same result (seed %i)",
    (seed) =>
      Effect.gen(function* () {
        yield* moveTo(stripeTime)
        const owner = yield* anotherOperator
        const { charge, dispute, session } = yield* begun(owner, large)
        const bodies = [
          stripeEvent("checkout.session.completed", { ...session, payment_status: "unpaid" }),
          stripeEvent("checkout.session.async_payment_succeeded", session),
          stripeEvent("checkout.session.completed", session),
          stripeEvent("charge.refunded", charge(200)),
          stripeEvent("charge.refunded", charge(600)),
          stripeEvent("charge.dispute.created", dispute("needs_response", 400)),
          stripeEvent("charge.dispute.closed", dispute("lost", 400)),
          stripeEvent("customer.created", {})
        ]
        const replicas = [yield* Payments, yield* paymentsReplica]
        const order = yield* Random.shuffle([...bodies, ...bodies, ...bodies]).pipe(
          Random.withSeed(String(seed))
        )
        const { findings } = yield* sampledWhile(
          Effect.forEach(order, (body, index) => deliver(body, replicas[index % 2]), { concurrency: seed })
        )
        assert.deepStrictEqual(findings, [])
        // 6.00 refunded and 4.00 lost of 20.00.
        yield* has(owner, 1100)
        assert.deepStrictEqual(yield* creditFindings, [])
        yield* holds
      })
  )
})

layer(shop())("The ledger's check", (it) => {
  it.effect("The ledger's check counts credit that was bought and taken back", () =>
    Effect.gen(function* () {
      yield* moveTo(stripeTime)
      const owner = yield* anotherOperator
      const { charge, session } = yield* begun(owner)
      yield* deliver(stripeEvent("checkout.session.completed", session))
      yield* deliver(stripeEvent("charge.refunded", charge(100)))
      const checked = yield* Audit.use(({ verifyLedger }) => verifyLedger)
      assert.deepInclude(checked, { purchases: credits(500), refunds: credits(100) })
    })
  )

  it.effect("The ledger's check names credit bought by nobody, and credit taken back for nothing", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const owner = yield* anotherOperator
      const { purchaseId } = yield* begun(owner)
      const transfer = { kind: "post" as const, amount: 5n, reason: "a test" }
      yield* record({
        ...transfer,
        id: `purchase:${purchaseId}`,
        debit: "treasury",
        credit: `owner:${owner}`
      })
      yield* record({
        ...transfer,
        id: `refund:${purchaseId}:evt_none`,
        debit: `owner:${owner}`,
        credit: "treasury"
      })
      yield* asOwner(sql`alter table purchases disable trigger purchases_append_only`)
      const { differences } = yield* Audit.use(({ verifyLedger }) => verifyLedger)
      yield* asOwner(sql`alter table purchases enable trigger purchases_append_only`)
      assert.match(differences.join("\n"), /purchase .* was credited but not paid/)
      assert.match(
        differences.join("\n"),
        /takes credit from owner:.* without a recorded refund of a purchase/
      )
      assert.include(differences.join("\n"), "purchases_append_only of purchases is missing or switched off")
    })
  )
})
