/** Stripe Checkout by the `stripe` library, which signs nothing of ours and checks every signature of Stripe's. */
import { Clock, Effect, Layer, Option, Predicate, Redacted } from "effect"
import type Stripe from "stripe"
import type { PurchaseId } from "../../services/identifiers.ts"
import {
  creditPage,
  InvalidPaymentEvent,
  PaymentProvider,
  PaymentsUnavailable
} from "../../services/Payments.ts"
import type { CreditPackage, Provider } from "../../services/Payments.ts"
import { Settings } from "../../services/Settings.ts"
import { checkoutEventOf, paymentEventOf } from "./events.ts"

export interface StripeSettings {
  readonly secretKey: Redacted.Redacted
  readonly webhookSecret: Redacted.Redacted
  readonly packages: ReadonlyArray<CreditPackage>
  readonly api: URL
  readonly checkoutOrigin: string
}

const requestTimeoutMillis = 10_000
/** How old a signed message may be, what Stripe's libraries allow, and how far ahead. */
const toleranceSeconds = 300

/** Whether a message says that it was signed after this second. The library, which refuses the malformed, looks at its age alone. */
const isSignedAfter = (signature: string, seconds: number): boolean =>
  signature.split(",").some((part) => part.startsWith("t=") && Number.parseInt(part.slice(2), 10) > seconds)

const unavailable = () =>
  new PaymentsUnavailable({
    detail: "The payment provider cannot be reached just now, so nothing was bought: try again shortly."
  })

/** What went wrong, and not with what: the library's errors carry what was sent. */
const aboutError = (error: unknown) => {
  // The library's errors have all of these members, of which those that it knows nothing of are undefined.
  const said = (name: string, otherwise = "none") =>
    Predicate.hasProperty(error, name) ? String(error[name] ?? otherwise) : otherwise
  return {
    kind: said("type", "unknown"),
    code: said("code"),
    status: said("statusCode"),
    stripe_request: said("requestId")
  }
}

const creditsText = (credits: number): string => new Intl.NumberFormat("en").format(credits)

const sessionOf = (
  purchase: {
    readonly purchaseId: PurchaseId
    readonly package: CreditPackage
    readonly email: string | null
  },
  baseUrl: string
): Stripe.Checkout.SessionCreateParams => {
  const { credits, price } = purchase.package
  // On the payment too, because Stripe copies it to the charge that refunds tell of.
  const metadata = { auspex_purchase: purchase.purchaseId }
  return {
    mode: "payment",
    client_reference_id: purchase.purchaseId,
    metadata,
    payment_intent_data: { metadata },
    line_items: [
      {
        quantity: 1,
        price_data: {
          currency: price.currency,
          unit_amount: price.amount,
          product_data: { name: `${creditsText(credits)} Auspex credits` }
        }
      }
    ],
    // In another currency the amount would be another than the one that was recorded.
    adaptive_pricing: { enabled: false },
    success_url: baseUrl + creditPage(purchase.purchaseId),
    cancel_url: baseUrl + creditPage(),
    ...(purchase.email !== null && { customer_email: purchase.email })
  }
}

const make = Effect.fnUntraced(function* (settings: StripeSettings) {
  const { baseUrl } = yield* Settings
  // A tenth of a second and 30 MB, which only those pay who sell something.
  const { default: Library } = yield* Effect.promise(() => import("stripe"))
  const { api } = settings
  const stripe = new Library(Redacted.value(settings.secretKey), {
    host: api.hostname,
    // Of https the library knows the port by itself.
    ...(api.port !== "" && { port: Number(api.port) }),
    protocol: api.protocol === "https:" ? "https" : "http",
    timeout: requestTimeoutMillis,
    maxNetworkRetries: 1,
    telemetry: false
  })

  const begin: Provider["begin"] = Effect.fn("PaymentProvider.begin")(function* (purchase) {
    const session = yield* Effect.tryPromise({
      try: () =>
        stripe.checkout.sessions.create(sessionOf(purchase, baseUrl), {
          idempotencyKey: `auspex-${purchase.purchaseId}`
        }),
      catch: aboutError
    }).pipe(
      Effect.tapError((about) =>
        Effect.logError("the payment provider did not begin a checkout").pipe(Effect.annotateLogs(about))
      ),
      Effect.mapError(unavailable)
    )
    const { id, url } = session
    if (url === null || !URL.canParse(url) || new URL(url).origin !== settings.checkoutOrigin) {
      yield* Effect.logError(
        "the payment provider sends buyers elsewhere than to AUSPEX_STRIPE_CHECKOUT: set that to your domain for Checkout"
      )
      return yield* unavailable()
    }
    return { sessionId: id, url }
  })

  const progress: Provider["progress"] = Effect.fn("PaymentProvider.progress")(function* (sessionId) {
    const session = yield* Effect.tryPromise({
      try: () => stripe.checkout.sessions.retrieve(sessionId),
      catch: aboutError
    }).pipe(
      Effect.tapError((about) =>
        Effect.logError("the payment provider did not say what came of a checkout").pipe(
          Effect.annotateLogs(about)
        )
      ),
      Effect.catchIf(
        // Of another account, or of its test mode.
        ({ status }) => status === "404",
        () => Effect.succeed(null)
      ),
      Effect.mapError(unavailable)
    )
    return session === null ? Option.none() : yield* checkoutEventOf(session)
  })

  const read: Provider["read"] = Effect.fn("PaymentProvider.read")(function* ({ body, signature }) {
    const now = yield* Clock.currentTimeMillis
    const refused = () =>
      new InvalidPaymentEvent({
        detail:
          "Expected a message that Stripe signed for this webhook within five minutes of now, by this machine's clock."
      })
    const event = yield* Effect.try({
      try: () =>
        stripe.webhooks.constructEvent(
          body,
          signature ?? "",
          Redacted.value(settings.webhookSecret),
          toleranceSeconds,
          undefined,
          now
        ),
      catch: refused
    })
    if (isSignedAfter(signature ?? "", now / 1000 + toleranceSeconds)) return yield* refused()
    return yield* paymentEventOf(event)
  })

  return Option.some<Provider>({
    packages: settings.packages,
    checkoutOrigin: settings.checkoutOrigin,
    begin,
    progress,
    read
  })
})

/** With no settings nothing is sold. */
export const layer = (settings: Option.Option<StripeSettings>) =>
  Layer.effect(
    PaymentProvider,
    Option.match(settings, { onNone: () => Effect.succeed(Option.none<Provider>()), onSome: make })
  )
