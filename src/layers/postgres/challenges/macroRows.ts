/** A macro challenge as the API shows it, selected in one place. */
import { Schema } from "effect"
import type { DateTime } from "effect"
import type { SqlClient } from "effect/sql"
import { binsOf } from "../../../scoring/macro.ts"
import { MacroChallenge } from "../../../services/domain/Challenge.ts"
import { statusOf } from "./challengeRows.ts"
import { isoTimestamp } from "../sql.ts"

const { bins: _, ...columns } = MacroChallenge.fields

export const MacroRow = Schema.Struct({ ...columns, bin_edges: Schema.Array(Schema.Finite) })

export const shown = ({ bin_edges, ...row }: typeof MacroRow.Type): MacroChallenge => ({
  ...row,
  bins: binsOf(bin_edges)
})

/** Macro challenges `c`; the caller adds conditions, order and limit. */
export const selectMacro = (sql: SqlClient.SqlClient, now: DateTime.Utc) => sql`
  select c.id::text, c.target as asset, c.period, c.question, ${statusOf(sql, now)} as status,
         ${isoTimestamp(sql, "c.created_at")} as created_at, ${isoTimestamp(sql, "c.deadline")} as deadline,
         ${isoTimestamp(sql, "c.resolve_at")} as release_at, c.unit, c.reference_scale::float8 as reference_scale,
         c.decimal_step::float8 as decimal_step, c.bin_edges::float8[] as bin_edges,
         c.reward_pool::float8 / 1000000 as reward_pool, n.forecasts as prediction_count, c.resolution_criteria,
         c.resolution_criteria_zh, s.actual_value::float8 as actual_value, c.cancel_reason as void_reason
    from challenges c
   cross join lateral (
     select coalesce(sum(forecasts), 0)::int as forecasts from prediction_counts where challenge_id = c.id) n
    left join lateral (
      select actual_value from settlements where challenge_id = c.id order by version desc limit 1) s on true`

/**
 * What forecasts on a challenge `c` are scored with: the scale that was frozen, or, where none was, the spread of the
 * bins: a quarter of the distance between the outermost edges, which are laid about two standard deviations to each side.
 */
export const scoringScale = (sql: SqlClient.SqlClient) =>
  sql.literal(`coalesce(c.reference_scale, (c.bin_edges[cardinality(c.bin_edges)] - c.bin_edges[1]) / 4)`)
