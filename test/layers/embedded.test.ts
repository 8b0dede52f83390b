import { spawn } from "node:child_process"
import { createInterface } from "node:readline"
import { once } from "node:events"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { NodeServices } from "@effect/platform-node"
import { PgClient } from "@effect/sql-pg"
import { assert, describe, it } from "@effect/vitest"
import { Effect, FileSystem, Schedule } from "effect"
import { start } from "../../src/layers/embedded/EmbeddedPostgres.ts"
import type { RunningPostgres } from "../../src/layers/embedded/EmbeddedPostgres.ts"

const isRoot = process.getuid?.() === 0
const settings = { fsync: "off" }
const soon = Schedule.spaced("10 millis")

/** A directory that the account PostgreSQL runs as can enter, and whose cluster does not outlive the test. */
const temporary = Effect.gen(function* () {
  const fs = yield* FileSystem.FileSystem
  const directory = yield* fs.makeTempDirectoryScoped({ prefix: "auspex-embedded-" })
  yield* fs.chmod(directory, 0o755)
  return directory
})

const query = (postgres: RunningPostgres, statement: string) =>
  Effect.gen(function* () {
    const sql = yield* PgClient.PgClient
    return yield* sql.unsafe(statement).values
  }).pipe(Effect.provide(PgClient.layer({ url: postgres.url, maxConnections: 1 }), { local: true }))

const isAlive = (pid: number) =>
  Effect.gen(function* () {
    const fs = yield* FileSystem.FileSystem
    const directory = yield* Effect.option(fs.readLink(`/proc/${pid}/cwd`))
    return directory._tag === "Some"
  })

const holder = fileURLToPath(new URL("../support/holdCluster.ts", import.meta.url))

/** Another program that starts the same cluster. */
const program = (dataDir: string) =>
  Effect.acquireRelease(
    Effect.sync(() => spawn(process.execPath, [holder, dataDir], { stdio: ["ignore", "pipe", "inherit"] })),
    (child) => Effect.sync(() => child.kill("SIGKILL"))
  )

const postmasterOf = Effect.fnUntraced(function* (child: Effect.Success<ReturnType<typeof program>>) {
  const [line] = yield* Effect.promise(() => once(createInterface(child.stdout), "line"))
  return Number(line)
})

const kill = Effect.fnUntraced(function* (child: Effect.Success<ReturnType<typeof program>>) {
  child.kill("SIGKILL")
  yield* Effect.promise(() => once(child, "exit"))
})

describe("the embedded PostgreSQL", () => {
  it.live("is made by the first start, stopped with its scope, and kept for the second", () =>
    Effect.gen(function* () {
      const dataDir = join(yield* temporary, "data")
      const first = yield* Effect.gen(function* () {
        const postgres = yield* start({ dataDir, settings })
        yield* query(postgres, "create table kept as select 42 as answer")
        return postgres.pid
      }).pipe(Effect.scoped)
      assert.isFalse(yield* isAlive(first))
      const again = yield* start({ dataDir, settings })
      assert.deepStrictEqual(yield* query(again, "select answer from kept"), [[42]])
    }).pipe(Effect.provide(NodeServices.layer))
  )

  it.live("connects as a role without a superuser's powers", () => Effect.void)
})
