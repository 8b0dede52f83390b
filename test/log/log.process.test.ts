/** A process is killed within any step of keeping the log, and another one is started after it. */
import { join } from "node:path"
import * as NodeServices from "@effect/platform-node/NodeServices"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Fiber, FileSystem, Option, Random, Ref, Schedule, Schema, Scope } from "effect"
import type { Redacted } from "effect"
import * as Database from "../../src/layers/postgres/Database.ts"
import { parseCheckpoint } from "../../src/layers/crypto/signedNote.ts"
import { isFull, oneIn } from "../support/breadth.ts"
import { freshDatabase } from "../support/database.ts"
import { addPending, checkpoints, entries, logState, oneTree } from "../support/logbook.ts"
import { heldUpAt, killed } from "../support/crash.ts"
import {
  stopped,
  temporaryDirectory,
  until,
  replicaEnvironment,
  startAuspex,
  whenStarted
} from "../support/process.ts"

const sequencerProcess = Effect.fnUntraced(function* (url: Redacted.Redacted, dataDir: string) {
  const auspex = yield* startAuspex({
    environment: replicaEnvironment(url, { AUSPEX_ROLES: "jobs", AUSPEX_DATA_DIR: dataDir })
  })
  yield* whenStarted(auspex)
  return auspex
})

const decodeMemory = Schema.decodeOption(Schema.fromJsonString(Schema.Struct({ checkpoint: Schema.String })))

/** The size that a data directory remembers to have seen. */
const rememberedIn = Effect.fnUntraced(function* (dataDir: string) {
  const fs = yield* FileSystem.FileSystem
  const text = yield* Effect.option(fs.readFileString(join(dataDir, "log-seen")))
  return Option.map(
    Option.flatMap(Option.flatMap(text, decodeMemory), ({ checkpoint }) => parseCheckpoint(checkpoint)),
    ({ size }) => size
  )
})

/** Waits until everything that was queued is under a signature. */
const signedUpTo = (size: number) =>
  until(
    `${size} entries are signed`,
    Effect.gen(function* () {
      const { pending } = yield* logState
      const newest = (yield* checkpoints).at(-1)
      return pending === 0 && newest?.size === size
    })
  )

const sizes = Effect.map(checkpoints, (all) => all.map(({ size }) => size))

describe("The kill of a process that keeps the log", () => {
  const grownTo = (size: number) =>
    until(
      "the log has grown",
      Effect.map(logState, (log) => log.size === size)
    )

  /** The lock that holds up the process, its progress by then, and the log that it must leave after `signed` entries. */
  const steps = [
    {
      table: "log_nodes",
      mode: "exclusive",
      reached: () => Effect.void,
      // The entries are stored and their nodes are not: none of it has happened.
      left: Effect.fnUntraced(function* (signed: number) {
        assert.deepStrictEqual([(yield* logState).size, (yield* entries).length], [signed, signed])
      })
    },
    {
      // The log has grown, and nothing of that is signed. The lock also holds up a process that looks at an empty
      // table.
      table: "log_checkpoints",
      mode: "access exclusive",
      reached: (signed: number) => grownTo(signed + 300),
      left: () => Effect.void
    },
    {
      // The checkpoint is signed, and not kept: so it is not remembered either.
      table: "log_checkpoints",
      mode: "exclusive",
      reached: () => Effect.void,
      left: Effect.fnUntraced(function* (signed: number) {
        assert.strictEqual((yield* sizes).at(-1), signed)
      })
    }
  ] as const

  it.live("The log is one tree after a kill at each step, with nothing lost or there twice", () =>
    Effect.gen(function* () {
      const url = yield* freshDatabase
      const dataDir = join(yield* temporaryDirectory, "data")
      const start = sequencerProcess(url, dataDir)
      yield* Effect.gen(function* () {
        let running = yield* start
        let signed = 300
        yield* addPending(signed)
        yield* signedUpTo(signed)
        for (const { left, mode, reached, table } of oneIn(steps.length, steps)) {
          yield* heldUpAt(table, mode, Effect.andThen(addPending(300), reached(signed)), killed(running))
          yield* left(signed)
          assert.deepStrictEqual(yield* rememberedIn(dataDir), Option.some(signed))
          running = yield* start
          signed += 300
          yield* signedUpTo(signed)
        }
        yield* addPending(1)
        yield* signedUpTo(signed + 1)
        assert.strictEqual(yield* oneTree, signed + 1)
        assert.deepStrictEqual(yield* stopped(running), { code: 0, signal: null })
        assert.strictEqual(running.stderr(), "")
      }).pipe(Effect.provide(Database.client(url)))
    }).pipe(Effect.provide(NodeServices.layer))
  )

  it.live.runIf(isFull)("The start tells the key and, over an older database, why nothing is signed", () =>
    Effect.gen(function* () {
      const url = yield* freshDatabase
      const dataDir = join(yield* temporaryDirectory, "data")
      yield* Effect.gen(function* () {
        const sequencer = yield* sequencerProcess(url, dataDir)
        assert.match(sequencer.stdout(), /"log_key":"127\.0\.0\.1\/log\/global\+[0-9a-f]{8}\+/)
        yield* addPending(2)
        yield* signedUpTo(2)
        yield* stopped(sequencer)
        // The database has less in it, as after a restore.
        yield* addPending(1)
        const restored = yield* freshDatabase
        const other = yield* sequencerProcess(restored, dataDir)
        assert.match(other.stdout(), /"log":"is not signed: The log has 0 entries, but 2 were signed/)
        yield* stopped(other)
      }).pipe(Effect.provide(Database.client(url)))
    }).pipe(Effect.provide(NodeServices.layer))
  )
})

const kills = 12

describe("Two processes that keep one log", () => {
  it.live.runIf(isFull)(
    "Two processes are killed at any moment, and the log stays one tree with everything once",
    () =>
      Effect.gen(function* () {
        const url = yield* freshDatabase
        const directory = yield* temporaryDirectory
        yield* Effect.gen(function* () {
          const queued = yield* Ref.make(0)
          const growing = yield* Effect.forkChild(
            Effect.gen(function* () {
              const count = yield* Random.nextIntBetween(1, 400)
              yield* addPending(count)
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
      }).pipe(Effect.provide(NodeServices.layer))
  )
})
