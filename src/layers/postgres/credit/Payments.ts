/** Purchases of credit: a form begins one, the provider takes the payment, and its messages cause the credit. */
import { DateTime, Effect, Layer, Option, Schema, Duration } from "effect"
import { SecureRandom } from "effect/crypto"
import { SqlClient } from "effect/sql"
import type { Statement } from "effect/sql"
import { IdempotencyKeyReused, wholeCredits, creditsOf } from "../../../services/Credits.ts"
import { InvalidRequest, NotFound } from "../../../services/domain/errors.ts"
import { isUuid, PurchaseId, OperatorId } from "../../../services/domain/ids.ts"
import { RateLimiter } from "../../../services/RateLimiter.ts"
import { Cursors } from "../../../services/domain/paging.ts"
import { PaymentProvider, packageName, Payments, Purchase } from "../../../services/Payments.ts"
import type { PaymentEvent, Provider } from "../../../services/Payments.ts"
import { aboveMax, maxPosted, accountOf, makeTransfers, treasury } from "./transfers.ts"
import {
  boundTime,
  boundNow,
  execute,
  findOne,
  timestamp,
  findOption,
  orDie,
  transaction,
  findAll,
  intervalOf,
  isoTimestamp
} from "../sql.ts"

const BegunRow = Schema.Struct({
  id: PurchaseId,
  is_same: Schema.Boolean,
  has_room: Schema.Boolean,
  is_paid: Schema.Boolean,
  url: Schema.NullOr(Schema.String)
})

const nothingSold = () => new NotFound({ detail: "Nothing is sold here." })

const make = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const pages = (yield* Cursors).listById("purchases")
  const random = yield* SecureRandom.SecureRandom
  const limits = yield* RateLimiter
  const provider = yield* PaymentProvider
  const receiveEvent = yield* makeReceive
  const purchases = yield* makePurchases
  const begunRow = findOne(BegunRow)
  const urlRow = findOne(Schema.Struct({ url: Schema.String }))

  const begin: Payments["Service"]["begin"] = Effect.fn("Payments.begin")(function* (owner, request) {
    if (Option.isNone(provider)) return yield* nothingSold()
    const offered = provider.value.packages.find((each) => packageName(each) === request.package)
    if (offered === undefined) {
      return yield* new NotFound({
        detail: "This is not for sale on these terms any more: open the page again."
      })
    }
    yield* limits.consume("purchases", owner.operatorId)
    const now = yield* DateTime.now
    const credits = wholeCredits(offered.credits)
    const { amount, currency } = offered.price
    yield* execute(sql`
      insert into purchases (id, owner_id, key, credits, amount, currency, created_at)
      values (${yield* random.uuidV7()}::uuid, ${owner.operatorId}::uuid, ${request.key}, ${credits}, ${amount}::int8,
              ${currency}, ${timestamp(now)})
      on conflict on constraint purchases_one_per_form do nothing`)
    const begun = yield* begunRow(sql`
      select p.id::text, (p.credits, p.amount, p.currency) = (${credits}::int8, ${amount}::int8, ${currency}::text) as is_same,
             a.posted + p.credits <= ${maxPosted}::int8 as has_room,
             exists (select 1 from payments where purchase_id = p.id) as is_paid,
             (select url from checkout_sessions where purchase_id = p.id) as url
        from purchases p join accounts a on a.id = 'owner:' || p.owner_id
       where p.owner_id = ${owner.operatorId}::uuid and p.key = ${request.key}`)
    if (!begun.is_same) {
      return yield* new IdempotencyKeyReused({
        detail: "This form has begun another purchase, so nothing was begun now: open the page again."
      })
    }
    const purchaseId = begun.id
    if (begun.is_paid) return { purchaseId, payAt: null }
    if (!begun.has_room) {
      return yield* InvalidRequest.of("package", aboveMax)
    }
    if (begun.url !== null) return { purchaseId, payAt: begun.url }
    const checkout = yield* provider.value.begin({
      purchaseId,
      package: offered,
      email: owner.email
    })
    // The provider gives two concurrent requests the same answer, and both return the row that was written first. They may conflict
    // on any of the keys, the session's included.
    yield* execute(sql`
      with opened as (
        insert into checkout_sessions (purchase_id, session_id, url, created_at)
        values (${purchaseId}::uuid, ${checkout.sessionId}, ${checkout.url}, ${timestamp(now)})
        on conflict do nothing
        returning purchase_id
      )
      insert into awaited_checkouts (purchase_id, due_at)
      select purchase_id, ${boundTime(sql, now)} + ${intervalOf(sql, firstPause)} from opened`)
    const { url } = yield* urlRow(
      sql`select url from checkout_sessions where purchase_id = ${purchaseId}::uuid`
    )
    return { purchaseId, payAt: url }
  })

  const receive: Payments["Service"]["receive"] = Effect.fn("Payments.receive")(function* (message) {
    if (Option.isNone(provider)) return yield* nothingSold()
    const event = yield* provider.value.read(message)
    if (Option.isSome(event)) yield* receiveEvent(event.value)
  })

  const { followUp } = yield* Option.match(provider, {
    onNone: () => Effect.succeed({ followUp: Effect.void }),
    onSome: (selling) => makeFollowUp(selling, receiveEvent)
  })

  const purchaseOf: Payments["Service"]["purchaseOf"] = Effect.fn("Payments.purchaseOf")(
    function* (owner, purchaseId) {
      if (!isUuid(purchaseId)) return Option.none()
      const [found] = yield* purchases(sql`id = ${purchaseId}::uuid and owner_id = ${owner}::uuid`, 1)
      return Option.fromUndefinedOr(found)
    }
  )

  const list: Payments["Service"]["list"] = Effect.fn("Payments.list")(function* (page) {
    const { after, toPage, limit } = yield* pages.decode(page)
    const rows = yield* purchases(after === undefined ? sql`true` : sql`id < ${after}::uuid`, limit)
    return toPage(rows, ({ purchase_id }) => purchase_id)
  })

  return Payments.of({
    packages: Option.match(provider, { onNone: () => [], onSome: ({ packages }) => packages }),
    checkoutOrigin: Option.map(provider, ({ checkoutOrigin }) => checkoutOrigin),
    begin,
    receive,
    followUp,
    purchaseOf,
    list
  })
})

