/** Recorded prices: whole weeks, repeated, so that now is always covered and a shown hour stays the same. */
import * as NodeServices from "@effect/platform-node/NodeServices"
import { assert, it } from "@effect/vitest"
import { DateTime, Effect, FileSystem, Layer, Path } from "effect"
import { parse } from "csv-parse/sync"
import { readFileSync } from "node:fs"
import { fileURLToPath } from "node:url"
import * as Replay from "../../src/layers/prices/Replay.ts"
import { PriceSource } from "../../src/services/PriceSource.ts"
import { instant, moveTo, plus } from "../support/challenges.ts"

const recordings = fileURLToPath(new URL("../support/prices/recordings/", import.meta.url))

const rows = parse<Record<string, string>>(readFileSync(`${recordings}/ETH-1h-2023-01.csv`), {
  columns: true
})

const replay = Replay.layer(recordings).pipe(Layer.provide(NodeServices.layer))

const read = Effect.fnUntraced(function* (asset: string, from: DateTime.Utc, until: DateTime.Utc) {
  const source = yield* PriceSource
  const feed = source.feeds.find((each) => each.asset === asset)
  if (feed === undefined) return yield* Effect.die(`no feed of ${asset}`)
  const { readings } = yield* source.read(feed, { from, until })
  return readings.flatMap(({ candles }) => candles)
})

it.effect("A replay shifts its recording by whole weeks: the hour and the weekday stay", () =>
  Effect.gen(function* () {
    const from = instant("2026-11-21T00:00:00Z")
    yield* moveTo(plus(from, "1 days"))
    const shown = yield* read("ETH", from, plus(from, "24 hours"))
    assert.lengthOf(shown, 24)
    // A Saturday; the recording begins with a Sunday and has two weeks.
    const weeks = (DateTime.toEpochMillis(from) - Date.parse("2023-01-07T00:00:00Z")) / 604_800_000
    assert.isTrue(Number.isInteger(weeks))
    const first = rows.findIndex((row) =>
      row["time"]?.startsWith(weeks % 2 === 0 ? "2023-01-07" : "2023-01-14")
    )
    assert.deepStrictEqual(
      shown.map(({ close, high, low, open }) => [open, high, low, close].map(String)),
      rows
        .slice(first, first + 24)
        .map((row) =>
          [row["open"], row["high"], row["low"], row["close"]].map((value) => String(Number(value)))
        )
    )
  }).pipe(Effect.provide(replay))
)

it.effect("A replay shows the same for an hour whenever it starts, and repeats when it is over", () =>
  Effect.gen(function* () {
    const from = instant("2026-11-21T00:00:00Z")
    const shownAt = Effect.fnUntraced(function* (start: DateTime.Utc) {
      yield* moveTo(start)
      return yield* read("ETH", from, plus(from, "15 days")).pipe(Effect.provide(replay, { local: true }))
    })
    const early = yield* shownAt(from)
    assert.lengthOf(early, 15 * 24)
    assert.deepStrictEqual(yield* shownAt(plus(from, "100 days")), early)
    assert.deepStrictEqual(
      early.slice(0, 24).map(({ close }) => close),
      early.slice(14 * 24).map(({ close }) => close)
    )
  })
)

it.effect("A replay's days have a close and no more, and weekends have none and are no gaps", () =>
  Effect.gen(function* () {
    const source = yield* PriceSource
    assert.deepStrictEqual(
      source.feeds.map(({ asset, continuous, interval }) => [asset, interval, continuous]),
      [
        ["CL", "1d", false],
        ["ETH", "1h", true]
      ]
    )
    const from = instant("2026-11-14T00:00:00Z")
    const shown = yield* read("CL", from, plus(from, "7 days"))
    assert.isAtLeast(shown.length, 4)
    assert.isTrue(shown.every(({ time }) => ![0, 6].includes(DateTime.getPartUtc(time, "weekDay"))))
    assert.isTrue(shown.every(({ close, high, low, open }) => new Set([close, high, low, open]).size === 1))
  }).pipe(Effect.provide(replay))
)

it.effect.each([
  ["an empty folder", {}, "has no file named ASSET-1h-*.csv"],
  [
    "a row without a price",
    { "BTC-1h-x.csv": "time,open,high,low,close\n2023-01-01T00:00:00Z,1,2,1,\n" },
    "BTC-1h-x.csv"
  ],
  ...[
    "",
    " ",
    "0x10",
    "1e3",
    "1_000",
    "１２",
    "١٢",
    "1,000",
    "n/a",
    "NaN",
    "Infinity",
    "+1",
    "01",
    "1.",
    ".5"
  ].map(
    (price) =>
      [
        `the price ${JSON.stringify(price)}`,
        { "BTC-1h-x.csv": `time,open,high,low,close\n2023-01-01T00:00:00Z,1,2,1,"${price}"\n` },
        "Expected a number such as 12.5"
      ] as const
  ),
  [
    "a daily close without a value",
    { "CL-1d-x.csv": "date,close\n2023-01-03,\n" },
    "Expected a number such as 12.5"
  ],
  [
    "an hour with two values, in two files",
    {
      "BTC-1h-a.csv": "time,open,high,low,close\n2023-01-01T00:00:00Z,1,2,1,1\n",
      "BTC-1h-b.csv": "time,open,high,low,close\n2023-01-01T00:00:00Z,1,2,1,2\n"
    },
    "two candles of 2023-01-01T00:00:00.000Z have different values"
  ],
  [
    "a price that cannot be",
    { "BTC-1h-x.csv": "time,open,high,low,close\n2023-01-01T00:00:00Z,3,2,1,1\n" },
    "Expected low <= open"
  ],
  [
    "a time within the hour",
    { "BTC-1h-x.csv": "time,open,high,low,close\n2023-01-01T00:30:00Z,1,2,1,1\n" },
    "is not the open time of a 1h candle"
  ],
  [
    "less than a week",
    { "BTC-1h-x.csv": "time,open,high,low,close\n2023-01-01T00:00:00Z,1,2,1,1\n" },
    "has less than a week"
  ]
] as const)("A replay refuses %s with the reason", ([, files, why]) =>
  Effect.gen(function* () {
    const disk = yield* FileSystem.FileSystem
    const directory = yield* disk.makeTempDirectoryScoped()
    for (const [name, text] of Object.entries(files)) {
      yield* disk.writeFileString((yield* Path.Path).join(directory, name), text)
    }
    const refused = yield* Effect.flip(Layer.build(Replay.layer(directory)))
    assert.include(refused.message, why)
  }).pipe(Effect.scoped, Effect.provide(NodeServices.layer))
)
