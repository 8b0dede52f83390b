/** Two processes that keep one log, killed again and again while it grows. */
import { join } from "node:path"
import { NodeServices } from "@effect/platform-node"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Fiber, Random, Ref, Schedule, Scope } from "effect"
import * as Database from "../../src/layers/postgres/Database.ts"
import { freshDatabase } from "../support/database.ts"
import { checkpoints, logState, oneTree, queue } from "../support/logbook.ts"
import { killed } from "../support/crash.ts"
import { sequencerProcess, signedUpTo } from "../support/logProcess.ts"
import { temporaryDirectory } from "../support/process.ts"

const kills = 12

describe("two processes that keep one log", () => {
  it.live(
    "are killed at any moment, and the log stays one tree with everything in it once",
    () =>
      Effect.gen(function* () {
        const url = yield* freshDatabase
        const directory = yield* temporaryDirectory
        yield* Effect.gen(function* () {
          const queued = yield* Ref.make(0)
          const growing = yield* Effect.forkChild(
            Effect.gen(function* () {
              const count = yield* Random.nextIntBetween(1, 400)
              yield* queue(count)
              yield* Ref.update(queued, (sum) => sum + count)
            }).pipe(Effect.repeat(Schedule.spaced("100 millis")))
          )
          const killing = (name: string) =>
            Effect.gen(function* () {
              const auspex = yield* sequencerProcess(url, join(directory, name))
              yield* Effect.sleep(yield* Random.nextIntBetween(500, 3000))
              yield* killed(auspex)
            }).pipe(Effect.scoped, Effect.repeat({ times: kills - 1 }))
          yield* Effect.all([killing("one"), killing("other")], { concurrency: "unbounded" })
          yield* Fiber.interrupt(growing)
          const scope = yield* Scope.Scope
          yield* Effect.forEach(["one", "other"], (name) =>
            sequencerProcess(url, join(directory, name)).pipe(Scope.provide(scope))
          )
          const { pending, size } = yield* logState
          const total = yield* Ref.get(queued)
          assert.isAtLeast(pending + size, total)
          yield* signedUpTo(pending + size)
          assert.strictEqual(yield* oneTree, pending + size)
          assert.isAtLeast((yield* checkpoints).length, kills)
          assert.isNull((yield* logState).fault)
        }).pipe(Effect.provide(Database.client(url)))
      }).pipe(Effect.provide(NodeServices.layer)),
    600_000
  )
})
