/** Real processes that keep the log of one database, and what holds them up at a step of their work. */
import { join } from "node:path"
import { Deferred, Effect, Fiber, FileSystem, Option, Schema } from "effect"
import type { Redacted } from "effect"
import { SqlClient } from "effect/sql"
import { parseCheckpointText } from "../../src/layers/crypto/signedNote.ts"
import { findOne } from "../../src/layers/postgres/sql.ts"
import { asOwner } from "./database.ts"
import { checkpoints, logState } from "./logbook.ts"
import { replicaEnvironment, startAuspex, until } from "./process.ts"

/** Without the API it has started once it has said so. */
export const keeperProcess = Effect.fnUntraced(function* (url: Redacted.Redacted, dataDir: string) {
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

export const killed = (auspex: Effect.Success<ReturnType<typeof keeperProcess>>) =>
  Effect.andThen(auspex.signal("SIGKILL"), auspex.ended)

const Waiting = Schema.Struct({ waiting: Schema.Boolean })

/** Runs `struck` while the process, after what comes `before`, waits for the lock on a table that its next step needs. */
export const heldUpAt = Effect.fnUntraced(function* <A, E, R>(
  table: string,
  mode: "exclusive" | "access exclusive",
  before: Effect.Effect<unknown, E, R>,
  struck: Effect.Effect<A, E, R>
) {
  const sql = yield* SqlClient.SqlClient
  const isHeldUp = findOne(Waiting)(sql`
    select exists (select 1 from pg_locks l join pg_stat_activity a on a.pid = l.pid
                    where l.relation = ${table}::regclass and not l.granted and a.datname = current_database())
           as waiting`)
  const locked = yield* Deferred.make<void>()
  const release = yield* Deferred.make<void>()
  const holder = yield* Effect.forkChild(
    asOwner(
      Effect.gen(function* () {
        yield* sql.unsafe(`lock table ${table} in ${mode} mode`)
        yield* Deferred.succeed(locked, undefined)
        yield* Deferred.await(release)
      })
    )
  )
  yield* Deferred.await(locked)
  yield* before
  yield* until(
    `it waits for ${table}`,
    "10 seconds",
    Effect.map(isHeldUp, ({ waiting }) => waiting)
  )
  const result = yield* struck
  // As when its machine dies: else the server would carry out the statement that it was sent.
  yield* sql`
    select pg_terminate_backend(pid, 5000) from pg_locks where relation = ${table}::regclass and not granted`
  yield* Deferred.succeed(release, undefined)
  yield* Fiber.join(holder)
  return result
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
