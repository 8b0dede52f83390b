/** Jobs as they run in production: every record is sequenced, published and cosigned, also while a witness keeps silent. */
import { assert, layer } from "@effect/vitest"
import { Context, Effect, Layer, Option, References, Schedule } from "effect"
import { defaultOrigin } from "../../src/config.ts"
import * as Jobs from "../../src/jobs/Jobs.ts"
import { logKeys, parseLogKey } from "../../src/layers/node/logKeys.ts"
import { parseCheckpointText, parseNote } from "../../src/layers/crypto/signedNote.ts"
import { TransparencyLog } from "../../src/services/TransparencyLog.ts"
import { newChallenge } from "../support/challenges.ts"
import { testLogKey } from "../support/logSigner.ts"
import { isCosignedBy, makeWitness } from "../support/log/witness.ts"
import type { Witness } from "../support/log/witness.ts"
import { testServices } from "../support/services.ts"

class Witnesses extends Context.Service<Witnesses, { readonly silent: Witness; readonly sound: Witness }>()(
  "auspex/test/SilentAndSound"
) {}

const keys = logKeys(Option.getOrThrow(parseLogKey(testLogKey)), Option.none())
const key = keys.verifierKey(defaultOrigin("http://127.0.0.1:8080", "global"))

const world = Layer.unwrap(
  Effect.gen(function* () {
    const silent = yield* makeWitness("witness.test/silent", [key])
    const sound = yield* makeWitness("witness.test/sound", [key])
    silent.behave(() => new Promise(() => {}))
    return Jobs.layer.pipe(
      Layer.provideMerge(testServices({ AUSPEX_LOG_WITNESSES: `${silent.setting}, ${sound.setting}` })),
      Layer.provideMerge(Layer.succeed(Witnesses, { silent, sound })),
      Layer.provide(Layer.succeed(References.MinimumLogLevel, "Error"))
    )
  })
)

/** Returns once the served checkpoint covers this many entries and has this witness's line. */
const cosigned = (size: number, { verifierKey }: Witness) =>
  Effect.gen(function* () {
    const note = yield* TransparencyLog.use((log) => log.checkpoint)
    const { text } = yield* Effect.fromOption(parseNote(note))
    const head = yield* Effect.fromOption(parseCheckpointText(text))
    const lines = note.slice(text.length + 1).split(/(?<=\n)/)
    const isThere = head.size === size && lines.some((line) => isCosignedBy(verifierKey, text, line))
    if (!isThere) return yield* Effect.fail("not yet")
    return lines.length
  }).pipe(Effect.retry(Schedule.spaced("50 millis")))

layer(world, { excludeTestServices: true })("A log with a silent witness", (it) => {
  it.effect("The log grows while a witness keeps silent, and the other cosigns each checkpoint", () =>
    Effect.gen(function* () {
      const { silent, sound } = yield* Witnesses
      for (const size of [1, 2]) {
        yield* newChallenge()
        assert.strictEqual(yield* cosigned(size, sound), 2)
      }
      assert.deepStrictEqual(
        sound.requests.map(({ body }) => body.toString("utf8").split("\n")[0]),
        ["old 0", "old 1"]
      )
      assert.lengthOf(silent.requests, 1)
    })
  )
})
