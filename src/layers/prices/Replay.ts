/**
 * Recorded prices, repeated endlessly. A recording of n whole weeks is repeated every n weeks, so every moment has the price of its
 * weekday and hour, and the same one after a restart.
 */
import { createHash } from "node:crypto"
import { DateTime, Duration, Effect, FileSystem, Layer, Path, Schema } from "effect"
import { Candle } from "../../services/Prices.ts"
import { PriceSource, PriceSourceUnusable, SourceFailed } from "../../services/PriceSource.ts"
import type { Feed, Reading, Window } from "../../services/PriceSource.ts"
import { NumberFromText } from "../../services/domain/numbers.ts"
import { Instant } from "../../services/domain/text.ts"

const week = Duration.toMillis(Duration.weeks(1))
const stepOf = { "1h": 3_600_000, "1d": 86_400_000 }
const fileName = /^([A-Z0-9]{1,20})-(1h|1d)-.+\.csv$/

const HourRow = Schema.Struct({
  time: Instant,
  open: NumberFromText,
  high: NumberFromText,
  low: NumberFromText,
  close: NumberFromText
})

/** Daily recordings have the close only, so their candles are flat. */
const DayRow = Schema.Struct({
  date: Schema.String.check(Schema.isPattern(/^\d{4}-\d{2}-\d{2}$/)).pipe(
    Schema.decodeTo(Schema.DateTimeUtcFromString)
  ),
  close: NumberFromText
})

const decodeHours = Schema.decodeUnknownEffect(Schema.Array(HourRow))
const decodeDays = Schema.decodeUnknownEffect(Schema.Array(DayRow))
const checkCandles = Schema.decodeUnknownEffect(Schema.Array(Schema.toType(Candle)))

interface Recording {
  readonly feed: Feed
  readonly candles: ReadonlyMap<number, Candle>
  /** The open time of the first candle. */
  readonly first: number
  /** The length of one round. */
  readonly period: number
  readonly payloadHash: Uint8Array
}

/** The parser is imported here, so that a service without recordings does not load it. */
const parser = Effect.promise(() => import("csv-parse/sync"))

/** Parses the candles of a recording's text. */
export const candlesOf = Effect.fnUntraced(function* (interval: Feed["interval"], text: string) {
  const { parse } = yield* parser
  const parsed: unknown = yield* Effect.try({
    try: () => parse(text, { columns: true, skip_empty_lines: true, trim: true }),
    catch: (error) => String(error)
  })
  if (interval === "1h") return yield* Effect.flatMap(decodeHours(parsed), checkCandles)
  const days = yield* decodeDays(parsed)
  return yield* checkCandles(
    days.map(({ close, date }) => ({ time: date, open: close, high: close, low: close, close }))
  )
})

const sameCandle = Schema.toEquivalence(Schema.toType(Candle))

/** Finds the first time at which two candles differ. */
const contradiction = (
  candles: ReadonlyArray<Candle>,
  byTime: ReadonlyMap<number, Candle>
): DateTime.Utc | undefined =>
  candles.find((candle) => {
    const other = byTime.get(DateTime.toEpochMillis(candle.time))
    return other !== undefined && !sameCandle(candle, other)
  })?.time

/** A recording with at least this share of its hours comes from a market that never closes. */
const nearlyAll = 0.99

const recordingOf = (
  asset: Pick<Feed, "asset" | "interval">,
  candles: ReadonlyArray<Candle>,
  bytes: ReadonlyArray<Uint8Array>
): Recording | string => {
  const step = stepOf[asset.interval]
  const byTime = new Map(candles.map((candle) => [DateTime.toEpochMillis(candle.time), candle]))
  const times = [...byTime.keys()].sort((left, right) => left - right)
  const [first = 0] = times
  const period = Math.floor(((times.at(-1) ?? 0) + step - first) / week) * week
  const misplaced = times.find((time) => time % step !== 0)
  if (misplaced !== undefined) {
    return `${DateTime.formatIso(DateTime.makeUnsafe(misplaced))} is not the open time of a ${asset.interval} candle`
  }
  const contested = contradiction(candles, byTime)
  if (contested !== undefined) {
    return `two candles of ${DateTime.formatIso(contested)} have different values`
  }
  if (period === 0) return `${asset.asset} ${asset.interval} has less than a week`
  const feed = {
    ...asset,
    place: "files",
    continuous: byTime.size * step >= nearlyAll * period,
    lag: Duration.zero
  }
  const hash = createHash("sha256")
  for (const each of bytes) hash.update(each)
  return { feed, candles: byTime, first, period, payloadHash: new Uint8Array(hash.digest()) }
}

