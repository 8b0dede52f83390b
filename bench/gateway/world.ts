/** What the gateway of the bench serves, and who calls it. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import { makeGatewayKey, sha256 } from "../../src/layers/secrets.ts"
import { BenchFailed, module_ } from "../machine/processes.ts"
import type { Server } from "../machine/processes.ts"
import * as Seed from "../seed.ts"
import { agentId, ownerId } from "../world.ts"

/** One caller a connection, each with an agent, a key and credit of its own. */
export const callers = 64

/** `free` costs nothing and so reserves nothing. */
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

/** The file, and what the server has to be told. */
export const environment = (port: number) =>
  Effect.map(
    Effect.acquireRelease(
      Effect.sync(() => {
        const directory = mkdtempSync(join(tmpdir(), "auspex-bench-gateway-"))
        writeFileSync(join(directory, "gateway.yaml"), configuration(port))
        return directory
      }),
      (directory) => Effect.sync(() => rmSync(directory, { recursive: true, force: true }))
    ),
    (directory) => ({
      AUSPEX_GATEWAY_CONFIG: join(directory, "gateway.yaml"),
      NORTH_KEY: "provider-key",
      AUSPEX_LIMIT_GATEWAY_CALLS: "999999999/minute",
      AUSPEX_LIMIT_GATEWAY_AGENT_CALLS: "999999999/minute"
    })
  )

/** Agents whose owners pay, with credit; answers their keys. */
export const seedCallers = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  yield* Seed.agents(callers)
  yield* Seed.credit
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

/** A module of the bench that listens, and says where. */
export const listening = Effect.fnUntraced(function* (file: URL, ...args: ReadonlyArray<string>) {
  const started = yield* module_(file, args)
  const port = yield* Effect.callback<number, BenchFailed>((resume) => {
    started.child.once("message", (report: { readonly port: number }) => resume(Effect.succeed(report.port)))
    started.child.once("exit", () =>
      resume(new BenchFailed({ message: `${file.pathname} did not start: ${started.written()}` }))
    )
  })
  const server: Server = { pid: started.pid, port, process: started }
  return server
})
