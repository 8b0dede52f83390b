/** Live prices: crypto from spot exchanges, one after the other, other assets from Yahoo's charts. */
import { DateTime, Duration, Effect, Layer, Result } from "effect"
import type { Candle } from "../../services/Prices.ts"
import { PriceSource, SourceFailed } from "../../services/PriceSource.ts"
import type { Feed, Reading, Window } from "../../services/PriceSource.ts"
import type { ExchangeSetting } from "../../services/Settings.ts"
import type { MoreAsset } from "../../services/Targets.ts"
import { makeExchanges } from "./exchanges.ts"
import { tradesThrough } from "../../scoring/calendar.ts"
import { hoursOf } from "./venue.ts"
import type { Venue } from "./venue.ts"
import { makeYahoo, yahooSymbols } from "./yahoo.ts"

const hour = 3_600_000

const cryptoFeed = (asset: string): Feed => ({
  asset,
  interval: "1h",
  place: "exchanges",
  continuous: true,
  lag: Duration.zero
})

/** Vendors show prices of futures exchanges 10 minutes late, those of the Intercontinental Exchange 15. */
const vendorLag = Duration.minutes(15)

const others: ReadonlyArray<Feed> = Object.keys(yahooSymbols).map((asset) => ({
  asset,
  interval: "1h",
  place: "yahoo",
  continuous: false,
  lag: vendorLag
}))

/**
 * An hour that a source lacks for longer was not traded: thin markets have such hours, and calendars do not know each closure. This
 * equals the default time in which a later price may close a question (`AUSPEX_CLOSE_PRICE_WITHIN`).
 */
const recent = Duration.toMillis(Duration.days(1))

/**
 * Reads the candles of a window. In a market that never closes, each venue is asked for the hours that earlier venues lack; in other
 * markets a missing hour was not traded, unless the market trades then by its calendar.
 */
const readFrom = Effect.fnUntraced(function* (venues: ReadonlyArray<Venue>, feed: Feed, window: Window) {
  const readings: Array<Reading> = []
  const failures: Array<SourceFailed> = []
  const unusable = new Set<number>()
  let missing = new Set(hoursOf(window))
  const isMissing = ({ time }: Candle) => missing.has(DateTime.toEpochMillis(time))
  for (const venue of venues) {
    if (missing.size === 0) break
    const missingWindow = {
      from: DateTime.makeUnsafe(Math.min(...missing)),
      until: DateTime.makeUnsafe(Math.max(...missing) + hour)
    }
    const result = yield* Effect.result(venue.read(feed.asset, missingWindow))
    if (Result.isFailure(result)) {
      failures.push(result.failure)
      yield* Effect.logDebug("a price source did not answer").pipe(
        Effect.annotateLogs({ venue: venue.name, asset: feed.asset, reason: result.failure.reason })
      )
      continue
    }
    const { unusable: hours, ...shown } = result.success
    const reading = { ...shown, candles: shown.candles.filter(isMissing) }
    readings.push(reading)
    if (hours.length > 0) {
      yield* Effect.logWarning(
        "a price source shows candles that cannot be used; they are asked for again"
      ).pipe(
        Effect.annotateLogs({
          venue: venue.name,
          asset: feed.asset,
          count: hours.length,
          first: DateTime.formatIso(DateTime.makeUnsafe(Math.min(...hours)))
        })
      )
    }
    for (const time of hours) unusable.add(time)
    const read = new Set(reading.candles.map(({ time }) => DateTime.toEpochMillis(time)))
    missing = new Set([...missing].filter((time) => !read.has(time)))
    if (!feed.continuous) break
  }
  if (readings.length === 0 && failures.length > 0) {
    const reason = failures.map((each) => each.reason).join("; ")
    const kind = (["unavailable", "circuit_open"] as const).find((each) =>
      failures.some(({ kind }) => kind === each)
    )
    return yield* new SourceFailed({ reason, kind: kind ?? "unknown" })
  }
  const now = DateTime.toEpochMillis(yield* DateTime.now)
  const unclear = [...missing].filter((time) => failures.length > 0 || unusable.has(time))
  const traded = feed.continuous
    ? []
    : [...missing].filter(
        (time) =>
          time + hour <= now && time + hour > now - recent && tradesThrough(feed.asset, time, time + hour)
      )
  return {
    readings,
    complete: unclear.length === 0,
    missing: traded.map((time) => DateTime.makeUnsafe(time))
  }
})

export const layer = (exchanges: ReadonlyArray<ExchangeSetting>, more: ReadonlyArray<MoreAsset> = []) =>
  Layer.effect(
    PriceSource,
    Effect.gen(function* () {
      const spot = yield* makeExchanges(exchanges)
      const yahoo = yield* makeYahoo
      const crypto = ["BTC", "ETH", ...more.map(({ key }) => key)].map(cryptoFeed)
      const read: PriceSource["Service"]["read"] = Effect.fn("PriceSource.read")((feed, window) =>
        readFrom(feed.continuous ? spot : [yahoo], feed, window)
      )
      return PriceSource.of({ feeds: [...crypto, ...others], read })
    })
  )
