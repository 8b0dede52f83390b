import { DateTime, Duration, Effect, Layer, Metric, Option, Schema, Array as Arr } from "effect"
import { SqlClient } from "effect/sql"
import type { Statement } from "effect/sql"
import { kindsOnCloses } from "../../../scoring/kinds/facts.ts"
import { PriceIngestion, isPositive } from "../../../services/Prices.ts"
import type { IngestionReport } from "../../../services/Prices.ts"
import { PriceSource } from "../../../services/PriceSource.ts"
import type { Feed, Window, Answer, Reading } from "../../../services/PriceSource.ts"
import {
  arrayParam,
  boundNow,
  findAll,
  timestamp,
  execute,
  findOption,
  intervalOf,
  decimal,
  rowsOf,
  transaction
} from "../sql.ts"
import { Settings } from "../../../services/Settings.ts"
import { SecureRandom } from "effect/crypto"

const outcomes = Metric.counter("price_candles_total", {
  description: "Candles by asset and outcome: read, settled, contested, absent",
  incremental: true
})
const failures = Metric.counter("price_failures_total", {
  description: "Runs in which no price source answered for an asset",
  incremental: true
})
const lateness = Metric.gauge("price_lateness_seconds", {
  description: "Seconds since the oldest missing candle became overdue, by asset"
})

const Asset = Schema.Struct({ key: Schema.String, negative_prices: Schema.Boolean })
const Late = Schema.Struct({ asset: Schema.String, seconds: Schema.Finite })

const nothing: Recorded = { read: 0, settled: 0, contested: 0, absent: 0 }