export const layer = Layer.effect(Payments, make)

const PurchaseRow = Schema.Struct({
  id: PurchaseId,
  owner_id: OperatorId,
  credits: Schema.BigInt,
  amount: Schema.BigInt,
  currency: Schema.String
})

const ProgressRow = Schema.Struct({
  session_id: Schema.NullOr(Schema.String),
  is_paid: Schema.Boolean,
  is_known: Schema.Boolean
})

type HeldPurchase = typeof PurchaseRow.Type & typeof ProgressRow.Type

const LostRow = Schema.Struct({
  refunded: Schema.BigInt,
  disputed: Schema.BigInt,
  taken: Schema.BigInt,
  available: Schema.BigInt
})

type Outcome = "credited" | "noted" | "taken_back" | "already_paid" | "mismatch"

/** The part of the credit that goes back with a part of the price, rounded up. */
const shareOf = (credits: bigint, lost: bigint, price: bigint): bigint =>
  lost >= price ? credits : (credits * lost + price - 1n) / price

const takesMoney: ReadonlySet<PaymentEvent["kind"]> = new Set(["refunded", "dispute_lost"])

/**
 * Applies messages about purchases in any order and any number of times. Each message locks its purchase. The amount to take back
 * follows from all messages so far, so a refund that is reported before the payment ends like one that is reported after it.
 */
