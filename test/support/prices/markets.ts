/**
 * Coinbase Exchange, Kraken and Yahoo's charts on loopback: they answer in the shapes that the clients' own sources and schemas
 * document, about markets whose prices follow from the hour. A test may make each of them misbehave.
 */
import { Effect, Layer } from "effect"
import { Outbound } from "../../../src/layers/prices/recordingFetch.ts"
import { fakeServer } from "../log/fakeServer.ts"
import type { FakeServer, Reply } from "../log/fakeServer.ts"

type Ohlc = readonly [open: number, high: number, low: number, close: number]
/** The prices of an hour as a place shows them, possibly null. */
type Shown = readonly [open: Price, high: Price, low: Price, close: Price]
type Price = number | string | boolean | null | ReadonlyArray<number>

const hour = 3_600_000

export const hosts = {
  coinbase: "api.exchange.coinbase.com",
  kraken: "api.kraken.com",
  yahoo: "query2.finance.yahoo.com",
  fred: "api.stlouisfed.org"
} as const
type Place = keyof typeof hosts

/** The prices of a market's hour at every place: they wander, with decimals that doubles cannot hold. */
export const hourOf = (base: number, time: number): Ohlc => {
  const wander = (at: number) => Math.round(base * (1 + ((at / hour) % 37) / 1000) * 100) / 100
  const open = wander(time)
  const close = wander(time + hour)
  return [open, Math.max(open, close) + 0.1, Math.min(open, close) - 0.1, close]
}

export const bases: Readonly<Record<string, number>> = {
  "BTC/USD": 60_000,
  "ETH/USD": 3000,
  "GC=F": 2400,
  "ES=F": 5300,
  "CL=F": 76,
  "ZN=F": 110,
  "HG=F": 4.5,
  "NG=F": 2.7,
  "ZS=F": 1200,
  "DX-Y.NYB": 104
}

export interface Markets extends FakeServer {
  /** Replaces the prices of an hour at a place by others, or by none. */
  readonly alter: (place: Place, symbol: string, time: number, to: Shown | null) => void
  /** Makes a place show an hour a second time in the same answer, with other prices. */
  readonly repeat: (place: Place, symbol: string, time: number, as: Shown) => void
  /** Makes a place show an hour under another time. */
  readonly misplace: (place: Place, symbol: string, time: number, at: number) => void
  /** Makes the place answer this to everything; without an answer it works. */
  readonly spoil: (place: Place, reply?: () => Promise<Reply>) => void
  readonly delist: (symbol: string) => void
  /** Restores the initial state. */
  readonly restore: () => void
  /** Redirects the clients to these servers. */
  readonly outbound: Layer.Layer<never>
  /** The paths requested from a place, oldest first. */
  readonly askedOf: (place: Place) => ReadonlyArray<string>
}

const json = (body: unknown, status = 200): Reply => ({
  status,
  headers: { "content-type": "application/json" },
  body: JSON.stringify(body)
})

const product = (id: string) => ({
  id,
  base_currency: id.split("-")[0],
  quote_currency: id.split("-")[1],
  base_min_size: "0.000016",
  base_max_size: "1500",
  quote_increment: "0.01",
  base_increment: "0.00000001",
  display_name: id.replace("-", "/"),
  min_market_funds: "1",
  max_market_funds: "20000000",
  margin_enabled: false,
  post_only: false,
  limit_only: false,
  cancel_only: false,
  trading_disabled: false,
  status: "online",
  status_message: "",
  auction_mode: false
})

const krakenPair = (base: string, wsname: string) => ({
  altname: wsname.replace("/", ""),
  wsname,
  aclass_base: "currency",
  base,
  aclass_quote: "currency",
  quote: "ZUSD",
  lot: "unit",
  pair_decimals: 2,
  lot_decimals: 8,
  lot_multiplier: 1,
  leverage_buy: [],
  leverage_sell: [],
  fees: [[0, 0.26]],
  fees_maker: [[0, 0.16]],
  fee_volume_currency: "ZUSD",
  margin_call: 80,
  margin_stop: 40,
  ordermin: "0.0001",
  status: "online"
})

