import { DateTime, Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import { JobRuns } from "../../services/JobRuns.ts"
import { execute, orDie, timestamp } from "./sql.ts"

const make = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient

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

  return JobRuns.of({ claim, forget })
})

export const layer = Layer.effect(JobRuns, make)
