import { DateTime, Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import { JobRun, JobRuns } from "../../services/JobRuns.ts"
import { execute, findAll, isoTimestamp, orDie, timestamp } from "./sql.ts"

const make = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const runs = findAll(JobRun)

  const claim: JobRuns["Service"]["claim"] = Effect.fn("JobRuns.claim")(function* (job, tick) {
    const claimed = yield* sql`
      insert into job_runs (job, at) values (${job}, ${timestamp(tick)}) on conflict do nothing returning 1`.pipe(
      orDie
    )
    return claimed.length > 0
  })

  const forget: JobRuns["Service"]["forget"] = Effect.fn("JobRuns.forget")(function* (older) {
    const now = yield* DateTime.now
    yield* execute(sql`delete from job_runs where at < ${timestamp(DateTime.subtractDuration(now, older))}`)
  })

  const last = runs(sql`
    select job, ${isoTimestamp(sql, "max(at)")} as at from job_runs group by job order by job`).pipe(
    Effect.withSpan("JobRuns.last")
  )

  return JobRuns.of({ claim, last, forget })
})

export const layer = Layer.effect(JobRuns, make)
