/** The clients of exchanges and of Yahoo as they are, against servers that answer in their shapes, and in worse ones. */
import { createHash } from "node:crypto"
import { assert, it } from "@effect/vitest"
import { DateTime, Effect, Layer, Option } from "effect"
import { TestClock } from "effect/testing"
import * as Live from "../../src/layers/prices/Live.ts"
import type { Candle } from "../../src/services/Prices.ts"
import { PriceSource } from "../../src/services/PriceSource.ts"
import type { Window } from "../../src/services/PriceSource.ts"
import { instant, moveTo, plus } from "../support/challenges.ts"
import { bases, hourOf, hosts, markets } from "../support/prices/markets.ts"
import type { Markets } from "../support/prices/markets.ts"
import { passing } from "../support/waiting.ts"

const now = instant("2026-03-10T12:20:00Z")
const noon = instant("2026-03-10T12:00:00Z")
const lastHours = (count: number): Window => ({ from: plus(noon, `${-count} hours`), until: noon })

const exchanges = [
  { exchange: "coinbaseexchange", quote: "USD" },
  { exchange: "kraken", quote: "USD" }
]

/** A source of its own for each test, at twenty past twelve. */
const live = <A, E>(test: (place: Markets) => Effect.Effect<A, E, PriceSource>) =>
  Effect.gen(function* () {
    yield* moveTo(now)
    const place = yield* markets(() => DateTime.toEpochMillis(now))
    const source = Live.layer(exchanges).pipe(Layer.provide(place.outbound))
    return yield* test(place).pipe(Effect.provide(source, { local: true }))
  })

const askOnce = Effect.fnUntraced(function* (asset: string, window: Window) {
  const source = yield* PriceSource
  const feed = yield* Effect.orDie(
    Effect.fromOption(Option.fromUndefinedOr(source.feeds.find((each) => each.asset === asset)))
  )
  return yield* source.read(feed, window)
})

/** Reads with a moving clock, since requests to one place keep a distance. */
const read = (asset: string, window: Window) => passing(askOnce(asset, window), "1 second")

const shown = ({ close, high, low, open, time }: Candle) => [DateTime.formatIso(time), open, high, low, close]

const expected = (symbol: string, hours: ReadonlyArray<DateTime.Utc>) =>
  hours.map((time) => [DateTime.formatIso(time), ...hourOf(bases[symbol] ?? 0, DateTime.toEpochMillis(time))])

const hoursOf = ({ from, until }: Window) =>
  Array.from(
    { length: (DateTime.toEpochMillis(until) - DateTime.toEpochMillis(from)) / 3_600_000 },
    (_, index) => plus(from, `${index} hours`)
  )

const refusal = (asset: string, window: Window) => Effect.flip(read(asset, window))

it.effect("An exchange's hours are those that are over, in order, with the hash of its answer", () =>
  live((place) =>
    Effect.gen(function* () {
      const window = lastHours(5)
      const { complete, readings } = yield* read("BTC", window)
      assert.isTrue(complete)
      assert.deepStrictEqual(
        readings.map(({ source }) => source),
        ["coinbaseexchange BTC/USD"]
      )
      assert.deepStrictEqual(readings[0]?.candles.map(shown), expected("BTC/USD", hoursOf(window)))
      const path = place.askedOf("coinbase").at(-1) ?? ""
      const body = yield* Effect.promise(async () => (await fetch(`${place.url}${path}`)).arrayBuffer())
      assert.deepStrictEqual(
        Buffer.from(readings[0]?.payloadHash ?? []).toString("hex"),
        createHash("sha256").update(Buffer.from(body)).digest("hex")
      )
      assert.lengthOf(place.askedOf("kraken"), 0)
    })
  )
)

it.effect("Two months of candles are read page by page", () =>
  live((place) =>
    Effect.gen(function* () {
      const window = lastHours(63 * 24)
      const { readings } = yield* read("ETH", window)
      assert.deepStrictEqual(readings[0]?.candles.map(shown), expected("ETH/USD", hoursOf(window)))
      assert.lengthOf(
        place.askedOf("coinbase").filter((path) => path.includes("candles")),
        6
      )
    })
  )
)

