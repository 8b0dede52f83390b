/** Waiting until the jobs of a server have done what a moved clock made due, told by the runs that it counts. */
import { Effect, Schedule } from "effect"
import { HttpClient } from "effect/http"

const shape = /^auspex_job_runs_total\{(?=.*job="([^"]+)")(?=.*outcome="done").*\} (\d+)/

const often = Schedule.spaced("40 millis")

const runsOf = Effect.fnUntraced(function* (url: string) {
  const response = yield* HttpClient.get(`${url}/metrics`)
  const lines = (yield* response.text).split("\n").map((line) => shape.exec(line))
  return new Map(
    lines.flatMap((found) => (found === null ? [] : [[found[1] ?? "", Number(found[2])] as const]))
  )
})

/** Waits until each of these jobs has finished so many more runs. */
const moreRuns = Effect.fnUntraced(function* (url: string, wanted: Readonly<Record<string, number>>) {
  const before = yield* runsOf(url)
  yield* runsOf(url).pipe(
    Effect.repeat({
      schedule: often,
      until: (now) =>
        Object.entries(wanted).every(([job, more]) => (now.get(job) ?? 0) - (before.get(job) ?? 0) >= more)
    })
  )
})

/**
 * The run that was under way does not count. Of prices there are two: what was read is read again. Then there is a run of
 * what needs them.
 */
export const jobsDone = Effect.fnUntraced(function* (url: string) {
  yield* moreRuns(url, { "prices of files": 3 })
  yield* moreRuns(url, { schedules: 2, settlement: 2 })
})
