/** A prediction whose transaction ends when it is told to: others take later ids, and get their places, before it appears. */
import { Deferred, Effect, Fiber } from "effect"
import { SqlClient } from "effect/sql"
import { predict } from "./builders.ts"

/** Predicts within a transaction that stays open; `commits` answers what predicting answered. */
export const openPrediction = Effect.fnUntraced(function* (...prediction: Parameters<typeof predict>) {
  const sql = yield* SqlClient.SqlClient
  const recorded = yield* Deferred.make<void>()
  const end = yield* Deferred.make<void, "rolled back">()
  const fiber = yield* Effect.forkChild(
    sql.withTransaction(
      Effect.gen(function* () {
        yield* sql`set local idle_in_transaction_session_timeout = 0`
        const predicted = yield* predict(...prediction)
        yield* Deferred.succeed(recorded, undefined)
        yield* Deferred.await(end)
        return predicted
      })
    )
  )
  yield* Deferred.await(recorded)
  return {
    commits: Effect.andThen(Deferred.succeed(end, undefined), Fiber.join(fiber)),
    rollsBack: Effect.andThen(Deferred.fail(end, "rolled back"), Fiber.await(fiber))
  }
})