it.effect("The next exchange is asked when one is down, and its prices count as its own", () =>
  live((place) =>
    Effect.gen(function* () {
      place.spoil("coinbase", async () => ({ status: 503, body: "<html>down for maintenance</html>" }))
      const window = lastHours(3)
      const { complete, readings } = yield* read("BTC", window)
      assert.isTrue(complete)
      assert.deepStrictEqual(
        readings.map(({ candles, source }) => [source, candles.map(shown)]),
        [["kraken BTC/USD", expected("BTC/USD", hoursOf(window))]]
      )
    })
  )
)

it.effect("The next exchange is asked for the gaps of one, and a gap of all is told", () =>
  live((place) =>
    Effect.gen(function* () {
      const window = lastHours(4)
      const [, gap = noon, hole = noon] = hoursOf(window)
      place.alter("coinbase", "BTC/USD", DateTime.toEpochMillis(gap), null)
      place.alter("coinbase", "BTC/USD", DateTime.toEpochMillis(hole), null)
      place.alter("kraken", "BTC/USD", DateTime.toEpochMillis(hole), null)
      const filled = yield* read("BTC", window)
      assert.deepStrictEqual(
        filled.readings.map(({ candles, source }) => [source, candles.length]),
        [
          ["coinbaseexchange BTC/USD", 2],
          ["kraken BTC/USD", 1]
        ]
      )
      assert.isTrue(filled.complete)
      place.spoil("kraken", async () => ({ status: 500 }))
      // An hour's absence is certain only after all exchanges have answered.
      assert.isFalse((yield* read("BTC", window)).complete)
    })
  )
)

it.effect("A symbol that every exchange delisted is unknown, and the others are still asked for", () =>
  live((place) =>
    Effect.gen(function* () {
      place.delist("BTC/USD")
      const refused = yield* refusal("BTC", lastHours(2))
      assert.strictEqual(refused.kind, "unknown")
      assert.include(refused.reason, "BTC/USD")
      const requests = place.requests.length
      yield* read("ETH", lastHours(2))
      assert.isAbove(place.requests.length, requests)
    })
  )
)

const eight = hourOf(bases["GC=F"] ?? 0, DateTime.toEpochMillis(plus(noon, "-2 hours")))
const [open, high, low, close] = eight
/** A time that the clock does not reach while a test reads. */
const inTheFuture = DateTime.toEpochMillis(plus(now, "1 day"))

it.effect.each([
  ["a row of nulls but for its open", [open, null, null, null]],
  ["no close", [open, high, low, null]],
  ["no open", [null, high, low, close]],
  ["a high below its low", [open, low, high, close]],
  ["a close above its high", [open, high, low, high + 1]],
  ["a close below its low", [open, high, low, low - 1]],
  ["an open above its high", [high + 1, high, low, close]],
  ["an open below its low", [low - 1, high, low, close]],
  ["a price that no asset has", [open, 2e15, low, close]],
  ["no high", [open, null, low, close]],
  ["a price of a text with a comma", [open, high, low, "2,712.20"]],
  ["no low", [open, high, null, close]],
  ["nothing but a close", [null, null, null, close]],
  ["a low that no asset has", [open, high, -2e15, close]],
  ["all prices in another order", [close, low, high, open]]
] as const)("An hour with %s is neither a candle nor one without a trade", ([, row]) =>
  live((place) =>
    Effect.gen(function* () {
      const window = lastHours(3)
      const [first = noon, spoilt = noon, last = noon] = hoursOf(window)
      place.alter("yahoo", "GC=F", DateTime.toEpochMillis(spoilt), row)
      const { complete, readings } = yield* read("GC", window)
      assert.isFalse(complete)
      assert.deepStrictEqual(readings[0]?.candles.map(shown), expected("GC=F", [first, last]))
    })
  )
)

it.effect.each([
  ["an empty text among its prices", [open, high, low, ""]],
  ["a word among its prices", [open, "n/a", low, close]],
  ["truth for a price", [open, high, low, true]],
  ["a list for a price", [open, high, low, [close]]]
] as const)("A chart with %s is refused as a whole, not read in part", ([, row]) =>
  live((place) =>
    Effect.gen(function* () {
      const window = lastHours(3)
      const [, spoilt = noon] = hoursOf(window)
      place.alter("yahoo", "GC=F", DateTime.toEpochMillis(spoilt), row)
      assert.strictEqual((yield* refusal("GC", window)).kind, "unavailable")
    })
  )
)

