import { DateTime, Effect, Layer, Option, Schema } from "effect"
import { SecureRandom } from "effect/crypto"
import { SqlClient } from "effect/sql"
import { IdempotencyKeyReused, wholeCredits } from "../../../services/Credits.ts"
import { InvalidRequest, NotFound } from "../../../services/errors.ts"
import { isUuid, PurchaseId } from "../../../services/identifiers.ts"
import { RateLimiter } from "../../../services/RateLimiter.ts"
import { cutPage, Cursors, invalidCursor } from "../../../services/paging.ts"
import { PaymentProvider, packageName, Payments } from "../../../services/Payments.ts"
import { maxPosted } from "./transfers.ts"
import { firstAskedAt, makeFollowUp } from "./payments/followUp.ts"
import { makePurchases } from "./payments/purchases.ts"
import { makeReceive } from "./payments/receive.ts"
import { execute, findOne, timestamp } from "../sql.ts"

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
  const idCursor = (yield* Cursors).ids("purchases")
  const random = yield* SecureRandom.SecureRandom
  const limits = yield* RateLimiter
  const provider = yield* PaymentProvider
  const receiveEvent = yield* makeReceive
  const purchases = yield* makePurchases
  const begunRow = findOne(BegunRow)
  const urlRow = findOne(Schema.Struct({ url: Schema.String }))

  const begin: Payments["Service"]["begin"] = Effect.fn("Payments.begin")(function* (owner, asked) {
    if (Option.isNone(provider)) return yield* nothingSold()
    const offered = provider.value.packages.find((each) => packageName(each) === asked.package)
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
      values (${yield* random.uuidV7()}::uuid, ${owner.operatorId}::uuid, ${asked.key}, ${credits}, ${amount}::int8,
              ${currency}, ${timestamp(now)})
      on conflict on constraint purchases_one_per_form do nothing`)
    const begun = yield* begunRow(sql`
      select p.id::text, (p.credits, p.amount, p.currency) = (${credits}::int8, ${amount}::int8, ${currency}::text) as is_same,
             a.posted + p.credits <= ${maxPosted}::int8 as has_room,
             exists (select 1 from payments where purchase_id = p.id) as is_paid,
             (select url from checkout_sessions where purchase_id = p.id) as url
        from purchases p join accounts a on a.id = 'owner:' || p.owner_id
       where p.owner_id = ${owner.operatorId}::uuid and p.key = ${asked.key}`)
    if (!begun.is_same) {
      return yield* new IdempotencyKeyReused({
        detail: "This form has begun another purchase, so nothing was begun now: open the page again."
      })
    }
    const purchaseId = begun.id
    if (begun.is_paid) return { purchaseId, payAt: null }
    if (!begun.has_room) {
      return yield* InvalidRequest.of(
        "package",
        "Expected less: no account holds more than 1 000 000 000 credits"
      )
    }
    if (begun.url !== null) return { purchaseId, payAt: begun.url }
    const checkout = yield* provider.value.begin({
      purchaseId,
      package: offered,
      email: owner.email
    })
    // Of two at once the provider answered both alike; the first that is written is shown to both. They meet in any of the
    // keys, the session's too.
    yield* execute(sql`
      with opened as (
        insert into checkout_sessions (purchase_id, session_id, url, created_at)
        values (${purchaseId}::uuid, ${checkout.sessionId}, ${checkout.url}, ${timestamp(now)})
        on conflict do nothing
        returning purchase_id
      )
      insert into awaited_checkouts (purchase_id, due_at) select purchase_id, ${timestamp(firstAskedAt(now))} from opened`)
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
    const after = Option.getOrNull(idCursor.decode(page.cursor))
    if (after === null) return yield* invalidCursor()
    const rows = yield* purchases(after === undefined ? sql`true` : sql`id < ${after}::uuid`, page.limit + 1)
    return cutPage(rows, page.limit, ({ purchase_id }) => idCursor.encode(purchase_id))
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
