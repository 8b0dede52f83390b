/** The parts of Stripe that we use: a server in the shapes of its API, and messages signed by its own library. */
import { createServer } from "node:http"
import type { IncomingMessage } from "node:http"
import type { AddressInfo } from "node:net"
import { Clock, Context, DateTime, Effect, Layer, Option, Redacted } from "effect"
import { Stripe } from "stripe"
import * as PaymentsOnPostgres from "../../src/layers/postgres/credit/Payments.ts"
import * as PaymentProvider from "../../src/layers/stripe/PaymentProvider.ts"
import { packageName, Payments } from "../../src/services/Payments.ts"
import type { OperatorId } from "../../src/services/domain/ids.ts"
import { Operators } from "../../src/services/Operators.ts"

export const stripeSecretKey = "sk_test_canary4242424242424242"
export const webhookSecret = "whsec_canary1717171717171717"

export const packages = [
  { credits: 500, price: { amount: 500, currency: "eur" } },
  { credits: 2200, price: { amount: 2000, currency: "eur" } },
  { credits: 100, price: { amount: 300, currency: "eur" } }
] as const
export const [small, large, uneven] = packages.map(packageName)

/** A requested session, as the form fields that the library sends. */
export interface BegunSession {
  readonly idempotencyKey: string
  readonly fields: Readonly<Record<string, string>>
  readonly sessionId: string
}

export type StripeMood = "sound" | "rejects" | "fails" | "leads elsewhere" | "talks nonsense"

export class StripeServer extends Context.Service<
  StripeServer,
  {
    readonly url: URL
    /** The same server by another name of loopback, so that to a browser its pages are another site's. */
    readonly checkoutOrigin: string
    readonly sessions: ReadonlyArray<BegunSession>
    /** Checkouts that were looked up, oldest first. */
    readonly lookedUp: ReadonlyArray<string>
    /** Sets the state of a checkout that a look-up returns. */
    readonly become: (session: EventObject, state: EventObject) => void
    /** Sets the behaviour from now on. */
    readonly behave: (mood: StripeMood) => void
  }
>()("auspex/test/StripeServer") {}

const bodyOf = async (request: IncomingMessage): Promise<string> => {
  const chunks: Array<Buffer> = []
  for await (const chunk of request) chunks.push(Buffer.from(chunk))
  return Buffer.concat(chunks).toString()
}

const errorOf = (type: string, message: string) => ({ error: { type, message } })

export const stripeServer = Layer.effect(
  StripeServer,
  Effect.gen(function* () {
    const sessions: Array<BegunSession> = []
    const answers = new Map<string, { readonly body: string; readonly answer: unknown }>()
    const lookedUp: Array<string> = []
    const states = new Map<string, EventObject>()
    let mood: StripeMood = "sound"

    const portOf = () => (server.address() as AddressInfo).port
    const checkoutOrigin = () => `http://localhost:${portOf()}`

    const answerTo = (key: string, body: string): readonly [status: number, answer: unknown] => {
      if (mood === "fails") return [500, errorOf("api_error", "Something went wrong.")]
      if (mood === "rejects")
        return [401, errorOf("invalid_request_error", `Invalid API Key: ${stripeSecretKey}`)]
      if (mood === "talks nonsense") return [200, { id: "cs_x", object: "checkout.session", url: null }]
      const earlier = answers.get(key)
      if (earlier !== undefined) {
        return earlier.body === body
          ? [200, earlier.answer]
          : [400, errorOf("idempotency_error", "Keys can only be used with the same parameters.")]
      }
      const sessionId = `cs_test_${sessions.length + 1}_${key.slice(-12)}`
      const origin = mood === "leads elsewhere" ? "https://evil.example" : checkoutOrigin()
      const answer = { id: sessionId, object: "checkout.session", url: `${origin}/c/pay/${sessionId}` }
      answers.set(key, { body, answer })
      sessions.push({ idempotencyKey: key, fields: Object.fromEntries(new URLSearchParams(body)), sessionId })
      return [200, answer]
    }

    const stateOf = (sessionId: string): readonly [status: number, answer: unknown] => {
      lookedUp.push(sessionId)
      if (mood !== "sound") return answerTo(sessionId, "")
      const state = states.get(sessionId)
      return state === undefined
        ? [404, errorOf("invalid_request_error", `No such checkout.session: ${sessionId}`)]
        : [200, state]
    }

    const respond = (request: IncomingMessage, body: string): readonly [status: number, answer: unknown] => {
      const { headers, method, url = "" } = request
      if (headers.authorization !== `Bearer ${stripeSecretKey}`) {
        return [401, errorOf("invalid_request_error", "?")]
      }
      if (method === "POST" && url === "/v1/checkout/sessions") {
        return answerTo(String(headers["idempotency-key"]), body)
      }
      const sessionId = /^\/v1\/checkout\/sessions\/(\w+)$/.exec(url)?.[1]
      return method === "GET" && sessionId !== undefined
        ? stateOf(sessionId)
        : [404, errorOf("invalid_request_error", "?")]
    }

    /** The payment page, as far as buyers need it: one link, which leads back. */
    const paymentPage = (path: string): string => {
      const session = sessions.find(({ sessionId }) => path === `/c/pay/${sessionId}`)
      return `<!doctype html><title>Pay</title><a href="${session?.fields["success_url"]}">I have paid</a>`
    }

    const server = createServer((request, response) => {
      if (request.method === "GET" && request.url?.startsWith("/c/pay/") === true) {
        response.writeHead(200, { "content-type": "text/html" })
        response.end(paymentPage(request.url ?? ""))
        return
      }
      const answered = async () => {
        const body = await bodyOf(request)
        const [status, answer] = respond(request, body)
        response.writeHead(status, { "content-type": "application/json", "stripe-should-retry": "false" })
        response.end(JSON.stringify(answer))
      }
      void answered()
    })
    yield* Effect.acquireRelease(
      Effect.callback<void>((resume) => {
        server.listen(0, "127.0.0.1", () => resume(Effect.void))
      }),
      () =>
        Effect.callback<void>((resume) => {
          server.closeAllConnections()
          server.close(() => resume(Effect.void))
        })
    )
    return {
      url: new URL(`http://127.0.0.1:${portOf()}`),
      checkoutOrigin: checkoutOrigin(),
      sessions,
      lookedUp,
      become: (session, state) => states.set(String(session["id"]), { ...session, ...state }),
      behave: (next) => {
        mood = next
      }
    }
  })
)

