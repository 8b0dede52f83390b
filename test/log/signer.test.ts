import { createPrivateKey } from "node:crypto"
import { join } from "node:path"
import { getSystemErrorMap } from "node:util"
import * as NodeServices from "@effect/platform-node/NodeServices"
import { assert, layer } from "@effect/vitest"
import { Context, Effect, FileSystem, Layer, Option, PlatformError } from "effect"
import { parseLogKey } from "../../src/layers/node/logKeys.ts"
import * as LogSignerLayer from "../../src/layers/node/LogSigner.ts"
import {
  checkpointText,
  isSignedBy,
  parseNote,
  parseVerifierKey
} from "../../src/layers/crypto/signedNote.ts"
import { anyServer, LogSigner } from "../../src/services/LogSigner.ts"
import type { Checkpoint, SignerState } from "../../src/services/LogSigner.ts"
import { testLogKey } from "../support/logSigner.ts"

const origin = "arena.example/log/global"

const signerIn = (directory: string, current = Option.none<string>()) =>
  Layer.build(
    LogSignerLayer.layer({
      directory,
      current: Option.flatMap(current, parseLogKey),
      previous: Option.none()
    })
  ).pipe(Effect.map((built) => Context.get(built, LogSigner)))

const directory = Effect.flatMap(FileSystem.FileSystem, (fs) => fs.makeTempDirectoryScoped())

