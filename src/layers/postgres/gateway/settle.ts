/** Settling calls: any number of them in one statement. */
import { DateTime, Effect, Schema } from "effect"
import type { Array as Arr } from "effect"
import type { SqlClient } from "effect/sql"
import type { EndedCall } from "../../../services/GatewayBilling.ts"
import { execute, findAll, timestamp } from "../sql.ts"
import { endedCalls, recordColumns, recordedAs } from "./endedCalls.ts"
import { reservationId, revenueAccount } from "./reserve.ts"

const charges = findAll(Schema.Struct({ call_id: Schema.String, charged: Schema.BigInt }))

/** Charges, frees what was reserved, and records. */
export const settle = Effect.fnUntraced(function* (
  calls: Arr.NonEmptyReadonlyArray<EndedCall>,
  sql: SqlClient.SqlClient
) {
  const now = timestamp(yield* DateTime.now)
  const rows = yield* charges(sql`
      with asked as materialized (${endedCalls(sql, calls)}),
      open as materialized (
        select call_id, amount from end_reservations(array(select call_id from asked))
      ),
      closing as (
        select a.*, o.amount, least(a.cost, o.amount) as charged
          from asked a join open o on o.call_id = a.call_id
      ),
      funds as (
        select id from accounts
         where id in (select 'agent:' || agent_id from closing
                      union select ${revenueAccount} from closing where charged > 0)
         order by id for no key update
      ),
      limited as (
        select k.id from gateway_keys k
         where k.credit_limit is not null and k.id in (select key_id from closing)
           and (select count(*) from funds) > 0
         order by k.id for no key update
      ),
      counted as (
        update gateway_keys k set held = k.held - c.amount, spent = k.spent + c.charged
          from (select key_id, sum(amount) as amount, sum(charged) as charged
                  from closing group by key_id) c
         where k.id = c.key_id and k.id in (select id from limited)
      ),
      recorded as (
        insert into gateway_calls (${recordColumns(sql)})
        select ${recordedAs(sql, "c.charged")}
          from closing c join gateway_keys k on k.id = c.key_id
         where (select count(*) from funds) >= 0
        on conflict (id) do nothing
      ),
      moved as (
        insert into transfers (id, kind, debit, credit, amount, pending_id, reason, at)
        select 'cap:gw:' || call_id, case when charged > 0 then 'post' else 'void' end, 'agent:' || agent_id,
               ${revenueAccount}, case when charged > 0 then charged else amount end, ${sql.literal(reservationId)},
               'call of ' || model || case when charged > 0 then '' else ', not charged' end, ${now}
          from closing order by call_id
      )
      select call_id::text, charged::int8 as charged from closing`)
  const charged = new Map(rows.map((row) => [row.call_id, row.charged]))
  return calls.map(({ callId }) => charged.get(callId) ?? 0n)
})

/** Records calls that reserved nothing, and so cost nothing. */
export const recordFree = Effect.fnUntraced(function* (
  calls: Arr.NonEmptyReadonlyArray<EndedCall>,
  sql: SqlClient.SqlClient
) {
  yield* execute(sql`
    insert into gateway_calls (${recordColumns(sql)})
    select ${recordedAs(sql, "0")}
      from (${endedCalls(sql, calls)}) c join gateway_keys k on k.id = c.key_id
    on conflict (id) do nothing`)
  return calls.map(() => 0n)
})
