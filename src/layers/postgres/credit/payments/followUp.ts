/**
 * Asks the provider about checkouts that nothing more was told of. What it answers is taken as its message would have
 * been, so that it does not matter which of both comes first, or whether both do.
 */
import { DateTime, Duration, Effect, Option, Schema } from "effect"
import { SqlClient } from "effect/sql"
import type { PaymentEvent, Provider } from "../../../../services/Payments.ts"
import { execute, findAll, timestamp } from "../../sql.ts"

/** A run asks about at most so many; the others wait for the next one. */
const maxPerRun = 50
const atOnce = 4

/** Messages come within seconds; Stripe keeps a checkout open for a day, and a bank transfer may take weeks. */
const patience = Duration.minutes(10)
const maxPause = Duration.hours(6)
const givenUpAfter = Duration.days(30)

const Awaited = Schema.Struct({
  purchase_id: Schema.String,
  session_id: Schema.String,
  begun_at: Schema.DateTimeUtcFromDate
})

/** When a checkout that begins now is asked about first. */
export const firstAskedAt = (begunAt: DateTime.Utc) => DateTime.addDuration(begunAt, patience)

export const makeFollowUp = Effect.fnUntraced(function* (
  provider: Provider,
  receive: (event: PaymentEvent) => Effect.Effect<void>
) {
  const sql = yield* SqlClient.SqlClient
  const awaited = findAll(Awaited)
  const millis = (duration: Duration.Duration) =>
    sql`${Duration.toMillis(duration)}::float8 * interval '1 millisecond'`

  const forgetEnded = (now: DateTime.Utc) =>
    execute(sql`
      delete from awaited_checkouts a
       using (select purchase_id from awaited_checkouts w
               where due_at <= ${timestamp(now)}
                 and (exists (select from payments where purchase_id = w.purchase_id)
                      or exists (select from payment_events
                                  where purchase_id = w.purchase_id and kind in ('failed', 'expired')))
                 for update skip locked) ended
       where a.purchase_id = ended.purchase_id`)

  /** Whoever moves when it is due asks: less and less often, for most are never paid. */
  const claim = (now: DateTime.Utc) =>
    awaited(sql`
      update awaited_checkouts a
         set due_at = ${timestamp(now)}::timestamptz
                      + least(${millis(maxPause)}, greatest(${millis(patience)}, (${timestamp(now)} - s.created_at) / 2))
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
    const told = yield* provider.progress(checkout.session_id)
    if (Option.isSome(told)) yield* receive(told.value)
    if (Option.isSome(told) && told.value.kind !== "processing") {
      if (told.value.kind === "paid") {
        yield* Effect.logWarning("a payment was found that no message told of: is the webhook reached?").pipe(
          Effect.annotateLogs(about)
        )
      }
      return yield* forget(checkout.purchase_id)
    }
    const now = yield* DateTime.now
    if (DateTime.isLessThan(now, DateTime.addDuration(checkout.begun_at, givenUpAfter))) return
    yield* Effect.logWarning("the payment provider is not asked about a checkout any more").pipe(
      Effect.annotateLogs(about)
    )
    yield* forget(checkout.purchase_id)
  })

  /** A fault with one costs the others nothing; it is asked about again. */
  const asked = (checkout: typeof Awaited.Type) =>
    Effect.catchDefect(ask(checkout), (defect) =>
      Effect.logError("a checkout could not be asked about", defect).pipe(
        Effect.annotateLogs({ purchase_id: checkout.purchase_id, session_id: checkout.session_id })
      )
    )

  const followUp = Effect.gen(function* () {
    const now = yield* DateTime.now
    yield* forgetEnded(now)
    // What is away for one is away for all, and says so in the log once.
    yield* Effect.forEach(yield* claim(now), asked, { concurrency: atOnce, discard: true }).pipe(
      Effect.catchTag("PaymentsUnavailable", () => Effect.void)
    )
  }).pipe(Effect.withSpan("Payments.followUp"))
  return { followUp }
})
