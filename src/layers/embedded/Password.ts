/** The database password: random, only in a file that its owner alone can read. */
import { randomBytes } from "node:crypto"
import { join } from "node:path"
import { Effect, FileSystem, Option } from "effect"
import { writePrivate } from "../node/DurableFile.ts"

/** Base64url, so it needs no quoting in SQL and no encoding in a URL. */
export const make = Effect.sync(() => randomBytes(32).toString("base64url"))

const file = (dataDir: string) => join(dataDir, "postgres-password")

export const load = Effect.fnUntraced(function* (dataDir: string) {
  const fs = yield* FileSystem.FileSystem
  const text = yield* fs.readFileString(file(dataDir)).pipe(
    Effect.map((text) => Option.some(text.trim())),
    Effect.catchReason("PlatformError", "NotFound", () => Effect.succeedNone)
  )
  return Option.filter(text, (password) => /^[\w-]{43}$/.test(password))
})

export const save = (dataDir: string, password: string) => writePrivate(file(dataDir), `${password}\n`)
