import { spawn } from "node:child_process"
import type { ChildProcess } from "node:child_process"
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

const temporary = Effect.gen(function* () {
  const fs = yield* FileSystem.FileSystem
  const directory = yield* fs.makeTempDirectoryScoped({ prefix: "auspex-embedded-" })
  // Where the test runs as root, PostgreSQL runs as an account that must be able to enter.
  yield* fs.chmod(directory, 0o755)
  return directory
})

const query = (postgres: RunningPostgres, statement: string) =>
  Effect.gen(function* () {
    const sql = yield* PgClient.PgClient
    return yield* sql.unsafe(statement).values
  }).pipe(Effect.provide(PgClient.layer({ url: postgres.url, maxConnections: 1 }), { local: true }))

/** Starts PostgreSQL for one statement only. */
const once_ = (dataDir: string, statement: string) =>
  Effect.scoped(Effect.flatMap(start({ dataDir, settings }), (postgres) => query(postgres, statement)))

const refusal = (dataDir: string) =>
  start({ dataDir, settings }).pipe(
    Effect.scoped,
    Effect.flip,
    Effect.map((error) => error.message)
  )

/** A zombie, whose parent has not yet taken notice, is not alive. */
const isAlive = (pid: number) =>
  Effect.sync(() => spawnSync("ps", ["-o", "stat=", "-p", String(pid)]).stdout.toString()).pipe(
    Effect.map((state) => /^[^Z\s]/.test(state))
  )

const holder = fileURLToPath(new URL("../support/holdCluster.ts", import.meta.url))

/** Another program that starts the same cluster. */
const program = (dataDir: string) =>
  Effect.acquireRelease(
    Effect.sync(() => spawn(process.execPath, [holder, dataDir], { stdio: ["ignore", "pipe", "inherit"] })),
    (child) => Effect.sync(() => child.kill("SIGKILL"))
  )

/** Once it is ready. */
const postmasterOf = (child: ChildProcess) =>
  Effect.promise(async () => {
    const chunks: ReadonlyArray<unknown> = child.stdout === null ? [] : await once(child.stdout, "data")
    return Number(String(chunks[0]))
  })

const killed = (child: ChildProcess) =>
  Effect.promise(async () => {
    child.kill("SIGKILL")
    await once(child, "exit")
  })

describe("the embedded PostgreSQL", () => {
  it.live("is made by the first start, ends with its scope, and is kept for the second start", () =>
    Effect.gen(function* () {
      const dataDir = join(yield* temporary, "data")
      const first = yield* Effect.gen(function* () {
        const postgres = yield* start({ dataDir, settings })
        yield* query(postgres, "create table kept as select 42 as answer")
        return postgres.pid
      }).pipe(Effect.scoped)
      assert.isFalse(yield* isAlive(first))
      assert.deepStrictEqual(yield* once_(dataDir, "select answer from kept"), [[42]])
    }).pipe(Effect.provide(NodeServices.layer))
  )
})
