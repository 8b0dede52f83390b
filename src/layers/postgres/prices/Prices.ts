import { BigDecimal, DateTime, Effect, Layer, Option, Schema } from "effect"
import { SecureRandom } from "effect/crypto"
import { SqlClient } from "effect/sql"
import type { Statement } from "effect/sql"
import { day, hour } from "../../../scoring/candles.ts"
import { InvalidRequest, NotFound } from "../../../services/domain/errors.ts"
import { InstantText } from "../../../services/domain/text.ts"
import { isTargetKey, isUuid } from "../../../services/domain/ids.ts"
import { Cursors } from "../../../services/domain/paging.ts"
import { Candles, LatestPrices, Prices, QuarantinedPrice, isPositive } from "../../../services/Prices.ts"
import type { ObservedPrice, PriceImport } from "../../../services/Prices.ts"
import { noTarget } from "../../../services/Targets.ts"
import { Settings } from "../../../services/Settings.ts"
import {
  arrayParam,
  decimal,
  findAll,
  findOne,
  findOption,
  whenGiven,
  isoTimestamp,
  orDie,
  pageAfter,
  rowsOf,
  timestamp,
  transaction
} from "../sql.ts"

const source = "admin"

const PriceRow = Schema.Struct({
  price: Schema.BigDecimalFromString,
  observed_at: Schema.DateTimeUtcFromDate,
  fetched_at: Schema.DateTimeUtcFromDate,
  source: Schema.String,
  payload_hash: Schema.NullOr(Schema.Uint8Array)
})

const Count = Schema.Struct({ count: Schema.Int })
const Asset = Schema.Struct({ key: Schema.String, name: Schema.String, negative_prices: Schema.Boolean })
const Offered = Schema.Struct({ is_possible: Schema.Boolean })

/** The imported points: candles, or quotes as candles that have a close only. */
const pointsOf = (prices: PriceImport) =>
  "candles" in prices
    ? prices.candles
    : prices.quotes.map(({ price, time }) => ({ time, open: null, high: null, low: null, close: price }))

/** The first price that is 0 or less, by its field. */
const impossiblePrice = (prices: PriceImport): string | undefined => {
  if ("quotes" in prices) {
    const index = prices.quotes.findIndex(({ price }) => price <= 0)
    return index === -1 ? undefined : `quotes.${index}.price`
  }
  const index = prices.candles.findIndex((candle) => !isPositive(candle))
  return index === -1 ? undefined : `candles.${index}.low`
}

/** The first price observed, or the last, of the points `p` that meet a condition, by their newest revisions. */
export const firstObserved = (
  sql: SqlClient.SqlClient,
  condition: Statement.Fragment,
  order: "asc" | "desc"
) => sql`
  select p.close, p.observed_at, p.fetched_at, p.payload_hash,
         p.source || case p.interval when 'quote' then ' quote' else ' ' || p.interval || ' candle' end as source
    from price_points p
   where ${condition}
     and not exists (
       select 1 from price_points newer
        where newer.source = p.source and newer.asset = p.asset and newer.interval = p.interval
          and newer.time = p.time and newer.revision > p.revision)
   order by p.observed_at ${sql.literal(order)},
            case p.interval when 'quote' then 1 when '1h' then 2 else 3 end, p.source
   limit 1`

const step = { "1h": hour, "1d": day, quote: 1 }

