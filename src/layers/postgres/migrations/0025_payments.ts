import { Effect } from "effect"
import { SqlClient } from "effect/sql"

/** What fills an owner's account: the credit of its plan, and purchases that a payment provider collects for. */
export const payments = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient

  // How much of its plan's credit an owner has got, and for which month; '-infinity': it never got any.
  yield* sql`
    alter table operators
      add column credited_month date not null default '-infinity',
      add column credited bigint not null default 0 constraint operators_credited check (credited >= 0)`
  yield* sql`create index operators_plan_credit on operators (plan, credited_month, credited, id)`

  // What an owner set out to buy, on the terms of that moment: what is paid later is compared with them.
  yield* sql`
    create table purchases (
      id uuid primary key,
      owner_id uuid not null constraint purchases_owner references operators (id),
      -- Of the form: one that is sent twice is one purchase.
      key text not null,
      credits bigint not null constraint purchases_credits check (credits > 0),
      -- In the smallest unit of the currency.
      amount bigint not null constraint purchases_amount check (amount > 0),
      currency text not null constraint purchases_currency check (currency ~ '^[a-z]{3}$'),
      created_at timestamptz not null,
      constraint purchases_one_per_form unique (owner_id, key)
    )`
  yield* sql`create index purchases_of_owner on purchases (owner_id, id desc)`

  // Where the provider takes the money for a purchase. It may be asked twice, and answers the same.
  yield* sql`
    create table checkout_sessions (
      purchase_id uuid primary key constraint checkout_sessions_purchase references purchases (id),
      session_id text not null constraint checkout_sessions_one_per_id unique,
      url text not null,
      created_at timestamptz not null,
      constraint checkout_sessions_of_purchase unique (purchase_id, session_id)
    )`

  // What the provider told, once each, whatever came of it.
  yield* sql`
    create table payment_events (
      event_id text primary key constraint payment_events_id check (length(event_id) between 1 and 255),
      kind text not null constraint payment_events_kind check (kind in
        ('paid', 'processing', 'failed', 'expired', 'refunded', 'disputed', 'dispute_won', 'dispute_lost')),
      -- Null for what does not say of which purchase it is, and no payment tells.
      purchase_id uuid constraint payment_events_purchase references purchases (id),
      payment_id text,
      -- Of money: what was paid, or has been refunded so far, or is in dispute.
      amount bigint constraint payment_events_amount check (amount >= 0),
      currency text,
      outcome text not null constraint payment_events_outcome check (outcome in
        ('credited', 'noted', 'taken_back', 'already_paid', 'mismatch')),
      -- By the provider's clock, and by ours.
      happened_at timestamptz not null,
      received_at timestamptz not null
    )`
  yield* sql`
    create index payment_events_of_purchase on payment_events (purchase_id, received_at) where purchase_id is not null`
  yield* sql`
    create index payment_events_of_payment on payment_events (payment_id) where payment_id is not null`

  // A purchase is paid once, by the session that was begun for it.
  yield* sql`
    create table payments (
      purchase_id uuid primary key constraint payments_purchase references purchases (id),
      session_id text not null constraint payments_one_per_session unique,
      -- What refunds and disputes are about.
      payment_id text constraint payments_one_per_payment unique,
      event_id text not null constraint payments_one_per_event unique
        constraint payments_event references payment_events (event_id),
      paid_at timestamptz not null,
      constraint payments_of_session foreign key (purchase_id, session_id)
        references checkout_sessions (purchase_id, session_id)
    )`

  for (const table of ["purchases", "checkout_sessions", "payment_events", "payments"]) {
    yield* sql`
      create trigger ${sql(`${table}_append_only`)} before update or delete or truncate on ${sql(table)}
        for each statement execute function refuse_change()`
  }
})
