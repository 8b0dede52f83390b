/** The prices that are played: hours of a file, or of a random walk made from a seed. */
import { DateTime, Effect, Random } from "effect"
import { CommandFailed } from "../client/connection.ts"
import { readPrices } from "../client/priceFile.ts"

export interface Hour {
  /** What the file calls it. */
  readonly label: string
  readonly open: number
  readonly close: number
}

export interface Tape {
  /** What is played. */
  readonly hours: ReadonlyArray<Hour>
  /** Prices from before, oldest first, which the agents know from the start, as anybody knows the past. */
  readonly history: ReadonlyArray<number>
  /** In percent: a third of the tape's hours move less. */
  readonly deadZone: number
}

const minDeadZone = 0.01
const maxHistory = 24

/** A dead zone that makes neutral about as likely as the other two. */
const tercileOf = (hours: ReadonlyArray<Hour>): number => {
  const moves = hours.map(({ close, open }) => Math.abs(close / open - 1) * 100).sort((a, b) => a - b)
  const third = moves[Math.floor(moves.length / 3)] ?? 0
  return Math.max(minDeadZone, Math.round(third * 100) / 100)
}

const labelOf = (time: DateTime.Utc): string => DateTime.formatIso(time).slice(0, 16).replace("T", " ")

/** Cuts the hours in two: at `start`, or where a day of history is left and enough to play. */
const cut = (hours: ReadonlyArray<Hour>, rounds: number, start: number | undefined): Tape => {
  const first = start ?? Math.max(0, Math.min(maxHistory, hours.length - rounds))
  return {
    hours: hours.slice(first, first + rounds),
    history: hours.slice(Math.max(0, first - maxHistory), first).map(({ open }) => open),
    deadZone: tercileOf(hours)
  }
}

/** So many hours of a file of candles, from `from` on when it is given. */
export const fromFile = Effect.fnUntraced(function* (
  file: string,
  rounds: number,
  from: DateTime.Utc | undefined
) {
  const read = yield* readPrices(file)
  if ("quotes" in read) {
    return yield* new CommandFailed({
      message: `${file}: the demonstration plays candles; expected the columns time,open,high,low,close.`
    })
  }
  const hours = read.candles.map(({ close, open, time }) => ({ open, close, label: labelOf(time) }))
  if (hours.some(({ open, close }) => open <= 0 || close <= 0)) {
    return yield* new CommandFailed({ message: `${file}: prices that are played must be above 0.` })
  }
  if (from === undefined) return cut(hours, rounds, undefined)
  const start = read.candles.findIndex(({ time }) => DateTime.isGreaterThanOrEqualTo(time, from))
  if (start !== -1) return cut(hours, rounds, start)
  return yield* new CommandFailed({ message: `${file} has no hour at or after ${DateTime.formatIso(from)}.` })
})

const firstPrice = 1000
/** Standard deviation of an hourly move, in percent: like a lively crypto asset. */
const hourlyMove = 0.4

const normal = Effect.map(
  Effect.all([Random.next, Random.next]),
  ([radius, angle]) => Math.sqrt(-2 * Math.log(1 - radius)) * Math.cos(2 * Math.PI * angle)
)

/** A random walk: nobody can foresee it, so honest agents end near 50. */
export const synthetic = (rounds: number, seed: number): Effect.Effect<Tape> =>
  Effect.gen(function* () {
    const hours: Array<Hour> = []
    let open = firstPrice
    for (let number = 1 - maxHistory; number <= rounds; number++) {
      const close = Math.round(open * (1 + ((yield* normal) * hourlyMove) / 100) * 100) / 100
      hours.push({ label: `hour ${number}, made up`, open, close })
      open = close
    }
    return cut(hours, rounds, undefined)
  }).pipe(Random.withSeed(seed))
