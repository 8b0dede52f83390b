/** The demonstration of forecasts, on real figures of the US consumer price index (CPIAUCNS, 2012 to 2019). */
import * as NodeServices from "@effect/platform-node/NodeServices"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { forecastOf, forecasters, seriesOf } from "../../cli/demo/macro.ts"
import { crps, crpsScore } from "../../src/scoring/crps.ts"

const file = "test/support/cpi-2012-2019.csv"

describe("The demonstration's series", () => {
  it.effect("The series is the change over a year, to one decimal", () =>
    Effect.gen(function* () {
      const { index, months } = yield* seriesOf(file)
      assert.strictEqual(index.length, 96)
      assert.deepStrictEqual(months[0], { month: "2013-01", value: 1.6 })
      assert.deepStrictEqual(months.at(-1), { month: "2019-12", value: 2.3 })
    }).pipe(Effect.provide(NodeServices.layer))
  )

  it.effect("A file that has no series is refused", () =>
    Effect.gen(function* () {
      for (const wrong of ["test/support/nothing.csv", "package.json"]) {
        assert.strictEqual((yield* Effect.flip(seriesOf(wrong)))._tag, "CommandFailed")
      }
    }).pipe(Effect.provide(NodeServices.layer))
  )
})

describe("The demonstration's forecasters", () => {
  it.effect("Forecasters are told apart by skill: knowledge earns more, and boasting costs", () =>
    Effect.gen(function* () {
      const series = yield* seriesOf(file)
      const skillOf = (name: string) => {
        const forecaster = forecasters.find((each) => each.name === name)
        assert(forecaster !== undefined)
        const played = series.months.map((_, position) => position).slice(-36)
        const skills = played.map((position) => {
          const { predicted_std, predicted_value } = forecastOf(forecaster, series, position)
          const outcome = series.months[position]?.value ?? 0
          return crpsScore(crps({ mean: predicted_value, sd: predicted_std }, outcome), 0.29652).skill
        })
        return skills.reduce((sum, skill) => sum + skill, 0) / skills.length
      }
      assert.isAbove(skillOf("base effect"), skillOf("naive"))
      assert.isAbove(skillOf("naive"), skillOf("boastful"))
    }).pipe(Effect.provide(NodeServices.layer))
  )

  it.effect("Forecasters know nothing of the month they forecast, or of later ones", () =>
    Effect.gen(function* () {
      const series = yield* seriesOf(file)
      const position = 60
      const blind = {
        index: series.index.slice(0, position + 12),
        months: series.months.slice(0, position)
      }
      for (const forecaster of forecasters) {
        assert.deepStrictEqual(
          forecastOf(forecaster, blind, position),
          forecastOf(forecaster, series, position)
        )
      }
    }).pipe(Effect.provide(NodeServices.layer))
  )
})
