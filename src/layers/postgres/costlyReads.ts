/** Reads that callers choose and whose cost grows with tables. */
import { Effect, Semaphore } from "effect"
import type { Duration } from "effect"
import { SqlClient } from "effect/sql"
import { StoreUnavailable } from "../../services/domain/errors.ts"
import { transaction, withStatementTimeout } from "./sql.ts"

/** The maximum number of reads of one kind that run at once. */
const maxAtOnce = 2
/** The maximum number of those that run or wait. */
const maxQueue = 10

/**
 * Runs reads of one kind in a transaction: few at once, each statement for a short time, so that others are not slowed. A read that
 * takes longer, or finds the queue full, is answered 503.
 */
export const makeCostlyReads = Effect.fnUntraced(function* (
  what: string,
  timeout: Duration.Duration,
  /** Settings of the planner for these reads. */
  settings: Readonly<Record<string, string>> = {}
) {
  const sql = yield* SqlClient.SqlClient
  const turns = yield* Semaphore.make(maxAtOnce)
  let queue = 0
  return <A>(read: Effect.Effect<A>): Effect.Effect<A> =>
    Effect.suspend(() => {
      if (queue >= maxQueue) {
        return Effect.die(new StoreUnavailable({ cause: new Error(`too many ${what} at once`) }))
      }
      queue += 1
      return read.pipe(
        withStatementTimeout(sql, timeout, settings),
        transaction(sql),
        turns.withPermit,
        Effect.ensuring(Effect.sync(() => (queue -= 1)))
      )
    })
})
