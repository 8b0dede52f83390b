import { Effect } from "effect"
import { SqlClient } from "effect/sql"

/** Checkouts of which the provider has not told how they ended, as far as has been looked, and when it is asked. */
export const awaitedCheckouts = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient

  yield* sql`
    create table awaited_checkouts (
      purchase_id uuid primary key constraint awaited_checkouts_session references checkout_sessions (purchase_id),
      due_at timestamptz not null
    )`
  yield* sql`create index awaited_checkouts_due on awaited_checkouts (due_at, purchase_id)`
  yield* sql`
    insert into awaited_checkouts (purchase_id, due_at)
    select purchase_id, created_at + interval '10 minutes' from checkout_sessions s
     where not exists (select from payments where purchase_id = s.purchase_id)
       and not exists (
         select from payment_events where purchase_id = s.purchase_id and kind in ('failed', 'expired'))`
})
