/** Whether a published value looks mistyped: what a challenge is settled by pays out its pool for good. */
import { Effect, Option, Schema } from "effect"
import type { SqlClient } from "effect/sql"
import { decimal, maybe } from "../query.ts"
import { scoringScale } from "./macroRows.ts"

/** Of a series whose forecasters know it within one: nothing that was ever published came near. */
const mostScales = 100

const Compared = Schema.Struct({
  decimal_step: Schema.NullOr(Schema.String),
  is_off_step: Schema.NullOr(Schema.Boolean),
  scales_away: Schema.Finite
})

/** Only of challenges that are not settled and have forecasts: the first prints of earlier periods may be anything. */
export const makeMacroDoubts = (sql: SqlClient.SqlClient) => {
  const compared = maybe(Compared)
  return Effect.fnUntraced(function* (id: string, actualValue: number) {
    const value = sql`${decimal(actualValue)}::numeric`
    const found = yield* compared(sql`
      select trim_scale(c.decimal_step)::text as decimal_step, mod(${value}, c.decimal_step) <> 0 as is_off_step,
             (greatest(c.bin_edges[1] - ${value}, ${value} - c.bin_edges[cardinality(c.bin_edges)])
              / ${scoringScale(sql)})::float8 as scales_away
        from challenges c
       where c.id = ${id}::uuid and c.type = 'macro' and c.resolved_at is null and c.cancelled_at is null
         and exists (select from predictions p where p.challenge_id = c.id)`)
    if (Option.isNone(found)) return undefined
    const { decimal_step, is_off_step, scales_away } = found.value
    if (is_off_step === true) return `${actualValue} is no multiple of the decimal step, ${decimal_step}`
    if (scales_away > mostScales) {
      return `${actualValue} lies more than ${mostScales} reference scales beyond the outermost edges of the bins`
    }
    return undefined
  })
}
