/** Futures and the dollar index from Yahoo's charts, by yahoo-finance2, which is imported lazily. */
import { DateTime, Effect, Predicate, Semaphore } from "effect"
import { SourceFailed } from "../../services/PriceSource.ts"
import type { Window } from "../../services/PriceSource.ts"
import { makeRecorder } from "./recordingFetch.ts"
import { candlesIn, retryPolicy } from "./venue.ts"
import type { Venue } from "./venue.ts"

/** The front contracts, and the index of the Intercontinental Exchange. */
export const yahooSymbols: Readonly<Record<string, string>> = {
  GC: "GC=F",
  ES: "ES=F",
  CL: "CL=F",
  ZN: "ZN=F",
  HG: "HG=F",
  NG: "NG=F",
  ZS: "ZS=F",
  DXY: "DX-Y.NYB"
}

const firstBrace = 0x7b

/** Silences the library, which prints the URLs of answers that are no JSON. */
const inspect = (status: number, body: Uint8Array) => {
  if (status >= 400 && body[0] !== firstBrace) throw new Error(`it answered ${status}`)
}

/** Matches Yahoo's error for an unknown or delisted symbol. */
const isUnknownSymbol = (message: string): boolean => /no data found|delisted|not found/i.test(message)

const failed = (error: unknown) => {
  const causes = [error, Predicate.hasProperty(error, "cause") ? error.cause : undefined]
  const reason = causes
    .filter((each) => each instanceof Error)
    .map(({ message }) => message)
    .join(": ")
    .slice(0, 200)
  return new SourceFailed({
    reason: `yahoo: ${reason}`,
    kind: isUnknownSymbol(reason) ? "unknown" : "unavailable"
  })
}

/**
 * Yahoo prints single-precision numbers as doubles: 2712.199951171875 is 2712.2. The price is the shortest decimal that is the same
 * number in single precision; nine digits always suffice. A number of at most nine digits is exact: 128.015625 is a tick of a note.
 */
const asQuoted = (value: number | null): number | null => {
  if (value === null || Math.fround(value) !== value || Number(value.toPrecision(9)) === value) return value
  const digits = [6, 7, 8, 9].find((each) => Math.fround(Number(value.toPrecision(each))) === value)
  return digits === undefined ? value : Number(value.toPrecision(digits))
}

const silent = { info: () => {}, warn: () => {}, error: () => {}, debug: () => {}, dir: () => {} }

export const makeYahoo = Effect.gen(function* () {
  const [{ default: createYahooFinance }, { default: chart }] = yield* Effect.promise(() =>
    Promise.all([import("yahoo-finance2/createYahooFinance"), import("yahoo-finance2/modules/chart")])
  )
  const recorder = yield* makeRecorder("yahoo", inspect)
  const Yahoo = createYahooFinance({ modules: { chart } })
  const client = new Yahoo({
    fetch: recorder.fetch,
    logger: silent,
    suppressNotices: ["yahooSurvey", "ripHistorical"],
    versionCheck: false,
    validation: { logErrors: false, logOptionsErrors: false, allowAdditionalProps: true }
  })
  const retried = yield* retryPolicy("yahoo", yield* Semaphore.make(1))

  const ask = Effect.fnUntraced(function* (symbol: string, { from, until }: Window) {
    const { payloadHash, value } = yield* recorder.during(
      () =>
        client.chart(symbol, {
          period1: DateTime.toDateUtc(from),
          period2: DateTime.toDateUtc(until),
          interval: "1h",
          includePrePost: false,
          events: "",
          return: "array"
        }),
      failed
    )
    const fetchedAt = yield* DateTime.now
    const shown = candlesIn(
      value.quotes.map(({ close, date, high, low, open }) => ({
        time: date,
        open: asQuoted(open),
        high: asQuoted(high),
        low: asQuoted(low),
        close: asQuoted(close)
      })),
      { from, until },
      // Crude oil had prices below 0; ingestion knows which targets can have them.
      { isPossible: () => true, now: fetchedAt }
    )
    return { source: `yahoo ${symbol}`, ...shown, fetchedAt, payloadHash }
  })

  const venue: Venue = {
    name: "yahoo",
    read: (asset, window) => {
      const symbol = yahooSymbols[asset]
      return symbol === undefined
        ? Effect.fail(new SourceFailed({ reason: `yahoo has no symbol of ${asset}`, kind: "unknown" }))
        : retried(ask(symbol, window))
    }
  }
  return venue
})
