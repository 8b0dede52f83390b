/** Planned releases, and the macro challenges that are made of them. */
import { Scoring } from "../../src/services/Scoring.ts"
import { assert, layer } from "@effect/vitest"
import { DateTime, Effect } from "effect"
import { Arenas } from "../../src/services/Arenas.ts"
import type { InvalidRequest } from "../../src/services/domain/errors.ts"
import { ReleaseCalendar, Schedules } from "../../src/services/Schedules.ts"
import type { PlannedRelease } from "../../src/services/Schedules.ts"
import { Targets } from "../../src/services/Targets.ts"
import { instant, moveTo, newMacro, plus } from "../support/challenges.ts"
import { firstPage } from "../support/paging.ts"
import { testServices } from "../support/services.ts"

const calendar = ReleaseCalendar.use((releases) => releases.list)
const plan = (...releases: ReadonlyArray<PlannedRelease>) =>
  ReleaseCalendar.use((all) => all.replace(releases))
const make = Schedules.use((schedules) => schedules.makeDue)

const release = (terms: Partial<PlannedRelease> = {}): PlannedRelease => ({
  asset: "CPI",
  period: "2026-01",
  release_at: instant("2026-02-11T13:30:00Z"),
  reference_scale: 0.1,
  bin_edges: [2.9, 3.1],
  ...terms
})

const pathsOf = ({ errors }: InvalidRequest) => errors.map(({ path }) => path)

const challengeOf = Effect.fnUntraced(function* (asset: string, period: string) {
  const { items } = yield* Arenas.use((arenas) => arenas.list("macro", {}, firstPage))
  const found = items.find((each) => each.asset === asset && each.period === period)
  assert(found !== undefined, `there is no challenge on ${asset} of ${period}`)
  return found
})

