/** Puts down what a source answered, in one transaction: first readings, price points, contradictions, absences. */
import { Array as Arr, DateTime, Duration, Effect, Schema } from "effect"
import { SecureRandom } from "effect/crypto"
import { SqlClient } from "effect/sql"
import type { IngestionReport } from "../../../services/PriceIngestion.ts"
import type { Answer, Feed, Reading, Window } from "../../../services/PriceSource.ts"
import { Settings } from "../../../services/Settings.ts"
import { decimal, findAll, rowsOf, timestamp, transaction } from "../sql.ts"
import { quiet, stepOf } from "./expected.ts"

/** A gap is asked for again so often, and so long: as long as a question waits for its candles. */
const gapPause = Duration.hours(1)
const gapsFor = Duration.hours(72)
/** What is not there yet is asked for less and less often, but at least so often. */
const maxPause = Duration.minutes(15)

const Counts = Schema.Struct({ state: Schema.String, count: Schema.Int })

export type Recorded = Omit<IngestionReport, "failed">

export const makeRecord = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const settings = yield* Settings
  const random = yield* SecureRandom.SecureRandom
  const counted = findAll(Counts)
  const millis = (duration: Duration.Duration) =>
    sql`${Duration.toMillis(duration)}::float8 * interval '1 millisecond'`

  /**
   * A candle that this source shows for the first time is read again later; one that it shows as before is a price point;
   * one that it shows otherwise waits for a decision.
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

  /** What is due and in no reading: a gap or a closed market if everybody was asked in vain, else it is asked for again. */
  const miss = Effect.fnUntraced(function* (
    feed: Feed,
    answer: Answer,
    window: Window,
    askedAt: DateTime.Utc
  ) {
    const shown = answer.readings.flatMap(({ candles }) => candles.map(({ time }) => time))
    const latest = Arr.isReadonlyArrayNonEmpty(shown)
      ? shown.reduce((left, right) => DateTime.max(left, right))
      : window.from
    const now = sql`${timestamp(askedAt)}::timestamptz`
    const known = sql`${answer.complete}::boolean
      and ends_at + ${millis(Duration.sum(Duration.sum(feed.lag, settings.priceSettleDelay), settings.priceReread))} <= ${now}
      and (time < ${timestamp(latest)} or ends_at + ${millis(quiet)} <= ${now})`
    return yield* counted(sql`
      with missed as (
        update expected_candles
           set state = case when state = 'absent' or (state = 'awaited' and ${known}) then 'absent' else state end,
               due_at = case
                 when state = 'absent' or (state = 'awaited' and ${known}) then
                   case when ${feed.continuous}::boolean and ends_at + ${millis(gapsFor)} > ${now}
                        then ${now} + ${millis(gapPause)} else 'infinity' end
                 else ${now} + least(${millis(maxPause)}, greatest(${millis(settings.priceReread)}, (${now} - ends_at) / 8))
               end
         where asset = ${feed.asset} and interval = ${feed.interval} and state in ('awaited', 'read', 'absent')
           and due_at <= ${now} and time >= ${timestamp(window.from)} and ends_at <= ${timestamp(window.until)}
        returning state
      )
      select state, count(*)::int as count from missed where state = 'absent' group by state`)
  })

  /** `askedAt` is before the source was asked: what another replica put down since is not due any more. */
  return Effect.fnUntraced(function* (feed: Feed, window: Window, answer: Answer, askedAt: DateTime.Utc) {
    return yield* transaction(sql)(
      Effect.gen(function* () {
        // The candles of the window are read once, by their key. Plans that were made of empty tables read whole
        // tables, or all candles of the window for each of them.
        yield* sql`
            select set_config('enable_seqscan', 'off', true), set_config('enable_nestloop', 'off', true)`
        // Replicas that asked for the same candles take turns here, and the later one finds nothing due.
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
