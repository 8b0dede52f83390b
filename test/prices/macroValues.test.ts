/** First prints from FRED: the value published on the day, proposed once, and settled by only where that is on. */
import { assert, it } from "@effect/vitest"
import { Effect, Layer, Redacted, References, Schema } from "effect"
import { Scoring } from "../../src/services/Scoring.ts"
import { proposeAndResolve } from "../../src/jobs/macroValues.ts"
import * as Fred from "../../src/layers/prices/Fred.ts"
import { Arenas } from "../../src/services/Arenas.ts"
import { MacroProposals, MacroSource } from "../../src/services/MacroSource.ts"
import { Outbound } from "../../src/layers/prices/recordingFetch.ts"
import { instant, moveTo, newMacro, plus } from "../support/challenges.ts"
import { rowsOf } from "../support/database.ts"
import { testServices } from "../support/services.ts"
import { fakeServer } from "../support/log/fakeServer.ts"
import type { Reply } from "../support/log/fakeServer.ts"
import { passing } from "../support/waiting.ts"

/** FRED's observations on loopback: every value of a period since the day on which it was published. */
interface Vintage {
  readonly series: string
  readonly date: string
  readonly released: string
  /** The values by transformation, as FRED prints them, `.` where there is none. */
  readonly values: Readonly<Record<string, string>>
}

const fredKey = "0123456789abcdef0123456789abcdef"

const json = (body: unknown, status = 200): Reply => ({
  status,
  headers: { "content-type": "application/json" },
  body: JSON.stringify(body)
})

