import { Effect } from "effect"
import { SqlClient } from "effect/sql"

/** Counts the uses that accepted writes owe to limits, within the statement that records the writes. */
export const acceptedUses = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient

  // If windows have no room, the function fails with the positions of the writes that owe to them, and the statement fails with it.
  // Without windows the arrays are null.
  yield* sql`
    create function accept_uses(
      at_ms bigint, place_of integer[], key_of text[], max_of bigint[], window_of bigint[], tick_of bigint[]
    ) returns void language plpgsql as $$
    declare
      windows constant integer[] := array[cardinality(key_of)];
      refused jsonb;
    begin
      if key_of is null then return; end if;
      select jsonb_agg(distinct place_of[u.place]) filter (where u.granted = 0) into refused
        from use_limits(at_ms, place_of, key_of, max_of, window_of, tick_of,
                        array_fill(1::bigint, windows), array_fill(true, windows)) u;
      if refused is not null then
        raise check_violation using
          message = 'a limit has no room for a write', constraint = 'limit_windows_room', detail = refused;
      end if;
    end
    $$`
})
