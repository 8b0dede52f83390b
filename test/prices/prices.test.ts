/** Price points: immutable, each with its source; a contradicting one is in quarantine until an administrator decides. */
import { assert, layer } from "@effect/vitest"
import { BigDecimal, DateTime, Effect, Option, Schema } from "effect"
import { PriceImport, Prices } from "../../src/services/Prices.ts"
import {
  flat,
  freshWeek,
  importCandles,
  importQuotes,
  instant,
  millisBefore,
  moveTo,
  plus
} from "../support/challenges.ts"
import { countOf, rowsOf } from "../support/database.ts"
import { allPages, firstPage } from "../support/paging.ts"
import { testServices } from "../support/services.ts"

const latest = (asset: string) =>
  Prices.use((prices) => prices.latest(asset)).pipe(
    Effect.map(
      Option.match({
        onNone: () => null,
        onSome: ({ price, observedAt, source }) => [
          BigDecimal.format(price),
          DateTime.formatIso(observedAt),
          source
        ]
      })
    )
  )

const waiting = Prices.use((prices) => prices.quarantine(firstPage))

const decide = (id: string, accept: boolean) =>
  Prices.use((prices) => prices.decide(id, { accept, reason: "Looked it up." }))

const pathsOf = (refused: { readonly errors: ReadonlyArray<{ readonly path: string }> }) =>
  refused.errors.map((error) => error.path)

