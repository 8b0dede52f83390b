/** Stripe Checkout with the `stripe` library, which verifies every signature. */
import { Clock, Effect, Layer, Option, Predicate, Redacted, DateTime, Schema } from "effect"
import type Stripe from "stripe"
import {
  creditPage,
  InvalidPaymentEvent,
  PaymentProvider,
  PaymentsUnavailable
} from "../../services/Payments.ts"
import type { CreditPackage, Provider, Money, PaymentEvent } from "../../services/Payments.ts"
import { Settings } from "../../services/Settings.ts"
import { isUuid, PurchaseId } from "../../services/domain/ids.ts"

export interface StripeSettings {
  readonly secretKey: Redacted.Redacted
  readonly webhookSecret: Redacted.Redacted
  readonly packages: ReadonlyArray<CreditPackage>
  readonly api: URL
  readonly checkoutOrigin: string
}

const requestTimeoutMillis = 10_000
/** The tolerated age of a signed message, the default of Stripe's libraries. */
const toleranceSeconds = 300

/** Tests whether a message was signed in the future, which the library does not check. */
const isSignedAfter = (signature: string, seconds: number): boolean =>
  signature.split(",").some((part) => part.startsWith("t=") && Number.parseInt(part.slice(2), 10) > seconds)

const unavailable = () =>
  new PaymentsUnavailable({
    detail: "The payment provider cannot be reached just now, so nothing was bought: try again shortly."
  })

/** Describes an error without the request, which the library's errors contain. */
const aboutError = (error: unknown) => {
  const memberText = (name: string, otherwise = "none") =>
    Predicate.hasProperty(error, name) ? String(error[name] ?? otherwise) : otherwise
  return {
    kind: memberText("type", "unknown"),
    code: memberText("code"),
    status: memberText("statusCode"),
    stripe_request: memberText("requestId")
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
  // The payment also gets the metadata: Stripe copies it to the charge, which refund events contain.
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
    // The recorded amount is in this currency.
    adaptive_pricing: { enabled: false },
    success_url: baseUrl + creditPage(purchase.purchaseId),
    cancel_url: baseUrl + creditPage(),
    ...(purchase.email !== null && { customer_email: purchase.email })
  }
}

const make = Effect.fnUntraced(function* (settings: StripeSettings) {
  const { baseUrl } = yield* Settings
  // The import is lazy: the library is large, and most instances sell nothing.
  const { default: Library } = yield* Effect.promise(() => import("stripe"))
  const { api } = settings
  const stripe = new Library(Redacted.value(settings.secretKey), {
    host: api.hostname,
    // The library knows the port of https.
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
        Effect.logError("the payment provider did not give the state of a checkout").pipe(
          Effect.annotateLogs(about)
        )
      ),
      Effect.catchIf(
        // The session belongs to another account, or to its test mode.
        ({ status }) => status === "404",
        () => Effect.succeed(null)
      ),
      Effect.mapError(unavailable)
    )
    return session === null ? Option.none() : yield* checkoutEventOf(session)
  })

  const read: Provider["read"] = Effect.fn("PaymentProvider.read")(function* ({ body, signature }) {
    const now = yield* Clock.currentTimeMillis
    const rejected = () =>
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
      catch: rejected
    })
    if (isSignedAfter(signature ?? "", now / 1000 + toleranceSeconds)) return yield* rejected()
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

/** Without settings the provider sells nothing. */
export const layer = (settings: Option.Option<StripeSettings>) =>
  Layer.effect(
    PaymentProvider,
    Option.match(settings, { onNone: () => Effect.succeed(Option.none<Provider>()), onSome: make })
  )

// Stripe's events, decoded by schema. Their shape is that of the API version set for the webhook.

const Envelope = Schema.Struct({
  id: Schema.String.check(Schema.isMinLength(1), Schema.isMaxLength(255)),
  type: Schema.String,
  created: Schema.Int,
  data: Schema.Struct({ object: Schema.Unknown })
})

const amount = Schema.Int.check(Schema.isGreaterThanOrEqualTo(0))
const metadata = Schema.optional(Schema.NullOr(Schema.Record(Schema.String, Schema.String)))
/** The endpoint may expand the identifier to an object. */
const paymentIntent = Schema.optional(
  Schema.NullOr(Schema.Union([Schema.String, Schema.Struct({ id: Schema.String })]))
)

const Session = Schema.Struct({
  id: Schema.String,
  payment_status: Schema.String,
  amount_total: Schema.NullOr(amount),
  currency: Schema.NullOr(Schema.String),
  payment_intent: paymentIntent,
  metadata
})

/** A Checkout session. */
const CheckoutState = Schema.Struct({
  ...Session.fields,
  status: Schema.NullOr(Schema.String),
  created: Schema.Int,
  expires_at: Schema.Int
})

const Charge = Schema.Struct({
  amount_refunded: amount,
  currency: Schema.String,
  payment_intent: paymentIntent,
  metadata
})

const Dispute = Schema.Struct({
  amount,
  currency: Schema.String,
  status: Schema.String,
  payment_intent: paymentIntent
})

type Reading = Pick<PaymentEvent, "kind" | "purchaseId" | "sessionId" | "paymentId" | "money">

