/**
 * Servers of PostgreSQL that belong to one test: they can be copied while stopped, stream to one another, die, and be promoted. Each
 * is ended with all its processes when the scope ends.
 */
import { spawn, spawnSync } from "node:child_process"
import { writeFileSync } from "node:fs"
import { join } from "node:path"
import { PgClient } from "@effect/sql-pg"
import { Effect, FileSystem, Option, Redacted } from "effect"
import type { Scope } from "effect"
import { SqlClient } from "effect/sql"
import * as Account from "../../src/layers/embedded/Account.ts"
import * as Binaries from "../../src/layers/embedded/Binaries.ts"
import * as Cluster from "../../src/layers/embedded/Cluster.ts"
import * as dataDirectory from "../../src/layers/embedded/dataDirectory.ts"
import * as orphanProcesses from "../../src/layers/embedded/orphanProcesses.ts"
import { freePort, temporaryData, temporaryDirectory, until } from "./process.ts"

type Options = Readonly<Record<string, string>>

/** A crash of the machine only loses a test's data; a crash of the server loses nothing. */
const impatient = { fsync: "off", full_page_writes: "off", max_connections: "200" }

export interface Server {
  readonly port: number
  readonly url: Redacted.Redacted
  /** Runs statements as the superuser. */
  readonly run: <A, E>(work: Effect.Effect<A, E, SqlClient.SqlClient>) => Effect.Effect<A, E>
  /** Stops it regularly; its data is on its disk, and with its standbys. */
  readonly stop: Effect.Effect<void>
  /** Kills it, as the death of its machine would. */
  readonly kill: Effect.Effect<void>
}

/** A cluster that does not run. */
export interface Disk {
  readonly start: (options?: Options) => ReturnType<typeof startOn>
  /** A copy of its present files, which must not be changing. */
  readonly copy: Effect.Effect<Disk, never, FileSystem.FileSystem | Scope.Scope>
  /** Makes it a standby of the server at this port. */
  readonly follow: (port: number, name: string) => Effect.Effect<void>
  /** Starts it and replays the archive, to its end unless the options name a target; afterwards it is a primary. */
  readonly restore: (archive: string, target?: Options) => ReturnType<typeof startOn>
}

const local = (user: string, password: string, port: number, database: string) =>
  Redacted.make(`postgres://${user}:${password}@127.0.0.1:${port}/${database}`)

const startOn = Effect.fnUntraced(function* (cluster: Cluster.Cluster, options: Options) {
  const fs = yield* FileSystem.FileSystem
  const { account, binaries, clusterDir, password } = cluster
  const port = yield* freePort
  const all = {
    listen_addresses: "127.0.0.1",
    port: String(port),
    unix_socket_directories: "",
    ...impatient,
    ...options
  }
  const child = spawn(
    Binaries.program(binaries, "postgres"),
    ["-D", clusterDir, ...Object.entries(all).flatMap(([name, value]) => ["-c", `${name}=${value}`])],
    { ...Account.identity(account), cwd: "/", env: Account.environment, stdio: "ignore" }
  )
  const left = orphanProcesses
    .end(clusterDir)
    .pipe(Effect.provideService(FileSystem.FileSystem, fs), Effect.orDie)
  const ended = Effect.callback<void>((resume) => {
    if (child.exitCode !== null || child.signalCode !== null) return resume(Effect.void)
    child.on("exit", () => resume(Effect.void))
  })
  const end = (signal: NodeJS.Signals) =>
    Effect.sync(() => child.kill(signal)).pipe(Effect.andThen(ended), Effect.andThen(left))
  yield* Effect.addFinalizer(() => end("SIGQUIT"))
  yield* until(
    `PostgreSQL at ${port} takes connections`,
    Effect.map(
      orphanProcesses.pidFile(clusterDir),
      Option.exists(({ status }) => status === "ready")
    )
  )
  const server: Server = {
    port,
    url: local("auspex", password, port, "auspex"),
    run: (work) =>
      Effect.provide(
        work,
        PgClient.layer({
          url: local(Cluster.superuser, password, port, "postgres"),
          maxConnections: 1,
          applicationName: "harness"
        }),
        { local: true }
      ).pipe(Effect.catchTag("SqlError", (error) => Effect.die(error))),
    stop: end("SIGINT"),
    kill: end("SIGKILL")
  }
  return server
})

const diskOf = (cluster: Cluster.Cluster): Disk => ({
  start: (options = {}) => startOn(cluster, options),
  copy: Effect.gen(function* () {
    const clusterDir = join(yield* temporaryDirectory, "postgres")
    const { status } = yield* Effect.sync(() => spawnSync("cp", ["-a", cluster.clusterDir, clusterDir]))
    if (status !== 0) return yield* Effect.die(new Error(`${cluster.clusterDir} cannot be copied`))
    return diskOf({ ...cluster, clusterDir })
  }).pipe(Effect.orDie),
  follow: (port, name) =>
    Effect.sync(() => {
      writeFileSync(join(cluster.clusterDir, "standby.signal"), "")
      writeFileSync(
        join(cluster.clusterDir, "postgresql.auto.conf"),
        `primary_conninfo = 'host=127.0.0.1 port=${port} user=${Cluster.superuser} password=${cluster.password} application_name=${name}'\n`
      )
    }),
  restore: Effect.fnUntraced(function* (archive, target = {}) {
    yield* Effect.sync(() => writeFileSync(join(cluster.clusterDir, "recovery.signal"), ""))
    const server = yield* startOn(cluster, {
      restore_command: `cp ${archive}/%f %p`,
      recovery_target_action: "promote",
      ...target
    })
    yield* until(
      "the archive is replayed",
      server
        .run(
          SqlClient.SqlClient.use((sql) =>
            Effect.map(sql`select pg_is_in_recovery()`.values, ([row]) => row?.[0] === false)
          )
        )
        .pipe(Effect.orDie)
    )
    return server
  })
})

/** A new cluster, with the database and the role that owns it. */
export const newDisk = Effect.gen(function* () {
  const fs = yield* FileSystem.FileSystem
  const dataDir = yield* temporaryData
  yield* fs.makeDirectory(dataDir)
  const directory = yield* dataDirectory.locate(dataDir)
  const cluster = { ...directory, password: yield* Cluster.makePassword }
  yield* Cluster.prepare(cluster, directory.major)
  const disk = diskOf(cluster)
  yield* Effect.scoped(
    Effect.gen(function* () {
      const server = yield* disk.start()
      yield* Cluster.prepareDatabase(cluster, server.port)
      yield* server.stop
    })
  )
  return disk
})

export const promote = (server: Server) =>
  server.run(
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      yield* sql`select pg_promote()`
    })
  )
