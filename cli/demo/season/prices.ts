/** Made-up prices of a season, as files that a server replays: daily closes of futures, and hours of crypto assets. */
import { DateTime, Effect, FileSystem, Path, Random } from "effect"

interface Walk {
  readonly asset: string
  readonly first: number
  readonly decimals: number
  /** Standard deviation of a daily move, in percent, about as the market has it. */
  readonly daily: number
  readonly interval: "1d" | "1h"
}

const walk = (
  asset: string,
  first: number,
  decimals: number,
  daily: number,
  interval: Walk["interval"] = "1d"
): Walk => ({ asset, first, decimals, daily, interval })

const walks: ReadonlyArray<Walk> = [
  walk("GC", 2650, 1, 0.9),
  walk("ES", 5900, 2, 1),
  walk("CL", 71, 2, 2),
  walk("ZN", 109, 3, 0.35),
  walk("HG", 4.2, 3, 1.4),
  walk("NG", 3.4, 3, 3.5),
  walk("ZS", 1010, 2, 1.2),
  walk("DXY", 106, 3, 0.4),
  walk("BTC", 95_000, 2, 2.2, "1h"),
  walk("ETH", 3300, 2, 3, "1h")
]

export const assets = walks.map(({ asset }) => asset)

const hour = 3_600_000
const day = 24 * hour

/** 1970-01-01 was a Thursday. */
const isWeekend = (time: number): boolean => (Math.floor(time / day) + 3) % 7 > 4

const normal = Effect.map(
  Effect.all([Random.next, Random.next]),
  ([radius, angle]) => Math.sqrt(-2 * Math.log(1 - radius)) * Math.cos(2 * Math.PI * angle)
)

const times = (from: number, weeks: number, step: number): ReadonlyArray<DateTime.Utc> =>
  Array.from({ length: (weeks * 7 * day) / step }, (_, index) => DateTime.makeUnsafe(from + index * step))

const closes = Effect.fnUntraced(function* (walk: Walk, from: number, weeks: number) {
  const lines = ["date,close"]
  let price = walk.first
  for (const time of times(from, weeks, day)) {
    if (isWeekend(DateTime.toEpochMillis(time))) continue
    price *= 1 + ((yield* normal) * walk.daily) / 100
    lines.push(`${DateTime.formatIsoDateUtc(time)},${price.toFixed(walk.decimals)}`)
  }
  return lines
})

const hours = Effect.fnUntraced(function* (walk: Walk, from: number, weeks: number) {
  const lines = ["time,open,high,low,close"]
  const deviation = walk.daily / 100 / Math.sqrt(24)
  const rounded = (price: number) => Number(price.toFixed(walk.decimals))
  let open = walk.first
  for (const time of times(from, weeks, hour)) {
    const close = rounded(open * (1 + (yield* normal) * deviation))
    const reach = Math.abs(yield* normal) * deviation * 0.5
    const high = rounded(Math.max(open, close) * (1 + reach))
    const low = rounded(Math.min(open, close) * (1 - reach))
    lines.push(`${DateTime.formatIso(time)},${open},${high},${low},${close}`)
    open = close
  }
  return lines
})

/** Writes whole weeks of prices, the same ones for a seed, and answers the folder. It is gone when the scope closes. */
export const madeUp = Effect.fn("demo.season.prices")(function* (
  from: DateTime.Utc,
  weeks: number,
  seed: number
) {
  const fs = yield* FileSystem.FileSystem
  const path = yield* Path.Path
  const directory = yield* fs.makeTempDirectoryScoped({ prefix: "auspex-season-" })
  for (const [index, walk] of walks.entries()) {
    const made = walk.interval === "1d" ? closes : hours
    const lines = yield* made(walk, DateTime.toEpochMillis(from), weeks).pipe(Random.withSeed(seed + index))
    const file = path.join(directory, `${walk.asset}-${walk.interval}-made-up.csv`)
    yield* fs.writeFileString(file, `${lines.join("\n")}\n`)
  }
  return directory
})
