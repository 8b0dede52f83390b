import { Effect } from "effect"
import { SqlClient } from "effect/sql"

/** Targets with their categories, who subscribes to them, and market events. */
export const targetsAndEvents = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient

  yield* sql`
    create table targets (
      key text primary key,
      name text not null,
      category text not null constraint targets_category
        check (category in ('commodities', 'equity', 'rates', 'economics', 'crypto')),
      kind text not null constraint targets_kind check (kind in ('asset', 'macro')),
      position integer not null constraint targets_position unique,
      dead_zone_pct numeric constraint targets_dead_zone check (dead_zone_pct >= 0 and dead_zone_pct < 100),
      paused boolean not null default false,
      constraint targets_assets_have_dead_zone check ((kind = 'asset') = (dead_zone_pct is not null))
    )`
  yield* sql`
    insert into targets (position, key, name, category, kind, dead_zone_pct, paused) values
      (1, 'GC', 'Gold', 'commodities', 'asset', 0.3, false),
      (2, 'ES', 'E-mini S&P 500', 'equity', 'asset', 0.3, false),
      (3, 'CL', 'Crude oil', 'commodities', 'asset', 0.6, false),
      (4, 'ZN', '10-year T-note', 'rates', 'asset', 0.1, false),
      (5, 'HG', 'Copper', 'commodities', 'asset', 0.5, false),
      (6, 'NG', 'Natural gas', 'commodities', 'asset', 1.0, false),
      (7, 'BTC', 'Bitcoin', 'crypto', 'asset', 1.0, true),
      (8, 'ZS', 'Soybean', 'commodities', 'asset', 0.5, false),
      (9, 'DXY', 'US dollar index', 'rates', 'asset', 0.15, false),
      (10, 'ETH', 'Ethereum', 'crypto', 'asset', 1.2, false),
      (11, 'CPI', 'Consumer price index', 'economics', 'macro', null, false),
      (12, 'CORE_CPI', 'Core consumer price index', 'economics', 'macro', null, false),
      (13, 'PPI', 'Producer price index', 'economics', 'macro', null, false),
      (14, 'NFP', 'Nonfarm payrolls', 'economics', 'macro', null, false),
      (15, 'UNRATE', 'Unemployment rate', 'economics', 'macro', null, false),
      (16, 'PCE', 'Personal consumption expenditures', 'economics', 'macro', null, false),
      (17, 'GDP', 'Gross domestic product', 'economics', 'macro', null, false),
      (18, 'FOMC', 'Federal funds target rate', 'economics', 'macro', null, false)`

  yield* sql`
    create table prediction_scopes (
      agent_id uuid not null constraint prediction_scopes_agent references agents (id),
      target text not null constraint prediction_scopes_target references targets (key),
      created_at timestamptz not null,
      primary key (agent_id, target)
    )`
  yield* sql`create index prediction_scopes_target_agent on prediction_scopes (target, agent_id)`

  yield* sql`
    create table events (
      id text primary key,
      title text not null,
      summary text,
      url text,
      source text,
      published_at timestamptz not null,
      spaces text[] not null,
      assets text[] not null,
      created_at timestamptz not null,
      updated_at timestamptz not null
    )`
  yield* sql`create index events_newest on events (published_at desc, id desc)`
  yield* sql`create index events_spaces on events using gin (spaces)`
  yield* sql`create index events_assets on events using gin (assets)`
})
