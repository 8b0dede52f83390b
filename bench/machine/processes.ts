/** Processes of the bench: the scope ends each by its pid, whatever the reason. */
import { fork, spawn } from "node:child_process"
import type { ChildProcess } from "node:child_process"
import { mkdtempSync, rmSync } from "node:fs"
import { createServer } from "node:net"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { Data, Effect, Schedule } from "effect"
import { serverEnvironment } from "../world.ts"

/** The bench failed: it ends with this message and exit code 1. */
export class BenchFailed extends Data.TaggedError("BenchFailed")<{ readonly message: string }> {}

export const project = fileURLToPath(new URL("../../", import.meta.url))

/** An empty folder, removed at the end of the scope. */
export const temporaryFolder = Effect.acquireRelease(
  Effect.sync(() => mkdtempSync(join(tmpdir(), "auspex-bench-"))),
  (folder) => Effect.sync(() => rmSync(folder, { recursive: true, force: true }))
)

const hasEnded = (child: ChildProcess) => child.exitCode !== null || child.signalCode !== null

const ending = (child: ChildProcess) =>
  Effect.callback<void>((resume) => {
    if (hasEnded(child)) return resume(Effect.void)
    child.once("exit", () => resume(Effect.void))
  })

const stop = Effect.fnUntraced(function* (child: ChildProcess) {
  for (const signal of ["SIGTERM", "SIGKILL"] as const) {
    if (hasEnded(child)) return
    child.kill(signal)
    yield* Effect.timeoutOption(ending(child), "25 seconds")
  }
})

export interface Started {
  readonly pid: number
  readonly child: ChildProcess
  /** The process's latest output, for the message of a failure. */
  readonly written: () => string
}

const started = (make: () => ChildProcess) =>
  Effect.acquireRelease(
    Effect.sync((): Started => {
      const child = make()
      let text = ""
      const keep = (chunk: Buffer) => {
        text = (text + chunk.toString()).slice(-4000)
      }
      child.stdout?.on("data", keep)
      child.stderr?.on("data", keep)
      child.on("error", (error) => keep(Buffer.from(String(error))))
      return { pid: child.pid ?? 0, child, written: () => text }
    }),
    ({ child }) => stop(child)
  )

/** A program with its arguments; it gets the bench's own environment if none is given. */
export const program = (
  command: string,
  args: ReadonlyArray<string>,
  environment?: Readonly<Record<string, string>>
) =>
  started(() =>
    spawn(command, args, {
      cwd: project,
      ...(environment !== undefined && { env: { ...environment } }),
      stdio: ["ignore", "pipe", "pipe"]
    })
  )

/** A module of the bench with which it exchanges messages. */
export const module_ = (path: URL, args: ReadonlyArray<string> = []) =>
  started(() => fork(path, args, { cwd: project, env: { PATH: "/usr/bin:/bin" }, silent: true }))

/** Waits for the end, and requires success. */
export const ended = Effect.fnUntraced(function* (what: string, { child, written }: Started) {
  yield* ending(child)
  if (child.exitCode !== 0) {
    return yield* new BenchFailed({
      message: `${what} ended with ${child.exitCode ?? child.signalCode}: ${written()}`
    })
  }
})

export const freePort = Effect.callback<number>((resume) => {
  const server = createServer()
  server.listen(0, "127.0.0.1", () => {
    const address = server.address()
    const port = typeof address === "object" && address !== null ? address.port : 0
    server.close(() => resume(Effect.succeed(port)))
  })
})

const isReady = (port: number) =>
  Effect.promise(() =>
    fetch(`http://127.0.0.1:${port}/health/ready`).then(
      ({ status }) => status === 200,
      () => false
    )
  )

export interface Server {
  readonly pid: number
  readonly port: number
  readonly process: Started
}

/** The real server, as operators start it. */
export const auspex = Effect.fnUntraced(function* (
  databaseUrl: string,
  environment: Readonly<Record<string, string>> = {}
) {
  const port = yield* freePort
  const process_ = yield* program(process.execPath, ["src/main.ts"], {
    ...serverEnvironment(databaseUrl, port),
    AUSPEX_DATA_DIR: yield* temporaryFolder,
    ...environment
  })
  yield* isReady(port).pipe(
    Effect.repeat({
      until: (ready) => ready || hasEnded(process_.child),
      schedule: Schedule.spaced("50 millis"),
      times: 600
    })
  )
  if (!(yield* isReady(port))) {
    return yield* new BenchFailed({ message: `the server did not start: ${process_.written()}` })
  }
  const server: Server = { pid: process_.pid, port, process: process_ }
  return server
})

/** A module of the bench that listens on its own port; some first get a message with their settings. */
export const listening = Effect.fnUntraced(function* (
  file: URL,
  { args = [], message }: { readonly args?: ReadonlyArray<string>; readonly message?: object } = {}
) {
  const started = yield* module_(file, args)
  const port = yield* Effect.callback<number, BenchFailed>((resume) => {
    started.child.once("message", (report: { readonly port: number }) => resume(Effect.succeed(report.port)))
    started.child.once("exit", () =>
      resume(new BenchFailed({ message: `${file.pathname} did not start: ${started.written()}` }))
    )
    if (message !== undefined) started.child.send(message)
  })
  const server: Server = { pid: started.pid, port, process: started }
  return server
})

/** Describes a server that did not answer. */
export const remains = ({ process: { child, written } }: Server): string =>
  `${hasEnded(child) ? `the server has ended (${child.exitCode ?? child.signalCode})` : "the server runs"}; it wrote: ${written()}`
