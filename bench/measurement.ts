/** The measurements of one contender in one round, and comparisons of rounds. */
import { Console, Effect } from "effect"

export interface Measurement {
  readonly requests: number
  readonly perSecond: number
  /** Milliseconds. */
  readonly p50: number
  readonly p99: number
  /** The median milliseconds to the first byte of the body. */
  readonly firstByte: number
  /** Microseconds of processor time a request; null if they are unknown or there is no such process. */
  readonly serverMicros: number | null
  readonly postgresMicros: number | null
}

export const median = (values: ReadonlyArray<number>): number => {
  const sorted = [...values].sort((one, other) => one - other)
  const middle = sorted.length / 2
  const high = sorted[Math.floor(middle)] ?? Number.NaN
  return Number.isInteger(middle) ? ((sorted[middle - 1] ?? Number.NaN) + high) / 2 : high
}

export const quantile = (values: ReadonlyArray<number>, share: number): number => {
  const sorted = Float64Array.from(values).sort()
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0
}

type Rounds = ReadonlyArray<Measurement>

/** The median over the rounds; null if a round lacks the value. */
export const medianOf = (rounds: Rounds, figure: keyof Measurement): number | null => {
  const known = rounds.map((round) => round[figure]).filter((value) => value !== null)
  return known.length === 0 ? null : median(known)
}

/** The median of one's value divided by the other's in the same round; null if either did not run. */
export const ratio = (
  ones: Rounds | undefined,
  others: Rounds | undefined,
  figure: "perSecond" | "p99" | "firstByte"
): number | null => {
  const each = (ones ?? []).flatMap((one, round) => {
    const other = others?.[round]
    return other === undefined ? [] : [one[figure] / other[figure]]
  })
  return each.length === 0 ? null : median(each)
}

/** All rounds of one load, by contender. */
export interface Case {
  readonly load: string
  readonly connections: number
  readonly rounds: Readonly<Record<string, Rounds>>
}

/** Runs the contenders in turn, round after round, so that a disturbance of the machine affects all equally. */
export const inTurn = Effect.fnUntraced(function* <E, R>(
  load: string,
  connections: number,
  rounds: number,
  contenders: Readonly<Record<string, Effect.Effect<Measurement, E, R>>>
) {
  const measured: Record<string, Array<Measurement>> = {}
  for (let round = 1; round <= rounds; round++) {
    const parts: Array<string> = []
    for (const [name, run] of Object.entries(contenders)) {
      const measurement = yield* run
      measured[name] = [...(measured[name] ?? []), measurement]
      parts.push(`${name} ${Math.round(measurement.perSecond)}/s p50 ${measurement.p50.toFixed(1)} ms`)
    }
    yield* Console.log(`  ${load}, ${connections} connections, round ${round}: ${parts.join("; ")}`)
  }
  const result: Case = { load, connections, rounds: measured }
  return result
})
