import { Effect } from "effect"
import { SqlClient } from "effect/sql"

/** Limits of gateway keys by day, week and month, the models that a key may call, and owners' alerts about limits. */
export const keyLimits = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient

  // Counters are kept only if there is a limit, and are of the day, week and month of `counted_on`. The constraints are not valid
  // yet: existing rows hold the defaults, and a check of them would lock the table meanwhile.
  yield* sql`
    alter table gateway_keys
      add column allowed_models text[],
      add column counted_on date,
      add column daily_limit bigint,
      add column daily_spent bigint not null default 0,
      add column daily_held bigint not null default 0,
      add column weekly_limit bigint,
      add column weekly_spent bigint not null default 0,
      add column weekly_held bigint not null default 0,
      add column monthly_limit bigint,
      add column monthly_spent bigint not null default 0,
      add column monthly_held bigint not null default 0,
      add constraint gateway_keys_limits check (least(daily_limit, weekly_limit, monthly_limit) > 0) not valid,
      add constraint gateway_keys_counters check (
        least(daily_spent, daily_held, weekly_spent, weekly_held, monthly_spent, monthly_held) >= 0) not valid,
      add constraint gateway_keys_allowed_models check (cardinality(allowed_models) > 0) not valid`

  // The day whose limits the reservation counts towards; null if the version before made it.
  yield* sql`alter table gateway_reservations add column counted_on date`
  // This replaces end_reservations, which the version before calls, and takes the same locks.
  yield* sql`
    create function close_reservations(ids uuid[]) returns table (call_id uuid, amount bigint, counted_on date)
      language plpgsql set enable_seqscan = off as $$
    begin
      perform 1 from gateway_reservations r where r.call_id = any(ids) order by r.call_id for update;
      return query
        delete from gateway_reservations r where r.call_id = any(ids)
        returning r.call_id, r.amount, coalesce(r.counted_on, (r.created_at at time zone 'UTC')::date);
    end
    $$`

  // A row means that this part of a limit was spent. The call that spent it makes the row, once for a period of the limit.
  yield* sql`
    create table gateway_alerts (
      key_id uuid not null constraint gateway_alerts_key references gateway_keys (id),
      period text not null constraint gateway_alerts_period check (period in ('total', 'day', 'week', 'month')),
      -- The first day of the period; for a total limit, the day on which the key was made.
      since date not null,
      credit_limit bigint not null,
      percent smallint not null constraint gateway_alerts_percent check (percent in (80, 100)),
      at timestamptz not null,
      -- The time at which its mail went to the outbox, or was found to have no recipient.
      told_at timestamptz,
      constraint gateway_alerts_once primary key (key_id, period, since, credit_limit, percent)
    )`
  yield* sql`create index gateway_alerts_due on gateway_alerts (at) where told_at is null`
  yield* sql`alter table mails drop constraint mails_kind`
  yield* sql`
    alter table mails add constraint mails_kind
      check (kind in ('sign_in', 'claim', 'grace_reminder', 'issuance_paused', 'credit_alert')) not valid`
})
