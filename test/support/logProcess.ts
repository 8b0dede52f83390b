/** Real processes that keep the log of one database. */
import { join } from "node:path"
import { Effect, FileSystem, Option } from "effect"
import type { Redacted } from "effect"
import { parseCheckpointText } from "../../src/layers/crypto/signedNote.ts"
import { checkpoints, logState } from "./logbook.ts"
import { replicaEnvironment, startAuspex, until } from "./process.ts"

/** Without the API it has started once it has said so. */
export const sequencerProcess = Effect.fnUntraced(function* (url: Redacted.Redacted, dataDir: string) {
  const auspex = yield* startAuspex({
    environment: replicaEnvironment(url, { AUSPEX_ROLES: "jobs", AUSPEX_DATA_DIR: dataDir })
  })
  yield* until(
    "it has started",
    "20 seconds",
    Effect.sync(() => auspex.stdout().includes("Auspex serves"))
  )
  return auspex
})

/** The size that a data directory remembers to have signed. */
export const rememberedIn = Effect.fnUntraced(function* (dataDir: string) {
  const fs = yield* FileSystem.FileSystem
  const text = yield* Effect.option(fs.readFileString(join(dataDir, "log-signed")))
  return Option.map(Option.flatMap(text, parseCheckpointText), ({ size }) => size)
})

/** Waits until everything that was queued is under a signature. */
export const signedUpTo = (size: number) =>
  until(
    `${size} entries are signed`,
    "20 seconds",
    Effect.gen(function* () {
      const { pending } = yield* logState
      const newest = (yield* checkpoints).at(-1)
      return pending === 0 && newest?.size === size
    })
  )
