/** Files that are written completely or not at all, even across a power failure. */
import { randomBytes } from "node:crypto"
import { dirname } from "node:path"
import { Effect, FileSystem, Option, Path, Redacted } from "effect"
import { rootCause } from "../../services/domain/errors.ts"
import { DataDirectoryUnusable } from "./directoryLock.ts"

/** Syncs a file, or a directory: a rename is durable only once its directory is synced. */
export const sync = Effect.fnUntraced(function* (path: string) {
  const fs = yield* FileSystem.FileSystem
  const file = yield* fs.open(path, { flag: "r" })
  yield* file.sync
}, Effect.scoped)

/** The temporary name of a file while it is written. */
const asideOf = (path: string) => `${path}.${randomBytes(6).toString("hex")}`

/**
 * Writes a file that only the owner can read. The temporary file is opened exclusively, which rejects a planted symbolic link, and is
 * removed if the disk has no room for it.
 */
export const writePrivate = Effect.fnUntraced(function* (path: string, content: string) {
  const fs = yield* FileSystem.FileSystem
  const temporary = asideOf(path)
  yield* Effect.gen(function* () {
    const file = yield* fs.open(temporary, { flag: "wx", mode: 0o600 })
    yield* file.writeAll(new TextEncoder().encode(content))
    yield* file.sync
    yield* fs.rename(temporary, path)
  }).pipe(Effect.onError(() => Effect.ignore(fs.remove(temporary, { force: true }))))
  yield* sync(dirname(path))
}, Effect.scoped)

/** Makes a private file if there is none. It is linked to its name once complete, so it is never partial and two starts agree on one. */
export const makeOnce = Effect.fnUntraced(function* (path: string, content: string) {
  const fs = yield* FileSystem.FileSystem
  if (yield* fs.exists(path)) return
  const aside = asideOf(path)
  yield* writePrivate(aside, content)
  yield* Effect.ensuring(
    Effect.ignore(fs.link(aside, path)),
    Effect.ignore(fs.remove(aside, { force: true }))
  )
})

/** Removes temporary files that a killed process left while it wrote one of these files. */
export const removeLeftovers = Effect.fnUntraced(function* (directory: string, names: ReadonlyArray<string>) {
  const fs = yield* FileSystem.FileSystem
  const path = yield* Path.Path
  const entries = yield* Effect.orElseSucceed(fs.readDirectory(directory), (): Array<string> => [])
  for (const entry of entries) {
    const isLeft = names.some(
      (name) => entry.startsWith(`${name}.`) && /^(\.[0-9a-f]{12}){1,2}$/.test(entry.slice(name.length))
    )
    if (isLeft) yield* Effect.ignore(fs.remove(path.join(directory, entry)))
  }
})

/** The secret in the file `name`, made if there is none. `given` takes precedence and is not stored. */
export const secretFile = Effect.fn("secretFile")(function* (
  directory: string,
  name: string,
  given: Option.Option<Redacted.Redacted>
) {
  const fs = yield* FileSystem.FileSystem
  const path = (yield* Path.Path).join(directory, name)
  if (Option.isSome(given)) return { secret: given.value, path: Option.none<string>() }
  const text = yield* Effect.gen(function* () {
    yield* makeOnce(path, `${randomBytes(32).toString("base64url")}\n`)
    return yield* fs.readFileString(path)
  }).pipe(
    Effect.mapError(
      (cause) =>
        new DataDirectoryUnusable({
          message: `${path} cannot be read or made: ${rootCause(cause).message}`,
          cause
        })
    )
  )
  return { secret: Redacted.make(text.trim()), path: Option.some(path) }
})
