/** Files that are there whole or not at all, also after a power failure. */
import { randomBytes } from "node:crypto"
import { dirname } from "node:path"
import { Effect, FileSystem, Option, Path, Redacted } from "effect"

/** Waits until a file, or the names in a directory, are on disk. A rename is only once its directory is. */
export const sync = Effect.fnUntraced(function* (path: string) {
  const fs = yield* FileSystem.FileSystem
  const file = yield* fs.open(path, { flag: "r" })
  yield* file.sync
}, Effect.scoped)

/** Only the owner may read it. The temporary name is opened exclusively, so a planted symbolic link is refused. */
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
 * The secret kept under `name`, made when there is none. `given` wins, and is not written down.
 * A file is created whole or not at all: written aside, then linked to its name, so that two starts agree on one.
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
