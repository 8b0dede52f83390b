/** pgbench, if it is installed: only statements, without a server in front of the database. */
import { existsSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { Effect } from "effect"
import { planCacheMode } from "../../src/layers/postgres/Database.ts"
import { BenchFailed, ended, program, temporaryFolder } from "../machine/processes.ts"
import type { Measurement } from "../measurement.ts"

export const find = (): string | undefined =>
  ["/usr/bin/pgbench", "/usr/local/bin/pgbench", "/opt/homebrew/bin/pgbench"].find((path) => existsSync(path))

export interface Pgbench {
  readonly path: string
  readonly databaseUrl: string
  readonly script: string
  readonly variables: Readonly<Record<string, number>>
  readonly connections: number
  readonly seconds: number
}

/** Runs a script for a while; the result is the round and the number of transactions. */
export const run = Effect.fnUntraced(function* (options: Pgbench) {
  const { connections, databaseUrl, path, seconds, variables } = options
  const script = join(yield* temporaryFolder, "script.sql")
  writeFileSync(script, options.script)
  const url = new URL(databaseUrl)
  const defined = Object.entries(variables).flatMap(([name, value]) => ["-D", `${name}=${value}`])
  const size = ["-c", String(connections), "-j", "2", "-T", String(Math.ceil(seconds))]
  const target = ["-h", url.hostname, "-p", url.port, "-U", url.username, url.pathname.slice(1)]
  const started = yield* program(
    path,
    ["-n", "-M", "prepared", "-f", script, ...size, ...defined, ...target],
    {
      PATH: "/usr/bin:/bin",
      PGPASSWORD: url.password,
      PGOPTIONS: `-c plan_cache_mode=${planCacheMode}`,
      LC_ALL: "C"
    }
  )
  yield* ended("pgbench", started)
  const numberAfter = (what: RegExp) => Number(what.exec(started.written())?.[1])
  const sent = numberAfter(/actually processed: (\d+)/)
  const perSecond = numberAfter(/tps = ([\d.]+)/)
  if (!(sent > 0 && perSecond > 0) || numberAfter(/failed transactions: (\d+)/) > 0) {
    return yield* new BenchFailed({ message: `pgbench failed: ${started.written()}` })
  }
  const measurement: Measurement = {
    requests: sent,
    perSecond,
    // pgbench reports only the mean.
    p50: numberAfter(/latency average = ([\d.]+)/),
    p99: Number.NaN,
    firstByte: Number.NaN,
    serverMicros: null,
    postgresMicros: null
  }
  return { measurement, sent }
}, Effect.scoped)
