/** The scheduled fibers of this instance. They stop with it, between two challenges, never within one. */
import { Duration, Effect, Layer, Schedule } from "effect"
import { AgentCredentials } from "../services/AgentCredentials.ts"
import { Claims } from "../services/Claims.ts"
import { Credits } from "../services/Credits.ts"
import { Health } from "../services/Health.ts"
import { JobRuns } from "../services/JobRuns.ts"
import { Limits } from "../services/Limits.ts"
import { Mailer } from "../services/Mailer.ts"
import { Operators } from "../services/Operators.ts"
import { Scoring } from "../services/Scoring.ts"
import { Settings } from "../services/Settings.ts"
import { everyTick, repeatedly } from "./schedule.ts"

const aMinute = Duration.minutes(1)
const tickMemory = Duration.days(7)
/** A mail is under way within a second of the request that caused it. */
const mailInterval = Duration.millis(500)

const start = Effect.gen(function* () {
  const settings = yield* Settings
  const scoring = yield* Scoring
  const limits = yield* Limits
  const credentials = yield* AgentCredentials
  const runs = yield* JobRuns
  const claims = yield* Claims
  const credits = yield* Credits
  const mailer = yield* Mailer
  const operators = yield* Operators
  yield* Effect.forkScoped(everyTick("settlement", settings.jobInterval, scoring.settleDue))
  yield* Effect.forkScoped(repeatedly("mail", mailInterval, mailer.drain))
  yield* Effect.forkScoped(everyTick("grace", settings.jobInterval, claims.remindDue))
  yield* Effect.forkScoped(
    everyTick(
      "housekeeping",
      aMinute,
      Effect.all([
        limits.trim,
        credentials.trim,
        runs.forget(tickMemory),
        claims.confirmRanks,
        credits.grantEarlierClaims,
        mailer.trim,
        operators.trim
      ])
    )
  )
})

/** Settlement, mail, grace windows and housekeeping, for instances with the role `jobs`. */
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