const makeReceive = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const transfers = yield* makeTransfers
  const purchaseRow = findOption(PurchaseRow)
  const lostRow = findOne(LostRow)
  const progressRow = findOne(ProgressRow)

  /** Reads and locks the purchase. A dispute names the payment only. */
  const held = (event: PaymentEvent) =>
    purchaseRow(sql`
      select id::text, owner_id::text, credits, amount, currency
        from purchase_held(coalesce(${event.purchaseId}::uuid,
                                    (select purchase_id from payments where payment_id = ${event.paymentId}::text)))`)

  /** This is a separate statement, so that it sees rows committed before the purchase was locked. */
  const progressOf = (event: PaymentEvent, purchaseId: PurchaseId | null) =>
    progressRow(sql`
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

  /** Checks that the purchase was paid in full, in its currency and by its own session. */
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
   * Takes back the amount that was refunded or lost in disputes, this event included, out of the rest in the owner's account; returns
   * true if it took any. An amount in another currency than the price's counts as the whole price.
   */
  const takeBack = Effect.fnUntraced(function* (event: PaymentEvent, purchase: HeldPurchase) {
    const owner = accountOf({ kind: "owner", id: purchase.owner_id })
    const inPrice = (money: PaymentEvent["money"]) =>
      money?.currency === purchase.currency ? BigInt(money.amount) : purchase.amount
    const reported = (kind: PaymentEvent["kind"]) => (event.kind === kind ? inPrice(event.money) : 0n)
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
    const refunded = reported("refunded") > lost.refunded ? reported("refunded") : lost.refunded
    const gone = refunded + lost.disputed + reported("dispute_lost")
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

  /** Serializes messages about one payment: before it is written, no row exists that they could lock. */
  const hold = (paymentId: string) =>
    execute(sql`
    select pg_advisory_xact_lock(hashtextextended(${`payment ${paymentId}`}, 0))`)

  const apply = Effect.fnUntraced(function* (event: PaymentEvent) {
    if (event.paymentId !== null) yield* hold(event.paymentId)
    const row = Option.getOrUndefined(yield* held(event))
    if (row === undefined && event.purchaseId !== null) {
      // Another instance may sell by the same account.
      yield* Effect.logWarning("a payment came for a purchase that is not known").pipe(
        Effect.annotateLogs({ purchase_id: event.purchaseId, event_id: event.eventId })
      )
      return
    }
    const progress = yield* progressOf(event, row?.id ?? null)
    if (progress.is_known) return
    if (row === undefined) return yield* noteEvent(event, undefined, "noted")
    const purchase = { ...row, ...progress }
    if (event.kind === "paid") return yield* paid(event, purchase)
    const isTaken = takesMoney.has(event.kind) && purchase.is_paid && (yield* takeBack(event, purchase))
    yield* noteEvent(event, purchase, isTaken ? "taken_back" : "noted")
  })

  return (event: PaymentEvent) => transaction(sql)(apply(event))
})

/** The maximum number of checkouts that one run asks about; the others wait for the next run. */
const maxPerRun = 50
const concurrency = 4

/** Messages come within seconds; Stripe keeps a checkout open for a day, and a bank transfer may take weeks. */
const firstPause = Duration.minutes(10)
const maxPause = Duration.hours(6)
const maxAge = Duration.days(30)

const Awaited = Schema.Struct({
  purchase_id: Schema.String,
  session_id: Schema.String,
  begun_at: Schema.DateTimeUtcFromDate
})

/**
 * Asks the provider about checkouts that no message has ended. The answer is applied as a message would be, so it does not matter
 * which of the two comes first, or whether both do.
 */
const makeFollowUp = Effect.fnUntraced(function* (
  provider: Provider,
  receive: (event: PaymentEvent) => Effect.Effect<void>
) {
  const sql = yield* SqlClient.SqlClient
  const awaited = findAll(Awaited)

  const forgetEnded = (now: DateTime.Utc) =>
    execute(sql`
      delete from awaited_checkouts a
       using (select purchase_id from awaited_checkouts w
               where due_at <= ${boundTime(sql, now)}
                 and (exists (select from payments where purchase_id = w.purchase_id)
                      or exists (select from payment_events
                                  where purchase_id = w.purchase_id and kind in ('failed', 'expired')))
                 for update skip locked) ended
       where a.purchase_id = ended.purchase_id`)

  /** The replica that moves `due_at` asks. The pauses grow, since most checkouts are never paid. */
  const claim = (now: DateTime.Utc) =>
    awaited(sql`
      update awaited_checkouts a
         set due_at = ${timestamp(now)}::timestamptz
                      + least(${intervalOf(sql, maxPause)}, greatest(${intervalOf(sql, firstPause)}, (${timestamp(now)} - s.created_at) / 2))
        from (select purchase_id from awaited_checkouts
               where due_at <= ${timestamp(now)} order by due_at, purchase_id limit ${maxPerRun}
                 for update skip locked) due
        join checkout_sessions s on s.purchase_id = due.purchase_id
       where a.purchase_id = due.purchase_id
      returning a.purchase_id::text, s.session_id, s.created_at as begun_at`)

  const forget = (purchaseId: string) =>
    execute(sql`delete from awaited_checkouts where purchase_id = ${purchaseId}::uuid`)

  const ask = Effect.fnUntraced(function* (checkout: typeof Awaited.Type) {
    const about = { purchase_id: checkout.purchase_id, session_id: checkout.session_id }
    const progress = yield* provider.progress(checkout.session_id)
    if (Option.isSome(progress)) yield* receive(progress.value)
    if (Option.isSome(progress) && progress.value.kind !== "processing") {
      if (progress.value.kind === "paid") {
        yield* Effect.logWarning(
          "a payment was found that no message had reported: check that the provider reaches the webhook"
        ).pipe(Effect.annotateLogs(about))
      }
      return yield* forget(checkout.purchase_id)
    }
    const now = yield* boundNow(sql)
    if (DateTime.isLessThan(now, DateTime.addDuration(checkout.begun_at, maxAge))) return
    yield* Effect.logWarning("the payment provider is not asked about a checkout any more").pipe(
      Effect.annotateLogs(about)
    )
    yield* forget(checkout.purchase_id)
  })

  /** A failure with one checkout stops no other; it is asked about again. */
  const askOrLog = (checkout: typeof Awaited.Type) =>
    Effect.catchDefect(ask(checkout), (defect) =>
      Effect.logError("the state of a checkout could not be read", defect).pipe(
        Effect.annotateLogs({ purchase_id: checkout.purchase_id, session_id: checkout.session_id })
      )
    )

  const followUp = Effect.gen(function* () {
    const now = yield* boundNow(sql)
    yield* forgetEnded(now)
    // A provider that cannot be reached for one checkout cannot be reached for any.
    yield* Effect.forEach(yield* claim(now), askOrLog, { concurrency, discard: true }).pipe(
      Effect.catchTag("PaymentsUnavailable", () => Effect.void)
    )
  }).pipe(Effect.withSpan("Payments.followUp"))
  return { followUp }
})

const PurchaseView = Schema.Struct({ ...Purchase.fields, credits: Schema.BigInt, taken_back: Schema.BigInt })

/** Reads purchases with their events, newest first. */
const makePurchases = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const rows = findAll(PurchaseView)
  return (which: Statement.Fragment, limit: number) =>
    rows(sql`
      select p.id::text as purchase_id, p.owner_id::text, p.credits, p.amount::int as amount, p.currency, s.session_id,
             d.payment_id, ${isoTimestamp(sql, "p.created_at")} as created_at, ${isoTimestamp(sql, "d.paid_at")} as paid_at,
             case when d.paid_at is not null then 'paid' else coalesce(e.state, 'open') end as state,
             coalesce(t.taken_back, 0)::int8 as taken_back, coalesce(e.events, '[]'::jsonb) as events
        from (select * from purchases where ${which} order by id desc limit ${limit}) p
        left join lateral (select session_id from checkout_sessions where purchase_id = p.id limit 1) s on true
        left join lateral (select payment_id, paid_at from payments where purchase_id = p.id limit 1) d on true
        left join lateral (
          select sum(amount) as taken_back from transfers
           where id >= 'refund:' || p.id || ':' and id < 'refund:' || p.id || ';') t on true
        left join lateral (
          select jsonb_agg(jsonb_build_object(
                   'event_id', event_id, 'kind', kind, 'amount', amount, 'currency', currency, 'outcome', outcome,
                   'happened_at', ${isoTimestamp(sql, "happened_at")}) order by received_at, event_id) as events,
                 (array_agg(kind order by happened_at desc, event_id) filter (
                   where kind in ('processing', 'failed', 'expired')))[1] as state
            -- A union is used, because "or" would read all events for each purchase.
            from (select * from payment_events where purchase_id = p.id
                   union all
                  select * from payment_events where payment_id = d.payment_id and purchase_id is null) of_purchase) e on true
       order by p.id desc`)
})
