/** PostgreSQL's own log: files of bounded size in the cluster, named so that they sort by age. */
import { join } from "node:path"
import { Effect, FileSystem, Schedule } from "effect"

const keep = 5

export const settings = {
  logging_collector: "on",
  log_directory: "log",
  log_filename: "postgres-%Y%m%d-%H%M%S.log",
  log_file_mode: "0600",
  log_rotation_age: "0",
  log_rotation_size: "10MB",
  // The statements and their rows are the program's business, and its users'.
  log_error_verbosity: "terse",
  log_min_error_statement: "panic",
  log_timezone: "UTC"
}

/** Newest last. Empty before the first start. */
const files = Effect.fnUntraced(function* (clusterDir: string) {
  const fs = yield* FileSystem.FileSystem
  const directory = join(clusterDir, "log")
  const names = yield* fs.readDirectory(directory).pipe(Effect.orElseSucceed((): Array<string> => []))
  return names.toSorted().map((name) => join(directory, name))
})

export const tail = Effect.fnUntraced(function* (clusterDir: string) {
  const fs = yield* FileSystem.FileSystem
  const path = (yield* files(clusterDir)).at(-1)
  if (path === undefined) return { path: join(clusterDir, "log"), lines: [] }
  const text = yield* fs.readFileString(path).pipe(Effect.orElseSucceed(() => ""))
  return { path, lines: text.trimEnd().split("\n").slice(-12) }
})

/** PostgreSQL never deletes a log file. */
export const prune = Effect.fnUntraced(
  function* (clusterDir: string) {
    const fs = yield* FileSystem.FileSystem
    const old = (yield* files(clusterDir)).slice(0, -keep)
    yield* Effect.forEach(old, (path) => Effect.ignore(fs.remove(path)), { discard: true })
  },
  Effect.repeat(Schedule.spaced("5 minutes"))
)
