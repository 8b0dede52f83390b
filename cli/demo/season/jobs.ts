/** Waiting until the jobs of a server have done what a moved clock made due, told by the runs that it counts. */
import { DateTime, Effect } from "effect"
import { HttpClient } from "effect/http"

const shape = /^auspex_job_runs_total\{(?=.*job="([^"]+)")(?=.*outcome="done").*\} (\d+)/

interface Server {
  readonly operationsUrl: string
  readonly moveTo: (time: DateTime.Utc) => Effect.Effect<unknown>
}

const runsOf = Effect.fnUntraced(function* (url: string) {
  const response = yield* HttpClient.get(`${url}/metrics`)
  const lines = (yield* response.text).split("\n").map((line) => shape.exec(line))
  return new Map(
    lines.flatMap((found) => (found === null ? [] : [[found[1] ?? "", Number(found[2])] as const]))
  )
})

/**
 * The run that was under way does not count. Of prices there are two: what was read is read again. Then there is a run of
 * what needs them.
 */
export const jobsDone = Effect.fnUntraced(function* ({ moveTo, operationsUrl }: Server, now: DateTime.Utc) {
  let time = now

  /** What is told is up to a second old by the server's clock, which is moved on for each look. */
  const look = Effect.gen(function* () {
    time = DateTime.add(time, { seconds: 2 })
    yield* moveTo(time)
    yield* Effect.sleep("40 millis")
    return yield* runsOf(operationsUrl)
  })

  /** Waits until each of these jobs has finished so many more runs. */
  const moreRuns = Effect.fnUntraced(function* (wanted: Readonly<Record<string, number>>) {
    const before = yield* look
    yield* Effect.repeat(look, {
      until: (runs) =>
        Object.entries(wanted).every(([job, more]) => (runs.get(job) ?? 0) - (before.get(job) ?? 0) >= more)
    })
  })

  yield* moreRuns({ "prices of files": 3 })
  yield* moreRuns({ schedules: 2, settlement: 2 })
})
