/**
 * Auspex as operators run it: a separate process, on a free port, without the environment of the test run. It is ended by its pid
 * when the scope ends, together with the rest of its embedded PostgreSQL.
 */
import { spawn, spawnSync } from "node:child_process"
import type { ChildProcess } from "node:child_process"
import { randomInt } from "node:crypto"
import { mkdtempSync } from "node:fs"
import { createServer } from "node:net"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { Clock, Data, Deferred, Duration, Effect, FileSystem, Option, Redacted, Schedule } from "effect"
import { inject } from "vitest"
import { superuser } from "../../src/layers/embedded/Cluster.ts"
import { testLogKey } from "./logSigner.ts"
import { removed } from "./scratch.ts"
import { TestServer } from "./requests.ts"
import { testAdminToken, testTokenSecret } from "./settings.ts"

/** The project's own folder. */
export const project = fileURLToPath(new URL("../../", import.meta.url)).replace(/\/$/, "")

export const often = Schedule.spaced("20 millis")

/** A wait took too long. */
export class Overdue extends Data.TaggedError("Overdue")<{ readonly message: string }> {}

/** The maximum wait for an immediate event on the busiest machine. */
const ample = "5 minutes"

/** Repeats a check until it succeeds. */
export const until = <E, R>(
  what: string,
  fact: Effect.Effect<boolean, E, R>,
  patience: Duration.Input = ample
): Effect.Effect<void, E | Overdue, R> =>
  fact.pipe(
    Effect.repeat({ until: (isSo) => isSo, schedule: often }),
    Effect.timeoutOrElse({
      duration: patience,
      orElse: () =>
        Effect.fail(
          new Overdue({
            message: `not within ${Duration.format(Duration.fromInputUnsafe(patience))}: ${what}`
          })
        )
    }),
    Effect.asVoid
  )

/** The whole milliseconds that the effect took, beside its result. */
export const timed = Effect.fnUntraced(function* <A, E, R>(effect: Effect.Effect<A, E, R>) {
  const started = yield* Clock.currentTimeMillis
  const result = yield* effect
  return [(yield* Clock.currentTimeMillis) - started, result] as const
})

const isFree = (port: number) =>
  Effect.callback<boolean>((resume) => {
    const server = createServer()
    server.on("error", () => resume(Effect.succeed(false)))
    server.listen(port, "127.0.0.1", () => server.close(() => resume(Effect.succeed(true))))
  })

/** The port is outside the kernel's range for outgoing connections, so that none of them takes it meanwhile. */
export const freePort: Effect.Effect<number> = Effect.suspend(() => {
  const port = randomInt(20_000, 32_000)
  return Effect.flatMap(isFree(port), (free) => (free ? Effect.succeed(port) : freePort))
})

/** A zombie, whose parent has not yet taken notice, is not alive. */
export const isAlive = (pid: number) =>
  Effect.sync(() => /^[^Z\s]/.test(spawnSync("ps", ["-o", "stat=", "-p", String(pid)]).stdout.toString()))

const signalTo = (pid: number, name: NodeJS.Signals) =>
  Effect.sync(() => {
    try {
      process.kill(pid, name)
    } catch {
      // It has ended.
    }
  })

/** The cluster of a data directory: it is elsewhere if PostgreSQL's account could not get there. */
const clusterOf = Effect.fnUntraced(function* (dataDir: string) {
  const fs = yield* FileSystem.FileSystem
  const elsewhere = yield* Effect.option(fs.readFileString(join(dataDir, "postgres-location")))
  return {
    home: Option.map(elsewhere, (text) => text.trim()),
    clusterDir: join(
      Option.match(elsewhere, { onNone: () => dataDir, onSome: (text) => text.trim() }),
      "postgres"
    )
  }
})

/** The postmaster of a data directory, by its file; `None` without such a file. */
export const postmasterOf = Effect.fnUntraced(function* (dataDir: string) {
  const fs = yield* FileSystem.FileSystem
  const { clusterDir } = yield* clusterOf(dataDir)
  const text = yield* Effect.option(fs.readFileString(join(clusterDir, "postmaster.pid")))
  return Option.map(text, (text) => {
    const lines = text.split("\n")
    return { pid: Number(lines[0]), port: Number(lines[3]) }
  })
})

/** The URL of a running Auspex's embedded database, for a role that may see and end its sessions. */
export const embeddedUrl = Effect.fnUntraced(function* (dataDir: string) {
  const fs = yield* FileSystem.FileSystem
  const password = (yield* fs.readFileString(join(dataDir, "postgres-password"))).trim()
  const { port } = yield* Effect.fromOption(yield* postmasterOf(dataDir))
  return Redacted.make(`postgres://${superuser}:${password}@127.0.0.1:${port}/auspex`)
})

