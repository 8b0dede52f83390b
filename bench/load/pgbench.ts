/** pgbench, where there is one: statements alone, without any server in front of the database. */
import { existsSync, mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { Effect, Schedule } from "effect"
import { planCacheMode } from "../../src/layers/postgres/Database.ts"
import { BenchFailed, ended, program } from "../machine/processes.ts"
import { usedByPostgres } from "../machine/processors.ts"
import type { Measurement } from "../measurement.ts"
import { epochMillis } from "../world.ts"

/** Newest first; Debian keeps it beside the other programs of PostgreSQL. */
const debian = () =>
  existsSync("/usr/lib/postgresql")
    ? readdirSync("/usr/lib/postgresql")
        .sort((one, other) => Number(other) - Number(one))
        .map((version) => `/usr/lib/postgresql/${version}/bin/pgbench`)
    : []

export const find = (): string | undefined =>
  [...debian(), "/usr/bin/pgbench", "/usr/local/bin/pgbench", "/opt/homebrew/bin/pgbench"].find((path) =>
    existsSync(path)
  )

export interface Pgbench {
  readonly path: string
  readonly databaseUrl: string
  readonly postgres: number
  readonly script: string
  readonly variables: Readonly<Record<string, number>>
  readonly connections: number
  readonly rampSeconds: number
  readonly seconds: number
}

const temporary = Effect.acquireRelease(
  Effect.sync(() => mkdtempSync(join(tmpdir(), "auspex-pgbench-"))),
  (directory) => Effect.sync(() => rmSync(directory, { recursive: true, force: true }))
)

/** When each transaction ended (milliseconds since 1970), how long it took (milliseconds), and its number in its session. */
const transactions = (directory: string): ReadonlyArray<readonly [end: number, took: number, turn: number]> =>
  readdirSync(directory)
    .filter((name) => name.startsWith("log."))
    .flatMap((name) => readFileSync(join(directory, name), "latin1").split("\n"))
    .flatMap((line) => {
      const fields = line.split(" ").map(Number)
      const [, turn, took, , seconds, micros] = fields
      return turn === undefined || took === undefined || seconds === undefined || micros === undefined
        ? []
        : [[seconds * 1000 + micros / 1000, took / 1000, turn] as const]
    })

/** The processors' time at a moment between two readings. */
const interpolate = (readings: ReadonlyArray<readonly [number, number]>, moment: number): number | null => {
  const after = readings.findIndex(([when]) => when >= moment)
  const [one, other] = [readings[after - 1], readings[after]]
  if (one === undefined || other === undefined) return null
  return one[1] + ((moment - one[0]) / (other[0] - one[0])) * (other[1] - one[1])
}

/** Runs a script for a while; answers the round and how many transactions there were in all. */
export const run = Effect.fnUntraced(function* (options: Pgbench) {
  const { connections, databaseUrl, path, postgres, rampSeconds, seconds } = options
  const directory = yield* temporary
  const script = join(directory, "script.sql")
  writeFileSync(script, options.script)
  const url = new URL(databaseUrl)
  const defined = Object.entries(options.variables).flatMap(([name, value]) => ["-D", `${name}=${value}`])
  const flags = ["-n", "-M", "prepared", "-l", "--log-prefix", join(directory, "log"), "-f", script]
  const size = ["-c", String(connections), "-j", "2", "-T", String(Math.ceil(rampSeconds + seconds))]
  const target = ["-h", url.hostname, "-p", url.port, "-U", url.username, url.pathname.slice(1)]
  const started = yield* program(path, [...flags, ...size, ...defined, ...target], {
    PATH: "/usr/bin:/bin",
    PGPASSWORD: url.password,
    PGOPTIONS: `-c plan_cache_mode=${planCacheMode}`,
    LC_ALL: "C"
  })
  const readings: Array<readonly [number, number]> = []
  const reading = Effect.sync(() => {
    const used = usedByPostgres(postgres)
    if (used !== null) readings.push([epochMillis(), used])
  })
  yield* Effect.raceFirst(ended("pgbench", started), Effect.repeat(reading, Schedule.spaced("100 millis")))
  // The last transactions may have ended after the last reading.
  yield* reading
  const failed = /number of failed transactions: ([1-9]\d*)/.exec(started.written())?.[1]
  const all = transactions(directory)
  if (failed !== undefined || all.length === 0) {
    return yield* new BenchFailed({ message: `pgbench failed: ${started.written()}` })
  }
  const begun = all.reduce((least, [end]) => Math.min(least, end), Infinity) + rampSeconds * 1000
  const until = Math.min(
    begun + seconds * 1000,
    all.reduce((most, [end]) => Math.max(most, end), 0)
  )
  const counted = all.filter(([end]) => end >= begun && end < until)
  const took = counted.map(([, took]) => took).sort((one, other) => one - other)
  const [from, to] = [interpolate(readings, begun), interpolate(readings, until)]
  const measurement: Measurement = {
    requests: counted.length,
    perSecond: counted.length / ((until - begun) / 1000),
    mean: took.reduce((sum, each) => sum + each, 0) / Math.max(1, took.length),
    p50: took[Math.floor(took.length * 0.5)] ?? 0,
    p99: took[Math.floor(took.length * 0.99)] ?? 0,
    longest: took.at(-1) ?? 0,
    serverMicros: null,
    postgresMicros: from === null || to === null ? null : (to - from) / counted.length,
    generatorMicros: null
  }
  /** Of the session that did the most. */
  const furthest = all.reduce((most, [, , turn]) => Math.max(most, turn), 0) + 1
  return { measurement, sent: all.length, furthest }
}, Effect.scoped)