layer(testServices())("Importing prices", (it) => {
  it.effect("An import stores new prices, and the same value again changes nothing", () =>
    Effect.gen(function* () {
      const now = yield* freshWeek
      const candles = [
        { time: plus(now, "-2 hours"), open: 1.5, high: 2.25, low: 0.1, close: 2 },
        flat(plus(now, "-1 hours"), 0.1 + 0.2)
      ]
      const importBoth = Prices.use((prices) => prices.import({ asset: "GC", interval: "1h", candles }))
      assert.deepStrictEqual(yield* importBoth, { asset: "GC", inserted: 2, unchanged: 0, quarantined: [] })
      assert.deepStrictEqual(yield* importBoth, { asset: "GC", inserted: 0, unchanged: 2, quarantined: [] })
      const stored = yield* rowsOf(
        Schema.Struct({ ohlc: Schema.Array(Schema.String), source: Schema.String, revision: Schema.Int }),
        (sql) => sql`
          select array[open, high, low, close]::text[] as ohlc, source, revision
            from price_points where asset = 'GC' order by time`
      )
      assert.deepStrictEqual(stored, [
        { ohlc: ["1.5", "2.25", "0.1", "2"], source: "admin", revision: 0 },
        { ohlc: Array.from({ length: 4 }, () => "0.30000000000000004"), source: "admin", revision: 0 }
      ])
    })
  )

  it.effect("An import takes quotes without candles, and candles without quotes", () =>
    Effect.gen(function* () {
      const now = yield* freshWeek
      const quotes = yield* importQuotes("ES", [
        [plus(now, "1 millis"), 5000.25],
        [now, 5000.5]
      ])
      assert.strictEqual(quotes.inserted, 2)
      assert.strictEqual((yield* importCandles("ES", "1d", [[plus(now, "-1 days"), 4999]])).inserted, 1)
      // The quote of the first moment and the day that ends then are two observations.
      assert.deepStrictEqual(yield* latest("ES"), ["5000.5", DateTime.formatIso(now), "admin quote"])
    })
  )

  it.effect("An import is refused by the place of a candle that does not begin on its hour or day", () =>
    Effect.gen(function* () {
      const now = yield* freshWeek
      const wrong = [
        ["1h", plus(now, "30 minutes")],
        ["1h", plus(now, "1 millis")],
        ["1d", plus(now, "1 hour")]
      ] as const
      for (const [interval, time] of wrong) {
        const refused = yield* Effect.flip(
          importCandles("CL", interval, [
            [now, 70],
            [time, 71]
          ])
        )
        assert(refused._tag === "InvalidRequest")
        assert.deepStrictEqual(pathsOf(refused), ["candles.1.time"])
      }
      assert.isNull(yield* latest("CL"))
    })
  )

  it.effect.each([
    ["a quote of 0", "BTC", { quotes: [0] }, "quotes.0.price"],
    ["a quote below 0, after a good one", "GC", { quotes: [1, -1] }, "quotes.1.price"],
    ["a candle of zeros", "ETH", { candle: [0, 0, 0, 0] }, "candles.0.low"],
    ["a candle with a low of 0", "DXY", { candle: [100, 101, 0, 100] }, "candles.0.low"],
    ["a candle with a close of 0", "ES", { candle: [100, 101, 0, 0] }, "candles.0.low"],
    ["a candle with an open of 0", "ZN", { candle: [0, 101, 0, 100] }, "candles.0.low"],
    ["a candle below 0", "NG", { candle: [-3, -2, -4, -3] }, "candles.0.low"],
    ["a daily candle with a low below 0", "ZS", { candle: [1, 2, -1, 1], interval: "1d" }, "candles.0.low"]
  ] as const)(
    "An import of %s is refused, where the asset has prices above 0 only",
    ([, asset, offered, path]) =>
      Effect.gen(function* () {
        const now = yield* freshWeek
        const refused = yield* Effect.flip(
          Prices.use((prices) => {
            if ("quotes" in offered) {
              const quotes = offered.quotes.map((price, index) => ({
                time: plus(now, `${index} seconds`),
                price
              }))
              return prices.import({ asset, quotes })
            }
            const [open, high, low, close] = offered.candle
            const interval = "interval" in offered ? offered.interval : "1h"
            return prices.import({ asset, interval, candles: [{ time: now, open, high, low, close }] })
          })
        )
        assert(refused._tag === "InvalidRequest")
        assert.deepStrictEqual(pathsOf(refused), [path])
        assert.include(refused.detail, `Expected a price above 0: ${asset} has no other`)
      })
  )

  it.effect("An import takes prices of 0 and less of crude oil, which had them in April 2020", () =>
    Effect.gen(function* () {
      const now = yield* freshWeek
      const { inserted } = yield* Prices.use((prices) =>
        prices.import({
          asset: "CL",
          interval: "1h",
          candles: [{ time: plus(now, "-1 hours"), open: 10, high: 10, low: -40.32, close: -37.63 }]
        })
      )
      assert.strictEqual(inserted, 1)
      assert.strictEqual((yield* importQuotes("CL", [[plus(now, "1 minutes"), 0]])).inserted, 1)
    })
  )

  it.effect("An import for an unknown asset or a macro series is refused", () =>
    Effect.gen(function* () {
      const now = yield* freshWeek
      for (const asset of ["XX", "gc", "CPI", ""]) {
        const refused = yield* Effect.flip(importQuotes(asset, [[now, 1]]))
        assert(refused._tag === "InvalidRequest")
        assert.deepStrictEqual(pathsOf(refused), ["asset"])
      }
    })
  )

  it.effect("An import of 20 000 candles is one statement's work", () =>
    Effect.gen(function* () {
      const now = yield* freshWeek
      const candles = Array.from(
        { length: 20_000 },
        (_, index) => [plus(now, `${-20_000 + index} hours`), 1900 + (index % 700) / 10] as const
      )
      // The database ends a statement after 5 s.
      assert.strictEqual((yield* importCandles("HG", "1h", candles)).inserted, 20_000)
      assert.strictEqual((yield* importCandles("HG", "1h", candles)).unchanged, 20_000)
    })
  )

  it("An import has quotes, or candles of one interval, each with low <= open, close <= high", () => {
    const isImport = (sent: unknown) => Option.isSome(Schema.decodeUnknownOption(PriceImport)(sent))
    const quote = { time: "2026-03-02T12:00:00Z", price: -37.63 }
    const candle = { time: "2026-03-02T12:00:00Z", open: 2, high: 3, low: 1, close: 2 }
    assert.isTrue(isImport({ asset: "CL", quotes: [quote] }))
    assert.isTrue(isImport({ asset: "CL", interval: "1h", candles: [candle] }))
    const wrong = [
      { asset: "CL" },
      { asset: "CL", quotes: [] },
      { asset: "CL", candles: [candle] },
      { asset: "CL", interval: "5m", candles: [candle] },
      { asset: "CL", interval: "1h", candles: [quote] },
      { asset: "CL", interval: "1h", candles: [{ ...candle, low: 2.5 }] },
      { asset: "CL", interval: "1h", candles: [{ ...candle, high: 1.5 }] },
      { asset: "CL", quotes: [{ ...quote, price: Number.NaN }] },
      { asset: "CL", quotes: [{ ...quote, time: "2026-03-02T12:00:00" }] },
      { asset: "CL", quotes: Array.from({ length: 20_001 }, () => quote) }
    ]
    for (const sent of wrong) assert.isFalse(isImport(sent), JSON.stringify(sent).slice(0, 100))
  })
})