const make = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const cursors = yield* Cursors
  const pages = cursors.listById("quarantine")
  const candlePages = cursors.list("candles", Schema.Struct({ time: InstantText }))
  const random = yield* SecureRandom.SecureRandom
  const settings = yield* Settings
  const observed = findOption(PriceRow)
  const quarantined = findAll(QuarantinedPrice)
  const counted = findAll(Count)
  const assets = findAll(Asset)
  const offered = findOption(Offered)
  const latestPrices = findAll(LatestPrices.fields.prices.value)
  const candleItems = findAll(Candles.fields.items.value)
  const deciding = yield* makeCandles

  const latestOfAll: Prices["Service"]["latestOfAll"] = Effect.gen(function* () {
    const now = yield* DateTime.now
    const prices = yield* latestPrices(sql`
      select t.key as asset, o.close::float8 as price, o.source, ${isoTimestamp(sql, "o.observed_at")} as observed_at,
             ${isoTimestamp(sql, "o.fetched_at")} as fetched_at
        from targets t
       cross join lateral (
         ${firstObserved(sql, sql`p.asset = t.key and p.observed_at <= ${timestamp(now)}`, "desc")}) o
       where t.kind = 'asset'
       order by t.position`)
    return { prices }
  }).pipe(Effect.withSpan("Prices.latestOfAll"))

  const candles: Prices["Service"]["candles"] = Effect.fn("Prices.candles")(function* (filter, page) {
    const { asset, before, from, interval } = filter
    const { after, toPage, limit } = yield* candlePages.decode(page, `${asset} ${interval}`)
    if (!isTargetKey(asset)) return { asset, interval, items: [], next_cursor: null }
    const over = DateTime.subtract(yield* DateTime.now, { milliseconds: step[interval] })
    const conditions = [
      sql`asset = ${asset} and interval = ${interval} and time <= ${timestamp(over)}`,
      ...(from === undefined ? [] : [sql`time >= ${timestamp(from)}`]),
      ...(before === undefined ? [] : [sql`time < ${timestamp(before)}`]),
      ...(after === undefined ? [] : [sql`time < ${after.time}::timestamptz`])
    ]
    const rows = yield* candleItems(sql`
      select ${isoTimestamp(sql, "p.time")} as time, p.open::float8 as open, p.high::float8 as high, p.low::float8 as low,
             p.close::float8 as close, p.source, ${isoTimestamp(sql, "p.fetched_at")} as fetched_at
        from (
          select distinct on (time) * from price_points
           where ${sql.and(conditions)}
           order by time desc, source, revision desc
           limit ${limit}) p
       order by p.time desc`)
    return { asset, interval, ...toPage(rows, ({ time }) => ({ time })) }
  })

  const quarantineColumns = sql`
    q.id::text, q.source, q.asset, q.interval, ${isoTimestamp(sql, "q.time")} as time,
    coalesce(
      (select p.close from price_points p
        where p.source = q.source and p.asset = q.asset and p.interval = q.interval and p.time = q.time
        order by p.revision desc limit 1),
      (select r.close from price_readings r
        where r.source = q.source and r.asset = q.asset and r.interval = q.interval and r.time = q.time)
    )::float8 as stored_close,
    q.close::float8 as offered_close, ${isoTimestamp(sql, "q.received_at")} as received_at, q.decision, q.reason`

  const importPrices: Prices["Service"]["import"] = Effect.fn("Prices.import")(function* (prices) {
    const interval = "candles" in prices ? prices.interval : "quote"
    const points = pointsOf(prices)
    const misplaced = points.findIndex(({ time }) => DateTime.toEpochMillis(time) % step[interval] !== 0)
    if (misplaced !== -1) {
      return yield* InvalidRequest.of(
        `candles.${misplaced}.time`,
        `Expected the open time of a ${interval} candle`
      )
    }
    const known = yield* assets(
      sql`select key, name, negative_prices from targets where kind = 'asset' order by position`
    )
    const asset = known.find(({ key }) => key === prices.asset)
    if (asset === undefined) return yield* noTarget("asset", prices.asset, known)
    const impossible = asset.negative_prices ? undefined : impossiblePrice(prices)
    if (impossible !== undefined) {
      return yield* InvalidRequest.of(impossible, `Expected a price above 0: ${asset.key} has no other`)
    }
    const now = yield* DateTime.now
    const rows = yield* Effect.forEach(points, (each) =>
      Effect.map(random.uuidV7(), (id) => ({ ...each, id }))
    )
    const exact = (value: number | null) => (value === null ? null : decimal(value))
    const point = rowsOf(sql, "n", rows, {
      id: ["uuid", (row) => row.id],
      time: ["timestamptz", (row) => timestamp(row.time)],
      open: ["numeric", (row) => exact(row.open)],
      high: ["numeric", (row) => exact(row.high)],
      low: ["numeric", (row) => exact(row.low)],
      close: ["numeric", (row) => decimal(row.close)]
    })
    return yield* transaction(sql)(
      Effect.gen(function* () {
        const inserted = yield* sql`
            insert into price_points (source, asset, interval, time, open, high, low, close, observed_at, fetched_at)
            select ${source}, ${prices.asset}, ${interval}, n.time, n.open, n.high, n.low, n.close,
                   n.time + case ${interval} when '1h' then interval '1 hour'
                     when '1d' then interval '24 hours' else interval '0' end, ${timestamp(now)}
              from ${point}
             order by n.time, n.position
            on conflict do nothing
            returning 1`
        const aside = yield* quarantined(sql`
            with q as (
              insert into price_quarantine (id, source, asset, interval, time, open, high, low, close, received_at)
              select distinct on (n.time, n.open, n.high, n.low, n.close)
                     n.id, ${source}, ${prices.asset}, ${interval}, n.time, n.open, n.high, n.low, n.close, ${timestamp(now)}
                from ${point}
               where not exists (
                 select 1 from price_points p
                  where p.source = ${source} and p.asset = ${prices.asset} and p.interval = ${interval}
                    and p.time = n.time
                    and (p.open, p.high, p.low, p.close) is not distinct from (n.open, n.high, n.low, n.close)
               )
               order by n.time, n.open, n.high, n.low, n.close, n.position
              on conflict (source, asset, interval, time, open, high, low, close) do update set id = price_quarantine.id
              returning *
            )
            select ${quarantineColumns} from q order by q.time, q.id`)
        if (aside.length > 0) {
          yield* Effect.logWarning("prices contradict stored ones and were kept aside").pipe(
            Effect.annotateLogs({ asset: prices.asset, interval, count: aside.length })
          )
        }
        return {
          asset: prices.asset,
          inserted: inserted.length,
          unchanged: points.length - inserted.length - aside.length,
          quarantined: aside
        }
      })
    )
  })

  const first = (asset: string, condition: Statement.Fragment, order: "asc" | "desc") =>
    observed(sql`
      select o.close::text as price, o.observed_at, o.fetched_at, o.payload_hash, o.source
        from (${firstObserved(sql, sql`p.asset = ${asset} and ${condition}`, order)}) o`).pipe(
      Effect.map(
        Option.map((row): ObservedPrice => ({
          asset,
          price: row.price,
          observedAt: row.observed_at,
          fetchedAt: row.fetched_at,
          source: row.source,
          payloadHash: row.payload_hash
        }))
      )
    )

  const latest: Prices["Service"]["latest"] = Effect.fn("Prices.latest")(function* (asset) {
    const now = yield* DateTime.now
    return yield* first(asset, sql`p.observed_at <= ${timestamp(now)}`, "desc")
  })

  const firstBetween: Prices["Service"]["firstBetween"] = Effect.fn("Prices.firstBetween")(
    function* (asset, from, until) {
      const now = yield* DateTime.now
      const last = DateTime.min(until, now)
      // There is no first price while an earlier candle is still awaited or contested: the price that settles must not depend on
      // which candle was fetched sooner. Without a source no candle is awaited.
      const nothingEarlierToCome =
        settings.priceSource === "none"
          ? sql`true`
          : sql`not exists (
              select 1 from expected_candles e
               where e.asset = p.asset and e.state in ('awaited', 'read', 'contested')
                 and e.ends_at >= ${timestamp(from)} and e.ends_at < p.observed_at)`
      return yield* first(
        asset,
        sql`p.observed_at between ${timestamp(from)} and ${timestamp(last)} and ${nothingEarlierToCome}`,
        "asc"
      )
    }
  )

  const quarantine: Prices["Service"]["quarantine"] = Effect.fn("Prices.quarantine")(function* (page) {
    const { after, toPage, limit } = yield* pages.decode(page)
    const rows = yield* quarantined(sql`
      select ${quarantineColumns} from price_quarantine q
       where q.decision is null ${pageAfter(sql, "q.id >", after)}
       order by q.id limit ${limit}`)
    return toPage(rows, (last) => last.id)
  })

  const decide: Prices["Service"]["decide"] = Effect.fn("Prices.decide")(function* (id, decision) {
    const unknown = NotFound.of("quarantined price", id)
    if (!isUuid(id)) return yield* unknown
    const now = yield* DateTime.now
    return yield* transaction(sql)(
      Effect.gen(function* () {
        // Decisions about one point take turns, so that each sees the revision before it.
        const offer = yield* offered(sql`
          select t.negative_prices or coalesce(q.low, q.close) > 0 as is_possible
            from price_quarantine q join targets t on t.key = q.asset
            left join price_held(${id}::uuid) held on true
           where q.id = ${id}::uuid`)
        if (decision.accept && Option.exists(offer, ({ is_possible }) => !is_possible)) {
          return yield* InvalidRequest.of("accept", "Expected false: this asset has no price of 0 or less")
        }
        const decided = yield* counted(sql`
            with q as (
              update price_quarantine
                 set decision = ${decision.accept ? "accepted" : "rejected"}, decided_at = ${timestamp(now)}, reason = ${decision.reason}
               where id = ${id}::uuid and decision is null
              returning *
            ), known as (
              select q.*, latest.revision
                from q
                left join lateral (
                  select p.revision from price_points p
                   where p.source = q.source and p.asset = q.asset and p.interval = q.interval and p.time = q.time
                   order by p.revision desc limit 1) latest on true
            ), chosen as (
              select source, asset, interval, time, coalesce(revision + 1, 0) as revision, open, high, low, close, payload_hash
                from known where decision = 'accepted'
              union all
              -- A candle that its source showed in two ways was no price yet: a rejection of the second makes the first one a price.
              select k.source, k.asset, k.interval, k.time, 0, r.open, r.high, r.low, r.close, r.payload_hash
                from known k join price_readings r using (source, asset, interval, time)
               where k.decision = 'rejected' and k.revision is null
            ), made as (
              insert into price_points
                (source, asset, interval, time, revision, open, high, low, close, observed_at, fetched_at, payload_hash)
              select source, asset, interval, time, revision, open, high, low, close, time + case interval when '1h' then interval '1 hour' when '1d' then interval '24 hours' else interval '0' end, ${timestamp(now)},
                     payload_hash
                from chosen
            ), ended as (
              update expected_candles e set state = 'settled'
                from q where e.asset = q.asset and e.interval = q.interval and e.time = q.time and e.state = 'contested'
            )
            select count(*)::int as count from q`)
        const [row] = yield* quarantined(sql`
            select ${quarantineColumns} from price_quarantine q where q.id = ${id}::uuid`)
        if (row === undefined) return yield* unknown
        if (decided[0]?.count !== 1) {
          return yield* InvalidRequest.of(
            "id",
            `This price was ${row.decision ?? "decided"} before; a decision is final`
          )
        }
        return row
      })
    )
  })

  return Prices.of({
    import: importPrices,
    latest,
    firstBetween,
    quarantine,
    decide,
    latestOfAll,
    candles,
    ...deciding
  })
})

