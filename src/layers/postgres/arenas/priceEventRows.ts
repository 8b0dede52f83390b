/** A price-event question as the API shows it, selected in one place. */
import type { DateTime } from "effect"
import type { SqlClient } from "effect/sql"
import { iso } from "../wire.ts"
import { countsOfChallenge, statusOf } from "./challengeRows.ts"

/** Questions `c`; the caller adds conditions, order and limit. */
export const selectPriceEvent = (sql: SqlClient.SqlClient, now: DateTime.Utc) => sql`
  select c.id::text, c.kind, c.target as asset, c.question, c.level::float8 as level, ${statusOf(sql, now)} as status,
         ${iso(sql, "c.created_at")} as created_at, ${iso(sql, "c.deadline")} as deadline,
         ${iso(sql, "c.window_from")} as window_from, ${iso(sql, "c.resolve_at")} as resolve_at,
         c.reference_scale::float8 as reference_scale, n.bullish + n.bearish + n.forecasts as prediction_count,
         c.resolution_criteria, c.resolution_criteria_zh, s.result, s.actual_value::float8 as actual_value,
         c.cancel_reason as void_reason
    from challenges c
    ${countsOfChallenge(sql)}
    left join lateral (
      select result, actual_value from settlements where challenge_id = c.id order by version desc limit 1) s on true`