const commandOf = (pid: number) =>
  spawnSync("ps", ["-ww", "-o", "command=", "-p", String(pid)]).stdout.toString()

/** Ends the server that a killed Auspex left behind; the command line distinguishes it from a stranger with its pid. */
const endOrphan = Effect.fnUntraced(function* (dataDir: string) {
  const { clusterDir } = yield* clusterOf(dataDir)
  const noted = yield* postmasterOf(dataDir)
  if (Option.isNone(noted) || !commandOf(noted.value.pid).includes(clusterDir)) return
  yield* signalTo(noted.value.pid, "SIGQUIT")
  yield* until(
    "the orphaned PostgreSQL ends",
    Effect.map(isAlive(noted.value.pid), (alive) => !alive)
  )
})

/** At the end, ends all processes on this data directory, and removes its files elsewhere. */
export const cleared = (dataDir: string) =>
  Effect.addFinalizer(() =>
    Effect.gen(function* () {
      const fs = yield* FileSystem.FileSystem
      yield* endOrphan(dataDir)
      const { home } = yield* clusterOf(dataDir)
      if (Option.isSome(home)) yield* fs.remove(home.value, { recursive: true, force: true })
    }).pipe(Effect.orDie)
  )

/** A directory that everybody may enter, removed at the end. */
export const temporaryDirectory = Effect.gen(function* () {
  const fs = yield* FileSystem.FileSystem
  const directory = yield* fs.makeTempDirectoryScoped({
    directory: inject("scratch"),
    prefix: "process-"
  })
  yield* fs.chmod(directory, 0o755)
  return directory
})

/** A place for a data directory. */
export const temporaryData = Effect.gen(function* () {
  const dataDir = join(yield* temporaryDirectory, "data")
  yield* cleared(dataDir)
  return dataDir
})

export interface Ended {
  readonly code: number | null
  readonly signal: NodeJS.Signals | null
}

export interface Auspex {
  readonly pid: number
  readonly port: number
  readonly url: string
  /** The standard output so far. */
  readonly stdout: () => string
  readonly stderr: () => string
  readonly ended: Effect.Effect<Ended>
  readonly hasEnded: Effect.Effect<boolean>
  readonly signal: (name: NodeJS.Signals) => Effect.Effect<void>
}

export interface Start {
  readonly environment: Readonly<Record<string, string>>
  readonly port?: number
  /** The command; the default is to serve. */
  readonly command?: ReadonlyArray<string>
  /** The project's folder; the default is ours. */
  readonly folder?: string
  /** The Node program; the default is the one that runs the tests. */
  readonly node?: string
  readonly user?: { readonly uid: number; readonly gid: number }
}

const spawned = (start: Start, port: number): ChildProcess =>
  spawn(start.node ?? process.execPath, ["src/main.ts", ...(start.command ?? [])], {
    cwd: start.folder ?? project,
    env: {
      PATH: "/usr/bin:/bin",
      AUSPEX_PORT: String(port),
      AUSPEX_OPS_PORT: "off",
      // No balancer needs the delay.
      AUSPEX_DRAIN_DELAY: "off",
      // Tests count agents, predictions and entries of the log.
      AUSPEX_REFERENCES: "off",
      // Tests check readiness many times a second.
      AUSPEX_LIMIT_UNIDENTIFIED: "1000000/minute",
      AUSPEX_LOG_FORMAT: "json",
      NODE_COMPILE_CACHE: inject("compiled"),
      ...start.environment
    },
    stdio: ["ignore", "pipe", "pipe"],
    ...start.user
  })

/** With a database of its own it needs no data directory for that, but stores its record of the log there. */
const ownData = Effect.map(
  Effect.acquireRelease(
    Effect.sync(() => mkdtempSync(join(inject("scratch"), "replica-"))),
    (directory) => Effect.sync(() => removed(directory))
  ),
  (directory) => ({ AUSPEX_DATA_DIR: directory })
)

