/** FRED's observations on loopback: every value of a period since the day on which it was published. */
import { Layer, Effect } from "effect"
import { Outbound } from "../../../src/layers/prices/recordingFetch.ts"
import { fakeServer } from "../log/fakeServer.ts"
import type { Reply } from "../log/fakeServer.ts"

interface Vintage {
  readonly series: string
  readonly date: string
  readonly released: string
  /** By transformation; as FRED prints them, `.` where there is none. */
  readonly values: Readonly<Record<string, string>>
}

export const fredKey = "0123456789abcdef0123456789abcdef"

const json = (body: unknown, status = 200): Reply => ({
  status,
  headers: { "content-type": "application/json" },
  body: JSON.stringify(body)
})

export const fred = Effect.fnUntraced(function* () {
  const vintages: Array<Vintage> = []
  const server = yield* fakeServer(async ({ path }) => {
    const query = new URL(path, "https://api.stlouisfed.org").searchParams
    const of = (name: string) => query.get(name) ?? ""
    if (of("api_key") !== fredKey) {
      const error_message = "Bad Request.  The value for variable api_key is not registered."
      return json({ error_code: 400, error_message }, 400)
    }
    const units = query.get("units") ?? "lin"
    const known = vintages
      .filter(({ date, series }) => series === of("series_id") && date === of("observation_start"))
      .toSorted((left, right) => left.released.localeCompare(right.released))
    const observations = known.flatMap(({ date, released, values }, index) => {
      const until = known[index + 1]?.released ?? "9999-12-31"
      const isAsked = released <= of("realtime_end") && until > of("realtime_start")
      const shown = { realtime_start: released, realtime_end: until, date, value: values[units] ?? "." }
      return isAsked ? [shown] : []
    })
    return json({
      realtime_start: of("realtime_start"),
      realtime_end: of("realtime_end"),
      observation_start: of("observation_start"),
      observation_end: of("observation_end"),
      units,
      output_type: 1,
      file_type: "json",
      order_by: "observation_date",
      sort_order: "asc",
      count: observations.length,
      offset: 0,
      limit: 100_000,
      observations
    })
  })
  return {
    ...server,
    publish: (vintage: Vintage) => vintages.push(vintage),
    outbound: Layer.succeed(Outbound, (input, init) => {
      const { pathname, search } = new URL(input instanceof Request ? input.url : input)
      return globalThis.fetch(`${server.url}${pathname}${search}`, init)
    })
  }
})