/** The purchase in the metadata. The account may sell other things, too. */
const purchaseIn = (marks: typeof metadata.Type): PurchaseId | null => {
  const id = marks?.["auspex_purchase"] ?? ""
  return isUuid(id) ? PurchaseId.make(id) : null
}

const idOf = (payment: typeof paymentIntent.Type): string | null =>
  (typeof payment === "string" ? payment : payment?.id) ?? null

const moneyOf = (sum: number | null, currency: string | null): Money | null =>
  sum === null || currency === null ? null : { amount: sum, currency: currency.toLowerCase() }

const ofSession =
  (kindOf: (session: typeof Session.Type) => PaymentEvent["kind"]) =>
  (session: typeof Session.Type): Reading => ({
    kind: kindOf(session),
    purchaseId: purchaseIn(session.metadata),
    sessionId: session.id,
    paymentId: idOf(session.payment_intent),
    money: moneyOf(session.amount_total, session.currency)
  })

const ofCharge = (charge: typeof Charge.Type): Reading => ({
  kind: "refunded",
  purchaseId: purchaseIn(charge.metadata),
  sessionId: null,
  paymentId: idOf(charge.payment_intent),
  money: moneyOf(charge.amount_refunded, charge.currency)
})

const ofDispute =
  (kindOf: (dispute: typeof Dispute.Type) => PaymentEvent["kind"]) =>
  (dispute: typeof Dispute.Type): Reading => ({
    kind: kindOf(dispute),
    purchaseId: null,
    sessionId: null,
    paymentId: idOf(dispute.payment_intent),
    money: moneyOf(dispute.amount, dispute.currency)
  })

const reader = <A>(schema: Schema.ConstraintDecoder<A>, read: (value: A) => Reading) => {
  const decode = Schema.decodeUnknownEffect(schema)
  return (object: unknown) => Effect.map(decode(object), read)
}

/** With a bank transfer a session is complete before it is paid. */
const completed = ({ payment_status }: typeof Session.Type) =>
  payment_status === "unpaid" ? ("processing" as const) : ("paid" as const)

const readers = new Map([
  ["checkout.session.completed", reader(Session, ofSession(completed))],
  [
    "checkout.session.async_payment_succeeded",
    reader(
      Session,
      ofSession(() => "paid")
    )
  ],
  [
    "checkout.session.async_payment_failed",
    reader(
      Session,
      ofSession(() => "failed")
    )
  ],
  [
    "checkout.session.expired",
    reader(
      Session,
      ofSession(() => "expired")
    )
  ],
  ["charge.refunded", reader(Charge, ofCharge)],
  [
    "charge.dispute.created",
    reader(
      Dispute,
      ofDispute(() => "disputed")
    )
  ],
  [
    "charge.dispute.closed",
    reader(
      Dispute,
      ofDispute(({ status }) => (status === "lost" ? "dispute_lost" : "dispute_won"))
    )
  ]
])

const decodeEnvelope = Schema.decodeUnknownEffect(Envelope)

/** The payment event in a Stripe event; none if its type or subject is not ours. */
const paymentEventOf = Effect.fnUntraced(
  function* (event: unknown) {
    const { created, data, id, type } = yield* decodeEnvelope(event)
    const read = readers.get(type)
    if (read === undefined) return Option.none<PaymentEvent>()
    const reading = yield* read(data.object)
    const isOurs = reading.purchaseId !== null || type.startsWith("charge.dispute.")
    const happenedAt = DateTime.makeUnsafe(created * 1000)
    return isOurs ? Option.some<PaymentEvent>({ eventId: id, happenedAt, ...reading }) : Option.none()
  },
  Effect.tapError(() => Effect.logError("an event of Stripe's cannot be read")),
  Effect.mapError(
    () =>
      new InvalidPaymentEvent({
        detail:
          "Expected an event in a shape of Stripe's that we know: set a current API version for the webhook."
      })
  )
)

const decodeCheckout = Schema.decodeUnknownEffect(CheckoutState)
const instantOf = (seconds: number) => DateTime.makeUnsafe(seconds * 1000)

/** The payment event of a checkout; none while it is open, or if it is not ours or cannot be decoded. */
const checkoutEventOf = Effect.fnUntraced(
  function* (checkout: unknown) {
    const session = yield* decodeCheckout(checkout)
    const { created, expires_at, status } = session
    const isOver = status === "complete" || status === "expired"
    if (!isOver || purchaseIn(session.metadata) === null) return Option.none<PaymentEvent>()
    const kind = status === "expired" ? "expired" : completed(session)
    // Stripe does not give the time of the change. A checkout that waits for its payment gets its creation time, so any later message
    // counts.
    const happenedAt =
      kind === "paid" ? yield* DateTime.now : instantOf(kind === "expired" ? expires_at : created)
    const eventId = `asked:${session.id}:${kind}`
    return Option.some<PaymentEvent>({ eventId, happenedAt, ...ofSession(() => kind)(session) })
  },
  Effect.tapError(() => Effect.logError("a checkout of Stripe's cannot be read")),
  Effect.orElseSucceed(() => Option.none<PaymentEvent>())
)
