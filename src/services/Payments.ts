/**
 * Credit that owners buy. A purchase is recorded before the payment provider is asked, and the provider's messages are compared with
 * it: it is credited once, in full, to the account that it was begun for.
 */
import { Context, Schema, Option } from "effect"
import type { Effect, DateTime } from "effect"
import type { IdempotencyKeyReused } from "./Credits.ts"
import { Credit } from "./Credits.ts"
import type { InvalidRequest, NotFound } from "./domain/errors.ts"
import { OperatorId, PurchaseId } from "./domain/ids.ts"
import type { TooManyRequests } from "./RateLimiter.ts"
import type { Operator } from "./Operators.ts"
import { pageSchema } from "./domain/paging.ts"
import type { Page, PageOf } from "./domain/paging.ts"
import { Timestamp } from "./domain/text.ts"
import { apiError } from "./domain/errors.ts"

export const PurchaseState = Schema.Literals(["open", "processing", "paid", "failed", "expired"]).annotate({
  description:
    "open: begun, and not paid; processing: the provider waits for the money; paid: credited; failed and expired: never paid"
})
export type PurchaseState = typeof PurchaseState.Type

const inSmallestUnit = Schema.Int.annotate({ description: "in the smallest unit of the currency" })

/** A message of the provider about a purchase, and the action taken. */
const PurchaseEvent = Schema.Struct({
  event_id: Schema.String,
  kind: Schema.String,
  amount: Schema.NullOr(inSmallestUnit),
  currency: Schema.NullOr(Schema.String),
  outcome: Schema.Literals(["credited", "noted", "taken_back", "already_paid", "mismatch"]).annotate({
    description:
      "mismatch: another amount, currency or session than the purchase was begun with, so nothing was credited"
  }),
  happened_at: Timestamp
}).annotate({ identifier: "PurchaseEvent" })

export const Purchase = Schema.Struct({
  purchase_id: PurchaseId,
  owner_id: OperatorId,
  state: PurchaseState,
  credits: Credit,
  amount: inSmallestUnit,
  currency: Schema.String,
  session_id: Schema.NullOr(Schema.String).annotate({ description: "the provider's checkout session" }),
  payment_id: Schema.NullOr(Schema.String).annotate({ description: "the provider's payment" }),
  taken_back: Credit.annotate({
    description: "after refunds and lost disputes, of what was still in the owner's account"
  }),
  created_at: Timestamp,
  paid_at: Schema.NullOr(Timestamp),
  events: Schema.Array(PurchaseEvent).annotate({ description: "in the order in which they arrived" })
}).annotate({ identifier: "Purchase" })
export type Purchase = typeof Purchase.Type

export const Purchases = pageSchema(Purchase)

/** The name of a package in a form: its terms, so that no purchase has other terms than were shown. */
export const packageName = ({ credits, price }: CreditPackage): string =>
  `${credits}-${price.amount}-${price.currency}`

export class Payments extends Context.Service<
  Payments,
  {
    /** The packages on sale; none if no provider is configured. */
    readonly packages: ReadonlyArray<CreditPackage>
    /** The origin of the provider's payment pages. */
    readonly checkoutOrigin: Option.Option<string>
    /**
     * Begins a purchase, once for a key, and returns its payment page, or none if it is already paid; a repeated request gets the
     * same answer. A package that is not offered on these terms is unknown.
     */
    readonly begin: (
      owner: Operator,
      purchase: { readonly package: string; readonly key: string }
    ) => Effect.Effect<
      { readonly purchaseId: PurchaseId; readonly payAt: string | null },
      NotFound | InvalidRequest | IdempotencyKeyReused | PaymentsUnavailable | TooManyRequests
    >
    /** Applies a message of the provider once, however often and in whichever order messages come. */
    readonly receive: (message: {
      readonly body: string
      readonly signature: string | undefined
    }) => Effect.Effect<void, NotFound | InvalidPaymentEvent>
    /**
     * Asks the provider about checkouts that began more than ten minutes ago and whose end it has not reported, and applies the
     * answer as `receive` does. A run asks about some of them; any number of replicas may run at once.
     */
    readonly followUp: Effect.Effect<void>
    /** The state of an owner's purchase. */
    readonly purchaseOf: (owner: OperatorId, purchaseId: string) => Effect.Effect<Option.Option<Purchase>>
    /** Purchases of all owners, newest first. */
    readonly list: (page: Page) => Effect.Effect<PageOf<Purchase>, InvalidRequest>
  }
>()("auspex/services/Payments") {}

/** The page with an owner's balance, movements and packages; `purchase` is one that was begun. */
export const creditPage = (purchase?: string) =>
  `/account/credit${purchase === undefined ? "" : `?${new URLSearchParams({ purchase }).toString()}`}`

/** A package on sale and its price: whole credits. */
export interface CreditPackage {
  readonly credits: number
  readonly price: Money
}