const make = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const source = yield* PriceSource
  const { due, expect, postpone } = yield* makeExpected
  const record = yield* makeRecord
  const late = findAll(Late)
  const assets = new Map(
    (yield* findAll(Asset)(sql`select key, negative_prices from targets where kind = 'asset'`)).map(
      ({ key, negative_prices }) => [key, negative_prices]
    )
  )
  const feeds = source.feeds.filter(({ asset }) => assets.has(asset))
  if (feeds.length < source.feeds.length) {
    yield* Effect.logWarning("the price source has assets that are no targets; they are left out").pipe(
      Effect.annotateLogs({
        assets: source.feeds.filter(({ asset }) => !assets.has(asset)).map(({ asset }) => asset)
      })
    )
  }

  /** Drops candles with prices that an asset cannot have. They are asked for again, since they do not show that nothing was traded. */
  const possible = Effect.fnUntraced(function* ({ asset }: Feed, answer: Answer) {
    if (assets.get(asset) === true) return answer
    const readings = answer.readings.map((reading) => ({
      ...reading,
      candles: reading.candles.filter(isPositive)
    }))
    const count = (all: Answer["readings"]) => all.reduce((sum, { candles }) => sum + candles.length, 0)
    const impossible = count(answer.readings) - count(readings)
    if (impossible === 0) return answer
    yield* Effect.logWarning("a price source shows prices of 0 or less; they are asked for again").pipe(
      Effect.annotateLogs({ asset, count: impossible })
    )
    return { ...answer, readings, complete: false }
  })

  const ingest = Effect.fnUntraced(function* (feed: Feed) {
    const askedAt = yield* boundNow(sql)
    yield* expect(feed, askedAt)
    const window = yield* due(feed, askedAt)
    if (Option.isNone(window)) return nothing
    const answer = yield* source.read(feed, window.value).pipe(
      Effect.tapError(({ kind }) => (kind === "unknown" ? postpone(feed, askedAt) : Effect.void)),
      Effect.flatMap((shown) => possible(feed, shown))
    )
    const recorded = yield* record(feed, window.value, answer, askedAt)
    for (const [outcome, count] of Object.entries(recorded)) {
      yield* Metric.update(Metric.withAttributes(outcomes, { asset: feed.asset, outcome }), count)
    }
    if (recorded.contested > 0) {
      yield* Effect.logWarning(
        "a price source shows candles in two versions; they settle nothing until an administrator decides"
      ).pipe(Effect.annotateLogs({ asset: feed.asset, interval: feed.interval, count: recorded.contested }))
    }
    return recorded
  })

  const ingestDue: PriceIngestion["Service"]["ingestDue"] = Effect.fn("PriceIngestion.ingestDue")(
    function* (place) {
      const results = yield* Effect.forEach(
        feeds.filter((feed) => feed.place === place),
        (feed) =>
          ingest(feed).pipe(
            Effect.map((recorded) => ({ recorded, failed: [] })),
            Effect.catchTag("SourceFailed", (failure) =>
              Metric.update(Metric.withAttributes(failures, { asset: feed.asset }), 1).pipe(
                Effect.as({ recorded: nothing, failed: [{ asset: feed.asset, failure }] })
              )
            )
          ),
        { concurrency: 4 }
      )
      const failed = results.flatMap((each) => each.failed)
      // An open circuit breaker asks no source, so an outage is logged about once a minute.
      const unavailable = failed.filter(({ failure }) => failure.kind !== "circuit_open")
      if (unavailable.length > 0) {
        yield* Effect.logWarning("no price source answered").pipe(
          Effect.annotateLogs({
            assets: failed.map(({ asset }) => asset),
            reasons: [...new Set(unavailable.map(({ failure }) => failure.reason))]
          })
        )
      }
      const sum = (key: keyof Recorded) => results.reduce((total, { recorded }) => total + recorded[key], 0)
      return {
        read: sum("read"),
        settled: sum("settled"),
        contested: sum("contested"),
        absent: sum("absent"),
        failed: failed.map(({ asset }) => asset)
      }
    }
  )

  const measure: PriceIngestion["Service"]["measure"] = Effect.gen(function* () {
    const now = yield* DateTime.now
    const rows = yield* late(sql`
      select asset, extract(epoch from ${timestamp(now)}::timestamptz - min(overdue_at))::float8 as seconds
        from expected_candles
       where state in ('awaited', 'read', 'contested') and overdue_at <= ${timestamp(now)}
         and ends_at > ${timestamp(DateTime.subtractDuration(now, recent))}
       group by asset`)
    for (const { asset } of feeds) {
      const seconds = rows.find((row) => row.asset === asset)?.seconds ?? 0
      yield* Metric.update(Metric.withAttributes(lateness, { asset }), seconds)
    }
  }).pipe(Effect.withSpan("PriceIngestion.measure"))

  return PriceIngestion.of({ places: [...new Set(feeds.map(({ place }) => place))], ingestDue, measure })
})

export const layer = Layer.effect(PriceIngestion, make)

const hour = Duration.hours(1)
const stepOf = ({ interval }: Feed): Duration.Duration => (interval === "1h" ? hour : Duration.hours(24))

/** After this long without trades the missing candles of a closed market are taken not to exist; a later candle ends the wait sooner. */
const maxQuiet = Duration.hours(6)

/** A candle is overdue this long after it would usually be known. */
const allowance = Duration.minutes(30)

/** An unknown symbol may be listed again, or have another name after an upgrade. */
const unknownPause = Duration.minutes(15)

const Due = Schema.Struct({ from: Schema.DateTimeUtcFromDate, until: Schema.DateTimeUtcFromDate })

