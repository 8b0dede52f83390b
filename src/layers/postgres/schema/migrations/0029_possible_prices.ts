import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import { asOwner } from "../guards.ts"

/**
 * Stores which targets may have prices of 0 or less: crude oil had them in April 2020. Counts of days whose closes may be daily
 * candles (rule 3) are new, too: a program from before would count the last 1-hour candles only, so it runs until the first such
 * count.
 */
export const possiblePrices = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  yield* sql`alter table targets add column negative_prices boolean not null default false`
  yield* sql`update targets set negative_prices = true where key = 'CL'`
  yield* sql`
    create function needs_program_of_daily_counts() returns trigger language plpgsql ${yield* asOwner} as $$
    begin
      update instance set min_program = 30 where min_program < 30;
      return null;
    end
    $$`
  yield* sql`
    create trigger challenges_need_program_of_daily_counts after insert on challenges
      for each row when (new.kind = 'count_days' and new.rule_version >= 3) execute function needs_program_of_daily_counts()`
})
