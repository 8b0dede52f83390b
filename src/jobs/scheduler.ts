/**
 * A job that one replica runs per tick. A failing run is logged and tried again at the next tick: a job finds its work
 * in the state of rows, so a lost tick loses nothing.
 */
import { Cause, Clock, DateTime, Duration, Effect, Metric, Schedule } from "effect"
import { JobRuns } from "../services/JobRuns.ts"

const runsTotal = Metric.counter("job_runs_total", {
  description: "Runs of scheduled jobs that this instance finished, by job and outcome: done, failed",
  incremental: true
})

export const singletonCron = Effect.fnUntraced(function* (
  job: string,
  interval: Duration.Duration,
  work: Effect.Effect<unknown>
) {
  const runs = yield* JobRuns
  const count = (outcome: "done" | "failed") =>
    Metric.update(Metric.withAttributes(runsTotal, { job, outcome }), 1)
  const run = Effect.gen(function* () {
    const millis = Duration.toMillis(interval)
    const tick = Math.floor((yield* Clock.currentTimeMillis) / millis) * millis
    if (yield* runs.claim(job, DateTime.makeUnsafe(tick))) {
      yield* work
      yield* count("done")
    }
  }).pipe(
    Effect.catchCause((cause) =>
      Effect.logError("job failed; it runs again at its next tick", cause).pipe(
        Effect.andThen(count("failed"))
      )
    ),
    Effect.annotateLogs({ job }),
    Effect.withSpan("job", { attributes: { "job.name": job }, root: true })
  )
  return yield* Effect.repeat(run, Schedule.fixed(interval)).pipe(Effect.asVoid)
})

/** The pause after a failure, so that an outage of the database does not fill the log. */
const pauseAfterFailure = Duration.seconds(10)

/** Work that any number of replicas may do at once, because rows are claimed by the statement that works on them. */
export const poll = (job: string, interval: Duration.Duration, work: Effect.Effect<unknown>) =>
  work.pipe(
    Effect.catchCause((cause) =>
      Effect.andThen(
        Effect.logError("job failed; it runs again shortly", cause),
        Effect.sleep(pauseAfterFailure)
      )
    ),
    Effect.annotateLogs({ job }),
    Effect.repeat(Schedule.spaced(interval)),
    Effect.asVoid
  )

/** Work in named steps, one after the other. A step that fails is logged and keeps no other from its turn; the run has failed then. */
export const inSteps = Effect.fnUntraced(function* (steps: Readonly<Record<string, Effect.Effect<unknown>>>) {
  const failed: Array<string> = []
  for (const [step, work] of Object.entries(steps)) {
    yield* work.pipe(
      Effect.catchCauseIf(
        (cause) => !Cause.hasInterrupts(cause),
        (cause) => {
          failed.push(step)
          return Effect.logError("a step of a job failed; the others go on", cause)
        }
      ),
      Effect.annotateLogs({ step })
    )
  }
  if (failed.length > 0) return yield* Effect.die(new Error(`steps failed: ${failed.join(", ")}`))
})
