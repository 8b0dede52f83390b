/** The settings of price sources; part of the table in `src/config.ts`. */
import { Option, Result } from "effect"
import type { Redacted } from "effect"
import type { ExchangeSetting } from "./services/Settings.ts"
import { duration, oneOf, plain, secret, words } from "./settingKinds.ts"
import type { Setting } from "./settingKinds.ts"

const sources = ["none", "replay", "live"] as const

const parseExchange = (text: string): Option.Option<ExchangeSetting> => {
  const shape = /^\s*([a-z][a-z0-9]{1,30})(?::([A-Z0-9]{2,10}))?\s*$/.exec(text)
  return shape?.[1] === undefined
    ? Option.none()
    : Option.some({ exchange: shape[1], quote: shape[2] ?? "USD" })
}

const parseExchanges = (text: string): Option.Option<ReadonlyArray<ExchangeSetting>> =>
  Option.all(text.split(",").map(parseExchange)).pipe(
    Option.filter((all) => new Set(all.map(({ exchange }) => exchange)).size === all.length)
  )

export const priceSettings = {
  priceSource: oneOf(
    "AUSPEX_PRICE_SOURCE",
    sources,
    "none",
    "Where prices come from: only what admins import, recorded files, or exchanges and data vendors."
  ),
  priceReplayDir: words(
    "AUSPEX_PRICE_REPLAY_DIR",
    null,
    "a directory",
    "Files `ASSET-1h-*.csv` (time,open,high,low,close) and `ASSET-1d-*.csv` (date,close) for AUSPEX_PRICE_SOURCE=replay."
  ),
  priceExchanges: plain({
    name: "AUSPEX_PRICE_EXCHANGES",
    defaultText: "coinbaseexchange,kraken",
    takes: "names of exchanges in ccxt with commas, each with :QUOTE if its prices are not in USD",
    meaning:
      "Spot exchanges of BTC and ETH for AUSPEX_PRICE_SOURCE=live; the next is asked for what the one before does not answer.",
    parse: parseExchanges
  }),
  priceHistory: duration(
    "AUSPEX_PRICE_HISTORY",
    "63 days",
    "How far back candles are fetched: reference scales are computed from the last 60 days."
  ),
  priceSettleDelay: duration(
    "AUSPEX_PRICE_SETTLE_DELAY",
    "1 minute",
    "How long after its end a candle is read first."
  ),
  priceReread: duration(
    "AUSPEX_PRICE_REREAD",
    "2 minutes",
    "How long after its first reading a candle is read again; only when both agree is it a price."
  ),
  fredApiKey: secret(
    "AUSPEX_FRED_API_KEY",
    1,
    "A key of FRED, the database of the Federal Reserve Bank of St. Louis: the first prints of macro challenges are looked up there."
  ),
  macroAutoResolve: oneOf(
    "AUSPEX_MACRO_AUTO_RESOLVE",
    ["off", "on"],
    "off",
    "Whether a macro challenge is settled by the first print that FRED shows; else it waits for an administrator."
  )
} satisfies Record<string, Setting<unknown>>

/** What the composition root needs of them. */
export interface PriceComposition {
  readonly replayDir: string
  readonly exchanges: ReadonlyArray<ExchangeSetting>
  readonly fredApiKey: Option.Option<Redacted.Redacted>
}

/** What belongs together, or what is missing. */
export const priceCompositionOf = (given: {
  readonly source: (typeof sources)[number]
  readonly replayDir: Option.Option<string>
  readonly exchanges: ReadonlyArray<ExchangeSetting>
  readonly fredApiKey: Option.Option<Redacted.Redacted>
  readonly autoResolve: "off" | "on"
}): Result.Result<PriceComposition, string> => {
  const { autoResolve, exchanges, fredApiKey, replayDir, source } = given
  if (source === "replay" && Option.isNone(replayDir)) {
    return Result.fail("AUSPEX_PRICE_REPLAY_DIR must be set when AUSPEX_PRICE_SOURCE is replay.")
  }
  if (autoResolve === "on" && Option.isNone(fredApiKey)) {
    return Result.fail("AUSPEX_FRED_API_KEY must be set when AUSPEX_MACRO_AUTO_RESOLVE is on.")
  }
  return Result.succeed({ replayDir: Option.getOrElse(replayDir, () => ""), exchanges, fredApiKey })
}
