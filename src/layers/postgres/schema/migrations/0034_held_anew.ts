import { Effect } from "effect"
import { SqlClient } from "effect/sql"

/**
 * Gives each name to the first claimed agent that may hold it, in the order of the claims: a name that looks like one that is itself
 * not held is free. Claims wait meanwhile, and so do writes to an agent whose name changes hands; nothing else does.
 */
export const heldAnew = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  yield* sql`select pg_advisory_xact_lock(hashtext('agents.held_name'), 0)`
  yield* sql`
    create table agent_names as
    select id, key, fold, claimed_at,
           row_number() over (partition by key order by claimed_at, id) = 1
           and row_number() over (partition by fold order by claimed_at, id) = 1 as holds
      from (select id, claimed_at, name_key(name) as key, name_fold(name) as fold
              from agents where claimed_at is not null) named`
  yield* sql`alter table agent_names add primary key (id)`
  yield* sql`create unique index on agent_names (key) where holds`
  yield* sql`create unique index on agent_names (fold) where holds`
  yield* sql`analyze agent_names`
  // An agent that is not the first holds its name only if those before do not.
  yield* sql`
    do $$
    declare
      late record;
    begin
      for late in select id, key, fold from agent_names where not holds order by claimed_at, id loop
        update agent_names set holds = true
         where id = late.id
           and not exists (select from agent_names h where h.holds and h.key = late.key)
           and not exists (select from agent_names h where h.holds and h.fold = late.fold);
      end loop;
    end
    $$`
  yield* sql`
    update agents a set held_name = null, held_fold = null
      from agent_names n
     where n.id = a.id and a.held_name is not null
       and (not n.holds or a.held_name <> n.key or a.held_fold is distinct from n.fold)`
  yield* sql`
    update agents a set held_name = n.key, held_fold = n.fold
      from agent_names n
     where n.id = a.id and n.holds and a.held_name is null`
  yield* sql`drop table agent_names`
})
