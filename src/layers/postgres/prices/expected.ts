/** Which candles ought to be there, and which of them their source is to be asked about now. */
import { DateTime, Duration, Effect, Option, Schema } from "effect"
import { SqlClient } from "effect/sql"
import type { Feed, Window } from "../../../services/PriceSource.ts"
import { Settings } from "../../../services/Settings.ts"
import { execute, findOption, timestamp } from "../sql.ts"

const hour = Duration.hours(1)
export const stepOf = ({ interval }: Feed): Duration.Duration =>
  interval === "1h" ? hour : Duration.hours(24)

/**
 * So long a closed market may be quiet before its missing candles are said not to exist. One that trades again says so
 * earlier, by a later candle.
 */
export const quiet = Duration.hours(6)

/** Beyond the time that a candle takes when all goes well. */
const patience = Duration.minutes(30)

/** A symbol that nobody has may be listed again, or be named otherwise after an upgrade. */
const unknownPause = Duration.minutes(15)

const Due = Schema.Struct({ from: Schema.DateTimeUtcFromDate, until: Schema.DateTimeUtcFromDate })

export const makeExpected = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const settings = yield* Settings
  const dueWindow = findOption(Due)

  /** From the end of a candle until it is first asked about. */
  const delayOf = (feed: Feed) => Duration.sum(feed.lag, settings.priceSettleDelay)

  /** One row for every candle of the history that is over; those that are there stay as they are. */
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
      feed.continuous ? patience : Duration.sum(quiet, patience)
    )
    // What is older was not asked for until now.
    const late = DateTime.addDuration(now, Duration.sum(settings.priceReread, patience))
    const width = sql`${step}::float8 * interval '1 millisecond'`
    yield* execute(sql`
      insert into expected_candles (asset, interval, time, ends_at, due_at, overdue_at)
      select ${feed.asset}, ${feed.interval}, t, t + ${width},
             t + ${width} + ${Duration.toMillis(dueAfter)}::float8 * interval '1 millisecond',
             greatest(t + ${width} + ${Duration.toMillis(overdueAfter)}::float8 * interval '1 millisecond', ${timestamp(late)})
        from generate_series(${timestamp(first)}::timestamptz, ${timestamp(last)}::timestamptz, ${width}) t
        cross join (
          select min(time) as first, max(time) as last from expected_candles
           where asset = ${feed.asset} and interval = ${feed.interval}) known
       where known.first is null or t < known.first or t > known.last
      on conflict do nothing`)
  })

  /** The smallest window around the candles that are due. */
  const due = (feed: Feed, now: DateTime.Utc): Effect.Effect<Option.Option<Window>> =>
    dueWindow(sql`
      select min(time) as from, max(ends_at) as until
        from expected_candles
       where asset = ${feed.asset} and interval = ${feed.interval} and due_at <= ${timestamp(now)}
         and state in ('awaited', 'read', 'absent')
      having count(*) > 0`)

  /** What is due is asked for later: nobody has the symbol. */
  const postpone = (feed: Feed, now: DateTime.Utc): Effect.Effect<void> =>
    execute(sql`
      update expected_candles set due_at = ${timestamp(DateTime.addDuration(now, unknownPause))}
       where asset = ${feed.asset} and interval = ${feed.interval} and due_at <= ${timestamp(now)}
         and state in ('awaited', 'read', 'absent')`)

  return { expect, due, postpone }
})
