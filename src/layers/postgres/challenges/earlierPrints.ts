/** What is known of a macro series: the first prints by which its challenges were settled. */
import { Effect, Schema } from "effect"
import { SqlClient } from "effect/sql"
import { findAll } from "../sql.ts"

/** Five years of a monthly series: what happened earlier says little about its surprises now. */
const maxPrints = 61

const Print = Schema.Struct({ actual_value: Schema.BigDecimalFromString })

export const makeEarlierPrints = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const prints = findAll(Print)

  /** First prints of the series in this unit, in the order of their release. */
  return Effect.fnUntraced(function* (asset: string, unit: string | undefined) {
    const newestFirst = yield* prints(sql`
      select s.actual_value::text
        from challenges c
       cross join lateral (
         select actual_value from settlements where challenge_id = c.id order by version desc limit 1) s
       where c.target = ${asset} and c.type = 'macro' and c.resolved_at is not null
         and c.unit is not distinct from ${unit ?? null}
       order by c.resolve_at desc, c.id desc
       limit ${maxPrints}`)
    return newestFirst.map(({ actual_value }) => actual_value).toReversed()
  })
})
