/** Files that are written completely or not at all, also across a power failure. */
import { randomBytes } from "node:crypto"
import { dirname } from "node:path"
import { Effect, FileSystem, Option, Path, Redacted } from "effect"

/** Syncs a file, or a directory: a rename is durable only once its directory is synced. */
export const sync = Effect.fnUntraced(function* (path: string) {
  const fs = yield* FileSystem.FileSystem
  const file = yield* fs.open(path, { flag: "r" })
  yield* file.sync
}, Effect.scoped)

/** Readable by the owner only. The temporary file is opened exclusively, which rejects a planted symbolic link. */
export const writePrivate = Effect.fnUntraced(function* (path: string, content: string) {
  const fs = yield* FileSystem.FileSystem
  const temporary = `${path}.${randomBytes(6).toString("hex")}`
  const file = yield* fs.open(temporary, { flag: "wx", mode: 0o600 })
  yield* file.writeAll(new TextEncoder().encode(content))
  yield* file.sync
  yield* fs.rename(temporary, path)
  yield* sync(dirname(path))
}, Effect.scoped)

/**
 * The secret in the file `name`, made if there is none. `given` wins and is not stored. The file is written aside and
 * linked to its name, so that it is never partial and two starts agree on one.
 */
export const secretFile = Effect.fn("secretFile")(function* (
  directory: string,
  name: string,
  given: Option.Option<Redacted.Redacted>
) {
  const fs = yield* FileSystem.FileSystem
  const path = (yield* Path.Path).join(directory, name)
  if (Option.isSome(given)) return { secret: given.value, path: Option.none<string>() }
  if (!(yield* fs.exists(path))) {
    const aside = `${path}.${randomBytes(6).toString("hex")}`
    yield* fs.writeFileString(aside, `${randomBytes(32).toString("base64url")}\n`, {
      mode: 0o600,
      flag: "wx"
    })
    yield* Effect.ensuring(Effect.ignore(fs.link(aside, path)), Effect.ignore(fs.remove(aside)))
  }
  const text = yield* fs.readFileString(path)
  return { secret: Redacted.make(text.trim()), path: Option.some(path) }
})