it.effect.each([
  ["within the hour", DateTime.toEpochMillis(plus(noon, "-90 minutes"))],
  ["a second late", DateTime.toEpochMillis(plus(noon, "-2 hours")) + 1000],
  ["in the future", inTheFuture]
] as const)("An hour whose candle stands under a time %s is asked for again", ([, at]) =>
  live((place) =>
    Effect.gen(function* () {
      const window = lastHours(3)
      const [first = noon, spoilt = noon, last = noon] = hoursOf(window)
      place.misplace("yahoo", "GC=F", DateTime.toEpochMillis(spoilt), at)
      const { complete, readings } = yield* read("GC", window)
      assert.isFalse(complete)
      assert.deepStrictEqual(readings[0]?.candles.map(shown), expected("GC=F", [first, last]))
    })
  )
)

it.effect.each([
  ["of zeros", [0, 0, 0, 0]],
  ["with a low of 0", [3000, 3001, 0, 3000]],
  ["with a close of 0", [3000, 3001, 0, 0]],
  ["below 0", [-3, -2, -4, -3]],
  ["of texts", ["", "", "", ""]],
  ["of words", ["n/a", "n/a", "n/a", "n/a"]],
  ["with one price missing", [3000, 3001, null, 3000]],
  ["of texts of numbers with a comma", ["3,000", "3,001", "2,999", "3,000"]],
  ["of NaN in words", ["NaN", "NaN", "NaN", "NaN"]],
  ["of what has no end", ["Infinity", "Infinity", "Infinity", "Infinity"]],
  ["with an open of 0", [0, 3001, 2999, 3000]],
  ["with a negative zero", [3000, 3001, -0, 3000]],
  ["with a close of nothing but white space", ["3000", "3001", "2999", " "]],
  ["with a high below its low", [3000, 2999, 3001, 3000]],
  ["with a close above its high", [3000, 3001, 2999, 3002]],
  ["with a price that no asset has", [3000, 2e15, 2999, 3000]],
  ["of truths", [true, true, true, true]]
] as const)("A candle %s of an exchange is none, and the next exchange is asked", ([, row]) =>
  live((place) =>
    Effect.gen(function* () {
      const window = lastHours(3)
      const [, spoilt = noon] = hoursOf(window)
      place.alter("coinbase", "ETH/USD", DateTime.toEpochMillis(spoilt), row)
      const filled = yield* read("ETH", window)
      assert.isTrue(filled.complete)
      assert.deepStrictEqual(
        filled.readings.map(({ candles, source }) => [source, candles.map(shown)]).at(-1),
        ["kraken ETH/USD", expected("ETH/USD", [spoilt])]
      )
      place.alter("kraken", "ETH/USD", DateTime.toEpochMillis(spoilt), row)
      const { complete, readings } = yield* read("ETH", window)
      assert.isFalse(complete)
      assert.deepStrictEqual(
        readings.map(({ candles }) => candles.length),
        [2, 0].slice(0, readings.length)
      )
    })
  )
)

it.effect("A row of Yahoo without any price says that the hour had no trade", () =>
  live((place) =>
    Effect.gen(function* () {
      const window = { from: plus(noon, "-74 hours"), until: plus(noon, "-71 hours") }
      const [first = noon, untraded = noon, last = noon] = hoursOf(window)
      place.alter("yahoo", "GC=F", DateTime.toEpochMillis(untraded), [null, null, null, null])
      const { complete, readings } = yield* read("GC", window)
      assert.isTrue(complete)
      assert.deepStrictEqual(readings[0]?.candles.map(shown), expected("GC=F", [first, last]))
    })
  )
)

