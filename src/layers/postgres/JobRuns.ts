import { DateTime, Duration, Effect, Layer, Schema } from "effect"
import { SqlClient } from "effect/sql"
import { maxClockDrift } from "../../services/Health.ts"
import { JobRun, JobRuns } from "../../services/JobRuns.ts"
import { boundTime, execute, findAll, findOne, isoTimestamp, timestamp, transaction } from "./sql.ts"

const Claimed = Schema.Struct({ agrees: Schema.Boolean, claimed: Schema.Boolean })

const tickOf = (now: DateTime.Utc, interval: Duration.Duration): DateTime.Utc => {
  const millis = Duration.toMillis(interval)
  return DateTime.makeUnsafe(Math.floor(DateTime.toEpochMillis(now) / millis) * millis)
}

const make = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const runs = findAll(JobRun)
  const claimedRow = findOne(Claimed)

  const claim: JobRuns["Service"]["claim"] = Effect.fn("JobRuns.claim")(function* (job, interval) {
    const { agrees, claimed } = yield* transaction(sql)(
      // Time is read once the transaction has its connection, so that no wait for one counts as a difference.
      Effect.flatMap(DateTime.now, (now) =>
        claimedRow(sql`
          with clocks as (
            select abs(extract(epoch from ${timestamp(now)}::timestamptz - database_time()))
                   <= ${Duration.toSeconds(maxClockDrift)}::float8 as agree
          ),
          claimed as (
            insert into job_runs (job, at)
            select ${job}, ${timestamp(tickOf(now, interval))}::timestamptz from clocks where agree
            on conflict do nothing returning 1
          )
          select agree as agrees, exists (select from claimed) as claimed from clocks`)
      )
    )
    if (!agrees) return "refused"
    return claimed ? "claimed" : "taken"
  })

  const forget: JobRuns["Service"]["forget"] = Effect.fn("JobRuns.forget")(function* (older) {
    const now = yield* DateTime.now
    yield* execute(sql`
      delete from job_runs
       where at < ${boundTime(sql, now, older)} or at > (select database_time() + interval '1 minute')`)
  })

  const last = runs(sql`
    select job, ${isoTimestamp(sql, "max(at)")} as at from job_runs group by job order by job`).pipe(
    Effect.withSpan("JobRuns.last")
  )

  return JobRuns.of({ claim, last, forget })
})

export const layer = Layer.effect(JobRuns, make)
