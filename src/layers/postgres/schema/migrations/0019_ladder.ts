import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import { asOwner } from "../guards.ts"

/** Questions of one, four and twenty-four hours. A program before them would not know their kind: it runs until the first one. */
export const ladder = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  yield* sql`
    alter table challenges
      drop constraint challenges_kind,
      add constraint challenges_kind check (
        case type
          when 'directional' then kind in ('session', 'flash', '1h', '4h', '1d')
          when 'price_event' then kind in ('numeric_close', 'barrier', 'count_days', 'threshold')
          else kind = type
        end) not valid`
  yield* sql`
    alter table scheduled_challenges
      drop constraint scheduled_challenges_schedule,
      add constraint scheduled_challenges_schedule check (schedule in (
        'session', 'flash', '1h', '4h', '1d', 'numeric_close', 'threshold', 'count_days', 'barrier_up', 'barrier_down', 'macro'))
        not valid`
  yield* sql`
    create function needs_program_of_ladder() returns trigger language plpgsql ${yield* asOwner} as $$
    begin
      update instance set min_program = 19 where min_program < 19;
      return null;
    end
    $$`
  yield* sql`
    create trigger challenges_need_program_of_ladder after insert on challenges
      for each row when (new.kind in ('1h', '4h', '1d')) execute function needs_program_of_ladder()`
})
