/** Which prices should be known by now and are not, in words for an operator. */
import { DateTime, Duration, Schema } from "effect"
import type { SqlClient } from "effect/sql"
import type { Settings } from "../../../services/Settings.ts"
import { timestamp } from "../sql.ts"

/** What is older holds up nothing that is still settled by it. */
const recent = Duration.days(7)

export const LatePrices = Schema.Struct({
  late: Schema.NullOr(Schema.Array(Schema.String)),
  contested: Schema.NullOr(Schema.Array(Schema.String))
})

/** Columns of a statement: the assets with a candle that is overdue, and those with one that waits for a decision. */
export const latePrices = (
  sql: SqlClient.SqlClient,
  source: Settings["Service"]["priceSource"],
  now: DateTime.Utc
) => {
  const assets = (states: ReadonlyArray<string>) => sql`
    (select array_agg(distinct asset order by asset) from expected_candles
      where ${source}::text <> 'none' and state in ${sql.in(states)} and overdue_at <= ${timestamp(now)}
        and ends_at > ${timestamp(DateTime.subtractDuration(now, recent))}
        and state in ('awaited', 'read', 'contested'))`
  return sql`${assets(["awaited", "read"])} as late, ${assets(["contested"])} as contested`
}

export const whyPricesAreLate = ({ contested, late }: typeof LatePrices.Type): string | null => {
  const reasons = [
    ...(late === null ? [] : [`no price source shows recent candles of ${late.join(", ")}`]),
    ...(contested === null
      ? []
      : [`candles of ${contested.join(", ")} wait for a decision (GET /api/v1/admin/prices/quarantine)`])
  ]
  return reasons.length === 0 ? null : reasons.join("; ")
}