const fred = Effect.fnUntraced(function* () {
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

const release = instant("2026-04-10T12:30:00Z")

type Place = Effect.Success<ReturnType<typeof fred>>

/** An index that was revised a month later, and the changes that belong to each of both. */
const published = (place: Place) => {
  const of = { series: "CPIAUCNS", date: "2026-03-01" }
  place.publish({ ...of, released: "2026-04-10", values: { lin: "330.123", pc1: "3.2501", pch: "0.2" } })
  place.publish({ ...of, released: "2026-05-12", values: { lin: "330.456", pc1: "3.3544", pch: "0.3" } })
}

const firstPrintFrom = (place: Place, key: string = fredKey) => {
  const source = Fred.layer(Redacted.make(key)).pipe(Layer.provide(place.outbound))
  return (asset: string, period: string, unit: string | null) =>
    passing(
      MacroSource.use((macro) => macro.firstPrint({ asset, period, unit })).pipe(
        Effect.provide(source, { local: true })
      ),
      "1 second"
    )
}

it.effect.each([
  ["a change over a year, computed in that vintage and rounded as published", "% over a year", 3.3, "pc1"],
  ["a level", "index", 330.123, "lin"]
] as const)(
  "The first print is the value published first, not a revised one: of %s",
  ([, unit, value, units]) =>
    Effect.gen(function* () {
      const place = yield* fred()
      published(place)
      const firstPrint = firstPrintFrom(place)
      const print = yield* Effect.fromOption(yield* firstPrint("CPI", "2026-03", unit))
      assert.deepStrictEqual(
        [print.value, print.source, print.observation, print.releasedOn, print.payloadHash.length],
        [value, `FRED CPIAUCNS ${units}`, "2026-03-01", "2026-04-10", 32]
      )
    })
)

it.effect("Nothing is proposed before it is published, nor in an uncertain unit", () =>
  Effect.gen(function* () {
    const place = yield* fred()
    published(place)
    place.publish({ series: "CPIAUCNS", date: "2025-10-01", released: "2025-12-18", values: { lin: "." } })
    const firstPrint = firstPrintFrom(place)
    for (const [asset, period, unit] of [
      ["CPI", "2026-04", "% over a year"],
      ["CPI", "2025-10", "index"],
      ["CPI", "March 2026", "index"],
      ["CPI", "2026-03", "percent"],
      ["CPI", "2026-03", null],
      ["FOMC", "2026-03", "%"]
    ] as const) {
      assert.strictEqual((yield* firstPrint(asset, period, unit))._tag, "None")
    }
  })
)

it.effect.each(["", " ", "n/a", "1e3", "0x10", "330,123", "NaN"])(
  "A value that is neither a decimal nor a point is no first print: %j",
  (lin) =>
    Effect.gen(function* () {
      const place = yield* fred()
      place.publish({ series: "CPIAUCNS", date: "2026-03-01", released: "2026-04-10", values: { lin } })
      const refused = yield* Effect.flip(firstPrintFrom(place)("CPI", "2026-03", "index"))
      assert.deepStrictEqual(
        [refused.reason, refused.kind],
        ["fred: its answer has another shape", "unavailable"]
      )
    })
)

it.effect("A quarter is asked of FRED by its first month", () =>
  Effect.gen(function* () {
    const place = yield* fred()
    place.publish({
      series: "A191RL1Q225SBEA",
      date: "2026-04-01",
      released: "2026-07-30",
      values: { lin: "2.1" }
    })
    const firstPrint = firstPrintFrom(place)
    const print = yield* Effect.fromOption(yield* firstPrint("GDP", "2026-Q2", "% annualised"))
    assert.strictEqual(print.value, 2.1)
  })
)

it.effect("A wrong key of FRED is reported without the key", () =>
  Effect.gen(function* () {
    const place = yield* fred()
    const firstPrint = firstPrintFrom(place, "wrong-key")
    const refused = yield* Effect.flip(firstPrint("CPI", "2026-03", "index"))
    assert.deepStrictEqual([refused.reason, refused.kind], ["fred: it answered 400", "unknown"])
  })
)

it.effect.each([
  ["an error", { status: 500 }],
  ["too many requests", { status: 429, body: "{}" }],
  ["no JSON", { status: 200, body: "<html>" }],
  ["JSON of another shape", { status: 200, body: '{"observations":[{"date":1}]}' }]
] as const)("A place that answers with %s is asked again, and given up", ([, reply]) =>
  Effect.gen(function* () {
    const place = yield* fred()
    place.behave(async () => reply)
    const firstPrint = firstPrintFrom(place)
    const refused = yield* Effect.flip(firstPrint("CPI", "2026-03", "index"))
    assert.strictEqual(refused.kind, "unavailable")
    assert.lengthOf(place.requests, 3)
  })
)

const world = (autoResolve: "on" | "off") =>
  Effect.gen(function* () {
    const place = yield* fred()
    return {
      place,
      layer: Fred.layer(Redacted.make(fredKey)).pipe(
        Layer.provide(place.outbound),
        Layer.provideMerge(
          testServices({ AUSPEX_MACRO_AUTO_RESOLVE: autoResolve, AUSPEX_FRED_API_KEY: fredKey })
        ),
        Layer.provide(Layer.succeed(References.MinimumLogLevel, "Error"))
      )
    }
  })

const run = passing(proposeAndResolve, "1 second")
const proposals = MacroProposals.use((all) => all.waiting)
const statusOf = ({ id }: { readonly id: string }) =>
  Effect.map(
    Arenas.use((arenas) => arenas.getOf("macro", id)),
    ({ actual_value, status }) => [status, actual_value]
  )

const march = {
  asset: "CPI",
  period: "2026-03",
  unit: "% over a year",
  deadline: plus(release, "-1 hours"),
  release_at: release
}

it.effect("The first print is proposed to administrators, once, and the challenge left to them", () =>
  Effect.gen(function* () {
    yield* moveTo(plus(release, "-2 hours"))
    const { layer, place } = yield* world("off")
    yield* Effect.gen(function* () {
      const challenge = yield* newMacro(march)
      yield* run
      assert.lengthOf(place.requests, 0)
      yield* moveTo(plus(release, "1 minute"))
      yield* run
      assert.deepStrictEqual(yield* proposals, [])
      published(place)
      yield* run
      const [proposal, ...others] = yield* proposals
      assert.deepInclude(proposal, {
        challenge_id: challenge.id,
        value: 3.3,
        source: "FRED CPIAUCNS pc1",
        released_on: "2026-04-10"
      })
      assert.lengthOf(others, 0)
      const questions = place.requests.length
      yield* run
      assert.strictEqual(place.requests.length, questions)
      assert.deepStrictEqual(yield* statusOf(challenge), ["closed", null])
      yield* Scoring.use((scoring) => scoring.resolveMacro(challenge.id, 3.3))
      assert.deepStrictEqual(yield* proposals, [])
    }).pipe(Effect.provide(layer, { local: true }))
  })
)

it.effect("AUSPEX_MACRO_AUTO_RESOLVE settles by the first print, unless it is older than the deadline", () =>
  Effect.gen(function* () {
    yield* moveTo(plus(release, "-2 hours"))
    const { layer, place } = yield* world("on")
    yield* Effect.gen(function* () {
      const challenge = yield* newMacro(march)
      const late = yield* newMacro({
        ...march,
        deadline: plus(release, "24 hours"),
        release_at: plus(release, "24 hours")
      })
      published(place)
      yield* moveTo(plus(release, "25 hours"))
      yield* run
      assert.deepStrictEqual(yield* statusOf(challenge), ["resolved", 3.3])
      assert.deepStrictEqual(yield* statusOf(late), ["closed", null])
      const [settled] = yield* rowsOf(
        Schema.Struct({ source: Schema.String, is_as_proposed: Schema.Boolean }),
        (sql) => sql`
            select s.source, (s.raw_sha256, s.fetched_at) = (p.payload_hash, p.fetched_at) as is_as_proposed
              from settlements s join macro_proposals p using (challenge_id)`
      )
      assert.deepStrictEqual(settled, { source: "FRED CPIAUCNS pc1", is_as_proposed: true })
      yield* run
      assert.deepStrictEqual(yield* statusOf(challenge), ["resolved", 3.3])
    }).pipe(Effect.provide(layer, { local: true }))
  })
)