export const layer = Layer.effect(Prices, make)

const CandleRow = Schema.Struct({
  time: Schema.DateTimeUtcFromDate,
  observed_at: Schema.DateTimeUtcFromDate,
  high: Schema.BigDecimalFromString,
  low: Schema.BigDecimalFromString,
  close: Schema.BigDecimalFromString,
  fetched_at: Schema.DateTimeUtcFromDate,
  source: Schema.String,
  payload_hash: Schema.NullOr(Schema.Uint8Array)
})

const CloseRow = Schema.Struct({
  ...CandleRow.fields,
  interval: Schema.Literals(["1d", "1h"]),
  is_upheld: Schema.Boolean
})

const Span = Schema.Struct({
  count: Schema.Int,
  low: Schema.NullOr(Schema.BigDecimalFromString),
  high: Schema.NullOr(Schema.BigDecimalFromString),
  touched: Schema.Boolean,
  until: Schema.NullOr(Schema.DateTimeUtcFromDate)
})

const knownCandle = ({ fetched_at, observed_at, payload_hash, time, ...row }: typeof CandleRow.Type) => ({
  ...row,
  openTime: DateTime.toEpochMillis(time),
  endTime: DateTime.toEpochMillis(observed_at),
  fetchedAt: fetched_at,
  payloadHash: payload_hash
})