it.effect.each([
  ["on a Tuesday morning", "GC", "2026-03-10T09:00:00Z", true],
  ["in the break at five in New York", "GC", "2026-03-09T21:00:00Z", false],
  ["after the break", "GC", "2026-03-09T22:00:00Z", true],
  ["on a Sunday morning", "ES", "2026-03-08T12:00:00Z", false],
  ["on a Friday evening", "ES", "2026-03-06T23:00:00Z", false],
  ["between the sessions of soybeans", "ZS", "2026-03-10T12:00:00Z", false],
  ["within a session of soybeans", "ZS", "2026-03-09T14:00:00Z", true],
  ["nearly a day ago", "GC", "2026-03-09T12:00:00Z", true],
  ["more than a day ago", "GC", "2026-03-09T11:00:00Z", false]
] as const)(
  "An hour %s that Yahoo leaves out is waited for where the market trades by its calendar",
  ([, asset, text, isAwaited]) =>
    live((place) =>
      Effect.gen(function* () {
        const from = instant(text)
        for (const symbol of ["GC=F", "ES=F", "ZS=F"]) {
          place.alter("yahoo", symbol, DateTime.toEpochMillis(from), null)
        }
        const { missing = [] } = yield* read(asset, { from, until: plus(from, "1 hour") })
        assert.deepStrictEqual(missing.map(DateTime.formatIso), isAwaited ? [DateTime.formatIso(from)] : [])
      })
    )
)

it.effect.each([
  ["of tenths", [2712.2, 2712.6, 2711.9, 2712.3]],
  ["of 64ths, exactly", [128.015625, 128.046875, 128.015625, 128.03125]],
  ["of halves of 32nds", [110.984375, 111.015625, 110.953125, 111]],
  ["of cents", [76.41, 76.45, 76.38, 76.4]],
  ["of ten-thousandths", [3.9145, 3.9205, 3.911, 3.9185]]
] as const)("Prices %s that Yahoo prints as doubles of single precision are read as quoted", ([, quoted]) =>
  live((place) =>
    Effect.gen(function* () {
      const window = lastHours(1)
      const [a, b, c, d] = quoted.map(Math.fround)
      place.alter("yahoo", "GC=F", DateTime.toEpochMillis(window.from), [a ?? 0, b ?? 0, c ?? 0, d ?? 0])
      const { readings } = yield* read("GC", window)
      assert.deepStrictEqual(readings[0]?.candles.map(shown), [[DateTime.formatIso(window.from), ...quoted]])
    })
  )
)

it.effect("An hour that an answer shows twice counts if it is the same, and else says nothing", () =>
  live((place) =>
    Effect.gen(function* () {
      const window = lastHours(3)
      const [first = noon, second = noon] = hoursOf(window)
      const same = hourOf(bases["GC=F"] ?? 0, DateTime.toEpochMillis(first))
      place.repeat("yahoo", "GC=F", DateTime.toEpochMillis(first), same)
      place.repeat("yahoo", "GC=F", DateTime.toEpochMillis(second), [1, 2, 1, 2])
      const { complete, readings } = yield* read("GC", window)
      assert.isFalse(complete)
      assert.deepStrictEqual(
        readings[0]?.candles.map(({ time }) => DateTime.formatIso(time)),
        ["2026-03-10T09:00:00.000Z", "2026-03-10T11:00:00.000Z"]
      )
    })
  )
)

it.effect("Impossible hours are left out: a low above the open, a price that is no number", () =>
  live((place) =>
    Effect.gen(function* () {
      const window = lastHours(3)
      const [first = noon, second = noon] = hoursOf(window).map(DateTime.toEpochMillis)
      place.alter("coinbase", "BTC/USD", Number(first), [5, 6, 5.5, 5.8])
      place.alter("coinbase", "BTC/USD", Number(second), [Number.NaN, 6, 5, 5.8])
      place.spoil("kraken", async () => ({ status: 500 }))
      const { readings } = yield* read("BTC", window)
      assert.deepStrictEqual(
        readings.flatMap(({ candles }) => candles.map(({ time }) => DateTime.formatIso(time))),
        ["2026-03-10T11:00:00.000Z"]
      )
    })
  )
)

