/**
 * The processor priority of a server process of PostgreSQL, which its server cannot be asked to lower. The operating
 * system can, where that process is on this machine and of our account, or we are root: as with the embedded server.
 */
import { readFileSync, writeFileSync } from "node:fs"
import { getPriority, setPriority } from "node:os"
import { Data, Effect, Predicate } from "effect"

/** What PostgreSQL says of a connection. */
export interface ServerProcess {
  readonly pid: number
  /** The port that we are connected from. */
  readonly clientPort: number | null
}

/** The process keeps the priority it has. */
export class PriorityKept extends Data.TaggedError("PriorityKept")<{ readonly reason: string }> {}

/** A tenth of a processor that everybody wants, and all of one that nobody wants: long work may become slow, but ends. */
export const lowered = 10

const codeOf = (cause: unknown) => (Predicate.hasProperty(cause, "code") ? cause.code : undefined)

/** A server process says in its title which port of ours it serves. A number of a process elsewhere is a stranger's here. */
const isServing = ({ clientPort, pid }: ServerProcess): boolean => {
  try {
    const title = readFileSync(`/proc/${pid}/cmdline`, "latin1")
    return clientPort !== null && title.startsWith("postgres: ") && title.includes(`(${clientPort})`)
  } catch {
    return false
  }
}

/**
 * Linux may share processors out among sessions first, and only then among the processes of each (`autogroup`). Each
 * server process of PostgreSQL is a session of its own, so its priority alone would change nothing. Whether it is done.
 */
const lowerSession = (pid: number): boolean => {
  const [, , , session] = readFileSync(`/proc/${pid}/stat`, "latin1")
    .replace(/^.*\) /s, "")
    .split(" ")
  if (session !== String(pid)) return true
  try {
    writeFileSync(`/proc/${pid}/autogroup`, String(lowered))
    return true
  } catch (cause) {
    // Another was changed a moment ago, so this one is to be next time.
    if (codeOf(cause) === "EAGAIN") return false
    // Without the file this kernel knows no such groups.
    if (codeOf(cause) !== "ENOENT") throw cause
    return true
  }
}

/** Has a process of this machine give way to all others, for good; it fails where that is not ours to decide. */
export const lowerProcess = (pid: number): void => {
  // An operator may have PostgreSQL give way further than that.
  if (getPriority(pid) >= lowered) return
  if (lowerSession(pid)) setPriority(pid, lowered)
}

/** Has a server process give way to all others of its machine, if that is this one. */
export const lower = (server: ServerProcess): Effect.Effect<void, PriorityKept> =>
  Effect.gen(function* () {
    if (!isServing(server)) {
      return yield* new PriorityKept({ reason: "its process cannot be seen from here" })
    }
    yield* Effect.try({
      try: () => lowerProcess(server.pid),
      catch: (cause) => new PriorityKept({ reason: cause instanceof Error ? cause.message : String(cause) })
    })
  })
