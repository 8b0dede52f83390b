/** The 1-hour candles that questions are decided by. */
import { DateTime, Effect, Option, Schema } from "effect"
import { SqlClient } from "effect/sql"
import type { Prices } from "../../../services/Prices.ts"
import { arrayParam, findAll, findOne, timestamp } from "../sql.ts"

const Row = Schema.Struct({
  time: Schema.DateTimeUtcFromDate,
  high: Schema.BigDecimalFromString,
  low: Schema.BigDecimalFromString,
  close: Schema.BigDecimalFromString,
  fetched_at: Schema.DateTimeUtcFromDate,
  source: Schema.String,
  payload_hash: Schema.NullOr(Schema.Uint8Array)
})

const Span = Schema.Struct({
  count: Schema.Int,
  low: Schema.NullOr(Schema.BigDecimalFromString),
  high: Schema.NullOr(Schema.BigDecimalFromString),
  until: Schema.NullOr(Schema.DateTimeUtcFromDate)
})

export const makeHourly = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const candles = findAll(Row)
  const span = findOne(Span)

  const hourly: Prices["Service"]["hourly"] = Effect.fn("Prices.hourly")(function* (asset, openTimes) {
    const now = yield* DateTime.now
    // Of each source the value that holds: an accepted correction is a later revision.
    const rows = yield* candles(sql`
      select p.time, p.high::text, p.low::text, p.close::text, p.fetched_at, p.payload_hash,
             p.source || ' 1h candle' as source
        from unnest(${arrayParam(
          "timestamptz",
          openTimes.map((time) => timestamp(DateTime.makeUnsafe(time)))
        )}) as wanted (time)
       cross join lateral (
         select * from price_points
          where asset = ${asset} and interval = '1h' and observed_at = wanted.time + interval '1 hour'
            and observed_at <= ${timestamp(now)}
          order by source, revision desc
          limit 1) p
       order by p.time`)
    return rows.map(({ fetched_at, payload_hash, time, ...row }) => ({
      ...row,
      openTime: DateTime.toEpochMillis(time),
      fetchedAt: fetched_at,
      payloadHash: payload_hash
    }))
  })

  const hourlySpan: Prices["Service"]["hourlySpan"] = Effect.fn("Prices.hourlySpan")(
    function* (asset, from, until) {
      const last = DateTime.min(DateTime.makeUnsafe(until), yield* DateTime.now)
      const { count, ...known } = yield* span(sql`
        select count(*)::int as count, min(low)::text as low, max(high)::text as high, max(observed_at) as until
          from (
            select distinct on (observed_at) observed_at, low, high
              from price_points
             where asset = ${asset} and interval = '1h' and observed_at > ${timestamp(DateTime.makeUnsafe(from))}
               and observed_at <= ${timestamp(last)}
             order by observed_at, source, revision desc) as candle`)
      if (known.low === null || known.high === null || known.until === null) return Option.none()
      return Option.some({
        low: known.low,
        high: known.high,
        count,
        until: DateTime.toEpochMillis(known.until)
      })
    }
  )
  return { hourly, hourlySpan }
})
