/** The command line, and how long everything takes. */
import { parseArgs } from "node:util"

/** What is run when nothing is said; the others take minutes of their own. */
const usualScenarios = ["predict", "leaderboard", "settlement"] as const
export const scenarios = [
  ...usualScenarios,
  "stakes",
  "pool-settlement",
  "log",
  "growth",
  "feed",
  "gateway"
] as const
export type Scenario = (typeof scenarios)[number]

export interface Plan {
  readonly connections: ReadonlyArray<number>
  /** Each contender in turn, so often. */
  readonly rounds: number
  /** Of a round: at first not counted, then counted. */
  readonly rampSeconds: number
  readonly seconds: number
  /** A server that has just started is slower for a while. */
  readonly warmSeconds: number
  /** Predictions on one challenge that is settled. */
  readonly settled: ReadonlyArray<number>
  /** Stakes in a pool that is settled. */
  readonly staked: number
  /** Entries that wait, of which the rate of sequencing is measured. */
  readonly sequenced: number
  /** Agents, and comments that they wrote, among which a page of the feed is read. */
  readonly feedAgents: number
  readonly feedComments: number
  /** Predictions in the databases that reads are measured on. */
  readonly grown: ReadonlyArray<number>
  /** Calls of models during which the gateway's memory is looked at. */
  readonly endured: number
}

const usual: Plan = {
  connections: [32, 64],
  rounds: 3,
  rampSeconds: 0.5,
  seconds: 1.25,
  warmSeconds: 5,
  settled: [100_000, 1_000_000],
  staked: 100_000,
  sequenced: 300_000,
  grown: [10_000, 100_000, 1_000_000],
  feedAgents: 100_000,
  feedComments: 2_000_000,
  endured: 100_000
}

const quick: Plan = {
  ...usual,
  rounds: 1,
  warmSeconds: 2,
  settled: [100_000],
  staked: 20_000,
  sequenced: 100_000,
  grown: [10_000, 100_000],
  feedComments: 200_000,
  endured: 20_000
}

export interface Options {
  readonly plan: Plan
  readonly only: ReadonlyArray<Scenario>
  readonly json: string | undefined
  readonly profile: string | undefined
  readonly plans: string | undefined
}

export const help = `npm run bench -- [SCENARIO] [options]

  --quick              one short round each, 100 000 settled, about two minutes
  --only SCENARIO      predict, leaderboard, settlement, or one that is run only when it is asked for:
                       stakes (on one pool, and on 100), pool-settlement (a pool of 100 000 stakes), log
                       (predicting with the public log and without it), growth (what every read costs at
                       10 000, 100 000 and 1 000 000 predictions), feed (a page of the feed among
                       100 000 agents and 2 000 000 comments), gateway (calls of models: directly,
                       through a bare proxy, through Portkey's gateway, and through ours); may be repeated
  --rounds N           rounds of each contender (${usual.rounds})
  --seconds N          counted seconds of each round (${usual.seconds})
  --connections N,N    ${usual.connections.join(",")}
  --json FILE          writes every round and all ratios
  --plans FILE         writes the plans of every read at the largest size as Markdown (with --only growth)
  --profile FOLDER     instead: a .cpuprofile of the server under predict load, and of the plain one under leaderboard
                       load, with its summary
  --help`

const number = (name: string, text: string | undefined, otherwise: number): number => {
  if (text === undefined) return otherwise
  const value = Number(text)
  if (!(value > 0)) throw new Error(`--${name} takes a number above 0, not ${text}`)
  return value
}

const scenario = (text: string): Scenario => {
  const found = scenarios.find((name) => name === text)
  if (found === undefined) throw new Error(`--only takes ${scenarios.join(", ")}, not ${text}`)
  return found
}

/** Throws with a line for the user. `undefined` when only help was asked for. */
export const parseOptions = (args: ReadonlyArray<string>): Options | undefined => {
  const { positionals, values } = parseArgs({
    args: [...args],
    allowPositionals: true,
    options: {
      quick: { type: "boolean", default: false },
      only: { type: "string", multiple: true },
      rounds: { type: "string" },
      seconds: { type: "string" },
      connections: { type: "string" },
      json: { type: "string" },
      profile: { type: "string" },
      plans: { type: "string" },
      help: { type: "boolean", default: false }
    }
  })
  if (values.help) return undefined
  const named = [...positionals, ...(values.only ?? [])].map(scenario)
  const base = values.quick ? quick : usual
  return {
    plan: {
      ...base,
      rounds: Math.round(number("rounds", values.rounds, base.rounds)),
      seconds: number("seconds", values.seconds, base.seconds),
      connections:
        values.connections?.split(",").map((each) => Math.round(number("connections", each, 1))) ??
        base.connections
    },
    only: named.length === 0 ? usualScenarios : named,
    json: values.json,
    profile: values.profile,
    plans: values.plans
  }
}
