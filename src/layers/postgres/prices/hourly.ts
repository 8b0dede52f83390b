/** The 1-hour candles that questions are decided by. */
import { DateTime, Effect, Schema } from "effect"
import { SqlClient } from "effect/sql"
import type { Prices } from "../../../services/Prices.ts"
import { at, column, many } from "../query.ts"

const Row = Schema.Struct({
  time: Schema.DateTimeUtcFromDate,
  high: Schema.BigDecimalFromString,
  low: Schema.BigDecimalFromString,
  close: Schema.BigDecimalFromString,
  fetched_at: Schema.DateTimeUtcFromDate,
  source: Schema.String
})

export const makeHourly = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const candles = many(Row)

  const hourly: Prices["Service"]["hourly"] = Effect.fn("Prices.hourly")(function* (asset, openTimes) {
    const now = yield* DateTime.now
    // Of each source the value that holds: an accepted correction is a later revision.
    const rows = yield* candles(sql`
      select p.time, p.high::text, p.low::text, p.close::text, p.fetched_at, p.source || ' 1h candle' as source
        from unnest(${column(
          "timestamptz",
          openTimes.map((time) => at(DateTime.makeUnsafe(time)))
        )}) as wanted (time)
       cross join lateral (
         select * from price_points
          where asset = ${asset} and interval = '1h' and observed_at = wanted.time + interval '1 hour'
            and observed_at <= ${at(now)}
          order by source, revision desc
          limit 1) p
       order by p.time`)
    return rows.map(({ fetched_at, time, ...row }) => ({
      ...row,
      openTime: DateTime.toEpochMillis(time),
      fetchedAt: fetched_at
    }))
  })
  return hourly
})
