/** Secrets that the first start makes: one a file in the data directory, readable by its owner alone. */
import { randomBytes } from "node:crypto"
import { Effect, FileSystem, Option, Path, Redacted } from "effect"

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