const krakenSymbols: Readonly<Record<string, string>> = { XXBTZUSD: "BTC/USD", XETHZUSD: "ETH/USD" }

const tradingPeriod = { timezone: "EST", start: 1_772_000_000, end: 1_772_080_000, gmtoffset: -18_000 }

const chartMeta = (symbol: string) => ({
  currency: "USD",
  symbol,
  exchangeName: "CMX",
  fullExchangeName: "COMEX",
  instrumentType: "FUTURE",
  firstTradeDate: 967_608_000,
  regularMarketTime: 1_772_000_000,
  hasPrePostMarketData: false,
  gmtoffset: -18_000,
  timezone: "EST",
  exchangeTimezoneName: "America/New_York",
  regularMarketPrice: 2400.1,
  fiftyTwoWeekHigh: 2600.5,
  fiftyTwoWeekLow: 2000.5,
  regularMarketDayHigh: 2410.5,
  regularMarketDayLow: 2390.5,
  regularMarketVolume: 1000,
  shortName: symbol,
  chartPreviousClose: 2399.5,
  previousClose: 2399.5,
  scale: 3,
  priceHint: 2,
  currentTradingPeriod: { pre: tradingPeriod, regular: tradingPeriod, post: tradingPeriod },
  tradingPeriods: [[tradingPeriod]],
  dataGranularity: "1h",
  range: "",
  validRanges: ["1d", "5d", "1mo", "3mo", "6mo", "1y", "2y", "5y", "10y", "ytd", "max"]
})

