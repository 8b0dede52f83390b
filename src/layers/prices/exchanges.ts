/** Spot exchanges by ccxt, which is imported lazily: it is slow to load and takes much memory. */
import { DateTime, Effect, Option, Predicate, Semaphore } from "effect"
import { SourceFailed, PriceSourceUnusable } from "../../services/PriceSource.ts"
import type { Window } from "../../services/PriceSource.ts"
import type { ExchangeSetting } from "../../services/Settings.ts"
import { payloadHashOf } from "../crypto/payloadHash.ts"
import { makeRecorder } from "./recordingFetch.ts"
import { isPositive } from "../../services/Prices.ts"
import { candlesIn, hoursOf, retryPolicy } from "./venue.ts"
import type { Row, Venue } from "./venue.ts"

/** The largest page that all exchanges answer. */
const pageSize = 300
/** This many pages cover a window of a year. */
const maxPages = 30
const hour = 3_600_000

/** The part of a ccxt exchange that is used. */
interface Exchange {
  fetchImplementation: unknown
  readonly has: Record<string, unknown>
  readonly loadMarkets: (reload?: boolean) => Promise<unknown>
  readonly fetchOHLCV: (
    symbol: string,
    timeframe: string,
    since: number,
    limit: number
  ) => Promise<ReadonlyArray<ReadonlyArray<unknown>>>
}

const isClass = (value: unknown): value is new (config: object) => Exchange => typeof value === "function"

const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error))

/** Removes the URL, which does not help the reader of a reason. */
const reasonOf = (error: unknown): string =>
  messageOf(error)
    .replaceAll(/https?:\/\/\S+/g, "")
    .slice(0, 200)

const asRow = ([time, open, high, low, close]: ReadonlyArray<unknown>): Row => ({
  time,
  open,
  high,
  low,
  close
})

export const makeExchanges = Effect.fnUntraced(function* (wanted: ReadonlyArray<ExchangeSetting>) {
  const { default: ccxt } = yield* Effect.promise(() => import("ccxt"))

  const failed = (error: unknown) =>
    new SourceFailed({
      reason: reasonOf(error),
      kind:
        error instanceof ccxt.NetworkError || !(error instanceof ccxt.BaseError) ? "unavailable" : "unknown"
    })

  const make = Effect.fnUntraced(function* ({ exchange, quote }: ExchangeSetting) {
    const unusable = (why: string) =>
      new PriceSourceUnusable({ message: `AUSPEX_PRICE_EXCHANGES cannot be used: ${exchange} ${why}.` })
    const Class: unknown = Reflect.get(ccxt, exchange)
    if (!ccxt.exchanges.includes(exchange) || !isClass(Class)) {
      return yield* unusable("is no exchange that ccxt knows")
    }
    const recorder = yield* makeRecorder(exchange)
    // `recordingFetch` paces requests. Without a key, currencies are not needed.
    const client = new Class({ enableRateLimit: false, options: { fetchMarkets: { types: ["spot"] } } })
    client.has["fetchCurrencies"] = false
    if (client.has["fetchOHLCV"] !== true) return yield* unusable("has no candles")
    client.fetchImplementation = recorder.fetch
    const retried = yield* retryPolicy(exchange, yield* Semaphore.make(1))
    let areMarketsKnown = false

    const ask = Effect.fnUntraced(function* (symbol: string, window: Window) {
      if (!areMarketsKnown) {
        yield* recorder.during(() => client.loadMarkets(true), failed)
        areMarketsKnown = true
      }
      const until = DateTime.toEpochMillis(window.until)
      const rows: Array<ReadonlyArray<unknown>> = []
      const hashes: Array<Uint8Array> = []
      let since = DateTime.toEpochMillis(window.from)
      let beyond = until
      for (let page = 0; since < until; page++) {
        if (page === maxPages) {
          beyond = since
          break
        }
        const start = since
        const { payloadHash, value } = yield* recorder.during(
          () => client.fetchOHLCV(symbol, "1h", start, pageSize),
          failed
        )
        const last = Math.max(...value.map(([time]) => time).filter(Predicate.isNumber))
        rows.push(...value)
        hashes.push(payloadHash)
        if (!(last >= since)) break
        since = last + hour
      }
      const fetchedAt = yield* DateTime.now
      const { candles, unusable } = candlesIn(rows.map(asRow), window, {
        isPossible: isPositive,
        now: fetchedAt
      })
      // These markets never close, so an answer without any candle is a failure.
      if (candles.length === 0) {
        return yield* new SourceFailed({
          reason: `${exchange} shows no candle of ${symbol}`,
          kind: "unknown"
        })
      }
      return {
        source: `${exchange} ${symbol}`,
        candles,
        // Hours beyond the last page were not asked for.
        unusable: [...new Set([...unusable, ...hoursOf(window).filter((time) => time >= beyond)])],
        fetchedAt,
        payloadHash: payloadHashOf(hashes)
      }
    })

    const venue: Venue = {
      name: exchange,
      read: (asset, window) =>
        retried(ask(`${asset}/${quote}`, window)).pipe(
          // The symbol may have been listed after the markets were loaded.
          Effect.tapError(({ kind }) =>
            Effect.sync(() => {
              if (kind === "unknown") areMarketsKnown = false
            })
          )
        )
    }
    return venue
  })

  return yield* Effect.forEach(wanted, make)
})

const parseExchange = (text: string): Option.Option<ExchangeSetting> => {
  const shape = /^\s*([a-z][a-z0-9]{1,30})(?::([A-Z0-9]{2,10}))?\s*$/.exec(text)
  return shape?.[1] === undefined
    ? Option.none()
    : Option.some({ exchange: shape[1], quote: shape[2] ?? "USD" })
}

/** Parses an operator's list of exchanges: names in ccxt with commas between, each with `:QUOTE` if it is not USD. */
export const parseExchanges = (text: string): Option.Option<ReadonlyArray<ExchangeSetting>> =>
  Option.filter(
    Option.all(text.split(",").map(parseExchange)),
    (all) => new Set(all.map(({ exchange }) => exchange)).size === all.length
  )
