/** Purchases as they stand: what was begun, and all that was told of it. */
import { Effect, Schema } from "effect"
import { SqlClient } from "effect/sql"
import type { Statement } from "effect/sql"
import { Purchase } from "../../../../services/Payments.ts"
import { findAll, isoTimestamp } from "../../sql.ts"

const Row = Schema.Struct({ ...Purchase.fields, credits: Schema.BigInt, taken_back: Schema.BigInt })

/** Newest first, and of each its events. */
export const makePurchases = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const rows = findAll(Row)
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
            -- Each by its index; with "or" between them all events were read for each purchase.
            from (select * from payment_events where purchase_id = p.id
                   union all
                  select * from payment_events where payment_id = d.payment_id and purchase_id is null) told) e on true
       order by p.id desc`)
})
