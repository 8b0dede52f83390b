/** The lock on a data directory: only one program has it at a time. */
import { join } from "node:path"
import { DatabaseSync } from "node:sqlite"
import { Data, Effect, FileSystem, Predicate } from "effect"
import { rootCause } from "../../services/domain/errors.ts"

/** The message contains all that an operator needs: the fault, its place, and what would be right. */
export class DataDirectoryUnusable extends Data.TaggedError("DataDirectoryUnusable")<{
  readonly message: string
  readonly cause?: unknown
}> {}

const lockFile = (directory: string) => join(directory, "auspex.lock")

/** The file informs people, and the message of a second start. */
const pidFile = (directory: string) => join(directory, "auspex.pid")

const sqliteBusy = 5

class LockFailed extends Data.TaggedError("LockFailed")<{ readonly cause: unknown }> {
  get isHeld(): boolean {
    return Predicate.hasProperty(this.cause, "errcode") && this.cause.errcode === sqliteBusy
  }
}

const openLock = (path: string) => {
  const database = new DatabaseSync(path, { timeout: 0 })
  try {
    // The database stays empty, so it needs no journal.
    database.exec("pragma journal_mode = off")
    database.exec("begin immediate")
    return database
  } catch (cause) {
    database.close()
    throw cause
  }
}

const lockError = Effect.fnUntraced(function* (directory: string, { cause, isHeld }: LockFailed) {
  const fs = yield* FileSystem.FileSystem
  if (!isHeld) {
    return yield* new DataDirectoryUnusable({
      message: `Cannot lock ${lockFile(directory)}: ${String(cause)}. It must be on a file system with locks.`,
      cause
    })
  }
  const holder = yield* fs.readFileString(pidFile(directory)).pipe(Effect.orElseSucceed(() => "unknown"))
  return yield* new DataDirectoryUnusable({
    message:
      `Auspex already runs in ${directory} (process ${holder.trim()}). Stop it first, or start this one with ` +
      `another data directory (AUSPEX_DATA_DIR).`
  })
})

/** SQLite opens an unwritable file as read-only, and then locks nothing. */
const checkWritable = Effect.fnUntraced(function* (path: string) {
  const fs = yield* FileSystem.FileSystem
  yield* fs.access(path, { writable: true }).pipe(
    Effect.mapError(
      (cause) =>
        new DataDirectoryUnusable({
          message:
            `${path} is not writable by the user who starts Auspex (uid ${process.getuid?.() ?? "unknown"}). ` +
            `Start it as its owner or as root, or with another data directory (AUSPEX_DATA_DIR).`,
          cause
        })
    )
  )
})

/**
 * Makes the directory if it is missing, and holds its lock until the scope ends. The kernel releases the lock when the process dies, so
 * there are no stale locks and no reused pids, and containers that share a volume see each other. Node offers file locks only through
 * SQLite, whose database here stays empty.
 */
export const lock = Effect.fn("directoryLock.lock")(
  function* (directory: string) {
    const fs = yield* FileSystem.FileSystem
    yield* fs.makeDirectory(directory, { recursive: true, mode: 0o700 })
    yield* checkWritable(directory)
    if (yield* fs.exists(lockFile(directory))) yield* checkWritable(lockFile(directory))
    const pid = pidFile(directory)
    yield* Effect.acquireRelease(
      Effect.try({
        try: () => openLock(lockFile(directory)),
        catch: (cause) => new LockFailed({ cause })
      }).pipe(Effect.catch((error) => lockError(directory, error))),
      (database) =>
        Effect.ignore(fs.remove(pid, { force: true })).pipe(
          Effect.andThen(Effect.sync(() => database.close()))
        )
    )
    // The file is removed first, since another user's file cannot be overwritten.
    yield* fs.remove(pid, { force: true })
    yield* fs.writeFileString(pid, `${process.pid}\n`)
  },
  (effect, directory) =>
    Effect.catchTag(effect, "PlatformError", (cause) =>
      Effect.fail(
        new DataDirectoryUnusable({
          message: `The data directory ${directory} (AUSPEX_DATA_DIR) cannot be used: ${rootCause(cause).message}`,
          cause
        })
      )
    )
)
