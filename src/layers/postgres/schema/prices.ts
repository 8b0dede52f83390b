import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import { appendOnly, asOwner } from "./guards.ts"

/** Observed prices, their fetching, points that contradict them, and proposed macro values. */
export const prices = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const asTablesOwner = yield* asOwner

  // A quote is stored in close; open, high and low belong to candles. A revision above 0 is a value that an administrator accepted.
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
      -- SHA-256 of the bytes of the source's answer; null for an administrator's import.
      payload_hash bytea constraint price_points_payload check (octet_length(payload_hash) = 32),
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
  yield* appendOnly("price_points")

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
      payload_hash bytea constraint price_quarantine_payload check (octet_length(payload_hash) = 32),
      decision text constraint price_quarantine_decision check (decision in ('accepted', 'rejected')),
      decided_at timestamptz,
      reason text,
      constraint price_quarantine_decided check ((decision is null) = (decided_at is null))
    )`
  // A repeated contradiction is one case for the administrator, not many.
  yield* sql`
    create unique index price_quarantine_once
      on price_quarantine (source, asset, interval, time, open, high, low, close) nulls not distinct`
  yield* sql`create index price_quarantine_waiting on price_quarantine (id) where decision is null`
  yield* sql`create index price_quarantine_asset_key on price_quarantine (asset)`
  // This function locks the point of a case: decisions about one price take turns.
  yield* sql`
    create function price_held(quarantined uuid) returns setof price_points language sql ${asTablesOwner} as $$
      select p.* from price_points p join price_quarantine q using (source, asset, interval, time)
       where q.id = quarantined and p.revision = 0
         for update of p
    $$`

  // One row for each expected candle. awaited: no source has shown it yet; read: shown once; settled: shown twice alike, and so a
  // price point; contested: shown in two ways; absent: there is none, the market did not trade.
  yield* sql`
    create table expected_candles (
      asset text not null constraint expected_candles_asset references targets (key),
      interval text not null constraint expected_candles_interval check (interval in ('1h', '1d')),
      time timestamptz not null,
      ends_at timestamptz not null,
      state text not null default 'awaited' constraint expected_candles_state
        check (state in ('awaited', 'read', 'contested', 'settled', 'absent')),
      -- The time of the next request to its source; infinity for never.
      due_at timestamptz not null,
      -- If the candle is still unknown at this time, something is wrong.
      overdue_at timestamptz not null,
      primary key (asset, interval, time),
      constraint expected_candles_end check (
        ends_at = time + case interval when '1h' then interval '1 hour' else interval '24 hours' end),
      constraint expected_candles_done check ((state in ('settled', 'contested')) <= (due_at = 'infinity'))
    ) with (fillfactor = 80)`
  yield* sql`
    create index expected_candles_due on expected_candles (asset, interval, due_at)
      where state in ('awaited', 'read', 'absent')`
  yield* sql`
    create index expected_candles_unknown on expected_candles (asset, ends_at)
      where state in ('awaited', 'read', 'contested')`

  // The first reading from a source. The second reading becomes a price point if it agrees, and otherwise a case of the quarantine.
  yield* sql`
    create table price_readings (
      source text not null,
      asset text not null constraint price_readings_asset references targets (key),
      interval text not null constraint price_readings_interval check (interval in ('1h', '1d')),
      time timestamptz not null,
      open numeric not null,
      high numeric not null,
      low numeric not null,
      close numeric not null,
      fetched_at timestamptz not null,
      payload_hash bytea not null constraint price_readings_payload check (octet_length(payload_hash) = 32),
      primary key (source, asset, interval, time)
    )`
  yield* sql`create index price_readings_asset_key on price_readings (asset)`
  yield* appendOnly("price_readings")

  // FRED's value for a challenge, as a proposal to the administrator, or to settle by if that is switched on.
  yield* sql`
    create table macro_proposals (
      challenge_id uuid primary key constraint macro_proposals_challenge references challenges (id),
      value numeric not null constraint macro_proposals_value check (abs(value) < 'Infinity'),
      source text not null,
      observation date not null,
      released_on date not null,
      fetched_at timestamptz not null,
      payload_hash bytea not null constraint macro_proposals_payload check (octet_length(payload_hash) = 32)
    )`
  yield* appendOnly("macro_proposals")
})
