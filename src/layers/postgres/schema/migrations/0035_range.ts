import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import { asOwner } from "../guards.ts"

/** Adds the kind `range` with its two levels. A program from before does not know it: it runs until the first such question. */
export const range = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  // Existing rows meet the constraints, and need not be read again.
  yield* sql`
    alter table challenges
      add column low numeric,
      add column high numeric,
      add constraint challenges_range check (
        (kind = 'range') = (low is not null) and (low is null) = (high is null) and low > 0 and low < high and high < 'Infinity')
        not valid,
      drop constraint challenges_kind,
      add constraint challenges_kind check (
        case type
          when 'directional' then kind in ('session', 'flash', '1h', '4h', '1d')
          when 'price_event' then kind in ('numeric_close', 'barrier', 'count_days', 'threshold', 'range')
          else kind = type
        end) not valid`
  yield* sql`
    alter table settlements
      add column low numeric,
      add column high numeric,
      add constraint settlements_range check ((low is null) = (high is null) and (low is null or level is null)) not valid,
      drop constraint settlements_one_form,
      add constraint settlements_one_form check (
        case
          when actual_value is not null then
            reference_scale is not null and num_nonnulls(result, open_price, close_price, dead_zone_pct, level, low) = 0
          when num_nonnulls(level, low) > 0 then
            num_nulls(result, close_price) = 0 and result <> 'neutral'
            and num_nonnulls(open_price, dead_zone_pct, reference_scale) = 0
          else num_nulls(result, open_price, close_price, dead_zone_pct) = 0 and reference_scale is null
        end) not valid`
  yield* sql`
    alter table scheduled_challenges
      drop constraint scheduled_challenges_schedule,
      add constraint scheduled_challenges_schedule check (schedule in (
        'session', 'flash', '1h', '4h', '1d', 'numeric_close', 'threshold', 'count_days', 'barrier_up', 'barrier_down', 'range',
        'macro')) not valid`
  yield* sql`
    create function needs_program_of_range() returns trigger language plpgsql ${yield* asOwner} as $$
    begin
      update instance set min_program = 35 where min_program < 35;
      return null;
    end
    $$`
  yield* sql`
    create trigger challenges_need_program_of_range after insert on challenges
      for each row when (new.kind = 'range') execute function needs_program_of_range()`
})
