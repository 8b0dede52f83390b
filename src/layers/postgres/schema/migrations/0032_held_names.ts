import { Effect } from "effect"
import { SqlClient } from "effect/sql"

/** Each index is asked separately if a name is held: one condition over both columns would read all agents. */
export const heldNamesByIndex = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  yield* sql`
    create or replace function agents_hold_name() returns trigger language plpgsql as $$
    declare
      key constant text := name_key(new.name);
      fold constant text := name_fold(new.name);
    begin
      -- Claims take turns, so that none fails by the unique indexes: they use one lock, since a statement may claim many agents.
      perform pg_advisory_xact_lock(hashtext('agents.held_name'), 0);
      if not exists (select 1 from agents where held_name = key)
         and not exists (select 1 from agents where held_fold = fold) then
        new.held_name := key;
        new.held_fold := fold;
      end if;
      return new;
    end
    $$`
})
