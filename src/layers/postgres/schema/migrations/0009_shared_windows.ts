import { Effect } from "effect"
import { SqlClient } from "effect/sql"

/** Several accepted writes of one statement may owe to one window. */
export const sharedWindows = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient

  // Writes that owe the same are one caller, which gets as many uses as there is room for: the first ones by position.
  yield* sql`
    create or replace function accept_uses(
      at_ms bigint, place_of integer[], key_of text[], max_of bigint[], window_of bigint[], tick_of bigint[]
    ) returns void language plpgsql as $$
    declare
      caller_of integer[];
      keys text[];
      maxima bigint[];
      windows bigint[];
      ticks bigint[];
      uses bigint[];
      refused jsonb;
    begin
      if key_of is null then return; end if;
      with owed as (
        select place, array_agg(key order by key) as keys from unnest(place_of, key_of) o (place, key) group by place
      ), callers as (
        select min(place) as place, count(*) as uses from owed group by owed.keys
      )
      select array_agg(c.place order by w.nth), array_agg(w.key order by w.nth), array_agg(w.max_uses order by w.nth),
             array_agg(w.window_ms order by w.nth), array_agg(w.tick order by w.nth), array_agg(c.uses order by w.nth)
        into caller_of, keys, maxima, windows, ticks, uses
        from callers c
        join unnest(place_of, key_of, max_of, window_of, tick_of)
               with ordinality w (place, key, max_uses, window_ms, tick, nth) using (place);
      with granted as (
        select caller_of[u.place] as caller, min(u.granted) as uses
          from use_limits(at_ms, caller_of, keys, maxima, windows, ticks, uses,
                          array_fill(true, array[cardinality(keys)])) u
         group by 1
      ), owed as (
        select place, array_agg(key order by key) as keys from unnest(place_of, key_of) o (place, key) group by place
      ), ranked as (
        select o.place, min(o.place) over same as caller, row_number() over (same order by o.place) as nth
          from owed o window same as (partition by o.keys)
      )
      select jsonb_agg(r.place order by r.place) into refused
        from ranked r join granted g on g.caller = r.caller
       where r.nth > g.uses;
      if refused is not null then
        raise check_violation using
          message = 'a limit has no room for a write', constraint = 'limit_windows_room', detail = refused;
      end if;
    end
    $$`
})