/** Starts it without waiting for anything. */
export const startAuspex = Effect.fnUntraced(function* (start: Start) {
  const port = start.port ?? (yield* freePort)
  const data = "DATABASE_URL" in start.environment ? yield* ownData : {}
  const end = yield* Deferred.make<Ended>()
  const written = { stdout: "", stderr: "" }
  const child = yield* Effect.sync(() => {
    const child = spawned({ ...start, environment: { ...data, ...start.environment } }, port)
    child.stdout?.on("data", (chunk: Buffer) => (written.stdout += chunk.toString()))
    child.stderr?.on("data", (chunk: Buffer) => (written.stderr += chunk.toString()))
    child.on("error", (error) => Deferred.doneUnsafe(end, Effect.die(error)))
    // Unlike "exit", this comes after the last of its output.
    child.on("close", (code, signal) => Deferred.doneUnsafe(end, Effect.succeed({ code, signal })))
    return child
  })
  const pid = child.pid ?? 0
  const ended = Deferred.await(end)
  const signal = (name: NodeJS.Signals) => Effect.asVoid(Effect.sync(() => child.kill(name)))
  yield* Effect.addFinalizer(() =>
    Effect.gen(function* () {
      if (yield* Deferred.isDone(end)) return
      // A process that a test has stopped takes no other signal until it continues.
      yield* signal("SIGCONT")
      yield* signal("SIGTERM")
      const inTime = yield* Effect.timeoutOption(ended, "15 seconds")
      if (Option.isSome(inTime)) return
      yield* signal("SIGKILL")
      yield* ended
    })
  )
  const auspex: Auspex = {
    pid,
    port,
    url: `http://127.0.0.1:${port}`,
    stdout: () => written.stdout,
    stderr: () => written.stderr,
    ended,
    hasEnded: Deferred.isDone(end),
    signal
  }
  return auspex
})

/** The status of a path, or 0 without an answer. */
export const statusOf = (url: string, patience: Duration.Input = "5 seconds") =>
  Effect.tryPromise(async (signal) => {
    const response = await fetch(url, { signal })
    await response.arrayBuffer()
    return response.status
  }).pipe(
    Effect.timeout(patience),
    Effect.orElseSucceed(() => 0)
  )

/** Waits until it reports readiness; fails immediately, with its output, if it ends instead. */
export const whenReady = Effect.fnUntraced(function* (
  auspex: Auspex,
  // start.process.test.ts tests how long a start may take.
  patience: Duration.Input = ample
) {
  const died = Effect.flatMap(auspex.ended, ({ code, signal }) =>
    Effect.fail(
      new Overdue({ message: `it ended (${code ?? signal}): ${auspex.stdout()}${auspex.stderr()}` })
    )
  )
  const ready = until(
    `ready at ${auspex.url}`,
    Effect.map(statusOf(`${auspex.url}/health/ready`), (status) => status === 200),
    patience
  )
  yield* Effect.raceFirst(ready, died)
  return auspex
})

/** Waits until it reports that it has started, also if it serves nothing. */
export const whenStarted = (auspex: Auspex) =>
  until(
    "it has started",
    Effect.sync(() => auspex.stdout().includes('"message":"the instance has started"'))
  )

/** Starts it and waits until it is ready. */
export const readyAuspex = (start: Start) => Effect.flatMap(startAuspex(start), (auspex) => whenReady(auspex))

/** Asks it to stop and waits for its end. */
export const stopped = (auspex: Auspex, name: NodeJS.Signals = "SIGTERM") =>
  auspex.signal(name).pipe(
    Effect.andThen(auspex.ended),
    Effect.timeoutOrElse({
      duration: ample,
      orElse: () =>
        Effect.fail(new Overdue({ message: `it does not end:\n${auspex.stdout()}${auspex.stderr()}` }))
    })
  )

/** The processor time in ticks that a process has used so far, and its bytes in memory; on Linux only. */
export const usedBy = ({ pid }: Auspex) =>
  Effect.gen(function* () {
    const fs = yield* FileSystem.FileSystem
    const stat = yield* fs.readFileString(`/proc/${pid}/stat`)
    // The name, in brackets, may contain anything.
    const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ")
    const memory = /VmRSS:\s+(\d+) kB/.exec(yield* fs.readFileString(`/proc/${pid}/status`))?.[1]
    return { ticks: Number(fields[11]) + Number(fields[12]), memory: Number(memory) * 1024 }
  })

/** The processor time in ticks of each of these requests, one after the other. */
export const ticksOfEach = Effect.fnUntraced(function* <E, R>(
  auspex: Auspex,
  times: number,
  request: Effect.Effect<unknown, E, R>
) {
  const before = yield* usedBy(auspex)
  yield* Effect.replicateEffect(request, times, { discard: true })
  return ((yield* usedBy(auspex)).ticks - before.ticks) / times
})

/** A client whose requests go to this process. */
export const to = (auspex: Auspex) =>
  Effect.provideService(TestServer, { url: auspex.url, port: auspex.port })

/** The settings of a replica, with limits that leave room. */
export const replicaEnvironment = (
  databaseUrl: Redacted.Redacted,
  extra: Readonly<Record<string, string>> = {}
) => ({
  DATABASE_URL: Redacted.value(databaseUrl),
  AUSPEX_TOKEN_SECRET: testTokenSecret,
  AUSPEX_ADMIN_TOKEN: testAdminToken,
  AUSPEX_LOG_KEY: testLogKey,
  ...extra
})
