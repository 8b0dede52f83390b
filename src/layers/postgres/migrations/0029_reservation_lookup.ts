import { Effect } from "effect"
import { SqlClient } from "effect/sql"

/**
 * Reservations are ended by their keys. As a join it was planned, where the table had been empty when it was last looked at,
 * as a read of all of it, with every row that was there since: each statement took longer the more calls had been settled.
 */
export const reservationLookup = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient

  // In the order of ids, so that two statements never wait for each other in a ring.
  yield* sql`
    create function end_reservations(ids uuid[]) returns table (call_id uuid, amount bigint) language plpgsql
      set enable_seqscan = off as $$
    begin
      perform 1 from gateway_reservations r where r.call_id = any(ids) order by r.call_id for update;
      return query delete from gateway_reservations r where r.call_id = any(ids) returning r.call_id, r.amount;
    end
    $$`
})
