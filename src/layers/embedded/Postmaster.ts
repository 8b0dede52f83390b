/** The server process: started until it accepts connections, restarted whenever it dies, stopped with the scope. */
import { spawn } from "node:child_process"
import type { ChildProcess } from "node:child_process"
import { createServer } from "node:net"
import { totalmem } from "node:os"
import { join } from "node:path"
import { Clock, Data, Deferred, Duration, Effect, FileSystem, MutableRef, Option, Schedule } from "effect"
import type { PlatformError } from "effect"
import * as Account from "./Account.ts"
import { EmbeddedPostgresError } from "./Account.ts"
import * as Binaries from "./Binaries.ts"
import type { Cluster } from "./Cluster.ts"
import * as orphanProcesses from "./orphanProcesses.ts"

interface Postmaster {
  readonly pid: number
  /** The server's end, once it has ended. */
  readonly exited: Effect.Effect<string>
}

/** Another process took the port after we found it free. */
class PortTaken extends Data.TaggedError("PortTaken")<{ readonly port: number }> {}

const maxLogFiles = 5

/** Log files of bounded size, whose names sort by age. */
const logSettings = {
  logging_collector: "on",
  log_directory: "log",
  log_filename: "postgres-%Y%m%d-%H%M%S.log",
  log_file_mode: "0600",
  log_rotation_age: "0",
  log_rotation_size: "10MB",
  // Statements may contain users' data.
  log_error_verbosity: "terse",
  log_min_error_statement: "panic",
  log_timezone: "UTC"
}

/** The files in order of age, the newest last. Empty before the first start. */
const logFiles = Effect.fnUntraced(function* (clusterDir: string) {
  const fs = yield* FileSystem.FileSystem
  const directory = join(clusterDir, "log")
  const names = yield* fs.readDirectory(directory).pipe(Effect.orElseSucceed((): Array<string> => []))
  return names.toSorted().map((name) => join(directory, name))
})

const logTail = Effect.fnUntraced(function* (clusterDir: string) {
  const fs = yield* FileSystem.FileSystem
  const path = (yield* logFiles(clusterDir)).at(-1)
  if (path === undefined) return { path: join(clusterDir, "log"), lines: [] }
  const text = yield* fs.readFileString(path).pipe(Effect.orElseSucceed(() => ""))
  return { path, lines: text.trimEnd().split("\n").slice(-12) }
})

/** PostgreSQL never deletes a log file. */
export const pruneLog = Effect.fnUntraced(
  function* (clusterDir: string) {
    const fs = yield* FileSystem.FileSystem
    const old = (yield* logFiles(clusterDir)).slice(0, -maxLogFiles)
    yield* Effect.forEach(old, (path) => Effect.ignore(fs.remove(path)), { discard: true })
  },
  Effect.repeat(Schedule.spaced("5 minutes"))
)

const mebibyte = 1024 * 1024

/** A sixteenth of the memory, since the machine also runs Auspex. */
const sharedBuffers = (): string => {
  const limit = process.constrainedMemory()
  const memory = limit > 0 ? Math.min(limit, totalmem()) : totalmem()
  return `${Math.min(1024, Math.max(128, Math.floor(memory / 16 / mebibyte)))}MB`
}

/** Settings for a machine that PostgreSQL shares with Auspex. */
const settings = (port: number) => ({
  listen_addresses: "127.0.0.1",
  port: String(port),
  unix_socket_directories: "",
  max_connections: "100",
  shared_buffers: sharedBuffers(),
  // Recovery after a crash replays at most about this much, well within `readyWithin`.
  max_wal_size: "1GB",
  // The same amount is recycled: creating a new segment delays all commits.
  min_wal_size: "1GB",
  // Files that grew during a checkpoint are synced at its end, and commits wait for that: short checkpoints leave little.
  checkpoint_completion_target: "0.1",
  // Short queries gain nothing from either, and 64 MB of /dev/shm in a container are too little for parallel ones.
  jit: "off",
  max_parallel_workers_per_gather: "0",
  timezone: "UTC",
  ...logSettings
})

const readyWithin = "60 seconds"