layer(testServices())("The latest price", (it) => {
  it.effect("The latest price is the last observed by now: a candle at its end, a quote at its time", () =>
    Effect.gen(function* () {
      const now = yield* freshWeek
      assert.isNull(yield* latest("GC"))
      yield* importCandles("GC", "1h", [
        [plus(now, "-1 hours"), 1],
        [now, 2]
      ])
      yield* importQuotes("GC", [[plus(now, "90 minutes"), 3]])
      const known = [
        [now, "1", now],
        [millisBefore(plus(now, "1 hour"), 1), "1", now],
        [plus(now, "1 hour"), "2", plus(now, "1 hour")],
        [plus(now, "90 minutes"), "3", plus(now, "90 minutes")]
      ] as const
      for (const [moment, price, observedAt] of known) {
        yield* moveTo(moment)
        assert.deepStrictEqual((yield* latest("GC"))?.slice(0, 2), [price, DateTime.formatIso(observedAt)])
      }
    })
  )
})

layer(testServices())("A price that contradicts a stored one", (it) => {
  it.effect("A contradicting price is in quarantine once, reported each time, and changes nothing", () =>
    Effect.gen(function* () {
      const now = yield* freshWeek
      yield* importQuotes("GC", [[now, 100]])
      const first = yield* importQuotes("GC", [[now, 101]])
      const [aside] = first.quarantined
      assert(aside !== undefined)
      const { id, ...shown } = aside
      assert.deepStrictEqual(shown, {
        source: "admin",
        asset: "GC",
        interval: "quote",
        time: DateTime.formatIso(now),
        stored_close: 100,
        offered_close: 101,
        received_at: DateTime.formatIso(now),
        decision: null,
        reason: null
      })
      assert.deepStrictEqual([first.inserted, first.unchanged], [0, 0])
      const again = yield* importQuotes("GC", [[now, 101]])
      assert.deepStrictEqual(
        again.quarantined.map((each) => each.id),
        [id]
      )
      assert.deepStrictEqual(
        (yield* waiting).items.map((each) => each.id),
        [id]
      )
      assert.strictEqual((yield* latest("GC"))?.[0], "100")
    })
  )

  it.effect("A price contradicts in any of open, high, low and close", () =>
    Effect.gen(function* () {
      const now = yield* freshWeek
      const candle = { time: now, open: 2, high: 4, low: 1, close: 3 }
      const offered = [{ open: 2.5 }, { high: 5 }, { low: 0.5 }, { close: 3.5 }]
      const importCandle = (changed: object) =>
        Prices.use((prices) =>
          prices.import({ asset: "ZN", interval: "1h", candles: [{ ...candle, ...changed }] })
        )
      yield* importCandle({})
      for (const changed of offered) assert.strictEqual((yield* importCandle(changed)).quarantined.length, 1)
    })
  )

  it.effect("A contradiction within one import is in quarantine, and the first value stands", () =>
    Effect.gen(function* () {
      const now = yield* freshWeek
      const report = yield* importQuotes("ETH", [
        [now, 3000],
        [now, 3001],
        [now, 3000],
        [now, 3001]
      ])
      assert.strictEqual(report.inserted, 1)
      assert.deepStrictEqual(
        report.quarantined.map((each) => each.offered_close),
        [3001]
      )
      assert.strictEqual((yield* latest("ETH"))?.[0], "3000")
    })
  )

  it.effect("Contradicting imports at once leave one value of each point, the others in quarantine", () =>
    Effect.gen(function* () {
      const now = yield* freshWeek
      const times = Array.from({ length: 40 }, (_, index) => plus(now, `${index} minutes`))
      const reports = yield* Effect.forEach(
        [70, 71, 72, 73, 70, 71, 72, 73],
        (price, turn) =>
          importQuotes(
            "CL",
            (turn % 2 === 0 ? times : times.toReversed()).map((time) => [time, price])
          ),
        { concurrency: "unbounded" }
      )
      assert.strictEqual(
        reports.reduce((sum, report) => sum + report.inserted, 0),
        40
      )
      const aside = new Set(reports.flatMap((report) => report.quarantined.map((each) => each.id)))
      assert.strictEqual(aside.size, 3 * 40)
    })
  )

  it.effect("An accepted price becomes the point's value, and the old value is no contradiction", () =>
    Effect.gen(function* () {
      const now = yield* freshWeek
      yield* importQuotes("NG", [[now, 2]])
      const { quarantined } = yield* importQuotes("NG", [[now, 2.5]])
      const decided = yield* decide(quarantined[0]?.id ?? "none", true)
      assert.deepStrictEqual(
        [decided.decision, decided.reason, decided.stored_close],
        ["accepted", "Looked it up.", 2.5]
      )
      assert.strictEqual((yield* latest("NG"))?.[0], "2.5")
      assert.isFalse((yield* waiting).items.some((each) => each.asset === "NG"))
      for (const value of [2, 2.5]) {
        assert.strictEqual((yield* importQuotes("NG", [[now, value]])).unchanged, 1)
      }
      // Both values are kept for ever.
      assert.strictEqual(
        yield* countOf((sql) => sql`select count(*)::int as count from price_points where asset = 'NG'`),
        2
      )
    })
  )

  it.effect("A rejected price leaves the stored value, and offered again it is reported as rejected", () =>
    Effect.gen(function* () {
      const now = yield* freshWeek
      yield* importQuotes("ZS", [[now, 1200]])
      const { quarantined } = yield* importQuotes("ZS", [[now, 12]])
      const decided = yield* decide(quarantined[0]?.id ?? "none", false)
      assert.deepStrictEqual([decided.decision, decided.stored_close], ["rejected", 1200])
      assert.strictEqual((yield* latest("ZS"))?.[0], "1200")
      const again = yield* importQuotes("ZS", [[now, 12]])
      assert.deepStrictEqual(
        again.quarantined.map((each) => each.decision),
        ["rejected"]
      )
      assert.isFalse((yield* waiting).items.some((each) => each.asset === "ZS"))
    })
  )

  it.effect("A contradicting price is decided once, and an unknown one is not found", () =>
    Effect.gen(function* () {
      const now = yield* freshWeek
      yield* importQuotes("HG", [[now, 4]])
      const { quarantined } = yield* importQuotes("HG", [[now, 5]])
      const id = quarantined[0]?.id ?? "none"
      const decisions = yield* Effect.forEach(
        [true, false, true, false],
        (accept) => Effect.result(decide(id, accept)),
        { concurrency: "unbounded" }
      )
      assert.strictEqual(decisions.filter((each) => each._tag === "Success").length, 1)
      const refused = yield* Effect.flip(decide(id, true))
      assert.strictEqual(refused._tag, "InvalidRequest")
      for (const unknown of ["x", "01890000-0000-7000-8000-000000000000"]) {
        assert.strictEqual((yield* Effect.flip(decide(unknown, true)))._tag, "NotFound")
      }
    })
  )

  it.effect("A contradicting price may be accepted after another of its point, and at once with it", () =>
    Effect.gen(function* () {
      const now = yield* freshWeek
      yield* importQuotes("DXY", [[now, 104]])
      const offers = yield* Effect.forEach([105, 106, 107, 108], (price) =>
        importQuotes("DXY", [[now, price]])
      )
      const ids = offers.flatMap((report) => report.quarantined.map((each) => each.id))
      yield* Effect.forEach(ids, (id) => decide(id, true), { concurrency: "unbounded" })
      assert.strictEqual(
        yield* countOf(
          (sql) => sql`
            select count(distinct revision)::int as count from price_points where asset = 'DXY'`
        ),
        5
      )
    })
  )

  it.effect("Contradicting prices wait in a list, oldest first, in pages", () =>
    Effect.gen(function* () {
      const start = instant("2026-01-05T00:00:00Z")
      yield* freshWeek
      const known = (yield* waiting).items.length
      const times = Array.from({ length: 5 }, (_, index) => plus(start, `${index} minutes`))
      yield* importQuotes(
        "BTC",
        times.map((time) => [time, 60_000])
      )
      yield* importQuotes(
        "BTC",
        times.map((time) => [time, 61_000])
      )
      const pages = yield* allPages(3, (page) => Prices.use((prices) => prices.quarantine(page)))
      const ids = pages.flat().map((each) => each.id)
      assert.strictEqual(ids.length, known + 5)
      assert.deepStrictEqual(ids, ids.toSorted())
      assert.deepStrictEqual(
        pages
          .flat()
          .slice(known)
          .map((each) => each.time),
        times.map(DateTime.formatIso)
      )
      const refused = yield* Effect.flip(Prices.use((prices) => prices.quarantine({ limit: 3, cursor: "x" })))
      assert.deepStrictEqual(pathsOf(refused), ["cursor"])
    })
  )
})