/** The candles that decide price events. */
const makeCandles = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const random = yield* SecureRandom.SecureRandom
  const candles = findAll(CandleRow)
  const closeRows = findAll(CloseRow)
  const span = findOne(Span)

  const candleColumns = sql.literal(`
    p.time, p.observed_at, p.high::text, p.low::text, p.close::text, p.fetched_at, p.payload_hash,
    p.source || ' ' || p.interval || ' candle' as source`)

  const hourly: Prices["Service"]["hourly"] = Effect.fn("Prices.hourly")(
    function* (asset, openTimes, knownBy) {
      const now = yield* DateTime.now
      // Reads the newest revision of the first source by name: an accepted correction is a later revision. An index has this order by the
      // opening time of a candle, and a plan uses it even before the table has statistics.
      const rows = yield* candles(sql`
        select ${candleColumns}
          from unnest(${arrayParam(
            "timestamptz",
            openTimes.map((time) => timestamp(DateTime.makeUnsafe(time)))
          )}) as wanted (time)
         cross join lateral (
           select * from price_points
            where asset = ${asset} and interval = '1h' and time = wanted.time and observed_at <= ${timestamp(now)}
              ${whenGiven(sql, knownBy, (value) => sql`and fetched_at <= ${timestamp(value)}`)}
            order by source, revision desc
            limit 1) p
         order by p.time`)
      return rows.map(knownCandle)
    }
  )

  const closes: Prices["Service"]["closes"] = Effect.fn("Prices.closes")(
    function* (asset, endsOfDays, knownBy) {
      const now = yield* DateTime.now
      const rows = yield* closeRows(sql`
        with point as (
          select distinct on (observed_at, source, interval) *
            from price_points
           where asset = ${asset} and interval in ('1d', '1h')
             and observed_at = any (${arrayParam(
               "timestamptz",
               endsOfDays.map((time) => timestamp(DateTime.makeUnsafe(time)))
             )})
             and observed_at <= ${timestamp(now)} and fetched_at <= ${timestamp(knownBy)}
           order by observed_at, source, interval, revision desc
        )
        select ${candleColumns}, p.interval,
               exists (
                 select 1 from price_quarantine q
                   join point h on h.source = p.source and h.interval = '1h' and h.observed_at = p.observed_at
                  where q.source = p.source and q.asset = p.asset and q.interval = p.interval and q.time = p.time
                    and q.close = h.close and q.decision = 'rejected' and q.decided_at <= ${timestamp(knownBy)}) as is_upheld
          from point p
         where p.source = (
           select source from point other where other.observed_at = p.observed_at
            order by source <> ${source}, source limit 1)
         order by p.observed_at, p.interval`)
      return rows.map(({ interval, is_upheld, ...row }) => ({
        ...knownCandle(row),
        interval,
        knownAt: DateTime.toEpochMillis(row.fetched_at),
        isUpheld: is_upheld
      }))
    }
  )

  const contestClose: Prices["Service"]["contestClose"] = Effect.fn("Prices.contestClose")(
    function* (asset, contested) {
      const now = yield* DateTime.now
      const id = yield* random.uuidV7()
      const daily = contested.find(({ interval }) => interval === "1d")
      const last = contested.find(({ interval }) => interval === "1h")
      if (daily === undefined || last === undefined) return
      const made = yield* sql`
        insert into price_quarantine
          (id, source, asset, interval, time, open, high, low, close, received_at, payload_hash)
        select ${id}::uuid, p.source, p.asset, p.interval, p.time, p.open, p.high, p.low,
               ${BigDecimal.format(last.close)}::numeric, ${timestamp(now)}, ${last.payloadHash}::bytea
          from price_points p
         where p.asset = ${asset} and p.interval = '1d' and p.observed_at = ${timestamp(DateTime.makeUnsafe(daily.endTime))}
           and p.source || ' 1d candle' = ${daily.source}
         order by p.revision desc
         limit 1
        on conflict do nothing
        returning 1`.pipe(orDie)
      if (made.length > 0) {
        yield* Effect.logWarning(
          "the candles that close a day differ; they settle nothing until an administrator decides"
        ).pipe(Effect.annotateLogs({ asset, daily: daily.source, hourly: last.source }))
      }
    }
  )

  const hourlySpan: Prices["Service"]["hourlySpan"] = Effect.fn("Prices.hourlySpan")(function* (
    asset,
    { from, level, until }
  ) {
    const last = DateTime.min(DateTime.makeUnsafe(until), yield* DateTime.now)
    const { count, touched, ...known } = yield* span(sql`
        select count(*)::int as count, min(low)::text as low, max(high)::text as high,
               coalesce(bool_or(${BigDecimal.format(level)}::numeric between low and high), false) as touched,
               max(observed_at) as until
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
      touched,
      count,
      until: DateTime.toEpochMillis(known.until)
    })
  })
  return { hourly, hourlySpan, closes, contestClose }
})