it.effect.each([
  ["gold", "GC", "GC=F"],
  ["the dollar index", "DXY", "DX-Y.NYB"]
] as const)(
  "Yahoo's chart of %s is read without the hour under way, and without untraded hours",
  ([, asset, symbol]) =>
    live((place) =>
      Effect.gen(function* () {
        const window = { from: plus(noon, "-4 hours"), until: plus(noon, "1 hour") }
        const [first = noon, closed = noon, ...traded] = hoursOf({ ...window, until: noon })
        place.alter("yahoo", symbol, DateTime.toEpochMillis(closed), null)
        const { complete, readings } = yield* read(asset, window)
        assert.isTrue(complete)
        assert.deepStrictEqual(
          readings.map(({ candles, source }) => [source, candles.map(shown)]),
          [[`yahoo ${symbol}`, expected(symbol, [first, ...traded])]]
        )
      })
    )
)

it.effect("Yahoo's empty chart is an answer: the market was closed", () =>
  live((place) =>
    Effect.gen(function* () {
      const window = lastHours(2)
      for (const time of hoursOf(window)) place.alter("yahoo", "ES=F", DateTime.toEpochMillis(time), null)
      const { complete, readings } = yield* read("ES", window)
      assert.deepStrictEqual([complete, readings.map(({ candles }) => candles)], [true, [[]]])
    })
  )
)

it.effect("Yahoo's word for a delisted symbol is understood", () =>
  live((place) =>
    Effect.gen(function* () {
      place.delist("HG=F")
      const refused = yield* refusal("HG", lastHours(2))
      assert.strictEqual(refused.kind, "unknown")
      assert.include(refused.reason, "No data found, symbol may be delisted")
      assert.lengthOf(place.askedOf("yahoo"), 1)
    })
  )
)

it.effect.each([
  ["an error", async () => ({ status: 500 })],
  ["too many requests, in words", async () => ({ status: 429, body: "Too Many Requests\r\n" })],
  ["no JSON", async () => ({ status: 200, body: "<html>" })],
  ["JSON of another shape", async () => ({ status: 200, body: '{"chart":{"result":[{}],"error":null}}' })],
  ["a redirect", async () => ({ status: 302, headers: { location: "http://127.0.0.1:1/" } })],
  ["nothing, for ever", () => new Promise<never>(() => {})]
] as const)("A place that answers with %s is tried three times, then given up", ([, reply]) =>
  live((place) =>
    Effect.gen(function* () {
      place.spoil("yahoo", reply)
      const refused = yield* refusal("CL", lastHours(2))
      assert.strictEqual(refused.kind, "unavailable")
      assert.notInclude(refused.reason, hosts.yahoo)
      assert.lengthOf(place.askedOf("yahoo"), 3)
      place.spoil("yahoo")
      assert.lengthOf((yield* read("CL", lastHours(2))).readings, 1)
    })
  )
)

it.effect("A place that fails three times in a row is not asked for a minute, then is tried once", () =>
  live((place) =>
    Effect.gen(function* () {
      place.spoil("yahoo", async () => ({ status: 500 }))
      for (const asset of ["GC", "ES", "CL"]) yield* refusal(asset, lastHours(2))
      const requests = place.askedOf("yahoo").length
      assert.strictEqual(requests, 9)
      const refused = yield* refusal("GC", lastHours(2))
      assert.include(refused.reason, "circuit breaker is open")
      assert.lengthOf(place.askedOf("yahoo"), requests)
      place.spoil("yahoo")
      yield* TestClock.adjust("1 minute")
      assert.lengthOf((yield* read("GC", lastHours(2))).readings, 1)
    })
  )
)

it.effect("An exchange that shows nothing at all of a market that never closes is not believed", () =>
  live((place) =>
    Effect.gen(function* () {
      for (const where of ["coinbase", "kraken"] as const) {
        for (const time of hoursOf(lastHours(30))) {
          place.alter(where, "BTC/USD", DateTime.toEpochMillis(time), null)
        }
      }
      const refused = yield* refusal("BTC", lastHours(2))
      assert.include(refused.reason, "shows no candle")
    })
  )
)

it.effect.each([["nosuchexchange"], ["constructor"], ["Exchange"]] as const)(
  "An unknown exchange, such as %s, stops the start",
  ([exchange]) =>
    Effect.gen(function* () {
      const refused = yield* Effect.flip(Effect.scoped(Layer.build(Live.layer([{ exchange, quote: "USD" }]))))
      assert.include(refused.message, `${exchange} is no exchange that ccxt knows`)
    })
)
