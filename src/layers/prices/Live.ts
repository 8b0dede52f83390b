/** Live prices: crypto from spot exchanges, one after the other, the rest from Yahoo's charts. */
import { DateTime, Duration, Effect, Layer, Result } from "effect"
import type { Candle } from "../../services/Prices.ts"
import { PriceSource, SourceFailed } from "../../services/PriceSource.ts"
import type { Feed, Reading, Window } from "../../services/PriceSource.ts"
import type { ExchangeSetting } from "../../services/Settings.ts"
import type { MoreAsset } from "../../services/Targets.ts"
import { makeExchanges } from "./exchanges.ts"
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

const hoursOf = ({ from, until }: Window): ReadonlyArray<number> => {
  const first = DateTime.toEpochMillis(from)
  const count = Math.floor((DateTime.toEpochMillis(until) - first) / hour)
  return Array.from({ length: count }, (_, index) => first + index * hour)
}

/**
 * The candles of a window. In a market that never closes, each venue is asked for the hours that earlier venues lack;
 * elsewhere a missing hour was not traded.
 */
const readFrom = Effect.fnUntraced(function* (venues: ReadonlyArray<Venue>, feed: Feed, window: Window) {
  const readings: Array<Reading> = []
  const failures: Array<SourceFailed> = []
  let missing = new Set(hoursOf(window))
  const isMissing = ({ time }: Candle) => missing.has(DateTime.toEpochMillis(time))
  for (const venue of venues) {
    if (missing.size === 0) break
    const asked = {
      from: DateTime.makeUnsafe(Math.min(...missing)),
      until: DateTime.makeUnsafe(Math.max(...missing) + hour)
    }
    const result = yield* Effect.result(venue.read(feed.asset, asked))
    if (Result.isFailure(result)) {
      failures.push(result.failure)
      yield* Effect.logDebug("a price source did not answer").pipe(
        Effect.annotateLogs({ venue: venue.name, asset: feed.asset, reason: result.failure.reason })
      )
      continue
    }
    const reading = { ...result.success, candles: result.success.candles.filter(isMissing) }
    readings.push(reading)
    if (!feed.continuous) break
    const read = new Set(reading.candles.map(({ time }) => DateTime.toEpochMillis(time)))
    missing = new Set([...missing].filter((time) => !read.has(time)))
  }
  if (readings.length === 0 && failures.length > 0) {
    const reason = failures.map((each) => each.reason).join("; ")
    const kind = (["unavailable", "resting"] as const).find((each) =>
      failures.some(({ kind }) => kind === each)
    )
    return yield* new SourceFailed({ reason, kind: kind ?? "unknown" })
  }
  return { readings, complete: missing.size === 0 || failures.length === 0 }
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