/** Decides which candles should exist, and which of them a source is asked about now. */
const makeExpected = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const settings = yield* Settings
  const dueWindow = findOption(Due)

  /** The time from the end of a candle until a source is first asked about it. */
  const delayOf = (feed: Feed) => Duration.sum(feed.lag, settings.priceSettleDelay)

  /** Inserts a row for every candle of the history that is over; existing rows stay as they are. */
  const expect = Effect.fnUntraced(function* (feed: Feed, now: DateTime.Utc) {
    const step = Duration.toMillis(stepOf(feed))
    const started = Math.floor(DateTime.toEpochMillis(now) / step) * step
    const last = DateTime.makeUnsafe(started - step)
    const first = DateTime.makeUnsafe(
      Math.floor((DateTime.toEpochMillis(now) - Duration.toMillis(settings.priceHistory)) / step) * step
    )
    const dueAfter = delayOf(feed)
    const overdueAfter = Duration.sum(
      Duration.sum(dueAfter, settings.priceReread),
      feed.continuous ? allowance : Duration.sum(maxQuiet, allowance)
    )
    // Candles of the history are asked for only now, so none is overdue before this time.
    const late = DateTime.addDuration(now, Duration.sum(settings.priceReread, allowance))
    const width = intervalOf(sql, stepOf(feed))
    yield* execute(sql`
      insert into expected_candles (asset, interval, time, ends_at, due_at, overdue_at)
      select ${feed.asset}, ${feed.interval}, t, t + ${width},
             t + ${width} + ${intervalOf(sql, dueAfter)},
             greatest(t + ${width} + ${intervalOf(sql, overdueAfter)}, ${timestamp(late)})
        from generate_series(${timestamp(first)}::timestamptz, ${timestamp(last)}::timestamptz, ${width}) t
        cross join (
          select min(time) as first, max(time) as last from expected_candles
           where asset = ${feed.asset} and interval = ${feed.interval}) known
       where known.first is null or t < known.first or t > known.last
      on conflict do nothing`)
  })

  /** Finds the smallest window around the candles that are due. */
  const due = (feed: Feed, now: DateTime.Utc): Effect.Effect<Option.Option<Window>> =>
    dueWindow(sql`
      select min(time) as from, max(ends_at) as until
        from expected_candles
       where asset = ${feed.asset} and interval = ${feed.interval} and due_at <= ${timestamp(now)}
         and state in ('awaited', 'read', 'absent')
      having count(*) > 0`)

  /** Postpones due candles, because no place has the symbol. */
  const postpone = (feed: Feed, now: DateTime.Utc): Effect.Effect<void> =>
    execute(sql`
      update expected_candles set due_at = ${timestamp(DateTime.addDuration(now, unknownPause))}
       where asset = ${feed.asset} and interval = ${feed.interval} and due_at <= ${timestamp(now)}
         and state in ('awaited', 'read', 'absent')`)

  return { expect, due, postpone }
})

/** A gap of a market that never closes is asked for again after this pause, for as long as a price event waits for its candles. */
const gapPause = Duration.hours(1)
const gapsFor = Duration.hours(72)
/** The pauses of a missing candle grow up to this, and to a day once the candle is too old to settle anything. */
const maxPause = Duration.minutes(15)
const rarePause = Duration.days(1)

const Counts = Schema.Struct({ state: Schema.String, count: Schema.Int })

type Recorded = Omit<IngestionReport, "failed">

/** Older candles settle nothing any more. */
const recent = Duration.days(7)

