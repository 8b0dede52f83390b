import { createPrivateKey } from "node:crypto"
import { join } from "node:path"
import { NodeServices } from "@effect/platform-node"
import { assert, layer } from "@effect/vitest"
import { Context, Effect, FileSystem, Layer, Option } from "effect"
import { parseLogKey } from "../../src/layers/node/logKeys.ts"
import * as LogSignerLayer from "../../src/layers/node/LogSigner.ts"
import { isSignedBy, parseNote, parseVerifierKey } from "../../src/layers/crypto/signedNote.ts"
import { LogSigner } from "../../src/services/LogSigner.ts"
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
  it.effect("the first use makes a key that only its owner may read, and later starts keep it", () =>
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

  it.effect("starts at once agree on one key", () =>
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

  it.effect("a key that is set is used, and written nowhere", () =>
    Effect.gen(function* () {
      const fs = yield* FileSystem.FileSystem
      const data = yield* directory
      yield* (yield* signerIn(data, Option.some(testLogKey))).keys
      assert.deepStrictEqual(yield* fs.readDirectory(data), [])
    })
  )

  it.effect("what was signed is known to the next start", () =>
    Effect.gen(function* () {
      const fs = yield* FileSystem.FileSystem
      const data = join(yield* directory, "data")
      const signer = yield* signerIn(data, Option.some(testLogKey))
      assert.isTrue(Option.isNone(yield* signer.lastSigned))
      for (const size of [1, 20]) {
        const head = { origin, size, root: Buffer.alloc(32, size) }
        yield* signer.rememberSigned(head)
        assert.deepStrictEqual(yield* signer.lastSigned, Option.some(head))
        assert.deepStrictEqual(yield* (yield* signerIn(data)).lastSigned, Option.some(head))
      }
      assert.deepStrictEqual(yield* fs.readDirectory(data), ["log-signed"])
    })
  )

  it.effect("files that are not what they should be are said, and nothing is signed", () =>
    Effect.gen(function* () {
      const fs = yield* FileSystem.FileSystem
      const data = yield* directory
      yield* fs.writeFileString(join(data, "log-key"), "not a key")
      yield* fs.writeFileString(join(data, "log-signed"), "cut of")
      const signer = yield* signerIn(data)
      assert.match((yield* Effect.flip(signer.keys)).message, /log-key holds no Ed25519 key/)
      assert.match(
        (yield* Effect.flip(signer.lastSigned)).message,
        /log-signed is not what was written there/
      )
      // What was put right is used without a new start.
      yield* fs.writeFileString(join(data, "log-key"), testLogKey)
      yield* signer.keys
      const blocked = yield* signerIn(join(data, "log-key", "data"), Option.some(testLogKey))
      const refusal = yield* Effect.flip(blocked.rememberSigned({ origin, size: 1, root: Buffer.alloc(32) }))
      assert.match(refusal.message, /What was signed cannot be kept in .*log-signed/)
    })
  )
})
