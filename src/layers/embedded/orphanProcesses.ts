/**
 * Orphans that still use the cluster: a PostgreSQL whose Auspex was killed, or backends whose postmaster was. Every process of PostgreSQL
 * has the cluster as its working directory, which distinguishes them from strangers with a reused pid.
 */
import { join } from "node:path"
import { Effect, FileSystem, Option, Schedule } from "effect"
import { runProgram } from "./Account.ts"

export const signal = (pid: number, name: NodeJS.Signals) =>
  Effect.sync(() => {
    try {
      process.kill(pid, name)
    } catch {
      // The process has ended meanwhile.
    }
  })

/** The lines are: pid, directory, start time, port, socket directory, address, shared memory, status. */
export const pidFile = Effect.fnUntraced(function* (clusterDir: string) {
  const fs = yield* FileSystem.FileSystem
  const text = yield* fs.readFileString(join(clusterDir, "postmaster.pid")).pipe(Effect.option)
  return Option.map(text, (text) => {
    const lines = text.split("\n")
    return { pid: Number(lines[0]), status: lines[7]?.trim() ?? "" }
  })
})

/** On Linux, /proc lists every process. A zombie's links cannot be read, so it counts as gone. */
const fromProc = Effect.fnUntraced(function* (clusterDir: string) {
  const fs = yield* FileSystem.FileSystem
  const pids = (yield* fs.readDirectory("/proc")).filter((name) => /^\d+$/.test(name))
  const ours = yield* Effect.filter(
    pids,
    Effect.fnUntraced(function* (pid) {
      const directory = yield* Effect.option(fs.readLink(`/proc/${pid}/cwd`))
      if (!Option.contains(directory, clusterDir)) return false
      const name = yield* Effect.option(fs.readFileString(`/proc/${pid}/comm`))
      return Option.contains(name, "postgres\n")
    }),
    { concurrency: 16 }
  )
  return ours.map(Number)
})

/** On other systems only the postmaster is found: its command line names the cluster, its children's titles do not. */
const fromPidFile = Effect.fnUntraced(function* (clusterDir: string) {
  const noted = yield* pidFile(clusterDir)
  if (Option.isNone(noted)) return []
  const { output } = yield* runProgram({
    command: "/bin/ps",
    args: ["-ww", "-o", "command=", "-p", String(noted.value.pid)],
    account: null
  })
  return output.includes("postgres") && output.includes(clusterDir) ? [noted.value.pid] : []
})

const processesOf = Effect.fnUntraced(
  function* (clusterDir: string) {
    return yield* process.platform === "linux" ? fromProc(clusterDir) : fromPidFile(clusterDir)
  },
  Effect.orElseSucceed((): ReadonlyArray<number> => [])
)

/** Waits until none is left; false if the time runs out. */
const gone = (clusterDir: string) =>
  processesOf(clusterDir).pipe(
    Effect.repeat({ until: (pids) => pids.length === 0, schedule: Schedule.spaced("50 millis") }),
    Effect.timeoutOption("10 seconds"),
    Effect.map(Option.isSome)
  )

const isTaken = (pid: number) =>
  Effect.sync(() => {
    try {
      return process.kill(pid, 0)
    } catch (cause) {
      return cause instanceof Error && "code" in cause && cause.code === "EPERM"
    }
  })

/**
 * Ends the orphans: SIGINT asks the postmaster for a fast shutdown, SIGQUIT asks all for an immediate one, after which PostgreSQL
 * recovers as after a power failure.
 */
export const end = Effect.fn("orphanProcesses.end")(function* (clusterDir: string) {
  const fs = yield* FileSystem.FileSystem
  const noted = yield* pidFile(clusterDir)
  if (Option.isNone(noted)) return
  const { pid } = noted.value
  let left = yield* processesOf(clusterDir)
  let ended = left.length === 0
  if (left.includes(pid)) {
    yield* Effect.logWarning(
      `PostgreSQL (process ${pid}) outlived the program that started it; it is stopped`
    )
    yield* signal(pid, "SIGINT")
    ended = yield* gone(clusterDir)
  }
  for (const name of ["SIGQUIT", "SIGKILL"] as const) {
    if (ended) break
    left = yield* processesOf(clusterDir)
    yield* Effect.forEach(left, (pid) => signal(pid, name), { discard: true })
    ended = yield* gone(clusterDir)
  }
  // PostgreSQL replaces the file of a dead postmaster itself, but not if a stranger or a zombie now has the pid.
  if (ended && (yield* isTaken(pid))) yield* fs.remove(join(clusterDir, "postmaster.pid"), { force: true })
})
