/** The page of an owner's credit, buying more of it, and Stripe's webhook, over HTTP. */
import { assert, layer } from "@effect/vitest"
import { Clock, Effect, Layer } from "effect"
import { TestClock } from "effect/testing"
import { Credits } from "../../src/services/Credits.ts"
import { OperatorId } from "../../src/services/domain/ids.ts"
import { topUpPage } from "../../src/http/site/paths.ts"
import { times } from "../support/concurrently.ts"
import { ownerVisitor, agentOf } from "../support/agents.ts"
import { credits, fundOwnerOf } from "../support/credit.ts"
import { TelemetryRecorder, telemetryRecorder, spanText } from "../support/telemetryRecorder.ts"
import { get, member, post, testServer } from "../support/server.ts"
import type { Answer } from "../support/server.ts"
import { testAdminToken } from "../support/settings.ts"
import {
  selling,
  signatureOf,
  stripeEvent,
  StripeServer,
  stripeServer,
  stripeSecretKey,
  webhookSecret
} from "../support/stripe.ts"
import { formsOf, makeVisitor, sameOrigin, textOf } from "../support/visitor.ts"

const webhook = "/api/v1/stripe/webhook"
const page = "/account/credit"

const shop = testServer({ swap: selling.pipe(Layer.provide(stripeServer)) }).pipe(
  Layer.provideMerge(stripeServer)
)

/** Stripe reports the outcome of the last purchase to the webhook. */
const told = Effect.fnUntraced(function* (type: string, fields: Readonly<Record<string, unknown>> = {}) {
  const { sessions } = yield* StripeServer
  const last = sessions.at(-1)
  const purchase = last?.fields["client_reference_id"]
  const body = stripeEvent(type, {
    id: last?.sessionId,
    object: "checkout.session",
    amount_total: Number(last?.fields["line_items[0][price_data][unit_amount]"]),
    currency: "eur",
    payment_status: "paid",
    payment_intent: `pi_${purchase}`,
    metadata: { auspex_purchase: purchase },
    ...fields
  })
  return yield* signed(body)
})

const signed = Effect.fnUntraced(function* (body: string, secret = webhookSecret) {
  const seconds = Math.floor((yield* Clock.currentTimeMillis) / 1000)
  return yield* post(webhook, {
    headers: { "content-type": "application/json", "stripe-signature": signatureOf(body, seconds, secret) },
    body
  })
})

/** The form that buys this number of credits. */
const offerOf = (answer: Answer, name: string) =>
  formsOf(answer).find(({ fields }) => fields["package"]?.startsWith(name))

layer(testServer())("A site that sells no credit", (it) => {
  it.effect("The page of an owner's credit shows what there is and what moved it, and nothing to buy", () =>
    Effect.gen(function* () {
      const { agent, visitor } = yield* ownerVisitor({ name: "First Light" })
      const owner = yield* fundOwnerOf(agent.agentId, 70)
      const form = formsOf(yield* visitor.open(topUpPage(agent.agentId))).find(
        (each) => "amount" in each.fields
      )
      yield* visitor.submit(form, { amount: "12.5" })
      yield* Credits.use((service) =>
        service.grant(
          { kind: "owner", id: owner },
          { amount: credits(1), reason: "<b>", idempotency_key: "k" }
        )
      )
      const shown = yield* visitor.open(page)
      assert.strictEqual(shown.status, 200)
      assert.match(textOf(shown), /Your credit 58\.5 credits/)
      assert.match(textOf(shown), /<b> \+1 .* Moved to First Light −12\.5 .* a test \+70/)
      assert.notMatch(textOf(shown), /Buy|Stripe/)
      assert.include(shown.headers.get("content-security-policy") ?? "", "form-action 'self';")
      assert.include((yield* visitor.open("/account")).text, `href="${page}"`)
    })
  )

  it.effect("A site that sells nothing has no webhook, and begins no purchase", () =>
    Effect.gen(function* () {
      const answer = yield* post(webhook, { headers: { "stripe-signature": "t=1,v1=0" }, json: {} })
      assert.deepStrictEqual([answer.status, answer.json["code"]], [404, "not_found"])
      const { visitor } = yield* ownerVisitor()
      const [signOut] = formsOf(yield* visitor.open(page))
      assert(signOut !== undefined)
      const fields = { package: "500-500-eur", idempotency_key: "k" }
      assert.strictEqual((yield* visitor.submit({ ...signOut, action: page }, fields)).status, 404)
      assert.notInclude((yield* get("/openapi.json")).text, "stripe")
    })
  )

  it.effect("The movements of an owner's credit are shown a page at a time", () =>
    Effect.gen(function* () {
      const { agent, visitor } = yield* ownerVisitor()
      yield* Effect.forEach(times(60, String), () => fundOwnerOf(agent.agentId, 1))
      const first = yield* visitor.open(page)
      assert.lengthOf([...first.text.matchAll(/class="numeric"/g)], 50)
      const [, next = ""] = /href="([^"]*cursor=[^"]*)"/.exec(first.text) ?? []
      const second = yield* visitor.open(next)
      assert.lengthOf([...second.text.matchAll(/class="numeric"/g)], 10)
      assert.strictEqual((yield* visitor.open(`${page}?cursor=x`)).status, 400)
    })
  )

  it.effect("The page of credit is the owner's only", () =>
    Effect.gen(function* () {
      const stranger = yield* get(page)
      assert.deepStrictEqual(
        [stranger.status, stranger.headers.get("location")],
        [303, "/sign-in?return_to=%2Faccount%2Fcredit"]
      )
    })
  )
})

