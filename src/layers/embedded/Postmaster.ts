/** One run of the server, from its start until it accepts connections, and down to its end with the scope. */
import { spawn } from "node:child_process"
import type { ChildProcess } from "node:child_process"
import { totalmem } from "node:os"
import { Data, Deferred, Effect, Option, Schedule } from "effect"
import * as Binaries from "./Binaries.ts"
import type { Cluster } from "./Cluster.ts"
import * as Command from "./Command.ts"
import { EmbeddedPostgresError } from "./EmbeddedPostgresError.ts"
import * as Leftovers from "./orphanProcesses.ts"
import * as ServerLog from "./ServerLog.ts"

export interface Postmaster {
  readonly pid: number
  /** How it ended, once it has. */
  readonly exited: Effect.Effect<string>
}

/** Somebody else took the port between our finding it free and PostgreSQL's listening on it. */
export class PortTaken extends Data.TaggedError("PortTaken")<{ readonly port: number }> {}

const mebibyte = 1024 * 1024

/** A sixteenth of the memory there is, so that a small machine has room for Auspex itself. */
const sharedBuffers = (): string => {
  const limit = process.constrainedMemory()
  const memory = limit > 0 ? Math.min(limit, totalmem()) : totalmem()
  return `${Math.min(1024, Math.max(128, Math.floor(memory / 16 / mebibyte)))}MB`
}

/** For a machine that it shares with Auspex itself. */
const settings = (port: number) => ({
  listen_addresses: "127.0.0.1",
  port: String(port),
  unix_socket_directories: "",
  max_connections: "100",
  shared_buffers: sharedBuffers(),
  // Recovery after a crash replays at most about this much, which keeps it well within `readyWithin`.
  max_wal_size: "1GB",
  // As much stays to be written over again: making a file of it anew holds up everybody's commits for 60 ms.
  min_wal_size: "1GB",
  // What a table has grown by since a checkpoint began is brought to disk at its end all at once, and commits wait for
  // it: a short one leaves little of that.
  checkpoint_completion_target: "0.1",
  // Short queries gain nothing from either, and a container's 64 MB of /dev/shm are too small for parallel ones.
  jit: "off",
  max_parallel_workers_per_gather: "0",
  timezone: "UTC",
  ...ServerLog.settings
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
    ...Command.identity(cluster.account),
    cwd: "/",
    env: Command.environment,
    // In a session of its own: Ctrl-C is for Auspex, which stops the server when it needs it no more.
    detached: true,
    stdio: ["ignore", "ignore", "pipe"]
  })
}

const stop = Effect.fnUntraced(function* (pid: number, exited: Effect.Effect<string>) {
  for (const [signal, patience] of [
    ["SIGINT", "10 seconds"],
    ["SIGQUIT", "5 seconds"],
    ["SIGKILL", "5 seconds"]
  ] as const) {
    yield* Leftovers.signal(pid, signal)
    const ended = yield* Effect.interruptible(exited).pipe(Effect.timeoutOption(patience))
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
  // The last resort where the program ends without closing its scopes, for instance by an uncaught exception.
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
  const log = yield* ServerLog.tail(clusterDir)
  const wroteLog = complaints === "" || complaints.includes("redirecting log output")
  return { path: log.path, text: wroteLog ? log.lines.join("\n") : complaints.trim() }
})

/** Starts the server and waits until it accepts connections, which after a crash includes its recovery. */
export const start = Effect.fn("Postmaster.start")(function* (
  cluster: Cluster,
  port: number,
  extra: Readonly<Record<string, string>>
) {
  const { clusterDir } = cluster
  yield* Leftovers.clear(clusterDir)
  const { complaints, exited, pid } = yield* run(cluster, port, extra)

  const ready = Leftovers.pidFile(clusterDir).pipe(
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
    const { lines } = yield* ServerLog.tail(clusterDir)
    yield* Effect.logInfo(`Waiting for PostgreSQL: ${lines.at(-1) ?? "no log yet"}`)
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