layer(testServices({ AUSPEX_SCHEDULES: "macro" }))("The release calendar", (it) => {
  it.effect("The release calendar is replaced as a whole, and lists planned releases by their times", () =>
    Effect.gen(function* () {
      yield* moveTo(instant("2026-01-01T00:00:00Z"))
      yield* plan(
        release({ unit: "% over a year", deadline: instant("2026-02-10T00:00:00Z"), reward_pool: 10.5 }),
        { asset: "NFP", period: "2026-01", release_at: instant("2026-02-06T13:30:00Z") }
      )
      const { releases } = yield* calendar
      assert.deepStrictEqual(releases, [
        {
          asset: "NFP",
          period: "2026-01",
          release_at: "2026-02-06T13:30:00.000Z",
          reward_pool: 0
        },
        {
          asset: "CPI",
          period: "2026-01",
          unit: "% over a year",
          release_at: "2026-02-11T13:30:00.000Z",
          deadline: "2026-02-10T00:00:00.000Z",
          reference_scale: 0.1,
          bin_edges: [2.9, 3.1],
          reward_pool: 10.5
        }
      ])
      assert.deepStrictEqual(
        (yield* plan(release())).releases.map(({ unit }) => unit),
        [undefined]
      )
      assert.deepStrictEqual((yield* plan()).releases, [])
    })
  )

  it.effect("A release calendar with impossible releases names each of them, and stays as it was", () =>
    Effect.gen(function* () {
      yield* plan(release())
      const error = yield* Effect.flip(
        plan(
          release({ asset: "GC" }),
          release({ unit: "%" }),
          release(),
          release({ unit: "%" }),
          release({ period: "2026-02", deadline: instant("2026-02-11T13:30:01Z") })
        )
      )
      assert.deepStrictEqual(pathsOf(error), ["releases.0.asset", "releases.3.period", "releases.4.deadline"])
      assert.strictEqual((yield* calendar).releases.length, 1)
    })
  )

  it.effect("Each planned release makes one challenge some days before it, which closes an hour before", () =>
    Effect.gen(function* () {
      yield* moveTo(instant("2026-01-28T13:29:59Z"))
      yield* plan(release({ reward_pool: 100 }))
      assert.deepStrictEqual((yield* make).made, [])
      yield* moveTo(instant("2026-01-28T13:30:00Z"))
      const { made } = yield* make
      assert.deepStrictEqual(
        made.map(({ kind, period, target }) => [kind, target, period]),
        [["macro", "CPI", "2026-01"]]
      )
      assert.deepInclude(yield* challengeOf("CPI", "2026-01"), {
        deadline: "2026-02-11T12:30:00.000Z",
        release_at: "2026-02-11T13:30:00.000Z",
        reference_scale: 0.1,
        reward_pool: 100
      })
      assert.deepStrictEqual(yield* make, { made: [], waiting: [] })
      assert.strictEqual((yield* calendar).releases[0]?.challenge_id, made[0]?.challengeId)
    })
  )

  it.effect("An edited release calendar changes no existing challenge, and makes no second one", () =>
    Effect.gen(function* () {
      const before = yield* challengeOf("CPI", "2026-01")
      yield* plan(
        release({ release_at: instant("2026-02-10T13:30:00Z"), bin_edges: [1, 2, 3], reference_scale: 9 })
      )
      assert.deepStrictEqual(yield* make, { made: [], waiting: [] })
      yield* plan()
      yield* make
      yield* plan(release())
      assert.deepStrictEqual(yield* make, { made: [], waiting: [] })
      assert.deepStrictEqual(yield* challengeOf("CPI", "2026-01"), before)
      assert.strictEqual((yield* calendar).releases[0]?.challenge_id, before.id)
    })
  )

  it.effect("A release makes no challenge if one exists, if it is too near, or if its series is paused", () =>
    Effect.gen(function* () {
      yield* newMacro({ asset: "PPI", period: "2026-01", deadline: instant("2026-02-12T13:30:00Z") })
      yield* Targets.use((targets) => targets.change("FOMC", { paused: true }))
      yield* plan(
        release({ asset: "FOMC", release_at: instant("2026-02-12T13:30:00Z") }),
        release({ asset: "PPI", release_at: instant("2026-02-12T13:30:00Z") }),
        release({ asset: "GDP", release_at: plus(yield* DateTime.now, "69 minutes") }),
        release({ asset: "PCE", release_at: plus(yield* DateTime.now, "70 minutes") })
      )
      const { made } = yield* make
      assert.deepStrictEqual(
        made.map(({ target }) => target),
        ["PCE"]
      )
    })
  )

  it.effect("Bins and scale are computed from earlier first prints, and wait until they are known", () =>
    Effect.gen(function* () {
      yield* moveTo(instant("2026-05-01T00:00:00Z"))
      const planned = {
        asset: "UNRATE",
        period: "2026-04",
        unit: "%",
        release_at: instant("2026-05-08T12:30:00Z")
      }
      yield* plan(planned)
      const waiting = yield* make
      assert.deepStrictEqual(waiting.made, [])
      assert.match(waiting.waiting[0]?.reason ?? "", /bins of UNRATE for 2026-04 .* of which 0 are known/)
      // Surprises of 0.2 and -0.2 in turn: their median absolute deviation is 0.2.
      for (let index = 0; index < 27; index++) {
        const { id } = yield* newMacro({
          asset: "UNRATE",
          period: `earlier ${index}`,
          unit: "%",
          deadline: plus(instant("2026-03-15T00:00:00Z"), `${index} days`)
        })
        yield* Scoring.use((scoring) => scoring.resolveMacro(id, index % 2 === 0 ? 4 : 4.2))
      }
      assert.lengthOf((yield* make).made, 1)
      const made = yield* challengeOf("UNRATE", "2026-04")
      assert.strictEqual(made.decimal_step, 0.1)
      assert.strictEqual(made.reference_scale, 0.29652)
      // The last print was 4; three tenths are the whole steps next to the scale.
      assert.deepStrictEqual(
        made.bins.flatMap(({ low }) => (low === null ? [] : [low])),
        [3.25, 3.55, 3.85, 4.15, 4.45, 4.75]
      )
    })
  )
})