const spawnServer = (
  cluster: Cluster,
  port: number,
  extra: Readonly<Record<string, string>>
): ChildProcess => {
  const options = Object.entries({ ...settings(port), ...extra }).flatMap(([name, value]) => [
    "-c",
    `${name}=${value}`
  ])
  return spawn(Binaries.program(cluster.binaries, "postgres"), ["-D", cluster.clusterDir, ...options], {
    ...Account.identity(cluster.account),
    cwd: "/",
    env: Account.environment,
    // The server has its own session, so that Ctrl-C reaches only Auspex, which then stops the server.
    detached: true,
    stdio: ["ignore", "ignore", "pipe"]
  })
}

const stop = Effect.fnUntraced(function* (pid: number, exited: Effect.Effect<string>) {
  for (const [signal, timeout] of [
    ["SIGINT", "10 seconds"],
    ["SIGQUIT", "5 seconds"],
    ["SIGKILL", "5 seconds"]
  ] as const) {
    yield* orphanProcesses.signal(pid, signal)
    const ended = yield* Effect.interruptible(exited).pipe(Effect.timeoutOption(timeout))
    if (Option.isSome(ended)) return
  }
  yield* Effect.logError(`PostgreSQL (process ${pid}) does not end`)
})

const run = Effect.fnUntraced(function* (
  cluster: Cluster,
  port: number,
  extra: Readonly<Record<string, string>>
) {
  const end = yield* Deferred.make<string>()
  const complaints = { text: "" }
  const acquire = Effect.callback<number, EmbeddedPostgresError>((resume) => {
    const child = spawnServer(cluster, port, extra)
    child.stderr?.on("data", (chunk: Buffer) => {
      complaints.text = (complaints.text + chunk.toString()).slice(-4096)
    })
    child.on("error", (cause) =>
      resume(
        Effect.fail(new EmbeddedPostgresError({ message: `Cannot run PostgreSQL: ${cause.message}`, cause }))
      )
    )
    child.on("spawn", () => resume(Effect.succeed(child.pid ?? 0)))
    child.on("exit", (code, signal) =>
      Deferred.doneUnsafe(end, Effect.succeed(signal === null ? `exit code ${code}` : `signal ${signal}`))
    )
  })
  const exited = Deferred.await(end)
  const pid = yield* Effect.acquireRelease(acquire, (pid) => stop(pid, exited))
  // A program may end without closing its scopes, for example by an uncaught exception.
  yield* Effect.acquireRelease(
    Effect.sync(() => {
      const atExit = () => process.kill(pid, "SIGINT")
      process.on("exit", atExit)
      return atExit
    }),
    (atExit) => Effect.sync(() => process.off("exit", atExit))
  )
  return { pid, exited, complaints }
})

const explain = Effect.fnUntraced(function* (clusterDir: string, complaints: string) {
  const log = yield* logTail(clusterDir)
  const wroteLog = complaints === "" || complaints.includes("redirecting log output")
  return { path: log.path, text: wroteLog ? log.lines.join("\n") : complaints.trim() }
})

/** Starts the server and waits until it accepts connections; after a crash this includes its recovery. */
const start = Effect.fn("Postmaster.start")(function* (
  cluster: Cluster,
  port: number,
  extra: Readonly<Record<string, string>>
) {
  const { clusterDir } = cluster
  yield* orphanProcesses.end(clusterDir)
  const { complaints, exited, pid } = yield* run(cluster, port, extra)

  const ready = orphanProcesses.pidFile(clusterDir).pipe(
    Effect.repeat({
      until: Option.exists((file) => file.pid === pid && file.status === "ready"),
      schedule: Schedule.spaced("15 millis")
    })
  )
  const failed = Effect.gen(function* () {
    const how = yield* exited
    const { path, text } = yield* explain(clusterDir, complaints.text)
    if (/could not bind|Address already in use/.test(text)) return yield* new PortTaken({ port })
    return yield* new EmbeddedPostgresError({
      message:
        `PostgreSQL cannot start on ${clusterDir} (${how}). Its log ${path} ends with:\n${text}\n` +
        `If the data is damaged, restore ${clusterDir} from a backup, or move it away to start with an empty database.`
    })
  })
  const progress = Effect.gen(function* () {
    const { lines } = yield* logTail(clusterDir)
    yield* Effect.logInfo(`PostgreSQL is not ready yet: ${lines.at(-1) ?? "no log yet"}`)
  }).pipe(Effect.delay("3 seconds"), Effect.forever)

  yield* Effect.raceAllFirst([ready, failed, progress]).pipe(
    Effect.timeoutOrElse({
      duration: readyWithin,
      orElse: () =>
        explain(clusterDir, complaints.text).pipe(
          Effect.flatMap(({ path, text }) =>
            Effect.fail(
              new EmbeddedPostgresError({
                message:
                  `PostgreSQL accepts no connections after ${readyWithin} on ${clusterDir}. Start again to let it ` +
                  `recover further. Its log ${path} ends with:\n${text}`
              })
            )
          )
        )
    })
  )
  const postmaster: Postmaster = { pid, exited }
  return postmaster
})

