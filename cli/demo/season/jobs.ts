/** Waits until a server's jobs have done all work that a moved clock made due, by its metric of finished runs. */
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

/** Waits, turn by turn, until each job in the turn has finished that many more runs. */
const moreRuns = Effect.fnUntraced(function* (
  { moveTo, operationsUrl }: Server,
  now: DateTime.Utc,
  turns: ReadonlyArray<Readonly<Record<string, number>>>
) {
  let time = now

  /** Metrics are cached for a second by the server's clock, so each read moves the clock. */
  const look = Effect.gen(function* () {
    time = DateTime.add(time, { seconds: 2 })
    yield* moveTo(time)
    yield* Effect.sleep("40 millis")
    return yield* runsOf(operationsUrl)
  })

  for (const wanted of turns) {
    const before = yield* look
    yield* Effect.repeat(look, {
      until: (runs) =>
        Object.entries(wanted).every(([job, more]) => (runs.get(job) ?? 0) - (before.get(job) ?? 0) >= more)
    })
  }
})

/**
 * The run in progress does not count. Prices take two runs, because the first may have read before the move; then one run of the jobs
 * that need them.
 */
export const jobsDone = (server: Server, now: DateTime.Utc) =>
  moreRuns(server, now, [{ "prices of files": 3 }, { schedules: 2, settlement: 2 }])

/** Skill is computed once a day is over, from the forecasts that settled on it. */
export const skillCounted = (server: Server, now: DateTime.Utc) => moreRuns(server, now, [{ skill: 2 }])
