import { Effect } from "effect"
import { SqlClient } from "effect/sql"

/** Observed prices, immutable, and the points that contradict them. */
export const prices = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient

  // A quote stands in close; open, high and low belong to candles. revision > 0: a value that an admin accepted later.
  yield* sql`
    create table price_points (
      source text not null,
      asset text not null constraint price_points_asset references targets (key),
      interval text not null constraint price_points_interval check (interval in ('1h', '1d', 'quote')),
      time timestamptz not null,
      revision integer not null default 0,
      open numeric,
      high numeric,
      low numeric,
      close numeric not null,
      observed_at timestamptz not null,
      fetched_at timestamptz not null,
      primary key (source, asset, interval, time, revision),
      constraint price_points_candles check (
        (interval = 'quote') = (open is null) and (interval = 'quote') = (high is null)
        and (interval = 'quote') = (low is null)
      ),
      constraint price_points_observed check (
        observed_at = time + case interval
          when '1h' then interval '1 hour' when '1d' then interval '24 hours' else interval '0' end
      )
    )`
  yield* sql`create index price_points_observed_at on price_points (asset, observed_at)`
  yield* sql`
    create trigger price_points_append_only before update or delete or truncate on price_points
      for each statement execute function refuse_change()`

  yield* sql`
    create table price_quarantine (
      id uuid primary key,
      source text not null,
      asset text not null constraint price_quarantine_asset references targets (key),
      interval text not null,
      time timestamptz not null,
      open numeric,
      high numeric,
      low numeric,
      close numeric not null,
      received_at timestamptz not null,
      decision text constraint price_quarantine_decision check (decision in ('accepted', 'rejected')),
      decided_at timestamptz,
      reason text,
      constraint price_quarantine_decided check ((decision is null) = (decided_at is null))
    )`
  // The same contradiction offered again is one case for the admin, not many.
  yield* sql`
    create unique index price_quarantine_once
      on price_quarantine (source, asset, interval, time, open, high, low, close) nulls not distinct`
  yield* sql`create index price_quarantine_waiting on price_quarantine (id) where decision is null`
  yield* sql`create index price_quarantine_asset_key on price_quarantine (asset)`
})