/** The first restart is immediate; if the server keeps dying, pauses grow up to the maximum. */
const firstPause = Duration.millis(100)
const maxPause = Duration.seconds(10)

/** The death of a server that ran this long counts as the first. */
const healthyAfter = Duration.seconds(30)

const freePort = Effect.callback<number, EmbeddedPostgresError>((resume) => {
  const server = createServer()
  server.on("error", (cause) =>
    resume(
      Effect.fail(
        new EmbeddedPostgresError({ message: `Cannot listen on 127.0.0.1: ${cause.message}`, cause })
      )
    )
  )
  server.listen(0, "127.0.0.1", () => {
    const address = server.address()
    const port = typeof address === "object" && address !== null ? address.port : 0
    server.close(() => resume(Effect.succeed(port)))
  })
})

/** Keeps the server running on one port and restarts it whenever it dies. Succeeds when the server is first ready; the scope stops it. */
export const supervise = Effect.fn("Postmaster.supervise")(function* (
  cluster: Cluster,
  settings: Readonly<Record<string, string>>
) {
  const ready = yield* Deferred.make<number, EmbeddedPostgresError | PlatformError.PlatformError>()
  const pid = MutableRef.make(0)

  /** One run, from a start to the death that follows. */
  const life = Effect.fnUntraced(function* (port: number) {
    const postmaster = yield* start(cluster, port, settings)
    MutableRef.set(pid, postmaster.pid)
    yield* Deferred.succeed(ready, port)
    return yield* postmaster.exited
  }, Effect.scoped)

  const firstLife = freePort.pipe(
    Effect.flatMap(life),
    Effect.retry({ times: 5, while: (error) => error._tag === "PortTaken" })
  )

  const restartForever = Effect.fnUntraced(function* (port: number, firstDeath: string) {
    let death = firstDeath
    let pause = firstPause
    while (true) {
      yield* Effect.logWarning(
        `PostgreSQL ended unexpectedly (${death}); it is started again in ${Duration.format(pause)}`
      )
      yield* Effect.sleep(pause)
      const startedAt = yield* Clock.currentTimeMillis
      death = yield* life(port).pipe(
        Effect.catchTag("PortTaken", () => Effect.succeed(`port ${port} is taken`)),
        Effect.catch((error) => Effect.succeed(error.message)),
        Effect.catchDefect((defect) => Effect.succeed(String(defect)))
      )
      const lived = Duration.millis((yield* Clock.currentTimeMillis) - startedAt)
      pause = Duration.isGreaterThan(lived, healthyAfter)
        ? firstPause
        : Duration.min(Duration.times(pause, 2), maxPause)
    }
  })

  yield* Effect.gen(function* () {
    const death = yield* firstLife
    return yield* restartForever(yield* Deferred.await(ready), death)
  }).pipe(
    Effect.catchTag("PortTaken", ({ port }) =>
      Effect.fail(
        new EmbeddedPostgresError({
          message: `Found no free port on 127.0.0.1; the last one tried was ${port}.`
        })
      )
    ),
    Effect.catchCause((cause) => Deferred.failCause(ready, cause)),
    Effect.forkScoped
  )
  return { port: yield* Deferred.await(ready), pid: () => MutableRef.get(pid) }
})
