/**
 * Kills a process at a step of its work: a lock on a table that the step needs stops it there, and its statement is cancelled with
 * it.
 */
import { Deferred, Effect, Fiber, Schema } from "effect"
import { SqlClient } from "effect/sql"
import { findOne } from "../../src/layers/postgres/sql.ts"
import { asOwner } from "./database.ts"
import { until } from "./process.ts"
import type { Auspex } from "./process.ts"

/** Kills the process with `kill -9` and waits for its end. */
export const killed = (auspex: Auspex) => Effect.andThen(auspex.signal("SIGKILL"), auspex.ended)

const Waiting = Schema.Struct({ waiting: Schema.Boolean })

/** Runs `struck` while the process, after the step `before`, waits for the lock on a table that its next step needs. */
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
    Effect.map(isHeldUp, ({ waiting }) => waiting)
  )
  const result = yield* struck
  // This cancels the statement as the death of its machine would: otherwise the server would carry it out.
  yield* sql`
    select pg_terminate_backend(pid, 5000) from pg_locks where relation = ${table}::regclass and not granted`
  yield* Deferred.succeed(release, undefined)
  yield* Fiber.join(holder)
  return result
})
