/**
 * What the language-model gateway adds to a call: a provider called directly, through a bare proxy, through Portkey, and
 * through us, with money off and on. Contenders take turns, so that what the machine does meanwhile meets all alike.
 */
import { readFileSync } from "node:fs"
import { Console, Effect, Option } from "effect"
import { caller } from "../gateway/calls.ts"
import type { Caller, CallMeasurement } from "../gateway/calls.ts"
import type { CallJob } from "../gateway/job.ts"
import { ledgerAlone } from "../gateway/ledger.ts"
import { portkey } from "../gateway/portkey.ts"
import { callers, environment, listening, seedCallers } from "../gateway/world.ts"
import * as Database from "../machine/database.ts"
import type { Postgres } from "../machine/database.ts"
import { auspex } from "../machine/processes.ts"
import type { Server } from "../machine/processes.ts"
import type { Plan } from "../options.ts"

export const gatewayContenders = ["direct", "proxy", "portkey", "free", "paid"] as const
export type GatewayContender = (typeof gatewayContenders)[number]

interface Load {
  readonly name: string
  readonly stream: boolean
  readonly padding: number
  readonly connections: number
}

export interface GatewayCase {
  readonly load: string
  readonly connections: number
  readonly rounds: Partial<Record<GatewayContender, ReadonlyArray<CallMeasurement>>>
}

export interface Endurance {
  readonly calls: number
  /** Resident memory in MB: after a tenth of the calls, after half of them, and at the end. */
  readonly memory: ReadonlyArray<number>
}

export interface Gatewayed {
  readonly cases: ReadonlyArray<GatewayCase>
  /** Reservations and settlements alone, in the bench's own process: calls/s in the rounds of so many connections. */
  readonly ledger: ReadonlyArray<{
    readonly connections: number
    readonly perSecond: ReadonlyArray<number>
  }>
  readonly endurance: Endurance
}

const promptPadding = 200_000

/** All are warmed longer than elsewhere: V8 still compiles a service of many functions when it is done with a proxy. */
const warmings = 3

const loads: ReadonlyArray<Load> = [
  ...[1, 16, 64].map((connections) => ({ name: "plain", stream: false, padding: 0, connections })),
  ...[1, 16, 64].map((connections) => ({ name: "stream", stream: true, padding: 0, connections })),
  { name: "prompt of 200 KB", stream: false, padding: promptPadding, connections: 16 }
]

interface Target {
  readonly server: Server
  readonly path: string
  readonly headers: CallJob["headers"]
  readonly model: string
}

const residentMegabytes = (pid: number): number =>
  Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, "latin1"))?.[1] ?? Number.NaN) / 1024

const targets = Effect.fnUntraced(function* (postgres: Postgres) {
  const provider = yield* listening(new URL("../gateway/provider.ts", import.meta.url))
  const proxy = yield* listening(new URL("../gateway/proxy.ts", import.meta.url), String(provider.port))
  const other = yield* portkey
  const url = yield* Database.create(postgres, "bench_gateway")
  const keys = yield* seedCallers.pipe(Effect.provide(Database.patient(url)))
  const server = yield* auspex(url, [], yield* environment(provider.port))
  const ours = {
    server,
    path: "/api/v1/llm/v1/chat/completions",
    headers: keys.map((key) => [`Authorization: Bearer ${key}`])
  }
  const plain = { path: "/v1/chat/completions", headers: [["Authorization: Bearer none"]], model: "free" }
  const all: Partial<Record<GatewayContender, Target>> = {
    direct: { ...plain, server: provider },
    proxy: { ...plain, server: proxy },
    ...(Option.isSome(other) && {
      portkey: {
        ...plain,
        server: other.value,
        headers: [
          [
            "Authorization: Bearer none",
            "x-portkey-provider: openai",
            `x-portkey-custom-host: http://127.0.0.1:${provider.port}/v1`
          ]
        ]
      }
    }),
    free: { ...ours, model: "free" },
    paid: { ...ours, model: "paid" }
  }
  return { all, server, url }
})

const jobOf = (target: Target, load: Load, plan: Plan, seconds: number): CallJob => ({
  port: target.server.port,
  path: target.path,
  headers: target.headers,
  model: target.model,
  stream: load.stream,
  padding: load.padding,
  connections: load.connections,
  rampSeconds: plan.rampSeconds,
  seconds,
  calls: null
})

/** The same call so many times, with a look at the memory. */
const endure = Effect.fnUntraced(function* (call: Caller, target: Target, calls: number) {
  const memory: Array<number> = []
  const load = { name: "plain", stream: false, padding: 0, connections: callers }
  for (const part of [0.1, 0.4, 0.5]) {
    const job: CallJob = {
      port: target.server.port,
      path: target.path,
      headers: target.headers,
      model: target.model,
      ...load,
      rampSeconds: 0,
      seconds: 0,
      calls: Math.round(calls * part)
    }
    yield* call(job, target.server)
    memory.push(residentMegabytes(target.server.pid))
  }
  const endurance: Endurance = { calls, memory }
  return endurance
})

export const gateway = Effect.fnUntraced(function* (postgres: Postgres, plan: Plan) {
  const { all, url } = yield* targets(postgres)
  const call = yield* caller(postgres.pid)
  for (const target of Object.values(all)) {
    for (const load of [loads[1], loads[4]]) {
      if (load !== undefined)
        yield* call(jobOf(target, load, plan, warmings * plan.warmSeconds), target.server)
    }
  }
  yield* ledgerAlone(url, 16, plan.warmSeconds)
  const cases: Array<GatewayCase> = []
  const ledger: Array<Gatewayed["ledger"][number]> = []
  for (const load of loads) {
    const rounds: Partial<Record<GatewayContender, Array<CallMeasurement>>> = {}
    const alone: Array<number> = []
    for (let round = 1; round <= plan.rounds; round++) {
      const said: Array<string> = []
      for (const name of gatewayContenders) {
        const target = all[name]
        if (target === undefined) continue
        const measured = yield* call(jobOf(target, load, plan, plan.seconds), target.server)
        rounds[name] = [...(rounds[name] ?? []), measured]
        said.push(`${name} ${Math.round(measured.perSecond)}/s first ${measured.first50.toFixed(2)} ms`)
      }
      if (load.name === "plain") alone.push(yield* ledgerAlone(url, load.connections, plan.seconds))
      yield* Console.log(
        `  gateway ${load.name}, ${load.connections} connections, round ${round}: ${said.join("; ")}`
      )
    }
    cases.push({ load: load.name, connections: load.connections, rounds })
    if (alone.length > 0) ledger.push({ connections: load.connections, perSecond: alone })
  }
  const enduring = all.paid
  const endurance =
    enduring === undefined ? { calls: 0, memory: [] } : yield* endure(call, enduring, plan.endured)
  const result: Gatewayed = { cases, ledger, endurance }
  return result
}, Effect.scoped)