layer(shop)("A site that sells credit", (it) => {
  it.effect("An owner chooses a package, pays at Stripe, and comes back to the credit", () =>
    Effect.gen(function* () {
      const { sessions, checkoutOrigin } = yield* StripeServer
      const { visitor } = yield* ownerVisitor()
      const shown = yield* visitor.open(page)
      assert.match(textOf(shown), /Buy credit 500 credits for €5\.00 Buy 2,200 credits for €20\.00 Buy/)
      // Browsers hold the redirect of a form to this rule.
      assert.include(
        shown.headers.get("content-security-policy") ?? "",
        `form-action 'self' ${checkoutOrigin};`
      )
      const sent = yield* visitor.submit(offerOf(shown, "2200"))
      assert.strictEqual(sent.status, 303)
      assert.match(sent.headers.get("location") ?? "", /^http:\/\/localhost:\d+\/c\/pay\/cs_test_/)
      const back = new URL(sessions.at(-1)?.fields["success_url"] ?? "")
      const waiting = yield* visitor.open(back.pathname + back.search)
      assert.include(textOf(waiting), "We are waiting for the payment.")
      const answer = yield* told("checkout.session.completed")
      assert.deepStrictEqual([answer.status, answer.json], [200, { received: true }])
      const paid = yield* visitor.open(back.pathname + back.search)
      assert.match(textOf(paid), /Thank you: 2200 credits bought\..*Your credit 2200 credits/)
      // From now on the used form leads here.
      const again = yield* visitor.submit(offerOf(shown, "2200"))
      assert.strictEqual(again.headers.get("location"), back.pathname + back.search)
    })
  )

  it.effect.each([
    ["checkout.session.completed", { payment_status: "unpaid" }, "Your payment is under way."],
    ["checkout.session.async_payment_failed", {}, "The payment failed."],
    ["checkout.session.expired", {}, "The payment took too long."]
  ] as const)("The page of credit says what became of the purchase after %s", ([type, fields, sentence]) =>
    Effect.gen(function* () {
      const { visitor } = yield* ownerVisitor()
      yield* visitor.submit(offerOf(yield* visitor.open(page), "500"))
      yield* told(type, fields)
      const { sessions } = yield* StripeServer
      const shown = yield* visitor.open(`${page}?purchase=${sessions.at(-1)?.fields["client_reference_id"]}`)
      assert.include(textOf(shown), sentence)
      assert.match(textOf(shown), /Your credit 0 credits/)
    })
  )

  it.effect(
    "A form with another package (409), on other terms (404) or without its key (400) begins nothing",
    () =>
      Effect.gen(function* () {
        const { visitor } = yield* ownerVisitor()
        const { sessions } = yield* StripeServer
        const shown = yield* visitor.open(page)
        const form = offerOf(shown, "500")
        yield* visitor.submit(form)
        const before = sessions.length
        const other = yield* visitor.submit(form, { package: "2200-2000-eur" })
        assert.strictEqual(other.status, 409)
        assert.include(textOf(other), "Nothing was bought.")
        for (const cheap of ["2200-1-eur", "", "\u0000"]) {
          assert.strictEqual((yield* visitor.submit(form, { package: cheap })).status, 404)
        }
        for (const idempotency_key of ["", "a b", "\u0000"]) {
          assert.strictEqual((yield* visitor.submit(form, { idempotency_key })).status, 400)
        }
        const stranger = makeVisitor()
        const [signIn] = formsOf(yield* stranger.open("/sign-in"))
        assert(signIn !== undefined && form !== undefined)
        const foreign = yield* stranger.submit({ ...signIn, action: page }, form.fields)
        assert.strictEqual(foreign.status, 403)
        assert.strictEqual(sessions.length, before)
      })
  )

  it.effect("A purchase while Stripe is away buys nothing (503), and the page says so", () =>
    Effect.gen(function* () {
      const { visitor } = yield* ownerVisitor()
      const { behave } = yield* StripeServer
      behave("fails")
      const refused = yield* visitor.submit(offerOf(yield* visitor.open(page), "500"))
      behave("sound")
      assert.strictEqual(refused.status, 503)
      assert.match(textOf(refused), /Nothing was bought\. The payment provider cannot be reached/)
      assert.strictEqual((yield* visitor.submit(offerOf(refused, "500"))).status, 303)
    })
  )

  it.effect("The webhook takes what Stripe signed, and nothing else", () =>
    Effect.gen(function* () {
      const { visitor } = yield* ownerVisitor()
      yield* visitor.submit(offerOf(yield* visitor.open(page), "500"))
      const body = stripeEvent("invoice.paid", {})
      assert.strictEqual((yield* signed(body)).status, 200)
      const forged = yield* signed(body, "whsec_another0000000000")
      assert.deepStrictEqual([forged.status, forged.json["code"]], [400, "invalid_payment_event"])
      const json = { "content-type": "application/json" }
      assert.strictEqual((yield* post(webhook, { headers: json, body })).status, 400)
      assert.strictEqual(
        (yield* post(webhook, { headers: { "content-type": "text/plain" }, body })).status,
        415
      )
      const huge = yield* post(webhook, { headers: json, body: " ".repeat(300_000) })
      assert.strictEqual(huge.status, 413)
      const wrong = yield* get(webhook)
      assert.deepStrictEqual([wrong.status, wrong.headers.get("allow")], [405, "POST"])
      const cross = yield* post(webhook, {
        headers: { ...json, ...sameOrigin, cookie: "auspex_session=x" },
        body
      })
      assert.strictEqual(cross.status, 400)
    })
  )

  it.effect("Administrators see which purchases were begun, and what Stripe told of them", () =>
    Effect.gen(function* () {
      const { visitor } = yield* ownerVisitor()
      yield* visitor.submit(offerOf(yield* visitor.open(page), "500"))
      yield* told("checkout.session.completed", { amount_total: 1 })
      yield* told("checkout.session.completed")
      const { json } = yield* get("/api/v1/admin/purchases?limit=1", { token: testAdminToken })
      const item = member(json, "items", 0)
      assert.deepInclude(item, {
        state: "paid",
        credits: 500,
        amount: 500,
        currency: "eur",
        taken_back: 0
      })
      assert.deepStrictEqual(
        [0, 1].map((index) => member(item, "events", index, "outcome")),
        ["mismatch", "credited"]
      )
      const next = yield* get(`/api/v1/admin/purchases?limit=1&cursor=${String(json["next_cursor"])}`, {
        token: testAdminToken
      })
      assert.strictEqual(next.status, 200)
      assert.notStrictEqual(member(next.json, "items", 0, "purchase_id"), member(item, "purchase_id"))
      const foreign = yield* get("/api/v1/admin/purchases?cursor=x", { token: testAdminToken })
      assert.strictEqual(foreign.status, 400)
    })
  )
})

