/**
 * Jobs: work that one replica does per tick, or that any number may do at once. A failing run is logged and tried again: a job finds
 * its work in the state of rows, so a lost run loses nothing. While this instance's clock and the database's differ, every run is
 * refused, because due work would run too early or too late.
 */
import { Cause, Duration, Effect, Metric, Schedule } from "effect"
import { Health } from "../services/Health.ts"
import { JobRuns } from "../services/JobRuns.ts"

const runsTotal = Metric.counter("job_runs_total", {
  description:
    "Runs of scheduled jobs on this instance, by job and outcome: done, failed, refused (its clock and the database's differ)",
  incremental: true
})

const count = (job: string, outcome: "done" | "failed" | "refused") =>
  Metric.update(Metric.withAttributes(runsTotal, { job, outcome }), 1)

/** A job that one replica runs per tick. */
export const singletonCron = Effect.fnUntraced(function* (
  job: string,
  interval: Duration.Duration,
  work: Effect.Effect<unknown>
) {
  const runs = yield* JobRuns
  const run = Effect.gen(function* () {
    const claim = yield* runs.claim(job, interval)
    if (claim === "refused") yield* count(job, "refused")
    if (claim !== "claimed") return
    yield* work
    yield* count(job, "done")
  }).pipe(
    Effect.catchCause((cause) =>
      Effect.logError("a job failed; it runs again at its next tick", cause).pipe(
        Effect.andThen(count(job, "failed"))
      )
    ),
    Effect.annotateLogs({ job }),
    Effect.withSpan("job", { attributes: { "job.name": job }, root: true })
  )
  return yield* Effect.repeat(run, Schedule.fixed(interval)).pipe(Effect.asVoid)
})

/** The pause after a failure, so that an outage of the database does not fill the log. */
const pauseAfterFailure = Duration.seconds(10)

/** Repeats work of every instance, whatever its clock shows. */
export const repeating = (job: string, interval: Duration.Duration, work: Effect.Effect<unknown>) =>
  work.pipe(
    Effect.catchCause((cause) =>
      Effect.andThen(
        Effect.logError("a job failed; it runs again shortly", cause),
        Effect.sleep(pauseAfterFailure)
      )
    ),
    Effect.annotateLogs({ job }),
    Effect.repeat(Schedule.spaced(interval)),
    Effect.asVoid
  )

/**
 * Repeats work that any number of replicas may do at once, because rows are claimed by the statement that works on them. The clocks
 * were compared seconds ago, so statements that cannot be undone also compare with the database's clock.
 */
export const poll = (job: string, interval: Duration.Duration, work: Effect.Effect<unknown>) =>
  Effect.flatMap(Health, ({ clocksAgree }) =>
    repeating(
      job,
      interval,
      Effect.flatMap(clocksAgree, (agree) => (agree ? work : count(job, "refused")))
    )
  )

/** Runs named steps one after the other. A step that fails is logged and does not stop the others, but the run counts as failed. */
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
