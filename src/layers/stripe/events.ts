/** What Stripe's events mean to us. Read by schema: their shape is that of the API version set for the webhook. */
import { DateTime, Effect, Option, Schema } from "effect"
import { isUuid, PurchaseId } from "../../services/identifiers.ts"
import type { Money, PaymentEvent } from "../../services/Payments.ts"
import { InvalidPaymentEvent } from "../../services/Payments.ts"

const Envelope = Schema.Struct({
  id: Schema.String.check(Schema.isMinLength(1), Schema.isMaxLength(255)),
  type: Schema.String,
  created: Schema.Int,
  data: Schema.Struct({ object: Schema.Unknown })
})

const amount = Schema.Int.check(Schema.isGreaterThanOrEqualTo(0))
const metadata = Schema.optional(Schema.NullOr(Schema.Record(Schema.String, Schema.String)))
/** Whole where an endpoint was told to expand it. */
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

/** As it is when it is asked for. */
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

/** Ours are marked: a Stripe account may sell other things, too. */
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

/** Of a bank transfer a session is complete before the money has come. */
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

/** What an event says; nothing when it is of no kind that concerns us, or about something else than credit. */
export const paymentEventOf = Effect.fnUntraced(
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

/** What a checkout has come to; nothing while it is open, if it is about something else than credit, or cannot be read. */
export const checkoutEventOf = Effect.fnUntraced(
  function* (asked: unknown) {
    const session = yield* decodeCheckout(asked)
    const { created, expires_at, status } = session
    const isOver = status === "complete" || status === "expired"
    if (!isOver || purchaseIn(session.metadata) === null) return Option.none<PaymentEvent>()
    const kind = status === "expired" ? "expired" : completed(session)
    // Stripe does not say since when; of a checkout that waits for its money any later message counts.
    const happenedAt =
      kind === "paid" ? yield* DateTime.now : instantOf(kind === "expired" ? expires_at : created)
    const eventId = `asked:${session.id}:${kind}`
    return Option.some<PaymentEvent>({ eventId, happenedAt, ...ofSession(() => kind)(session) })
  },
  Effect.tapError(() => Effect.logError("a checkout of Stripe's cannot be read")),
  Effect.orElseSucceed(() => Option.none<PaymentEvent>())
)
