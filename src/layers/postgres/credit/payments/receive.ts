/**
 * What the provider tells of purchases, in whichever order and however often it does. Whoever works on a purchase holds
 * its row; what has to be taken back follows from all that was told of it by then, so that a refund that comes before
 * the payment ends as one that comes after it.
 */
import { DateTime, Effect, Option, Schema } from "effect"
import { SqlClient } from "effect/sql"
import { creditsOf } from "../../../../services/Credits.ts"
import { OperatorId, PurchaseId } from "../../../../services/identifiers.ts"
import type { PaymentEvent } from "../../../../services/Payments.ts"
import { accountOf, makeTransfers, treasury } from "../transfers.ts"
import { execute, findOne, findOption, orDie, timestamp, transaction } from "../../sql.ts"

const PurchaseRow = Schema.Struct({
  id: PurchaseId,
  owner_id: OperatorId,
  credits: Schema.BigInt,
  amount: Schema.BigInt,
  currency: Schema.String
})

const StandingRow = Schema.Struct({
  session_id: Schema.NullOr(Schema.String),
  is_paid: Schema.Boolean,
  is_known: Schema.Boolean
})

type HeldPurchase = typeof PurchaseRow.Type & typeof StandingRow.Type

const LostRow = Schema.Struct({
  refunded: Schema.BigInt,
  disputed: Schema.BigInt,
  taken: Schema.BigInt,
  available: Schema.BigInt
})

type Outcome = "credited" | "noted" | "taken_back" | "already_paid" | "mismatch"

/** What was lost of the price is lost of the credit, rounded up. */
const shareOf = (credits: bigint, lost: bigint, price: bigint): bigint =>
  lost >= price ? credits : (credits * lost + price - 1n) / price

const takesMoney: ReadonlySet<PaymentEvent["kind"]> = new Set(["refunded", "dispute_lost"])