/** The candles of a window, each with its time in the replay. */
const played = ({ candles, feed, first, period }: Recording, { from, until }: Window) => {
  const step = stepOf[feed.interval]
  const begin = Math.ceil(DateTime.toEpochMillis(from) / step) * step
  const count = Math.max(0, Math.floor((DateTime.toEpochMillis(until) - begin) / step))
  return Array.from({ length: count }, (_, index) => begin + index * step).flatMap((time) => {
    const recordedAt = first + ((((time - first) % period) + period) % period)
    const candle = candles.get(recordedAt)
    return candle === undefined ? [] : [{ ...candle, time: DateTime.makeUnsafe(time) }]
  })
}

const load = Effect.fnUntraced(function* (directory: string) {
  const files = yield* FileSystem.FileSystem
  const path = yield* Path.Path
  const unusable = (message: string) => new PriceSourceUnusable({ message })
  const names = yield* files
    .readDirectory(directory)
    .pipe(
      Effect.mapError(() => unusable(`AUSPEX_PRICE_REPLAY_DIR=${JSON.stringify(directory)} cannot be read.`))
    )
  const groups = Map.groupBy(
    names.filter((name) => fileName.test(name)).sort(),
    (name) => fileName.exec(name)?.slice(1, 3).join("-") ?? ""
  )
  if (groups.size === 0) {
    return yield* unusable(
      `AUSPEX_PRICE_REPLAY_DIR=${JSON.stringify(directory)} has no file named ASSET-1h-*.csv or ASSET-1d-*.csv.`
    )
  }
  return yield* Effect.forEach([...groups], ([key, members]) =>
    Effect.gen(function* () {
      const [asset = "", word] = key.split("-")
      const interval = word === "1h" ? "1h" : "1d"
      const read = yield* Effect.forEach(members, (name) =>
        Effect.gen(function* () {
          const bytes = yield* files.readFile(path.join(directory, name))
          return { bytes, candles: yield* candlesOf(interval, new TextDecoder().decode(bytes)) }
        }).pipe(Effect.mapError((error) => unusable(`${name} cannot be replayed: ${String(error)}`)))
      )
      const feed = { asset, interval } as const
      const recording = recordingOf(
        feed,
        read.flatMap(({ candles }) => candles),
        read.map(({ bytes }) => bytes)
      )
      if (typeof recording === "string") {
        return yield* unusable(`${members.join(", ")} cannot be replayed: ${recording}.`)
      }
      return recording
    })
  )
})

/** The files of a folder: `ASSET-1h-*.csv` and `ASSET-1d-*.csv`. */
export const layer = (directory: string) =>
  Layer.effect(
    PriceSource,
    Effect.gen(function* () {
      const recordings = yield* load(directory)
      const read: PriceSource["Service"]["read"] = Effect.fn("PriceSource.read")(function* (feed, window) {
        const recording = recordings.find(
          (each) => each.feed.asset === feed.asset && each.feed.interval === feed.interval
        )
        if (recording === undefined) {
          return yield* new SourceFailed({ reason: `no recording of ${feed.asset}`, kind: "unknown" })
        }
        const fetchedAt = yield* DateTime.now
        const reading: Reading = {
          source: "replay",
          candles: played(recording, window),
          fetchedAt,
          payloadHash: recording.payloadHash
        }
        return { readings: [reading], complete: true }
      })
      return PriceSource.of({ feeds: recordings.map(({ feed }) => feed), read })
    })
  )
