/** The whole way: real clients, a database, and challenges that settle by the prices of exchanges and Yahoo. */
import { assert, it } from "@effect/vitest"
import { DateTime, Effect, Layer, References } from "effect"
import * as Ingestion from "../../src/layers/postgres/prices/PriceIngestion.ts"
import * as Live from "../../src/layers/prices/Live.ts"
import { Arenas } from "../../src/services/Arenas.ts"
import { PriceIngestion, Prices } from "../../src/services/Prices.ts"
import { Scoring } from "../../src/services/Scoring.ts"
import { claimedAgent } from "../support/agents.ts"
import {
  answerPriceEvent,
  instant,
  moveTo,
  newChallenge,
  newPriceEvent,
  plus,
  predict
} from "../support/challenges.ts"
import { firstPage } from "../support/paging.ts"
import { bases, hourOf, markets } from "../support/prices/markets.ts"
import { testServices } from "../support/services.ts"
import { passing } from "../support/waiting.ts"

const noon = instant("2026-03-10T12:00:00Z")
const eleven = plus(noon, "-1 hours")

/** Runs the job every minute until this many minutes after noon, while the clock moves on as pauses within a run need it. */
const minutesUntil = Effect.fnUntraced(function* (last: number, first: number = 1) {
  for (let minute = first; minute <= last; minute += 3) {
    const start = plus(noon, `${minute} minutes`)
    const now = yield* DateTime.now
    if (DateTime.isGreaterThan(start, now)) yield* moveTo(start)
    yield* passing(
      PriceIngestion.use(({ ingestDue, places }) => Effect.forEach(places, ingestDue)),
      "500 millis"
    )
    yield* Scoring.use((scoring) => scoring.settleDue)
  }
})

const closing = ({ id }: { readonly id: string }) =>
  Effect.map(
    Arenas.use((arenas) => arenas.results(id, firstPage)),
    ({ close_price, resolution_source, status }) => [status, close_price, resolution_source]
  )

const closeOf = (symbol: string, time: DateTime.Utc) =>
  hourOf(bases[symbol] ?? 0, DateTime.toEpochMillis(time))[3]

it.effect("Settlement waits while all places are down for an hour, and then finds every price", () =>
  Effect.gen(function* () {
    yield* moveTo(eleven)
    // The places' own clock, which runs ahead of any moment that the test may ask for.
    const place = yield* markets(() => DateTime.toEpochMillis(plus(noon, "4 hours")))
    const world = Ingestion.layer.pipe(
      Layer.provide(
        Live.layer([
          { exchange: "coinbaseexchange", quote: "USD" },
          { exchange: "kraken", quote: "USD" }
        ])
      ),
      Layer.provide(place.outbound),
      Layer.provideMerge(testServices({ AUSPEX_PRICE_SOURCE: "live", AUSPEX_PRICE_HISTORY: "2 hours" })),
      Layer.provide(Layer.succeed(References.MinimumLogLevel, "Error"))
    )
    yield* Effect.gen(function* () {
      const agent = yield* claimedAgent()
      const ether = yield* newChallenge({ asset: "ETH", deadline: noon, open_price: 3000 })
      const gold = yield* newChallenge({ asset: "GC", deadline: noon, open_price: 2400 })
      for (const challenge of [ether, gold]) yield* predict(agent, challenge)
      const hourOfEther = { kind: "barrier", window_from: eleven, resolve_at: noon, deadline: noon } as const
      const touched = yield* newPriceEvent({ ...hourOfEther, level: closeOf("ETH/USD", eleven) })
      const missed = yield* newPriceEvent({ ...hourOfEther, level: 1 })
      for (const event of [touched, missed]) yield* answerPriceEvent(agent, event)
      for (const each of ["coinbase", "kraken", "yahoo"] as const) {
        place.spoil(each, async () => ({ status: 502, body: "Bad Gateway" }))
      }
      yield* minutesUntil(61)
      assert.deepStrictEqual(
        [yield* closing(ether), yield* closing(gold)],
        [
          ["closed", null, null],
          ["closed", null, null]
        ]
      )
      for (const event of [touched, missed]) assert.strictEqual((yield* closing(event))[0], "closed")
      // One exchange comes back; and Yahoo, with a correction of its first candle.
      for (const each of ["kraken", "yahoo"] as const) place.spoil(each)
      place.alter("yahoo", "GC=F", DateTime.toEpochMillis(eleven), [2400, 2500, 2300, 2450])
      yield* minutesUntil(82, 64)
      assert.deepStrictEqual(yield* closing(ether), [
        "resolved",
        closeOf("ETH/USD", eleven),
        "kraken ETH/USD 1h candle"
      ])
      assert.deepStrictEqual(yield* closing(gold), ["resolved", 2450, "yahoo GC=F 1h candle"])
      for (const [event, result] of [
        [touched, "bullish"],
        [missed, "bearish"]
      ] as const) {
        const settled = yield* Arenas.use((arenas) => arenas.getOf("price_event", event.id))
        assert.deepInclude(settled, { status: "resolved", result })
      }
      // Two hours of all ten, each a price by the same rule.
      for (const asset of ["BTC", "ES", "CL", "ZN", "HG", "NG", "ZS", "DXY"]) {
        const first = yield* Prices.use((prices) => prices.firstBetween(asset, noon, plus(noon, "1 hours")))
        assert.strictEqual(first._tag, "Some", asset)
      }
    }).pipe(Effect.provide(world, { local: true }))
  })
)

it.effect("An hour that Yahoo shows in two ways settles nothing, and the administrator's choice does", () =>
  Effect.gen(function* () {
    yield* moveTo(eleven)
    const place = yield* markets(() => DateTime.toEpochMillis(plus(noon, "4 hours")))
    const world = Ingestion.layer.pipe(
      Layer.provide(Live.layer([{ exchange: "kraken", quote: "USD" }])),
      Layer.provide(place.outbound),
      Layer.provideMerge(testServices({ AUSPEX_PRICE_SOURCE: "live", AUSPEX_PRICE_HISTORY: "1 hour" })),
      Layer.provide(Layer.succeed(References.MinimumLogLevel, "Error"))
    )
    yield* Effect.gen(function* () {
      const gold = yield* newChallenge({ asset: "GC", deadline: noon, open_price: 2400 })
      yield* minutesUntil(16, 16)
      place.alter("yahoo", "GC=F", DateTime.toEpochMillis(eleven), [2400, 2500, 2300, 2450])
      yield* minutesUntil(22, 19)
      assert.deepStrictEqual((yield* closing(gold))[0], "closed")
      const [kept] = (yield* Prices.use((prices) => prices.quarantine(firstPage))).items
      assert.deepStrictEqual(
        [kept?.source, kept?.stored_close, kept?.offered_close],
        ["yahoo GC=F", closeOf("GC=F", eleven), 2450]
      )
      yield* Prices.use((prices) => prices.decide(kept?.id ?? "", { accept: false, reason: "A bad tick." }))
      yield* Scoring.use((scoring) => scoring.settleDue)
      assert.deepStrictEqual(yield* closing(gold), [
        "resolved",
        closeOf("GC=F", eleven),
        "yahoo GC=F 1h candle"
      ])
    }).pipe(Effect.provide(world, { local: true }))
  })
)