export const makeReceive = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const transfers = yield* makeTransfers
  const purchaseRow = findOption(PurchaseRow)
  const lostRow = findOne(LostRow)
  const standingRow = findOne(StandingRow)

  /** Of disputes only the payment is told. */
  const held = (event: PaymentEvent) =>
    purchaseRow(sql`
      select id::text, owner_id::text, credits, amount, currency
        from purchase_held(coalesce(${event.purchaseId}::uuid,
                                    (select purchase_id from payments where payment_id = ${event.paymentId}::text)))`)

  /** Looked at by a statement of its own, which sees what was done before the row was held. */
  const standingOf = (event: PaymentEvent, purchaseId: PurchaseId | null) =>
    standingRow(sql`
      select (select session_id from checkout_sessions where purchase_id = ${purchaseId}::uuid) as session_id,
             exists (select 1 from payments where purchase_id = ${purchaseId}::uuid) as is_paid,
             exists (select 1 from payment_events where event_id = ${event.eventId}) as is_known`)

  const noteEvent = Effect.fnUntraced(function* (
    event: PaymentEvent,
    purchase: HeldPurchase | undefined,
    outcome: Outcome
  ) {
    const now = yield* DateTime.now
    yield* execute(sql`
      insert into payment_events
        (event_id, kind, purchase_id, payment_id, amount, currency, outcome, happened_at, received_at)
      values (${event.eventId}, ${event.kind}, ${purchase?.id ?? null}::uuid, ${event.paymentId},
              ${event.money?.amount ?? null}::int8, ${event.money?.currency ?? null}, ${outcome},
              ${timestamp(event.happenedAt)}, ${timestamp(now)})
      on conflict (event_id) do nothing`)
  })

  /** What was paid must be what was asked for, where it was asked for. */
  const fits = (event: PaymentEvent, { amount, currency, session_id }: HeldPurchase): boolean =>
    event.money?.currency === currency &&
    BigInt(event.money.amount) === amount &&
    event.sessionId === session_id

  const credit = Effect.fnUntraced(function* (event: PaymentEvent, purchase: HeldPurchase) {
    const now = yield* DateTime.now
    yield* execute(sql`
      insert into payments (purchase_id, session_id, payment_id, event_id, paid_at)
      values (${purchase.id}::uuid, ${event.sessionId}, ${event.paymentId}, ${event.eventId}, ${timestamp(now)})`)
    yield* transfers
      .record([
        {
          id: `purchase:${purchase.id}`,
          kind: "post",
          debit: treasury,
          credit: accountOf({ kind: "owner", id: purchase.owner_id }),
          amount: purchase.credits,
          reason: "purchase"
        }
      ])
      .pipe(Effect.catchTag("TransferDiffers", Effect.die), orDie)
  })

  /**
   * Takes what was refunded or lost in a dispute, with this event, from what is left in the owner's account; answers
   * whether it took any. In another currency than the price's it counts as all of it.
   */
  const takeBack = Effect.fnUntraced(function* (event: PaymentEvent, purchase: HeldPurchase) {
    const owner = accountOf({ kind: "owner", id: purchase.owner_id })
    const inPrice = (money: PaymentEvent["money"]) =>
      money?.currency === purchase.currency ? BigInt(money.amount) : purchase.amount
    const told = (kind: PaymentEvent["kind"]) => (event.kind === kind ? inPrice(event.money) : 0n)
    const counted = sql`
      case when currency = ${purchase.currency} then amount else ${purchase.amount}::int8 end`
    const lost = yield* lostRow(sql`
      select (select coalesce(max(${counted}), 0) from payment_events
               where purchase_id = p.purchase_id and kind = 'refunded')::int8 as refunded,
             (select coalesce(sum(${counted}), 0) from payment_events
               where kind = 'dispute_lost' and payment_id = p.payment_id)::int8 as disputed,
             (select coalesce(sum(amount), 0) from transfers
               where id >= ${`refund:${purchase.id}:`} and id < ${`refund:${purchase.id};`})::int8 as taken,
             a.available
        from payments p
       cross join lateral (
         select posted - held as available from accounts where id = ${owner} for no key update) a
       where p.purchase_id = ${purchase.id}::uuid`)
    const refunded = told("refunded") > lost.refunded ? told("refunded") : lost.refunded
    const gone = refunded + lost.disputed + told("dispute_lost")
    const due = shareOf(purchase.credits, gone, purchase.amount) - lost.taken
    const amount = due < lost.available ? due : lost.available
    if (amount < due) {
      yield* Effect.logWarning(
        "a purchase was refunded or lost in a dispute, and its credit has left the owner's account"
      ).pipe(
        Effect.annotateLogs({
          purchase_id: purchase.id,
          owner_id: purchase.owner_id,
          credits_missing: creditsOf(due - amount)
        })
      )
    }
    if (amount <= 0n) return false
    yield* transfers
      .record([
        {
          id: `refund:${purchase.id}:${event.eventId}`,
          kind: "post",
          debit: owner,
          credit: treasury,
          amount,
          reason: "purchase refunded"
        }
      ])
      .pipe(Effect.catchTag("TransferDiffers", Effect.die), orDie)
    return true
  })

  const paid = Effect.fnUntraced(function* (event: PaymentEvent, purchase: HeldPurchase) {
    if (purchase.is_paid) return yield* noteEvent(event, purchase, "already_paid")
    if (!fits(event, purchase)) {
      yield* Effect.logError("a payment does not fit its purchase, so nothing was credited").pipe(
        Effect.annotateLogs({ purchase_id: purchase.id, event_id: event.eventId })
      )
      return yield* noteEvent(event, purchase, "mismatch")
    }
    yield* noteEvent(event, purchase, "credited")
    yield* credit(event, purchase)
    yield* takeBack(event, purchase)
  })

  /** Until a payment is written there is no row that those who tell of it and of its dispute could both hold. */
  const hold = (paymentId: string) =>
    execute(sql`
    select pg_advisory_xact_lock(hashtextextended(${`payment ${paymentId}`}, 0))`)

  const apply = Effect.fnUntraced(function* (event: PaymentEvent) {
    if (event.paymentId !== null) yield* hold(event.paymentId)
    const row = Option.getOrUndefined(yield* held(event))
    if (row === undefined && event.purchaseId !== null) {
      // Of another instance that sells by the same account.
      yield* Effect.logWarning("a payment for a purchase that is not known").pipe(
        Effect.annotateLogs({ purchase_id: event.purchaseId, event_id: event.eventId })
      )
      return
    }
    const standing = yield* standingOf(event, row?.id ?? null)
    if (standing.is_known) return
    if (row === undefined) return yield* noteEvent(event, undefined, "noted")
    const purchase = { ...row, ...standing }
    if (event.kind === "paid") return yield* paid(event, purchase)
    const isTaken = takesMoney.has(event.kind) && purchase.is_paid && (yield* takeBack(event, purchase))
    yield* noteEvent(event, purchase, isTaken ? "taken_back" : "noted")
  })

  return (event: PaymentEvent) => transaction(sql)(apply(event))
})