layer(shop.pipe(Layer.provideMerge(telemetryRecorder)))("A purchase", (it) => {
  it.effect("A purchase sends few statements, however much was bought before, and tells no secret", () =>
    Effect.gen(function* () {
      const { agent, visitor } = yield* ownerVisitor()
      const owner = OperatorId.make(yield* fundOwnerOf(agent.agentId, 1))
      const { lines, spans } = yield* TelemetryRecorder
      const statements = (id: string) =>
        spans.filter(
          ({ attributes, kind }) =>
            kind === "client" && attributes.get("request.id") === id && attributes.has("db.query.text")
        ).length
      const round = Effect.fnUntraced(function* (name: string) {
        yield* TestClock.adjust("2 seconds")
        const shown = yield* visitor.ask("GET", page, { headers: { "x-request-id": `${name}-page` } })
        yield* visitor.submit(offerOf(shown, "500"), {}, { ...sameOrigin, "x-request-id": `${name}-buy` })
        yield* told("checkout.session.completed")
        return [statements(`${name}-page`), statements(`${name}-buy`)]
      })
      const first = yield* round("one")
      // The page reads the limit and the session; the account, its agents and its ledger entries. A purchase reads
      // two limits and the session, the purchase twice, and the checkout twice.
      assert.deepStrictEqual(first, [5, 7])
      yield* Effect.replicateEffect(agentOf(owner), 5)
      yield* Effect.forEach(times(5, String), round)
      assert.deepStrictEqual(yield* round("last"), first)
      for (const text of [...lines, ...spans.map(spanText)]) {
        assert.notInclude(text, stripeSecretKey)
        assert.notInclude(text, webhookSecret)
      }
    })
  )
})
