/** Contenders in turn, round after round, so that what the machine does meanwhile meets all of them alike. */
import { Console, Effect } from "effect"
import type { Measurement } from "../measurement.ts"

/** `plain` is the service without what it gains by company: each submission its own statement, no list kept for a second. */
export const contenders = ["auspex", "plain", "fastify", "pgbench"] as const
export type Contender = (typeof contenders)[number]

/** All rounds of one load. */
export interface Case {
  readonly scenario: string
  readonly load: string
  readonly connections: number
  readonly rounds: Partial<Record<Contender, ReadonlyArray<Measurement>>>
}

export const inTurn = Effect.fnUntraced(function* <E, R>(
  scenario: string,
  load: string,
  connections: number,
  rounds: number,
  competing: Partial<Record<Contender, Effect.Effect<Measurement, E, R>>>
) {
  const measured: Partial<Record<Contender, Array<Measurement>>> = {}
  for (let round = 1; round <= rounds; round++) {
    const said: Array<string> = []
    for (const contender of contenders) {
      const run = competing[contender]
      if (run === undefined) continue
      const measurement = yield* run
      measured[contender] = [...(measured[contender] ?? []), measurement]
      said.push(`${contender} ${Math.round(measurement.perSecond)}/s p99 ${measurement.p99.toFixed(1)} ms`)
    }
    yield* Console.log(
      `  ${scenario} ${load}, ${connections} connections, round ${round}: ${said.join("; ")}`
    )
  }
  const result: Case = { scenario, load, connections, rounds: measured }
  return result
})
