/** The scheduled fibers of this instance. They stop with it, between two challenges, never within one. */
import { Duration, Effect, Layer, Schedule } from "effect"
import { AgentCredentials } from "../services/AgentCredentials.ts"
import { Health } from "../services/Health.ts"
import { JobRuns } from "../services/JobRuns.ts"
import { Limits } from "../services/Limits.ts"
import { Scoring } from "../services/Scoring.ts"
import { Settings } from "../services/Settings.ts"
import { everyTick } from "./schedule.ts"

const aMinute = Duration.minutes(1)
const tickMemory = Duration.days(7)

const start = Effect.gen(function* () {
  const settings = yield* Settings
  const scoring = yield* Scoring
  const limits = yield* Limits
  const credentials = yield* AgentCredentials
  const runs = yield* JobRuns
  yield* Effect.forkScoped(everyTick("settlement", settings.jobInterval, scoring.settleDue))
  yield* Effect.forkScoped(
    everyTick(
      "housekeeping",
      aMinute,
      Effect.andThen(Effect.all([limits.trim, credentials.trim]), runs.forget(tickMemory))
    )
  )
})

/** Settlement and housekeeping, for instances with the role `jobs`. */
export const layer = Layer.effectDiscard(start)

/** Every instance watches its own clock. */
export const clockWatch = Layer.effectDiscard(
  Effect.gen(function* () {
    const health = yield* Health
    const measure = health.measureClockDrift.pipe(
      Effect.catchCause((cause) => Effect.logWarning("the database server's clock could not be read", cause))
    )
    yield* Effect.forkScoped(Effect.repeat(measure, Schedule.fixed(aMinute)))
  })
)
