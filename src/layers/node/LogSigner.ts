/**
 * The log's key, a file in the data directory unless a setting gives it, and beside it the last signed tree head, as the
 * text of its checkpoint. An instance that only serves requests reads and writes neither.
 */
import { randomBytes } from "node:crypto"
import type { KeyObject } from "node:crypto"
import { Effect, FileSystem, Layer, Option, Path, Ref } from "effect"
import { LogSigner, SignerUnusable } from "../../services/LogSigner.ts"
import type { LogKeys, TreeHead } from "../../services/LogSigner.ts"
import { logKeys, makeLogKey, parseLogKey } from "./logKeys.ts"
import { checkpointText, parseCheckpointText } from "../crypto/signedNote.ts"
import { writePrivate } from "./DurableFile.ts"

export const layer = (options: {
  readonly directory: string
  /** The keys of the settings; without one the current key is a file. */
  readonly current: Option.Option<KeyObject>
  readonly previous: Option.Option<KeyObject>
}) =>
  Layer.effect(
    LogSigner,
    Effect.gen(function* () {
      const fs = yield* FileSystem.FileSystem
      const path = yield* Path.Path
      const keyFile = path.join(options.directory, "log-key")
      const signedFile = path.join(options.directory, "log-signed")
      const loaded = yield* Ref.make(Option.none<LogKeys>())
      const inMemory = yield* Ref.make(Option.none<Option.Option<TreeHead>>())

      const unusable = (what: string) => (error: { readonly message: string }) =>
        new SignerUnusable({ message: `${what}: ${error.message}` })

      /** Written aside and linked to its name, so that it is never partial and two starts agree on one. */
      const made = Effect.gen(function* () {
        const aside = `${keyFile}.${randomBytes(6).toString("hex")}`
        yield* fs.makeDirectory(options.directory, { recursive: true })
        yield* writePrivate(aside, makeLogKey())
        yield* Effect.ensuring(Effect.ignore(fs.link(aside, keyFile)), Effect.ignore(fs.remove(aside)))
      })

      const kept = Effect.gen(function* () {
        if (!(yield* fs.exists(keyFile))) yield* made
        return parseLogKey(yield* fs.readFileString(keyFile))
      }).pipe(
        Effect.provideService(FileSystem.FileSystem, fs),
        Effect.mapError(unusable(`The log's key ${keyFile} cannot be read or made`)),
        Effect.flatMap(
          Option.match({
            onNone: () =>
              Effect.fail(new SignerUnusable({ message: `${keyFile} holds no Ed25519 key in PKCS#8.` })),
            onSome: Effect.succeed
          })
        )
      )

      const keys = Effect.map(
        Option.match(options.current, { onNone: () => kept, onSome: Effect.succeed }),
        (current) => logKeys(current, options.previous)
      )

      const stored = Effect.gen(function* () {
        if (!(yield* fs.exists(signedFile))) return Option.none<TreeHead>()
        const head = parseCheckpointText(yield* fs.readFileString(signedFile))
        if (Option.isSome(head)) return head
        return yield* new SignerUnusable({ message: `${signedFile} is not what was written there.` })
      }).pipe(
        Effect.catchTag("PlatformError", (error) =>
          Effect.fail(unusable(`${signedFile} cannot be read`)(error))
        )
      )

      return LogSigner.of({
        keys: Effect.gen(function* () {
          const known = yield* Ref.get(loaded)
          if (Option.isSome(known)) return known.value
          const found = yield* keys
          yield* Ref.set(loaded, Option.some(found))
          return found
        }),
        lastSigned: Effect.gen(function* () {
          const known = yield* Ref.get(inMemory)
          if (Option.isSome(known)) return known.value
          const head = yield* stored
          yield* Ref.set(inMemory, Option.some(head))
          return head
        }),
        rememberSigned: (head) =>
          fs
            .makeDirectory(options.directory, { recursive: true })
            .pipe(
              Effect.andThen(writePrivate(signedFile, checkpointText(head))),
              Effect.provideService(FileSystem.FileSystem, fs),
              Effect.mapError(unusable(`What was signed cannot be kept in ${signedFile}`)),
              Effect.andThen(Ref.set(inMemory, Option.some(Option.some(head))))
            )
      })
    })
  )
