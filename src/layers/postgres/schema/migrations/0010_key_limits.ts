import { Effect } from "effect"
import { SqlClient } from "effect/sql"

/** Limits of gateway keys by day, week and month, the models that a key may call, and what owners are told of limits. */
export const keyLimits = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient

  // Counters are kept only where there is a limit, and are of the day, week and month that `counted_on` is in. Not valid: the
  // rows that there are hold the defaults, and checking them would lock the table for as long as that takes.
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

  // The day whose limits the reservation counts towards; null where the version before made it.
  yield* sql`alter table gateway_reservations add column counted_on date`
  // In the place of end_reservations, which the version before calls, and as careful as that is.
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

  // That so much of a limit was spent. Found with the call that spent it, once for a period of the limit.
  yield* sql`
    create table gateway_alerts (
      key_id uuid not null constraint gateway_alerts_key references gateway_keys (id),
      period text not null constraint gateway_alerts_period check (period in ('total', 'day', 'week', 'month')),
      -- The first day of the period; of all time, the day on which the key was made.
      since date not null,
      credit_limit bigint not null,
      percent smallint not null constraint gateway_alerts_percent check (percent in (80, 100)),
      at timestamptz not null,
      -- When its mail went to the outbox, or it was found that there is nobody to tell.
      told_at timestamptz,
      constraint gateway_alerts_once primary key (key_id, period, since, credit_limit, percent)
    )`
  yield* sql`create index gateway_alerts_due on gateway_alerts (at) where told_at is null`
  yield* sql`alter table mails drop constraint mails_kind`
  yield* sql`
    alter table mails add constraint mails_kind
      check (kind in ('sign_in', 'claim', 'grace_reminder', 'issuance_paused', 'credit_alert')) not valid`
})
