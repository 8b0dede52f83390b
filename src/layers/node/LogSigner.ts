/**
 * The log's key and the signer state as files in the data directory. A setting may give the key instead; an instance that only
 * serves requests neither reads nor makes it. Every instance has a signer state.
 */
import type { KeyObject } from "node:crypto"
import { Effect, FileSystem, Layer, Option, Path, Ref, Schema } from "effect"
import { rootCause } from "../../services/domain/errors.ts"
import { anyServer, LogSigner, SignerUnusable } from "../../services/LogSigner.ts"
import type { Checkpoint, LogKeys, SignerState } from "../../services/LogSigner.ts"
import { logKeys, makeLogKey, parseLogKey } from "./logKeys.ts"
import { parseCheckpoint, parseCheckpointText } from "../crypto/signedNote.ts"
import { makeOnce, removeLeftovers, writePrivate } from "./DurableFile.ts"

const Stored = Schema.fromJsonString(
  Schema.Struct({
    checkpoint: Schema.NullOr(Schema.String),
    server: Schema.NullOr(Schema.String),
    continuation: Schema.Int
  })
)

const decodeStored = Schema.decodeOption(Stored)
const encodeStored = Schema.encodeSync(Stored)

/** Parses a saved state; none if the text is no such state. */
const parseState = (text: string): Option.Option<SignerState> =>
  Option.flatMap(decodeStored(text), ({ checkpoint, continuation, server }) => {
    const seen = checkpoint === null ? Option.none<Checkpoint>() : checkpointOf(checkpoint)
    return checkpoint !== null && Option.isNone(seen)
      ? Option.none()
      : Option.some({ checkpoint: seen, server: Option.fromNullOr(server), continuation })
  })

/** Versions before 0.2 wrote a checkpoint's text without its signature to `log-signed`. */
const checkpointOf = (note: string): Option.Option<Checkpoint> =>
  Option.orElse(parseCheckpoint(note), () =>
    Option.map(parseCheckpointText(note), (head) => ({ ...head, note }))
  )

const larger = (one: Option.Option<Checkpoint>, other: Option.Option<Checkpoint>) =>
  Option.exists(one, ({ origin, size }) =>
    Option.exists(other, (known) => known.origin === origin && known.size > size)
  )
    ? other
    : one

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
      const seenFile = path.join(options.directory, "log-seen")
      const formerFile = path.join(options.directory, "log-signed")
      const known = yield* Ref.make(Option.none<Option.Option<SignerState>>())

      const unusable = (what: string) => (error: unknown) =>
        new SignerUnusable({ message: `${what}: ${rootCause(error).message}` })
      yield* removeLeftovers(options.directory, ["log-key", "log-seen", "token-secret", "admin-token"])

      const kept = Effect.gen(function* () {
        yield* fs.makeDirectory(options.directory, { recursive: true })
        yield* makeOnce(keyFile, makeLogKey())
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

      const read = Effect.fnUntraced(
        function* (file: string, parse: (text: string) => Option.Option<SignerState>) {
          if (!(yield* fs.exists(file))) return Option.none<SignerState>()
          const state = parse(yield* fs.readFileString(file))
          if (Option.isSome(state)) return state
          return yield* new SignerUnusable({
            message: `${file} was changed: its content is no signer state.`
          })
        },
        Effect.catchTag("PlatformError", (error) =>
          Effect.fail(unusable(`The signer state cannot be read`)(error))
        )
      )

      const former = read(formerFile, (text) =>
        Option.map(checkpointOf(text), (checkpoint) => ({
          checkpoint: Option.some(checkpoint),
          server: Option.some(anyServer),
          continuation: 0
        }))
      )

      const stored = Effect.filterOrElse(read(seenFile, parseState), Option.isSome, () => former)

      /** Reads a value until that has succeeded once, and then keeps it. */
      const readOnce = <A, E>(kept: Ref.Ref<Option.Option<A>>, read: Effect.Effect<A, E>) =>
        Effect.gen(function* () {
          const before = yield* Ref.get(kept)
          if (Option.isSome(before)) return before.value
          const found = yield* read
          yield* Ref.set(kept, Option.some(found))
          return found
        })

      return LogSigner.of({
        keys: readOnce(yield* Ref.make(Option.none<LogKeys>()), keys),
        state: readOnce(known, stored),
        save: Effect.fnUntraced(function* (state) {
          const there = Option.flatMap(yield* stored, ({ checkpoint }) => checkpoint)
          const next = { ...state, checkpoint: larger(state.checkpoint, there) }
          const text = encodeStored({
            checkpoint: Option.getOrNull(Option.map(next.checkpoint, ({ note }) => note)),
            server: Option.getOrNull(next.server),
            continuation: next.continuation
          })
          yield* fs.makeDirectory(options.directory, { recursive: true }).pipe(
            Effect.andThen(writePrivate(seenFile, `${text}\n`)),
            // The former file would be out of date if the new one were lost.
            Effect.andThen(fs.remove(formerFile, { force: true })),
            Effect.provideService(FileSystem.FileSystem, fs),
            Effect.mapError(unusable(`The signer state cannot be saved in ${seenFile}`))
          )
          yield* Ref.set(known, Option.some(Option.some(next)))
        })
      })
    })
  )
