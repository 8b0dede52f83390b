import { Effect } from "effect"
import { SqlClient } from "effect/sql"

/** Candles fetched from price sources: which are expected, what a source said of them first, and whether that held. */
export const priceSources = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient

  // SHA-256 of the bytes that the source answered; what an admin imports has none.
  yield* sql`
    alter table price_points
      add column payload_hash bytea constraint price_points_payload check (octet_length(payload_hash) = 32)`
  yield* sql`
    alter table price_quarantine
      add column payload_hash bytea constraint price_quarantine_payload check (octet_length(payload_hash) = 32)`

  // One row for each candle that ought to be there. awaited: no source has shown it yet; read: shown once; settled: shown
  // twice alike, and so a price point; contested: shown in two ways; absent: there is none, the market did not trade.
  yield* sql`
    create table expected_candles (
      asset text not null constraint expected_candles_asset references targets (key),
      interval text not null constraint expected_candles_interval check (interval in ('1h', '1d')),
      time timestamptz not null,
      ends_at timestamptz not null,
      state text not null default 'awaited' constraint expected_candles_state
        check (state in ('awaited', 'read', 'contested', 'settled', 'absent')),
      -- When its source is asked next; never again is infinity.
      due_at timestamptz not null,
      -- From then on something is wrong if it is still not known.
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

  // What a source said first. The second reading is a price point when it agrees, and else a case of the quarantine.
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
  yield* sql`
    create trigger price_readings_append_only before update or delete or truncate on price_readings
      for each statement execute function refuse_change()`

  // What FRED says that a challenge's figure is, for the administrator, or to settle by where that is switched on.
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
  yield* sql`
    create trigger macro_proposals_append_only before update or delete or truncate on macro_proposals
      for each statement execute function refuse_change()`
})
