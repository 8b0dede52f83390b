/** The command line. */
import { parseArgs } from "node:util"

export const scenarios = ["predict", "log", "settlement", "gateway", "growth"] as const
export type Scenario = (typeof scenarios)[number]

export interface Sizes {
  /** Rounds of each contender. */
  readonly rounds: number
  /** The beginning of a round, which does not count. */
  readonly rampSeconds: number
  readonly seconds: number
  /** A server becomes faster for about 13 s of load, while its code is compiled. */
  readonly warmSeconds: number
  /** Predictions on the one challenge that is settled. */
  readonly settled: number
  /** Resolved challenges in the database of which a page of open ones is read. */
  readonly past: number
  /** Predictions in the databases in which reads are measured. */
  readonly grown: ReadonlyArray<number>
}

const usual: Sizes = {
  rounds: 3,
  rampSeconds: 2,
  seconds: 1.5,
  warmSeconds: 15,
  settled: 1_000_000,
  past: 1_000_000,
  grown: [10_000, 100_000, 1_000_000]
}

const quick: Sizes = {
  ...usual,
  rounds: 1,
  warmSeconds: 2,
  settled: 100_000,
  past: 100_000,
  grown: [10_000, 100_000]
}

export interface Options {
  readonly chosen: ReadonlyArray<Scenario>
  readonly sizes: Sizes
  readonly json: string | undefined
}

export const help = `npm run bench -- [SCENARIO...] [options]

Scenarios, all of them unless some are named:
  predict       predictions, beside Fastify + pg, pgbench and batches; open questions beside the leaderboard
  log           what keeping the public log adds to the processor time of a prediction
  settlement    one challenge that everybody predicted, beside the bare statements, and others' requests meanwhile
  gateway       model calls: directly, through a bare proxy, through Portkey's gateway and through ours
  growth        what each read costs as the tables grow; its plans are written to .auspex/bench

  --quick              one round each, 100 000 settled, reads at 10 000 and 100 000
  --settled N          predictions on the settled challenge (${usual.settled})
  --grown N,N          predictions in the databases of growth (${usual.grown.join(",")})
  --json FILE          writes everything that was measured
  --help`

const number = (name: string, text: string): number => {
  const value = Number(text)
  if (!(value > 0)) throw new Error(`--${name} takes a number above 0, not ${text}`)
  return value
}

const integers = (name: string, text: string): ReadonlyArray<number> =>
  text.split(",").map((each) => Math.round(number(name, each)))

const scenario = (text: string): Scenario => {
  const found = scenarios.find((name) => name === text)
  if (found === undefined) throw new Error(`there is no scenario ${text}: ${scenarios.join(", ")}`)
  return found
}

/** Throws with a line for the user. The result is `undefined` if only help was requested. */
export const parseOptions = (args: ReadonlyArray<string>): Options | undefined => {
  const { positionals, values } = parseArgs({
    args: [...args],
    allowPositionals: true,
    options: {
      quick: { type: "boolean", default: false },
      settled: { type: "string" },
      grown: { type: "string" },
      json: { type: "string" },
      help: { type: "boolean", default: false }
    }
  })
  if (values.help) return undefined
  const { grown, settled } = values
  return {
    chosen: positionals.length === 0 ? scenarios : positionals.map(scenario),
    sizes: {
      ...(values.quick ? quick : usual),
      ...(settled !== undefined && { settled: Math.round(number("settled", settled)) }),
      ...(grown !== undefined && { grown: integers("grown", grown) })
    },
    json: values.json
  }
}
