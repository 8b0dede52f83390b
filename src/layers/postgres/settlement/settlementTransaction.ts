import { Duration, Effect } from "effect"
import type { DateTime } from "effect"
import { SqlClient } from "effect/sql"
import { BackgroundClient } from "../BackgroundClient.ts"
import { boundTime, withStatementTimeout } from "../sql.ts"

/** Settlements take turns under this lock, since two that score the same agents could deadlock. */
const settlementLock = 4_280_771_002n

/** Counting skill reads only scores of days that are over, so it has a lock of its own, and no settlement waits for it. */
const skillLock = 4_280_771_022n

/** Makes a transaction that runs alone under its lock, with the time and the plans that a million predictions need. */
const makeLongTransaction = Effect.fnUntraced(function* (lock: bigint) {
  const sql = yield* SqlClient.SqlClient
  const background = yield* BackgroundClient
  return <A>(settle: Effect.Effect<A>): Effect.Effect<A> =>
    background.transaction(
      Effect.gen(function* () {
        yield* sql`select pg_advisory_xact_lock(${lock})`
        return yield* settle
      }).pipe(
        withStatementTimeout(sql, Duration.minutes(15), {
          lock_timeout: "15min",
          idle_in_transaction_session_timeout: "1min",
          plan_cache_mode: "force_custom_plan",
          enable_bitmapscan: "on",
          work_mem: "64MB"
        })
      )
    )
})

export const makeSettlementTransaction = makeLongTransaction(settlementLock)
export const makeSkillTransaction = makeLongTransaction(skillLock)

/**
 * The UTC day under which scores count. It never goes back, so that the sums of a day close for good, and is never
 * ahead of the database's day: a later day that a wrong clock has written is ignored.
 */
export const settlementDay = (sql: SqlClient.SqlClient, now: DateTime.Utc) => sql`
  greatest((${boundTime(sql, now)} at time zone 'UTC')::date,
           (select max(day) from settlements where day <= (database_time() at time zone 'UTC')::date))`
