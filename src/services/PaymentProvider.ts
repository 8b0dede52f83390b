/**
 * The company that takes the money for credit. A purchase is paid on a page of the provider's; what came of it the
 * provider tells us afterwards, signed, once or several times and in any order.
 */
import { Context, Option } from "effect"
import type { DateTime, Effect } from "effect"
import { apiError } from "./errors.ts"
import type { PurchaseId } from "./identifiers.ts"
import { decimalsOf, isCurrency } from "./money.ts"
import type { Money } from "./money.ts"

/** What an owner's account has and had, and where credit is bought; `purchase` is one that was begun. */
export const creditPage = (purchase?: string) =>
  `/account/credit${purchase === undefined ? "" : `?${new URLSearchParams({ purchase }).toString()}`}`

/** What can be bought, at which price: whole credits. */
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

/** Packages such as `500 for 5 eur, 2200 for 20 eur`, at most 12. */
export const creditPackagesOf = (text: string): Option.Option<ReadonlyArray<CreditPackage>> => {
  const parts = text.toLowerCase().split(",")
  return parts.length <= 12 ? Option.all(parts.map(packageOf)) : Option.none()
}

/** Where a purchase is paid. */
export interface Checkout {
  readonly sessionId: string
  readonly url: string
}

/**
 * What the provider tells. `refunded` has what was given back so far, in all; `dispute_lost` what the buyer's bank took.
 * Both may say of which payment rather than of which purchase they are.
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

/** 503: the provider cannot be reached, or refuses us. */
export class PaymentsUnavailable extends apiError("PaymentsUnavailable", 503, "payments_unavailable") {}

/** 400: not signed by the provider, or too long ago, or not what it sends. */
export class InvalidPaymentEvent extends apiError("InvalidPaymentEvent", 400, "invalid_payment_event") {}

/** What a configured provider does. */
export interface Provider {
  readonly packages: ReadonlyArray<CreditPackage>
  /** Where browsers are sent to pay; nothing else is redirected to. */
  readonly checkoutOrigin: string
  /** Asked twice for one purchase it answers the same. */
  readonly begin: (purchase: {
    readonly purchaseId: PurchaseId
    readonly package: CreditPackage
    readonly email: string | null
  }) => Effect.Effect<Checkout, PaymentsUnavailable>
  /**
   * What has come of a checkout, as the messages about it say it; nothing while it is open, or where the provider's
   * answer says nothing of it.
   */
  readonly progress: (sessionId: string) => Effect.Effect<Option.Option<PaymentEvent>, PaymentsUnavailable>
  /** What a signed message says; nothing when it is about what we do not sell, or of a kind that changes nothing. */
  readonly read: (message: {
    readonly body: string
    readonly signature: string | undefined
  }) => Effect.Effect<Option.Option<PaymentEvent>, InvalidPaymentEvent>
}

/** None when no provider is configured: then nothing is sold, and no message is read. */
export class PaymentProvider extends Context.Service<PaymentProvider, Option.Option<Provider>>()(
  "auspex/services/PaymentProvider"
) {}