/** `now` is the time of the places; candles begin before it. */
export const markets = Effect.fnUntraced(function* (now: () => number) {
  const altered = new Map<string, Shown | null>()
  const repeated = new Map<string, Shown>()
  const misplaced = new Map<string, number>()
  const spoilt = new Map<string, () => Promise<Reply>>()
  const delisted = new Set<string>()
  const keyOf = (place: string, symbol: string, time: number) => `${place} ${symbol} ${time}`

  /** The hours of a place from one moment to another, in its own prices. */
  const hours = (place: Place, symbol: string, from: number, to: number) => {
    const first = Math.ceil(from / hour) * hour
    const last = Math.min(to, now())
    const count = Math.max(0, Math.floor((last - first) / hour) + 1)
    return Array.from({ length: count }, (_, index) => first + index * hour).flatMap((time) => {
      const key = keyOf(place, symbol, time)
      const shown = altered.has(key) ? altered.get(key) : hourOf(bases[symbol] ?? 1, time)
      const again = repeated.get(key)
      return [
        ...(shown === null || shown === undefined ? [] : [{ time: misplaced.get(key) ?? time, ohlc: shown }]),
        ...(again === undefined ? [] : [{ time, ohlc: again }])
      ]
    })
  }

  const coinbase = (url: URL): Reply => {
    if (url.pathname === "/currencies") return json([])
    const ids = ["BTC-USD", "ETH-USD"].filter((id) => !delisted.has(id.replace("-", "/")))
    if (url.pathname === "/products") return json(ids.map(product))
    const id = /^\/products\/([A-Z-]+)\/candles$/.exec(url.pathname)?.[1]
    if (id === undefined || !ids.includes(id)) return json({ message: "NotFound" }, 404)
    const at = (name: string) => Date.parse(url.searchParams.get(name) ?? "")
    // The newest is first; the current hour is included.
    return json(
      hours("coinbase", id.replace("-", "/"), at("start"), at("end"))
        .map(({ ohlc: [open, high, low, close], time }) => [time / 1000, low, high, open, close, 12.5])
        .toReversed()
    )
  }

  const kraken = (url: URL): Reply => {
    if (url.pathname === "/0/public/Assets") {
      const asset = (altname: string) => ({
        aclass: "currency",
        altname,
        decimals: 10,
        display_decimals: 5,
        status: "enabled"
      })
      return json({ error: [], result: { XXBT: asset("XBT"), XETH: asset("ETH"), ZUSD: asset("USD") } })
    }
    if (url.pathname === "/0/public/AssetPairs") {
      const pairs = Object.entries({
        XXBTZUSD: krakenPair("XXBT", "XBT/USD"),
        XETHZUSD: krakenPair("XETH", "ETH/USD")
      }).filter(([id]) => !delisted.has(krakenSymbols[id] ?? ""))
      return json({ error: [], result: Object.fromEntries(pairs) })
    }
    const id = url.searchParams.get("pair") ?? ""
    const symbol = krakenSymbols[id]
    if (url.pathname !== "/0/public/OHLC" || symbol === undefined || delisted.has(symbol)) {
      return json({ error: ["EQuery:Unknown asset pair"] })
    }
    const since = Number(url.searchParams.get("since")) * 1000
    const rows = hours("kraken", symbol, since + 1, now()).map(({ ohlc, time }) => [
      time / 1000,
      ...ohlc.map(String),
      String(ohlc[3]),
      "12.5",
      7
    ])
    return json({ error: [], result: { [id]: rows.slice(0, 720), last: rows.at(-2)?.[0] ?? 0 } })
  }

  const yahoo = (url: URL): Reply => {
    const symbol = decodeURIComponent(url.pathname.split("/").at(-1) ?? "")
    if (bases[symbol] === undefined || delisted.has(symbol)) {
      const error = { code: "Not Found", description: "No data found, symbol may be delisted" }
      return json({ chart: { result: null, error } }, 404)
    }
    const at = (name: string) => Number(url.searchParams.get(name)) * 1000
    const shown = hours("yahoo", symbol, at("period1"), at("period2") - 1)
    // The current hour carries the time of its last trade.
    const isUnderWay = (time: number) => time + hour > now() && time <= now()
    const times = shown.map(({ time }) => (isUnderWay(time) ? now() - 1000 : time) / 1000)
    const columns = (index: 0 | 1 | 2 | 3) => shown.map(({ ohlc }) => ohlc[index])
    const quote = {
      open: columns(0),
      high: columns(1),
      low: columns(2),
      close: columns(3),
      volume: shown.map(() => 100)
    }
    const meta = chartMeta(symbol)
    return json({
      chart: {
        result: [
          shown.length === 0
            ? { meta, indicators: { quote: [{}] } }
            : { meta, timestamp: times, indicators: { quote: [quote] } }
        ],
        error: null
      }
    })
  }

  const server = yield* fakeServer(async ({ path }) => {
    const [, host = "", ...rest] = path.split("/")
    const url = new URL(`https://${host}/${rest.join("/")}`)
    const place = (["coinbase", "kraken", "yahoo"] as const).find((each) => hosts[each] === host)
    const reply = spoilt.get(place ?? "")
    if (reply !== undefined) return reply()
    if (place === "coinbase") return coinbase(url)
    if (place === "kraken") return kraken(url)
    return place === "yahoo" ? yahoo(url) : { status: 404 }
  })

  const result: Markets = {
    ...server,
    alter: (place, symbol, time, to) => altered.set(keyOf(place, symbol, time), to),
    repeat: (place, symbol, time, as) => repeated.set(keyOf(place, symbol, time), as),
    misplace: (place, symbol, time, at) => misplaced.set(keyOf(place, symbol, time), at),
    spoil: (place, reply) => (reply === undefined ? spoilt.delete(place) : spoilt.set(place, reply)),
    delist: (symbol) => delisted.add(symbol),
    restore: () => {
      for (const each of [altered, repeated, misplaced, spoilt, delisted]) each.clear()
      server.forget()
    },
    askedOf: (place) =>
      server.requests.map(({ path }) => path).filter((path) => path.startsWith(`/${hosts[place]}/`)),
    outbound: Layer.succeed(Outbound, (input, init) => {
      const { host, pathname, search } = new URL(input instanceof Request ? input.url : input)
      return globalThis.fetch(`${server.url}/${host}${pathname}${search}`, init)
    })
  }
  return result
})