/** Stores the answer of a source in one transaction: first readings, price points, contradictions, absences. */
const makeRecord = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const settings = yield* Settings
  const random = yield* SecureRandom.SecureRandom
  const counted = findAll(Counts)
  const millis = (duration: Duration.Duration) => intervalOf(sql, duration)

  /**
   * A candle that the source shows for the first time is read again later. One that it shows again becomes a price point if it is the
   * same, and otherwise waits for a decision.
   */
  const take = Effect.fnUntraced(function* (
    feed: Feed,
    window: Window,
    reading: Reading,
    askedAt: DateTime.Utc
  ) {
    const { candles, fetchedAt, payloadHash, source } = reading
    const rows = yield* Effect.forEach(candles, (candle) =>
      Effect.map(random.uuidV7(), (id) => ({ ...candle, id }))
    )
    const within = (time: string) =>
      sql`${sql(time)} >= ${timestamp(window.from)} and ${sql(time)} < ${timestamp(window.until)}`
    return yield* counted(sql`
      with n as (
        select n.*
          from ${rowsOf(sql, "n", rows, {
            id: ["uuid", (row) => row.id],
            time: ["timestamptz", (row) => timestamp(row.time)],
            open: ["numeric", (row) => decimal(row.open)],
            high: ["numeric", (row) => decimal(row.high)],
            low: ["numeric", (row) => decimal(row.low)],
            close: ["numeric", (row) => decimal(row.close)]
          })}
          join expected_candles e
            on e.asset = ${feed.asset} and e.interval = ${feed.interval} and e.time = n.time
           and e.state in ('awaited', 'read', 'absent') and e.due_at <= ${timestamp(askedAt)} and ${within("e.time")}
      ),
      compared as (
        select n.*,
               case when r.time is null then 'read'
                    when (r.open, r.high, r.low, r.close) = (n.open, n.high, n.low, n.close) then 'settled'
                    else 'contested' end as state
          from n left join price_readings r
            on r.source = ${source} and r.asset = ${feed.asset} and r.interval = ${feed.interval} and r.time = n.time
           and ${within("r.time")}
      ),
      first as (
        insert into price_readings (source, asset, interval, time, open, high, low, close, fetched_at, payload_hash)
        select ${source}, ${feed.asset}, ${feed.interval}, time, open, high, low, close, ${timestamp(fetchedAt)}, ${payloadHash}
          from compared where state = 'read'
        on conflict do nothing
      ),
      points as (
        insert into price_points (source, asset, interval, time, open, high, low, close, observed_at, fetched_at, payload_hash)
        select ${source}, ${feed.asset}, ${feed.interval}, time, open, high, low, close,
               time + ${millis(stepOf(feed))}, ${timestamp(fetchedAt)}, ${payloadHash}
          from compared where state = 'settled'
        on conflict do nothing
      ),
      contradictions as (
        insert into price_quarantine (id, source, asset, interval, time, open, high, low, close, received_at, payload_hash)
        select id, ${source}, ${feed.asset}, ${feed.interval}, time, open, high, low, close, ${timestamp(fetchedAt)}, ${payloadHash}
          from compared where state = 'contested'
        on conflict do nothing
      ),
      moved as (
        update expected_candles e
           set state = c.state,
               due_at = case c.state when 'read' then ${timestamp(askedAt)}::timestamptz + ${millis(settings.priceReread)}
                          else 'infinity' end
          from compared c
         where e.asset = ${feed.asset} and e.interval = ${feed.interval} and e.time = c.time
           and ${within("e.time")}
      )
      select state, count(*)::int as count from compared group by state`)
  })

  /**
   * Handles candles that are due and in no reading: they are absent if every place was asked and nothing contradicts it; otherwise
   * they are asked for again for as long as the history reaches back.
   */
  const miss = Effect.fnUntraced(function* (
    feed: Feed,
    answer: Answer,
    window: Window,
    askedAt: DateTime.Utc
  ) {
    const times = answer.readings.flatMap(({ candles }) => candles.map(({ time }) => time))
    const latest = Arr.isReadonlyArrayNonEmpty(times)
      ? times.reduce((left, right) => DateTime.max(left, right))
      : window.from
    const now = sql`${timestamp(askedAt)}::timestamptz`
    const missing = arrayParam(
      "timestamptz",
      (answer.missing ?? []).map((time) => timestamp(time))
    )
    const known = sql`${answer.complete}::boolean and time <> all (${missing})
      and ends_at + ${millis(Duration.sum(Duration.sum(feed.lag, settings.priceSettleDelay), settings.priceReread))} <= ${now}
      and (time < ${timestamp(latest)} or ends_at + ${millis(maxQuiet)} <= ${now})`
    return yield* counted(sql`
      with missed as (
        update expected_candles
           set state = case when state = 'absent' or (state = 'awaited' and ${known}) then 'absent' else state end,
               due_at = case
                 when state = 'absent' or (state = 'awaited' and ${known}) then
                   case when ${feed.continuous}::boolean and ends_at + ${millis(gapsFor)} > ${now}
                        then ${now} + ${millis(gapPause)} else 'infinity' end
                 when ends_at + ${millis(Duration.max(settings.priceHistory, recent))} <= ${now} then 'infinity'
                 when ends_at + ${millis(recent)} <= ${now} then ${now} + ${millis(rarePause)}
                 else ${now} + least(${millis(maxPause)}, greatest(${millis(settings.priceReread)}, (${now} - ends_at) / 8))
               end
         where asset = ${feed.asset} and interval = ${feed.interval} and state in ('awaited', 'read', 'absent')
           and due_at <= ${now} and time >= ${timestamp(window.from)} and ends_at <= ${timestamp(window.until)}
        returning state
      )
      select state, count(*)::int as count from missed where state = 'absent' group by state`)
  })

  /**
   * `askedAt` is a time before the source was asked: candles that another replica stored since then are not due any
   * more.
   */
  return Effect.fnUntraced(function* (feed: Feed, window: Window, answer: Answer, askedAt: DateTime.Utc) {
    return yield* transaction(sql)(
      Effect.gen(function* () {
        // Forces a plan that reads the candles of the window once, by their key. Plans made on empty tables scan whole tables, or all
        // candles of the window for each of them.
        yield* sql`
            select set_config('enable_seqscan', 'off', true), set_config('enable_nestloop', 'off', true)`
        // If replicas asked for the same candles, the later one waits here and then finds nothing due.
        yield* sql`
            select 1 from expected_candles
             where asset = ${feed.asset} and interval = ${feed.interval} and due_at <= ${timestamp(askedAt)}
               and state in ('awaited', 'read', 'absent')
             order by time
               for update`
        const taken = yield* Effect.forEach(answer.readings, (reading) =>
          take(feed, window, reading, askedAt)
        )
        const counts = [...taken.flat(), ...(yield* miss(feed, answer, window, askedAt))]
        const total = (state: string) =>
          counts.filter((each) => each.state === state).reduce((sum, { count }) => sum + count, 0)
        const recorded: Recorded = {
          read: total("read"),
          settled: total("settled"),
          contested: total("contested"),
          absent: total("absent")
        }
        return recorded
      })
    )
  })
})