const packageOf = (text: string): Option.Option<CreditPackage> => {
  const shape = /^\s*([1-9]\d{0,7}) for (\d{1,8}(?:\.\d{1,2})?) ([a-z]{3})\s*$/.exec(text)
  const [, credits = "", price = "", currency = ""] = shape ?? []
  if (!isCurrency(currency) || Number(credits) > 10_000_000) return Option.none()
  const [whole = "", fraction = ""] = price.split(".")
  const decimals = decimalsOf(currency)
  if (fraction.length > decimals) return Option.none()
  const amount = Number(whole + fraction.padEnd(decimals, "0"))
  // Stripe takes at most eight digits.
  return amount > 0 && amount <= 99_999_999
    ? Option.some({ credits: Number(credits), price: { amount, currency } })
    : Option.none()
}

/** Parses packages such as `500 for 5 eur, 2200 for 20 eur`, at most 12. */
export const creditPackagesOf = (text: string): Option.Option<ReadonlyArray<CreditPackage>> => {
  const parts = text.toLowerCase().split(",")
  return parts.length <= 12 ? Option.all(parts.map(packageOf)) : Option.none()
}

export interface Checkout {
  readonly sessionId: string
  readonly url: string
}

/**
 * A message of the provider. The money of `refunded` is the sum of all refunds so far, that of `dispute_lost` the amount that the
 * buyer's bank took. Both may name the payment instead of the purchase.
 */
export interface PaymentEvent {
  readonly eventId: string
  readonly kind:
    | "paid"
    | "processing"
    | "failed"
    | "expired"
    | "refunded"
    | "disputed"
    | "dispute_won"
    | "dispute_lost"
  readonly purchaseId: PurchaseId | null
  readonly sessionId: string | null
  readonly paymentId: string | null
  readonly money: Money | null
  readonly happenedAt: DateTime.Utc
}

/** 503: the provider cannot be reached, or rejects us. */
export class PaymentsUnavailable extends apiError("PaymentsUnavailable", 503, "payments_unavailable") {}

/** 400: the message is not signed by the provider, too old, or of another form than the provider's. */
export class InvalidPaymentEvent extends apiError("InvalidPaymentEvent", 400, "invalid_payment_event") {}

/** The functions of a configured provider. */
export interface Provider {
  readonly packages: ReadonlyArray<CreditPackage>
  /** The origin of payment pages; browsers are redirected to no other. */
  readonly checkoutOrigin: string
  /** Begins a payment; a repeated call for one purchase gets the same answer. */
  readonly begin: (purchase: {
    readonly purchaseId: PurchaseId
    readonly package: CreditPackage
    readonly email: string | null
  }) => Effect.Effect<Checkout, PaymentsUnavailable>
  /** The result of a checkout, in the form of a message about it; none while it is open, or if the provider's answer has none. */
  readonly progress: (sessionId: string) => Effect.Effect<Option.Option<PaymentEvent>, PaymentsUnavailable>
  /** Parses a signed message; none if it is not about our sales, or of a kind that changes nothing. */
  readonly read: (message: {
    readonly body: string
    readonly signature: string | undefined
  }) => Effect.Effect<Option.Option<PaymentEvent>, InvalidPaymentEvent>
}

/**
 * The company that takes the money. A purchase is paid on the provider's page, and the provider reports the result, signed, once or
 * several times and in any order. None if no provider is configured: nothing is sold, and no message is read.
 */
export class PaymentProvider extends Context.Service<PaymentProvider, Option.Option<Provider>>()(
  "auspex/services/PaymentProvider"
) {}

/** Money paid for credit, in the smallest unit of its currency, as payment providers count it. Credit is no money. */
export interface Money {
  readonly amount: number
  /** The currency by ISO 4217, in lower case. */
  readonly currency: string
}

/** Currencies without a smaller unit. https://docs.stripe.com/currencies#zero-decimal */
const withoutDecimals: ReadonlySet<string> = new Set(
  "bif clp djf gnf jpy kmf krw mga pyg rwf vnd vuv xaf xof xpf".split(" ")
)

/** A currency that providers count in other units than whole ones or hundredths is not accepted. */
const countedOtherwise: ReadonlySet<string> = new Set("bhd isk jod kwd omr tnd ugx".split(" "))

const known: ReadonlySet<string> = new Set(
  Intl.supportedValuesOf("currency").map((code) => code.toLowerCase())
)

/** True if prices can be in this currency. */
const isCurrency = (code: string): boolean => known.has(code) && !countedOtherwise.has(code)

const decimalsOf = (currency: string): number => (withoutDecimals.has(currency) ? 0 : 2)

/** Money as people write it: €5.00. */
export const moneyText = ({ amount, currency }: Money): string => {
  const decimals = decimalsOf(currency)
  return new Intl.NumberFormat("en", {
    style: "currency",
    currency,
    minimumFractionDigits: decimals,
    maximumFractionDigits: decimals
  }).format(amount / 10 ** decimals)
}
