/** Describes the machine and the measured program. */
import { execFileSync } from "node:child_process"
import { cpus, loadavg, platform, release, totalmem } from "node:os"
import { Effect, Schema } from "effect"
import { SqlClient } from "effect/sql"
import { project } from "./processes.ts"

const Setting = Schema.Struct({
  name: Schema.String,
  setting: Schema.String,
  unit: Schema.NullOr(Schema.String)
})

const git = (...args: ReadonlyArray<string>) =>
  execFileSync("git", args, { cwd: project, stdio: "pipe" }).toString().trim()

const revision = Effect.try(
  () =>
    git("rev-parse", "--short", "HEAD") +
    (git("status", "--porcelain", "--", "src") === "" ? "" : " with changes in src")
).pipe(Effect.orElseSucceed(() => "unknown"))

export const describe = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const rows = yield* sql`
    select name, setting, unit from pg_settings
     where name in ('server_version', 'fsync', 'synchronous_commit', 'shared_buffers', 'max_wal_size') order by name`
  const settings = yield* Schema.decodeUnknownEffect(Schema.Array(Setting))(rows)
  return {
    cores: cpus().length,
    processor: cpus()[0]?.model.trim() ?? "unknown",
    memoryGiB: Math.round(totalmem() / 2 ** 30),
    system: `${platform()} ${release()}`,
    loadBefore: loadavg()[0] ?? 0,
    node: process.version,
    postgres: Object.fromEntries(
      settings.map(({ name, setting, unit }) => [name, unit === null ? setting : `${setting} x ${unit}`])
    ),
    revision: yield* revision
  }
})
export type Machine = Effect.Success<typeof describe>
