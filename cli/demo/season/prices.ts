/** Made-up prices of a season, as files that a server replays: hours of ten assets, those that close with their nights. */
import { DateTime, Effect, FileSystem, Path, Random } from "effect"

interface Walk {
  readonly asset: string
  readonly first: number
  readonly decimals: number
  /** Standard deviation of an hourly move, in percent, about as the market has it. */
  readonly hourly: number
  readonly closes: boolean
}

const future = (asset: string, first: number, decimals: number, hourly: number): Walk => ({
  asset,
  first,
  decimals,
  hourly,
  closes: true
})
const crypto = (asset: string, first: number, hourly: number): Walk => ({
  asset,
  first,
  decimals: 2,
  hourly,
  closes: false
})

const walks: ReadonlyArray<Walk> = [
  future("GC", 2650, 1, 0.16),
  future("ES", 5900, 2, 0.18),
  future("CL", 71, 2, 0.35),
  future("ZN", 109, 3, 0.06),
  future("HG", 4.2, 3, 0.25),
  future("NG", 3.4, 3, 0.65),
  future("ZS", 1010, 2, 0.22),
  future("DXY", 106, 3, 0.07),
  crypto("BTC", 95_000, 0.45),
  crypto("ETH", 3300, 0.6)
]

export const assets = walks.map(({ asset }) => asset)

const hour = 3_600_000

/** Futures trade from Sunday evening to Friday evening, and rest for an hour each day. */
const isOpen = ({ closes }: Walk, time: number): boolean => {
  if (!closes) return true
  const hourOfWeek = (Math.floor(time / hour) + 4 * 24) % (7 * 24)
  const rests = hourOfWeek % 24 === 22
  return hourOfWeek >= 23 && hourOfWeek < 5 * 24 + 22 && !rests
}

const normal = Effect.map(
  Effect.all([Random.next, Random.next]),
  ([radius, angle]) => Math.sqrt(-2 * Math.log(1 - radius)) * Math.cos(2 * Math.PI * angle)
)

const fileOf = Effect.fnUntraced(function* (walk: Walk, from: number, weeks: number) {
  const lines = ["time,open,high,low,close"]
  const rounded = (price: number) => Number(price.toFixed(walk.decimals))
  let open = walk.first
  for (let time = from; time < from + weeks * 7 * 24 * hour; time += hour) {
    if (!isOpen(walk, time)) continue
    const move = walk.hourly / 100
    const close = rounded(open * (1 + (yield* normal) * move))
    const reach = Math.abs(yield* normal) * move * 0.5
    const high = rounded(Math.max(open, close) * (1 + reach))
    const low = rounded(Math.min(open, close) * (1 - reach))
    lines.push(`${DateTime.formatIso(DateTime.makeUnsafe(time))},${open},${high},${low},${close}`)
    open = close
  }
  return `${lines.join("\n")}\n`
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
    const text = yield* fileOf(walk, DateTime.toEpochMillis(from), weeks).pipe(Random.withSeed(seed + index))
    yield* fs.writeFileString(path.join(directory, `${walk.asset}-1h-made-up.csv`), text)
  }
  return directory
})
