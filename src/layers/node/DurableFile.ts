/** Files that are there whole or not at all, also after a power failure. */
import { randomBytes } from "node:crypto"
import { dirname } from "node:path"
import { Effect, FileSystem } from "effect"

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