layer(NodeServices.layer)("The signer's files", (it) => {
  it.effect("The signer's first use makes a key for its owner's eyes alone, which later starts keep", () =>
    Effect.gen(function* () {
      const fs = yield* FileSystem.FileSystem
      const data = join(yield* directory, "data")
      const signer = yield* signerIn(data)
      assert.isFalse(yield* fs.exists(data))
      const { sign, verifierKey } = yield* signer.keys
      const file = join(data, "log-key")
      assert.strictEqual((yield* fs.stat(file)).mode & 0o777, 0o600)
      assert.deepStrictEqual(yield* fs.readDirectory(data), ["log-key"])
      assert.strictEqual(createPrivateKey(yield* fs.readFileString(file)).asymmetricKeyType, "ed25519")
      const again = yield* (yield* signerIn(data)).keys
      assert.strictEqual(again.verifierKey(origin), verifierKey(origin))
      const note = Option.getOrThrow(parseNote(`text\n\n${sign(origin, "text\n")}`))
      assert.isTrue(isSignedBy(note, Option.getOrThrow(parseVerifierKey(verifierKey(origin)))))
    })
  )

  it.effect("The signer's starts at once agree on one key", () =>
    Effect.gen(function* () {
      const data = yield* directory
      const signers = yield* Effect.all([signerIn(data), signerIn(data), signerIn(data)])
      const made = yield* Effect.all(
        signers.map(({ keys }) => keys),
        { concurrency: "unbounded" }
      )
      assert.strictEqual(new Set(made.map(({ verifierKey }) => verifierKey(origin))).size, 1)
    })
  )

  it.effect("The signer uses a key of the settings, and writes it nowhere", () =>
    Effect.gen(function* () {
      const fs = yield* FileSystem.FileSystem
      const data = yield* directory
      yield* (yield* signerIn(data, Option.some(testLogKey))).keys
      assert.deepStrictEqual(yield* fs.readDirectory(data), [])
    })
  )

  /** A checkpoint of entries that never were. */
  const checkpoint = (size: number) =>
    Effect.gen(function* () {
      const head = { origin, size, root: Buffer.alloc(32, size) }
      const { sign } = yield* (yield* signerIn("unused", Option.some(testLogKey))).keys
      const text = checkpointText(head)
      return { ...head, note: `${text}\n${sign(origin, text)}` }
    })

  const stateOf = (seen: Checkpoint): SignerState => ({
    checkpoint: Option.some(seen),
    server: Option.some("7/1/5"),
    continuation: 3
  })

  it.effect("The signer's next start knows the heads that were seen", () =>
    Effect.gen(function* () {
      const fs = yield* FileSystem.FileSystem
      const data = join(yield* directory, "data")
      const signer = yield* signerIn(data)
      assert.isTrue(Option.isNone(yield* signer.state))
      for (const size of [1, 20]) {
        const state = stateOf(yield* checkpoint(size))
        yield* signer.save(state)
        assert.deepStrictEqual(yield* signer.state, Option.some(state))
        assert.deepStrictEqual(yield* (yield* signerIn(data)).state, Option.some(state))
      }
      assert.deepStrictEqual(yield* fs.readDirectory(data), ["log-seen"])
      assert.strictEqual((yield* fs.stat(join(data, "log-seen"))).mode & 0o777, 0o600)
      const waiting: SignerState = { checkpoint: Option.none(), server: Option.none(), continuation: 0 }
      const fresh = yield* signerIn(join(data, "other"))
      yield* fresh.save(waiting)
      assert.deepStrictEqual(yield* (yield* signerIn(join(data, "other"))).state, Option.some(waiting))
    })
  )

  const errnos = ["ENOSPC", "EDQUOT", "EROFS", "EIO", "EACCES", "EPERM", "EMFILE", "ENFILE", "EFBIG"]
  it.effect.each(
    ["open", "write", "rename"].flatMap((step) => errnos.map((errno) => [step, errno] as const))
  )(
    "A file that cannot be written (%s, %s) is reported in the system's words, with nothing beside it",
    ([step, errno]) =>
      Effect.gen(function* () {
        const fs = yield* FileSystem.FileSystem
        const data = yield* directory
        const first = stateOf(yield* checkpoint(10))
        yield* (yield* signerIn(data)).save(first)
        const [code, [, words]] = [...getSystemErrorMap()].find(([, [name]]) => name === errno) ?? [
          0,
          ["", ""]
        ]
        const cause = Object.assign(new Error(`${errno}: ${words}, ${step}`), { code: errno, errno: code })
        const failed = PlatformError.systemError({
          _tag: "Unknown",
          module: "FileSystem",
          method: step,
          pathOrDescriptor: 28,
          cause
        })
        const full: FileSystem.FileSystem = {
          ...fs,
          open: (path, options) =>
            step === "open" && options?.flag === "wx"
              ? Effect.fail(failed)
              : Effect.map(fs.open(path, options), (file) =>
                  step === "write" ? { ...file, sync: file.sync, writeAll: () => Effect.fail(failed) } : file
                ),
          rename: (from, to) => (step === "rename" ? Effect.fail(failed) : fs.rename(from, to))
        }
        const signer = yield* signerIn(data).pipe(Effect.provideService(FileSystem.FileSystem, full))
        const { message } = yield* Effect.flip(signer.save(stateOf(yield* checkpoint(20))))
        assert.include(message, words)
        assert.include(message, join(data, "log-seen"))
        assert.deepStrictEqual(yield* fs.readDirectory(data), ["log-seen"])
        assert.deepStrictEqual(yield* (yield* signerIn(data)).state, Option.some(first))
      })
  )

  it.effect("A start removes the files that a killed process left beside the signer's, nothing else", () =>
    Effect.gen(function* () {
      const fs = yield* FileSystem.FileSystem
      const data = yield* directory
      const left = ["log-seen.0123456789ab", "log-key.0123456789ab", "log-key.0123456789ab.ba9876543210"]
      const secrets = ["token-secret.aaaaaaaaaaaa", "admin-token.ffffffffffff"]
      const kept = [
        "admin-token.bak",
        "log-key.old",
        "log-seen",
        "log-seen.0123456789AB",
        "log-seen.0123456789abc",
        "my-log-seen.0123456789ab",
        "terms.md.0123456789ab"
      ]
      for (const name of [...left, ...secrets, ...kept]) yield* fs.writeFileString(join(data, name), "")
      yield* signerIn(data)
      assert.deepStrictEqual((yield* fs.readDirectory(data)).toSorted(), kept)
    })
  )

  it.effect("A larger checkpoint of another process with the same directory is not forgotten", () =>
    Effect.gen(function* () {
      const data = yield* directory
      const [one, other] = [yield* signerIn(data), yield* signerIn(data)]
      yield* one.save(stateOf(yield* checkpoint(20)))
      yield* other.save(stateOf(yield* checkpoint(10)))
      for (const signer of [other, yield* signerIn(data)]) {
        const seen = Option.flatMap(yield* signer.state, (state) => state.checkpoint)
        assert.strictEqual(Option.getOrThrow(seen).size, 20)
      }
    })
  )

  it.effect("A head that a version before 0.2 signed last is remembered, on whatever server it is met", () =>
    Effect.gen(function* () {
      const fs = yield* FileSystem.FileSystem
      const data = yield* directory
      const { note, ...head } = yield* checkpoint(20)
      const text = checkpointText(head)
      yield* fs.writeFileString(join(data, "log-signed"), text)
      const before = Option.getOrThrow(yield* (yield* signerIn(data)).state)
      assert.deepStrictEqual(before, {
        checkpoint: Option.some({ ...head, note: text }),
        server: Option.some(anyServer),
        continuation: 0
      })
      // The file of that version is out of date from then on.
      yield* (yield* signerIn(data)).save(stateOf({ ...head, note }))
      assert.deepStrictEqual(yield* fs.readDirectory(data), ["log-seen"])
    })
  )

  it.effect("Damaged files of the signer are reported, and nothing is signed", () =>
    Effect.gen(function* () {
      const fs = yield* FileSystem.FileSystem
      const data = yield* directory
      yield* fs.writeFileString(join(data, "log-key"), "not a key")
      yield* fs.writeFileString(join(data, "log-seen"), "cut of")
      const signer = yield* signerIn(data)
      assert.match((yield* Effect.flip(signer.keys)).message, /log-key holds no Ed25519 key/)
      const state = stateOf(yield* checkpoint(1))
      for (const refused of [signer.state, signer.save(state)]) {
        assert.match(
          (yield* Effect.flip(refused)).message,
          /log-seen was changed: its content is no signer state/
        )
      }
      // A corrected file is used without a new start.
      yield* fs.writeFileString(join(data, "log-key"), testLogKey)
      yield* signer.keys
      const blocked = yield* signerIn(join(data, "log-key", "data"), Option.some(testLogKey))
      const refusal = yield* Effect.flip(blocked.save(state))
      assert.match(refusal.message, /The signer state cannot be (read|saved in .*log-seen)/)
    })
  )
})
