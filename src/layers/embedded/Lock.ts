/**
 * One program per data directory. The lock belongs to the kernel, not to a file that says who holds it: it ends with
 * its process however that dies, so there is no stale lock to judge, no reused pid and no race to take one over, and
 * containers that share a volume see each other. Node offers file locks only through SQLite, whose database here
 * stays empty.
 */
import { join } from "node:path"
import { DatabaseSync } from "node:sqlite"
import { Data, Effect, FileSystem, Predicate } from "effect"
import { ownUid } from "./Account.ts"
import { EmbeddedPostgresError } from "./EmbeddedPostgresError.ts"

const lockFile = (directory: string) => join(directory, "auspex.lock")

/** For people, and for the message to whoever comes second. */
const pidFile = (directory: string) => join(directory, "auspex.pid")

const sqliteBusy = 5

class LockRefused extends Data.TaggedError("LockRefused")<{ readonly cause: unknown }> {
  get isHeld(): boolean {
    return Predicate.hasProperty(this.cause, "errcode") && this.cause.errcode === sqliteBusy
  }
}

const open = (path: string) => {
  const database = new DatabaseSync(path, { timeout: 0 })
  try {
    // Nothing is ever written, so there is nothing to keep for a rollback after a crash.
    database.exec("pragma journal_mode = off")
    database.exec("begin immediate")
    return database
  } catch (cause) {
    database.close()
    throw cause
  }
}

const refusal = Effect.fnUntraced(function* (directory: string, { cause, isHeld }: LockRefused) {
  const fs = yield* FileSystem.FileSystem
  if (!isHeld) {
    return yield* new EmbeddedPostgresError({
      message: `Cannot lock ${lockFile(directory)}: ${String(cause)}. It must be on a file system with locks.`,
      cause
    })
  }
  const holder = yield* fs.readFileString(pidFile(directory)).pipe(Effect.orElseSucceed(() => "unknown"))
  return yield* new EmbeddedPostgresError({
    message:
      `Auspex already runs in ${directory} (process ${holder.trim()}). Stop it first, or start this one with ` +
      `another data directory (AUSPEX_DATA_DIR).`
  })
})

/** SQLite takes what it cannot write to for read-only, and then locks nothing. */
const checkWritable = Effect.fnUntraced(function* (path: string) {
  const fs = yield* FileSystem.FileSystem
  yield* fs.access(path, { writable: true }).pipe(
    Effect.mapError(
      (cause) =>
        new EmbeddedPostgresError({
          message:
            `${path} is not writable by the user who starts Auspex (uid ${ownUid ?? "unknown"}). ` +
            `Start it as its owner or as root, or with another data directory (AUSPEX_DATA_DIR).`,
          cause
        })
    )
  )
})

export const acquire = Effect.fn("Lock.acquire")(function* (directory: string) {
  const fs = yield* FileSystem.FileSystem
  yield* checkWritable(directory)
  if (yield* fs.exists(lockFile(directory))) yield* checkWritable(lockFile(directory))
  const pid = pidFile(directory)
  yield* Effect.acquireRelease(
    Effect.try({ try: () => open(lockFile(directory)), catch: (cause) => new LockRefused({ cause }) }).pipe(
      Effect.catch((error) => refusal(directory, error))
    ),
    (database) =>
      Effect.ignore(fs.remove(pid, { force: true })).pipe(Effect.andThen(Effect.sync(() => database.close())))
  )
  // Removed first: it may be another user's, whose file we could not write to.
  yield* fs.remove(pid, { force: true })
  yield* fs.writeFileString(pid, `${process.pid}\n`)
})
