import { Effect } from "effect"
import { SqlClient } from "effect/sql"

/** Webhooks and their deliveries, and the mails that owners choose (docs/notices.md). */
export const webhooks = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient

  yield* sql`
    create table webhooks (
      id uuid primary key,
      agent_id uuid constraint webhooks_agent references agents (id),
      owner_id uuid constraint webhooks_owner references operators (id),
      url text not null constraint webhooks_url check (length(url) <= 2048),
      types text[] not null constraint webhooks_types check (cardinality(types) > 0),
      -- The secrets are encrypted. The previous one signs, too, until its end.
      secret bytea not null,
      previous_secret bytea,
      previous_until timestamptz,
      -- The webhook gets the notices after this place: those since it was made, or enabled again.
      since bigint not null,
      -- The time of its next delivery; null if none waits.
      due_at timestamptz,
      -- An instance sends to it until this time; an expired lease belonged to an instance that was killed.
      leased_until timestamptz,
      -- Failures since the last successful delivery.
      failures int not null default 0,
      failing_since timestamptz,
      -- A failing webhook is left alone until this time.
      rest_until timestamptz,
      -- The receiver failed or was slow at its last delivery: such receivers share fewer places.
      slow boolean not null default false,
      disabled_at timestamptz,
      disabled_reason text,
      created_at timestamptz not null,
      constraint webhooks_holder check (num_nonnulls(agent_id, owner_id) = 1),
      constraint webhooks_previous check ((previous_secret is null) = (previous_until is null)),
      constraint webhooks_disabled check ((disabled_at is null) = (disabled_reason is null)),
      constraint webhooks_failing check ((failing_since is null) = (failures = 0) and (rest_until is null) = (failures = 0))
    )`
  yield* sql`create index webhooks_of_agent on webhooks (agent_id) where agent_id is not null`
  yield* sql`create index webhooks_of_owner on webhooks (owner_id) where owner_id is not null`
  yield* sql`create index webhooks_due on webhooks (due_at) where due_at is not null`

  yield* sql`
    create table webhook_deliveries (
      webhook_id uuid not null constraint webhook_deliveries_webhook references webhooks (id) on delete cascade,
      -- The id of the notice, by which a receiver recognizes a repeated delivery.
      notice_id uuid not null,
      -- The order in which they were made.
      place bigint generated always as identity,
      type text not null,
      -- The payload as it is sent and signed.
      payload text not null,
      created_at timestamptz not null,
      attempts int not null default 0,
      attempted_at timestamptz,
      -- Null once the delivery is over.
      due_at timestamptz,
      delivered_at timestamptz,
      status int,
      error text,
      took_ms int,
      primary key (webhook_id, notice_id),
      constraint webhook_deliveries_end check (due_at is null or delivered_at is null)
    )`
  yield* sql`create index webhook_deliveries_due on webhook_deliveries (webhook_id, due_at, place) where due_at is not null`
  yield* sql`create index webhook_deliveries_newest on webhook_deliveries (webhook_id, place)`
  yield* sql`create index webhook_deliveries_over on webhook_deliveries (created_at) where due_at is null`

  // Deliveries have been made of all notices up to this one.
  yield* sql`
    create table webhook_state (
      singleton boolean primary key default true constraint webhook_state_one check (singleton),
      dispatched bigint not null
    )`
  yield* sql`insert into webhook_state (dispatched) select head from notice_state`

  yield* sql`
    alter table mails
      drop constraint mails_kind,
      add constraint mails_kind
      check (kind in ('sign_in', 'claim', 'grace_reminder', 'issuance_paused', 'credit_alert', 'webhook_disabled', 'agent_suspended',
                      'digest')) not valid`

  yield* sql`
    alter table operators
      -- The mails that the owner wants.
      add column mails text[] not null default '{credit_low,agent_suspended,webhook_disabled}'
        constraint operators_mails check (mails <@ '{credit_low,agent_suspended,webhook_disabled,digest}'),
      -- The first day of the next digest.
      add column digest_day date,
      add constraint operators_digest check ((digest_day is null) = ('digest' <> all (mails)))`
  yield* sql`create index operators_digests on operators (digest_day) where digest_day is not null`
})
