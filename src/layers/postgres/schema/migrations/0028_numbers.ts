import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import { asOwner } from "../guards.ts"

/** Values that reads of skill need beside a score, the bytes that an agent stores, and quantiles of one value. */
export const numbers = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  // The largest probability of a vector, so that no read parses a body; null for answers in another form.
  yield* sql`
    alter table prediction_scores
      add column probability numeric,
      add constraint prediction_scores_probability check (probability between 0 and 1) not valid`

  // The bytes that an agent stored permanently on one day (UTC), the last on which it stored any.
  yield* sql`
    create table agent_bytes (
      agent_id uuid primary key constraint agent_bytes_agent references agents (id),
      day date not null,
      bytes bigint not null,
      max_bytes bigint not null,
      constraint agent_bytes_budget check (bytes between 0 and max_bytes)
    ) with (fillfactor = 50)`

  // Each of n numbers that were rounded to six decimals is off by 5e-7 at most.
  yield* sql`
    create or replace function sums_to_one(parts numeric[]) returns boolean language sql immutable strict parallel safe as $$
      select coalesce(bool_and(part between 0 and 1), false)
             and abs(sum(part) - 1) <= least(count(*) * 0.0000005, 0.00001) + 0.000000001
        from unnest(parts) as part
    $$`

  // The program before cannot score quantiles of one value: it runs beside them until the first.
  yield* sql`
    create function has_ties(body bytea) returns boolean language sql immutable strict parallel safe as $$
      select count(*) > count(distinct q ->> 'value')
        from jsonb_array_elements(convert_from(body, 'UTF8')::jsonb -> 'values' -> 'quantiles') as q
    $$`
  yield* sql`
    create function needs_program_of_ties() returns trigger language plpgsql ${yield* asOwner} as $$
    begin
      update instance set min_program = 29 where min_program < 29;
      return null;
    end
    $$`
  yield* sql`
    create trigger predictions_need_program_of_ties after insert on predictions
      for each row when (new.form = 'quantiles' and has_ties(new.body)) execute function needs_program_of_ties()`
})
