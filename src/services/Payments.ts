/**
 * Credit that owners buy. What somebody set out to buy is recorded before the payment provider is asked, and what the
 * provider tells is compared with it: a purchase is credited once, in full, to the account that it was begun for.
 */
import { Context, Schema } from "effect"
import type { Effect, Option } from "effect"
import type { IdempotencyKeyReused } from "./Credits.ts"
import { Credit } from "./Credits.ts"
import type { InvalidRequest, NotFound } from "./errors.ts"
import { OperatorId, PurchaseId } from "./identifiers.ts"
import type { TooManyRequests } from "./RateLimiter.ts"
import type { Operator } from "./Operators.ts"
import { pageSchema } from "./paging.ts"
import type { Page, PageOf } from "./paging.ts"
import type { CreditPackage, InvalidPaymentEvent, PaymentsUnavailable } from "./PaymentProvider.ts"
import { Timestamp } from "./text.ts"

export const PurchaseState = Schema.Literals(["open", "processing", "paid", "failed", "expired"]).annotate({
  description:
    "open: begun, and not paid; processing: the provider waits for the money; paid: credited; failed and expired: never paid"
})
export type PurchaseState = typeof PurchaseState.Type

const inSmallestUnit = Schema.Int.annotate({ description: "in the smallest unit of the currency" })

/** What the provider told of a purchase, and what came of it. */
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

/** How a form names a package: by its terms, so that nobody buys on others than were shown. */
export const packageName = ({ credits, price }: CreditPackage): string =>
  `${credits}-${price.amount}-${price.currency}`

export class Payments extends Context.Service<
  Payments,
  {
    /** What can be bought; none where no provider is configured. */
    readonly packages: ReadonlyArray<CreditPackage>
    /** Where browsers are sent to pay. */
    readonly checkoutOrigin: Option.Option<string>
    /**
     * Begins a purchase, once for a key, and answers where it is paid, nowhere if it has been; sent again, it answers the
     * same. A package that is not offered on these terms is unknown.
     */
    readonly begin: (
      owner: Operator,
      purchase: { readonly package: string; readonly key: string }
    ) => Effect.Effect<
      { readonly purchaseId: PurchaseId; readonly payAt: string | null },
      NotFound | InvalidRequest | IdempotencyKeyReused | PaymentsUnavailable | TooManyRequests
    >
    /** Takes what the provider tells, and does what follows from it once, however often and in whichever order it comes. */
    readonly receive: (message: {
      readonly body: string
      readonly signature: string | undefined
    }) => Effect.Effect<void, NotFound | InvalidPaymentEvent>
    /**
     * Asks the provider about checkouts that were begun more than ten minutes ago and of which it has not told the end, and
     * does what follows as `receive` does. Some at a time, and any number of replicas at once.
     */
    readonly followUp: Effect.Effect<void>
    /** How a purchase of this owner stands. */
    readonly purchaseOf: (owner: OperatorId, purchaseId: string) => Effect.Effect<Option.Option<Purchase>>
    /** Of all owners, newest first. */
    readonly list: (page: Page) => Effect.Effect<PageOf<Purchase>, InvalidRequest>
  }
>()("auspex/services/Payments") {}
