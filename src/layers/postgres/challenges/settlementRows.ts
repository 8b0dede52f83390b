/** The versions of a settlement as the API shows them, selected in one place. */
import type { SqlClient } from "effect/sql"
import { isoTimestamp } from "../sql.ts"

/** All of a challenge `c`, the first one first, as one JSON array: `SettlementVersion`. */
export const versionsOf = (sql: SqlClient.SqlClient) => sql`
  (select coalesce(jsonb_agg(
            jsonb_build_object(
              'version', v.version, 'settled_at', ${isoTimestamp(sql, "v.settled_at")}, 'source', v.source, 'result', v.result,
              'close_price', v.close_price, 'actual_value', v.actual_value, 'reason', v.reason, 'leaf_index', e.index)
            order by v.version), '[]')
     from settlements v
     left join log_entries e
       on e.challenge_id = v.challenge_id and e.version = v.version
      and e.type = case when v.version = 1 then 'settlement' else 'amendment' end
    where v.challenge_id = c.id) as versions`

/** The settlement that counts, of a row that has it. */
export const settlementOf = (row: {
  readonly version: number
  readonly settled_at: string
  readonly source: string
}) => ({
  version: row.version,
  settled_at: row.settled_at,
  source: row.source,
  amended: row.version > 1,
  void_reason: null
})
