/** `npm run demo -- macro`: years of a real series, forecast month by month, settled, scored and calibrated. */
import { Console, DateTime, Duration, Effect, Schema } from "effect"
import { Command, Flag } from "effect/cli"
import { CommandFailed } from "../client/connection.ts"
import { clientOf, register } from "./agent.ts"
import { forecastOf, forecasters } from "./forecasters.ts"
import { ownServer } from "./ownServer.ts"
import { seriesOf } from "./series.ts"

const flags = {
  series: Flag.String("series").pipe(
    Flag.withMetavar("FILE"),
    Flag.withDescription("A price index: CSV with month,index, none missing, for example 2020-01,257.971")
  ),
  months: Flag.Int("months").pipe(
    Flag.withDescription("How many of the last months of the file are forecast (default: 48)"),
    Flag.withSchema(Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 120 }))),
    Flag.withDefault(48)
  )
}

/** Long enough for every forecast, since the months share one deadline. */
const forecasting = Duration.seconds(20)

/** Months before the first that is forecast: the server scales by their surprises, the agents learn from them. */
const minHistory = 32
const maxHistory = 61

const unit = "% over a year"

const cell = (value: number | null, decimals: number): string =>
  (value === null ? "-" : value.toFixed(decimals)).padStart(9)

const run = Effect.fn("demo.macro")(function* (input: { readonly series: string; readonly months: number }) {
  const series = yield* seriesOf(input.series)
  const first = series.months.length - input.months
  if (first < minHistory) {
    return yield* new CommandFailed({
      message: `${input.series} is too short: it takes ${input.months} months to forecast, ${minHistory} before them to learn from, and the year before those.`
    })
  }
  const played = series.months.slice(first)
  yield* Console.log(
    `${forecasters.length} agents forecast the change over a year of ${played.length} months, ${played[0]?.month} to ${played.at(-1)?.month}, each from what had been published before.\nStarting a server with an empty database ...`
  )
  const { adminToken, url } = yield* ownServer
  const administrator = yield* clientOf(url, adminToken)
  const anyone = yield* clientOf(url)
  const history = series.months.slice(Math.max(0, first - maxHistory), first)
  const begun = yield* DateTime.now
  for (const [index, { month, value }] of history.entries()) {
    const { id } = yield* administrator.admin.createMacroChallenge({
      headers: {},
      payload: {
        asset: "CPI",
        period: month,
        unit,
        deadline: DateTime.subtractDuration(begun, Duration.hours(history.length - index)),
        reference_scale: null,
        bin_edges: [0, 1],
        reward_pool: 0
      }
    })
    yield* administrator.admin.resolveMacroChallenge({
      params: { challenge_id: id },
      payload: { actual_value: value }
    })
  }
  const agents = yield* Effect.forEach(
    forecasters,
    Effect.fnUntraced(function* (forecaster) {
      const { agent_id, client } = yield* register(url, forecaster)
      return { id: agent_id, forecaster, client }
    })
  )
  const deadline = DateTime.addDuration(yield* DateTime.now, forecasting)
  const challenges = yield* Effect.forEach(played, ({ month }, index) => {
    const last = series.months[first + index - 1]?.value ?? 0
    return administrator.admin.createMacroChallenge({
      headers: {},
      payload: {
        asset: "CPI",
        period: month,
        unit,
        deadline,
        bin_edges: [-0.2, -0.1, 0, 0.1, 0.2].map((step) => Number((last + step).toFixed(1))),
        reward_pool: 0
      }
    })
  })
  for (const { client, forecaster } of agents) {
    for (const [index, { id }] of challenges.entries()) {
      yield* client.macro.forecast({
        params: { challenge_id: id },
        payload: forecastOf(forecaster, series, first + index)
      })
    }
  }
  const left = Duration.millis(DateTime.toEpochMillis(deadline) - DateTime.toEpochMillis(yield* DateTime.now))
  yield* Console.log(
    `${agents.length * challenges.length} forecasts are in, on a reference scale of ${challenges[0]?.reference_scale}, that of the surprises of ${history.length} months before. The deadline is in ${Math.ceil(Duration.toSeconds(left))} s; then every month is resolved.\n`
  )
  yield* Effect.sleep(left)
  for (const [index, { id }] of challenges.entries()) {
    yield* administrator.admin.resolveMacroChallenge({
      params: { challenge_id: id },
      payload: { actual_value: played[index]?.value ?? 0 }
    })
  }
  const board = yield* anyone.public.leaderboard({ query: { category: "economics" } })
  yield* Console.log(
    "agent        forecasts    score    skill   in 50 %   in 80 %   in 95 %   mean |z|  sharpness"
  )
  for (const standing of board.items) {
    const agent = agents.find(({ id }) => id === standing.agent_id)
    const calibration = yield* anyone.public.calibrationOfAgent({ params: { agent_id: standing.agent_id } })
    yield* Console.log(
      [
        (agent?.forecaster.name ?? standing.agent_name).padEnd(12),
        String(standing.prediction_count).padStart(9),
        cell(standing.avg_score, 1),
        cell(standing.mean_skill, 2),
        ...calibration.coverage.map(({ share }) => cell(share === null ? null : share * 100, 0)),
        cell(calibration.mean_abs_z, 2),
        cell(calibration.sharpness, 2)
      ].join(" ")
    )
  }
  const { count, pit } = yield* anyone.public.calibration()
  yield* Console.log(
    `\nAll ${count} forecasts by where the print fell in them, in tenths: ${pit.buckets.map((each) => each.count.toFixed(1)).join("  ")}`
  )
  for (const { forecaster } of agents) yield* Console.log(`${forecaster.name}: ${forecaster.bio}`)
}, Effect.scoped)

export const macro = Command.make("macro", flags, run).pipe(
  Command.withDescription(
    "Agents forecast the months of a real price index as numbers with an uncertainty; scores and calibration tell them apart."
  )
)
