/** What the figures were measured on. */
import { execFileSync } from "node:child_process"
import { readFileSync } from "node:fs"
import { cpus, loadavg, platform, release, totalmem } from "node:os"
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import { project } from "./processes.ts"

const versionOf = (name: string): string => {
  const found: unknown = JSON.parse(readFileSync(`${project}node_modules/${name}/package.json`, "utf8"))
  return typeof found === "object" && found !== null && "version" in found ? String(found.version) : "?"
}

const revision = (): string => {
  try {
    const head = execFileSync("git", ["rev-parse", "--short", "HEAD"], { cwd: project, stdio: "pipe" })
    const changes = execFileSync("git", ["status", "--porcelain", "--", "src"], {
      cwd: project,
      stdio: "pipe"
    })
    return head.toString().trim() + (changes.length > 0 ? " with changes in src" : "")
  } catch {
    return "unknown"
  }
}

export const describe = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const settings = yield* sql<{ name: string; setting: string; unit: string | null }>`
    select name, setting, unit from pg_settings
     where name in ('server_version', 'fsync', 'synchronous_commit', 'shared_buffers', 'max_wal_size')`
  const value = (name: string) => {
    const found = settings.find((each) => each.name === name)
    return `${found?.setting ?? "?"}${found?.unit === null || found === undefined ? "" : ` x ${found.unit}`}`
  }
  return {
    cores: cpus().length,
    processor: cpus()[0]?.model.trim() ?? "unknown",
    memoryGiB: Math.round(totalmem() / 2 ** 30),
    system: `${platform()} ${release()}`,
    loadBefore: loadavg()[0] ?? 0,
    node: process.version,
    effect: versionOf("effect"),
    sqlPg: versionOf("@effect/sql-pg"),
    fastify: versionOf("fastify"),
    pg: versionOf("pg"),
    postgres: value("server_version"),
    fsync: value("fsync"),
    synchronousCommit: value("synchronous_commit"),
    sharedBuffers: value("shared_buffers"),
    maxWalSize: value("max_wal_size"),
    revision: revision()
  }
})
export type Machine = Effect.Success<typeof describe>
