/** Keeps one side inside its transaction until another is seen waiting for it. */
import { Data, Deferred, Effect, Fiber } from "effect"
import { SqlClient } from "effect/sql"
import { countOf } from "./database.ts"

class RolledBack extends Data.TaggedError("RolledBack") {}

const ownTransaction = <A, E, R>(work: Effect.Effect<A, E, R>) =>
  SqlClient.SqlClient.use((sql) => sql.withTransaction(work))

/** Runs the effect in a transaction that stays open, invisible to others, until it is ended. */
export const held = Effect.fnUntraced(function* <A, E, R>(
  effect: Effect.Effect<A, E, R>,
  within: typeof ownTransaction = ownTransaction
) {
  const entered = yield* Deferred.make<void>()
  const ending = yield* Deferred.make<"commit" | "rollback">()
  const fiber = yield* Effect.gen(function* () {
    const answer = yield* effect
    yield* Deferred.succeed(entered, undefined)
    if ((yield* Deferred.await(ending)) === "rollback") return yield* new RolledBack()
    return answer
  }).pipe(
    within,
    Effect.tapCause(() => Deferred.succeed(entered, undefined)),
    Effect.forkChild
  )
  yield* Deferred.await(entered)
  return {
    commit: Deferred.succeed(ending, "commit").pipe(Effect.andThen(Fiber.join(fiber)), Effect.orDie),
    rollback: Deferred.succeed(ending, "rollback").pipe(Effect.andThen(Fiber.await(fiber)))
  }
})

const waiting = countOf(
  (sql) => sql`
    select count(*)::int as count from pg_stat_activity
     where datname = current_database() and wait_event_type = 'Lock'`
)

/** Starts the effect, and continues once one more than before waits for a lock, or it has ended without. */
export const meeting = Effect.fnUntraced(function* <A, E, R>(effect: Effect.Effect<A, E, R>) {
  const before = yield* waiting
  const fiber = yield* Effect.forkChild(effect)
  const oneMore = Effect.repeat(waiting, { until: (now) => now > before })
  yield* Effect.raceFirst(oneMore, Fiber.await(fiber))
  return fiber
})