/** Payments with this server as the provider; it is fresh, since it is beside a server that sells nothing. */
export const selling = Layer.unwrap(
  Effect.map(StripeServer, ({ checkoutOrigin, url }) =>
    Layer.fresh(PaymentsOnPostgres.layer).pipe(
      Layer.provide(
        PaymentProvider.layer(
          Option.some({
            secretKey: Redacted.make(stripeSecretKey),
            webhookSecret: Redacted.make(webhookSecret),
            packages,
            api: url,
            checkoutOrigin
          })
        )
      )
    )
  )
)

/** The payments of another replica, on the same database. */
export const paymentsReplica = Effect.map(Layer.build(Layer.fresh(selling)), (context) =>
  Context.get(context, Payments)
)

const library = new Stripe("sk_test_unused")

/** Signs a message as Stripe does, with its own library, which takes second 0 as the present of the machine's clock. */
export const signatureOf = (payload: string, seconds: number, secret = webhookSecret): string =>
  library.webhooks.generateTestHeaderString({ payload, secret, timestamp: Math.max(1, seconds) })

let events = 0

export type EventObject = Readonly<Record<string, unknown>>

/** An event in Stripe's envelope, with a new id. */
export const stripeEvent = (type: string, object: EventObject, fields: EventObject = {}): string => {
  events += 1
  return JSON.stringify({
    id: `evt_${events}`,
    object: "event",
    api_version: "2026-10-28.endive",
    created: 1_780_000_000 + events,
    data: { object },
    livemode: false,
    pending_webhooks: 1,
    request: { id: null, idempotency_key: null },
    type,
    ...fields
  })
}

/** A message that was signed a moment ago. */
export const signedNow = Effect.fnUntraced(function* (body: string) {
  const seconds = Math.floor((yield* Clock.currentTimeMillis) / 1000)
  return { body, signature: signatureOf(body, seconds) }
})

/** Delivers a message to the service; by this replica, or another. */
export const deliver = Effect.fnUntraced(function* (body: string, by?: Payments["Service"]) {
  const payments = by ?? (yield* Payments)
  return yield* payments.receive(yield* signedNow(body))
})

/** A purchase that was begun, with the fields of Stripe's objects about it. */
export const begun = Effect.fnUntraced(function* (
  owner: OperatorId,
  name: string = small ?? "",
  key: string = crypto.randomUUID()
) {
  const { sessions } = yield* StripeServer
  const { operator } = yield* Operators.use((operators) => operators.account(owner))
  const { payAt, purchaseId } = yield* Payments.use((payments) =>
    payments.begin(operator, { package: name, key })
  )
  const sessionId =
    sessions.find(({ fields }) => fields["client_reference_id"] === purchaseId)?.sessionId ?? ""
  const price = packages.find((each) => packageName(each) === name)?.price ?? packages[0].price
  const metadata = { auspex_purchase: purchaseId }
  const paymentId = `pi_${purchaseId.slice(-12)}`
  const session = {
    id: sessionId,
    object: "checkout.session",
    client_reference_id: purchaseId,
    amount_total: price.amount,
    currency: price.currency,
    payment_status: "paid",
    payment_intent: paymentId,
    metadata
  }
  const charge = (amount_refunded: number) => ({
    object: "charge",
    amount: price.amount,
    amount_refunded,
    currency: price.currency,
    payment_intent: paymentId,
    metadata
  })
  const dispute = (status: string, amount: number = price.amount) => ({
    object: "dispute",
    amount,
    currency: price.currency,
    status,
    payment_intent: paymentId
  })
  return { charge, dispute, payAt, purchaseId, session }
})

/** The time in Stripe's messages of these tests. */
export const stripeTime = DateTime.makeUnsafe("2026-06-01T00:00:00Z")
