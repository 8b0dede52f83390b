import { Effect } from "effect"
import { SqlClient } from "effect/sql"

/**
 * Price-event questions, in the tables of the other challenges: a yes-or-no one has predictions as directional ones have,
 * a numeric one those of macro challenges.
 */
export const priceEvents = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient

  yield* sql`
    alter table challenges
      drop constraint challenges_type,
      drop constraint challenges_kind,
      drop constraint challenges_times,
      drop constraint challenges_terms,
      add column level numeric,
      -- When the first candle opens that a barrier is judged by.
      add column window_from timestamptz,
      add constraint challenges_type check (type in ('directional', 'macro', 'price_event')),
      add constraint challenges_kind check (
        case type
          when 'directional' then kind in ('session', 'flash')
          when 'price_event' then kind in ('numeric_close', 'barrier', 'count_days', 'threshold')
          else kind = type
        end),
      -- A price event may be about the past: its predictions are bound by the deadline alone.
      add constraint challenges_times check (
        (deadline <= resolve_at or type = 'price_event') and deadline <= cancel_at
        and resolve_at <= close_price_until and resolve_at <= cancel_at),
      add constraint challenges_terms check (
        case type
          when 'directional' then
            open_price is not null
            and num_nonnulls(period, unit, bin_edges, reference_scale, decimal_step, reward_pool, level, window_from) = 0
          when 'macro' then
            num_nonnulls(open_price, dead_zone_pct, event_id, level, window_from) = 0
            and num_nulls(period, bin_edges, reward_pool) = 0
          else
            num_nonnulls(open_price, dead_zone_pct, event_id, period, unit, bin_edges, reward_pool) = 0
            and (kind in ('barrier', 'threshold')) = (level is not null)
            and (kind in ('numeric_close', 'count_days')) = (reference_scale is not null)
            and (kind = 'barrier') = (window_from is not null)
            and (kind = 'count_days') = (decimal_step is not null)
        end),
      add constraint challenges_level check (level > 0 and level < 'Infinity'),
      -- What is judged by candles lies between whole hours.
      add constraint challenges_window check (
        window_from is null
        or (window_from < resolve_at
            and mod(extract(epoch from window_from), 3600) = 0 and mod(extract(epoch from resolve_at), 3600) = 0))`
  yield* sql`create index challenges_price_events on challenges (id desc) where type = 'price_event'`

  yield* sql`
    alter table settlements
      drop constraint settlements_one_form,
      add column level numeric,
      -- A change from an open price; a value that forecasts are scored by; a price beside a level.
      add constraint settlements_one_form check (
        case
          when actual_value is not null then
            reference_scale is not null and num_nonnulls(result, open_price, close_price, dead_zone_pct, level) = 0
          when level is not null then
            num_nulls(result, close_price) = 0 and result <> 'neutral'
            and num_nonnulls(open_price, dead_zone_pct, reference_scale) = 0
          else num_nulls(result, open_price, close_price, dead_zone_pct) = 0 and reference_scale is null
        end)`
})
