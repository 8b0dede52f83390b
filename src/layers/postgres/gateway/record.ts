/** Recording calls that reserved nothing, and so cost nothing: any number of them in one statement. */
import type { Array as Arr } from "effect"
import type { SqlClient } from "effect/sql"
import type { EndedCall } from "../../../services/GatewayBilling.ts"
import { run } from "../query.ts"
import { endedCalls, recordColumns, recordedAs } from "./endedCalls.ts"

export const record = (calls: Arr.NonEmptyReadonlyArray<EndedCall>, sql: SqlClient.SqlClient) =>
  run(sql`
    insert into gateway_calls (${recordColumns(sql)})
    select ${recordedAs(sql, "0")}
      from (${endedCalls(sql, calls)}) c join gateway_keys k on k.id = c.key_id
    on conflict (id) do nothing`)