export const LatePrices = Schema.Struct({
  late: Schema.NullOr(Schema.Array(Schema.String)),
  contested: Schema.NullOr(Schema.Array(Schema.String))
})

/** Checks that the daily candle of a quarantine case `q` is the close of a day that settles the price event `c`. */
export const isCloseOf = (sql: SqlClient.SqlClient) =>
  sql.or(
    kindsOnCloses.map(
      ({ closes, name }) => sql`
        (c.kind = ${name} and coalesce(c.rule_version, 1) >= ${closes.dailySince}
         and q.time between c.resolve_at - ${`${closes.days} days`}::interval and c.resolve_at - interval '1 day')`
    )
  )

/**
 * Selects the assets with an overdue candle, and those with a candle that waits for a decision, including imported ones that settle a
 * price event.
 */
export const latePrices = (
  sql: SqlClient.SqlClient,
  source: Settings["Service"]["priceSource"],
  now: DateTime.Utc
) => {
  const assets = (states: ReadonlyArray<string>) => sql`
    select asset from expected_candles
     where ${source}::text <> 'none' and state in ${sql.in(states)} and overdue_at <= ${timestamp(now)}
       and ends_at > ${timestamp(DateTime.subtractDuration(now, recent))}
       and state in ('awaited', 'read', 'contested')`
  const closes = sql`
    select q.asset
      from price_quarantine q
      join challenges c on c.target = q.asset and ${isCloseOf(sql)}
     where q.decision is null and q.interval = '1d' and c.type = 'price_event' and c.resolved_at is null
       and c.cancelled_at is null and c.deadline <= ${timestamp(now)}`
  const listed = (rows: Statement.Fragment) =>
    sql`(select array_agg(distinct asset order by asset) from (${rows}) each)`
  return sql`
    ${listed(assets(["awaited", "read"]))} as late,
    ${listed(sql`${assets(["contested"])} union all ${closes}`)} as contested`
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
