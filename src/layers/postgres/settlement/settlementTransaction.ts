import { Duration, Effect } from "effect"
import type { DateTime } from "effect"
import { SqlClient } from "effect/sql"
import { BackgroundClient } from "../BackgroundClient.ts"
import { boundTime, withStatementTimeout } from "../sql.ts"

/** Settlements take turns under this lock, since two that score the same agents could deadlock. */
const settlementLock = 4_280_771_002n

/** Counting skill reads what settlements wrote on days that are over: neither waits for the other. */
const skillLock = 4_280_771_022n

/** A transaction which no other of its lock runs beside, with the time and the plans that a million predictions need. */
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
 * The UTC day that scores count under. It never goes back, so that the sums of a day close for good, and never lies ahead of the
 * database's day: days of the future, which a wrong clock once wrote, are not followed.
 */
export const settlementDay = (sql: SqlClient.SqlClient, now: DateTime.Utc) => sql`
  greatest((${boundTime(sql, now)} at time zone 'UTC')::date,
           (select max(day) from settlements where day <= (database_time() at time zone 'UTC')::date))`
