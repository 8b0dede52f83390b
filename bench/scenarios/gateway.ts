/** Model calls: to a provider directly, through a bare proxy, through Portkey's gateway and through ours, with and without charges. */
import { writeFileSync } from "node:fs"
import { join } from "node:path"
import { Effect, Option } from "effect"
import { SqlClient } from "effect/sql"
import { makeGatewayKey, sha256 } from "../../src/layers/crypto/secrets.ts"
import { agents } from "../../test/support/growth/agents.ts"
import { agentId, ownerId } from "../../test/support/growth/identifiers.ts"
import * as Database from "../machine/database.ts"
import { auspex, listening, temporaryFolder } from "../machine/processes.ts"
import type { Server } from "../machine/processes.ts"
import type { Bench } from "../main.ts"
import { inTurn, ratio } from "../measurement.ts"
import type { Case } from "../measurement.ts"
import { atLeast, atMost, casesTable } from "../report.ts"
import type { Aim, Result } from "../report.ts"
import { portkey } from "../yardsticks/portkey.ts"

/** Each connection has one caller, with its own agent, key and credit. */
const callers = 64
const loads = [
  { name: "plain", stream: false, connections: 16 },
  { name: "plain", stream: false, connections: 64 },
  { name: "stream", stream: true, connections: 16 }
] as const

/** The model `free` costs nothing, so its calls reserve nothing. */
const configuration = (port: number) => `providers:
  - { name: north, style: openai, base_url: "http://127.0.0.1:${port}/v1", api_key_env: NORTH_KEY }
models:
  - name: free
    price: { input: 0, output: 0 }
    max_output_tokens: 1000
    routes: [{ provider: north, model: swift-1-0613 }]
  - name: paid
    price: { input: 0.000001, output: 0.000002 }
    max_output_tokens: 1000
    routes: [{ provider: north, model: swift-1-0613 }]
`

const configurationFile = (port: number) =>
  Effect.map(temporaryFolder, (folder) => {
    const file = join(folder, "gateway.yaml")
    writeFileSync(file, configuration(port))
    return file
  })

/** Inserts agents with credit and paying owners; the result is their keys. */
const seedCallers = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  yield* agents(callers)
  yield* sql`
    insert into transfers (id, kind, debit, credit, amount, reason, at)
    select 'bench:' || id, 'post', 'treasury', 'agent:' || id, 1000000000000, 'bench', now() from agents order by id`
  yield* sql`update operators set plan = 'pro'`
  yield* sql`update agents set credit_arena_enabled = true`
  const keys = Array.from({ length: callers }, () => makeGatewayKey())
  for (const [number, { key, prefix }] of keys.entries()) {
    yield* sql`
      insert into gateway_keys (id, agent_id, owner_id, name, prefix, key_hash, created_at)
      values (uuidv7(), ${agentId(number)}::uuid, ${ownerId(number)}::uuid, 'bench', ${prefix}, ${sha256(key)}, now())`
  }
  yield* sql`vacuum (analyze)`
  return keys.map(({ key }) => key)
})

interface Target {
  readonly server: Server
  readonly path: string
  readonly headers: ReadonlyArray<ReadonlyArray<string>>
  readonly model: string
}

const targets = Effect.fnUntraced(function* ({ postgres }: Bench) {
  const provider = yield* listening(new URL("../yardsticks/provider.ts", import.meta.url))
  const proxy = yield* listening(new URL("../yardsticks/proxy.ts", import.meta.url), {
    args: [String(provider.port)]
  })
  const other = yield* portkey
  const url = yield* Database.create(postgres, "bench_gateway")
  const keys = yield* seedCallers.pipe(Effect.provide(Database.seeding(url)))
  const server = yield* auspex(url, {
    AUSPEX_GATEWAY_CONFIG: yield* configurationFile(provider.port),
    NORTH_KEY: "provider-key"
  })
  const plain = { path: "/v1/chat/completions", headers: [["Authorization: Bearer none"]], model: "free" }
  const ours = {
    server,
    path: "/api/v1/llm/v1/chat/completions",
    headers: keys.map((key) => [`Authorization: Bearer ${key}`])
  }
  const portkeyHeaders = [
    "Authorization: Bearer none",
    "x-portkey-provider: openai",
    `x-portkey-custom-host: http://127.0.0.1:${provider.port}/v1`
  ]
  const all: Readonly<Record<string, Target>> = {
    direct: { ...plain, server: provider },
    proxy: { ...plain, server: proxy },
    ...(Option.isSome(other) && { portkey: { ...plain, server: other.value, headers: [portkeyHeaders] } }),
    free: { ...ours, model: "free" },
    paid: { ...ours, model: "paid" }
  }
  return all
})

const aimsOf = ({ connections, load, rounds }: Case): ReadonlyArray<Aim> => {
  const { free, paid, portkey: other, proxy } = rounds
  const what = `gateway ${load}, ${connections}:`
  if (load === "stream") {
    return [atMost(0.4, `${what} first byte to Portkey's`, ratio(paid, other, "firstByte"))]
  }
  const perSecond = (ones: typeof free, others: typeof free) => ratio(ones, others, "perSecond")
  return [
    atLeast(0.25, `${what} money off, calls/s to the proxy`, perSecond(free, proxy)),
    atLeast(2, `${what} money off, calls/s to Portkey`, perSecond(free, other)),
    ...(connections === callers
      ? [atLeast(1.2, `${what} money on, calls/s to Portkey`, perSecond(paid, other))]
      : [])
  ]
}

export const gateway = Effect.fnUntraced(function* (bench: Bench) {
  const { rampSeconds, rounds, seconds, warmSeconds } = bench.sizes
  const all = yield* targets(bench)
  const call = (target: Target, load: (typeof loads)[number], counted: number) => {
    const { headers, model, path, server } = target
    const { connections, stream } = load
    const requests = { kind: "call", path, headers, model, stream } as const
    const job = { port: server.port, connections, rampSeconds, seconds: counted, requests, rate: null }
    return bench.load.run(job, server)
  }
  for (const target of Object.values(all)) {
    yield* call(target, loads[0], warmSeconds)
    yield* call(target, loads[2], warmSeconds)
  }
  const cases: Array<Case> = []
  for (const load of loads) {
    const contenders = Object.entries(all).map(
      ([name, target]) => [name, call(target, load, seconds)] as const
    )
    cases.push(yield* inTurn(load.name, load.connections, rounds, Object.fromEntries(contenders)))
  }
  const result: Result = {
    scenario: "gateway (free: money off; paid: money on)",
    tables: [casesTable(cases)],
    aims: cases.flatMap(aimsOf),
    remarks: "portkey" in all ? [] : ["@portkey-ai/gateway is left out: npm could not install it"],
    measured: cases
  }
  return result
}, Effect.scoped)
