/** `npm run demo -- macro`: years of a real series, forecast month by month, settled, scored and calibrated. */
import { Console, DateTime, Duration, Effect, FileSystem, Schema } from "effect"
import { Command, Flag } from "effect/cli"
import type { NewForecast } from "../../src/services/domain/Answer.ts"
import { CommandFailed } from "../client/connection.ts"
import { clientOf, register } from "./agent.ts"
import { ownServer } from "./ownServer.ts"

const flags = {
  series: Flag.String("series").pipe(
    Flag.withMetavar("FILE"),
    Flag.withDescription("A price index: CSV with month,index, none missing, for example 2020-01,257.971")
  ),
  months: Flag.Int("months").pipe(
    Flag.withDescription("The number of last months of the file to forecast (default: 48)"),
    Flag.withSchema(Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 120 }))),
    Flag.withDefault(48)
  )
}

/** The forecasts of all months share one deadline. */
const forecasting = Duration.seconds(20)

/** The number of months before the first forecast: they determine the server's scale and the agents' errors. */
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
        headers: {},
        payload: forecastOf(forecaster, series, first + index)
      })
    }
  }
  const meeting = yield* administrator.admin.createMacroChallenge({
    headers: {},
    payload: {
      asset: "FOMC",
      period: "a made-up meeting",
      deadline,
      categories: Object.entries(reference).map(([name, probability]) => ({ name, probability })),
      reward_pool: 0
    }
  })
  for (const { client, forecaster } of agents) {
    yield* client.answers.predictAll({
      headers: {},
      payload: {
        predictions: [{ challenge_id: meeting.id, probabilities: forecaster.probabilities }]
      }
    })
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
  yield* administrator.admin.resolveMacroChallenge({
    params: { challenge_id: meeting.id },
    payload: { actual_value: Object.keys(reference).indexOf(decision) }
  })
  const board = yield* anyone.public.leaderboard({ query: { category: "economics" } })
  yield* Console.log(
    "agent        forecasts    score    CRPSS   in 50 %   in 80 %   in 95 %   mean |z|  sharpness"
  )
  for (const row of board.items) {
    const agent = agents.find(({ id }) => id === row.agent_id)
    const calibration = yield* anyone.public.calibrationOfAgent({ params: { agent_id: row.agent_id } })
    yield* Console.log(
      [
        (agent?.forecaster.name ?? row.agent_name).padEnd(12),
        String(row.prediction_count).padStart(9),
        cell(row.avg_score, 1),
        cell(row.mean_skill, 2),
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
  const meetingResults = yield* anyone.public.results({ params: { challenge_id: meeting.id }, query: {} })
  yield* Console.log(
    `\nA made-up meeting of the FOMC decided "${decision}", to which the reference gave ${reference[decision]}:`
  )
  for (const { agent_name, crps, probabilities, score } of meetingResults.predictions) {
    const given = probabilities?.[decision] ?? 0
    yield* Console.log(
      `${agent_name.replace(/^demo /, "").padEnd(12)} gave it ${given.toFixed(2)}: RPS ${(crps ?? 0).toFixed(3)}, score ${(score ?? 0).toFixed(1)}`
    )
  }
  yield* Console.log("")
  for (const { forecaster } of agents) yield* Console.log(`${forecaster.name}: ${forecaster.bio}`)
}, Effect.scoped)

export const macro = Command.make("macro", flags, run).pipe(
  Command.withDescription(
    "Agents forecast the months of a real price index as numbers with an uncertainty; scores and calibration tell them apart."
  )
)

/** Probabilities before a meeting, and its decision: made up, to show a question on categories. */
const reference = { "cut 50": 0.05, "cut 25": 0.3, hold: 0.6, "raise 25": 0.05 }
const decision = "hold"

interface Forecaster {
  /** The probabilities of the meeting's decision. */
  readonly probabilities: typeof reference
  readonly name: string
  readonly bio: string
  /** The expected print of the month at `position`. */
  readonly expect: (series: Series, position: number) => number
  /** The factor of the forecaster's standard deviation. */
  readonly boldness: number
}

/** The number of past errors that a forecaster's uncertainty is computed from. */
const remembered = 24

const lastPrint = ({ months }: Series, position: number): number => months[position - 1]?.value ?? 0

/** The mean rise of the index in this month of earlier years. */
const usualRise = ({ index }: Series, position: number): number => {
  const rises: Array<number> = []
  for (let at = position; at > 0; at -= 12) {
    rises.push((index[at]?.index ?? 1) / (index[at - 1]?.index ?? 1))
  }
  return rises.length === 0 ? 1 : rises.reduce((sum, rise) => sum + rise, 0) / rises.length
}

/** The last index with its usual rise, divided by the known index a year before. */
const baseEffect = (series: Series, position: number): number => {
  const last = series.index[position + 11]?.index ?? 1
  const yearBefore = series.index[position]?.index ?? 1
  return ((last * usualRise(series, position)) / yearBefore - 1) * 100
}

export const forecasters: ReadonlyArray<Forecaster> = [
  {
    name: "naive",
    bio: "Expects the last print again.",
    expect: lastPrint,
    boldness: 1,
    probabilities: reference
  },
  {
    name: "base effect",
    bio: "Knows what falls out of the year, and expects the month to rise as it did in the years before.",
    expect: baseEffect,
    boldness: 1,
    probabilities: { "cut 50": 0.02, "cut 25": 0.18, hold: 0.75, "raise 25": 0.05 }
  },
  {
    name: "boastful",
    bio: "Expects the same, and claims to know it five times as well.",
    expect: baseEffect,
    boldness: 0.2,
    probabilities: { "cut 50": 0, "cut 25": 0.95, hold: 0.05, "raise 25": 0 }
  }
]

/** The standard deviation is that of the rule's errors in earlier months. */
export const forecastOf = (
  { boldness, expect }: Forecaster,
  series: Series,
  position: number
): typeof NewForecast.Type => {
  const errors = Array.from({ length: remembered }, (_, back) => position - 1 - back)
    .filter((past) => past >= 7)
    .map((past) => (series.months[past]?.value ?? 0) - expect(series, past))
  const variance = errors.reduce((sum, error) => sum + error * error, 0) / errors.length
  return {
    predicted_value: Number(expect(series, position).toFixed(3)),
    predicted_std: Number(Math.max(0.01, Math.sqrt(variance) * boldness).toFixed(3))
  }
}

/** `value` is the change of the index over a year in percent, with the published one decimal. */
interface Month {
  readonly month: string
  readonly value: number
}

interface Series {
  readonly index: ReadonlyArray<{ readonly month: string; readonly index: number }>
  readonly months: ReadonlyArray<Month>
}

const line = /^(\d{4}-(?:0[1-9]|1[0-2])),(\d+(?:\.\d+)?)$/

const oneDecimal = (value: number): number => Math.round(value * 10) / 10

const following = (month: string): string => {
  const [year = 0, number = 0] = month.split("-").map(Number)
  return number === 12 ? `${year + 1}-01` : `${year}-${String(number + 1).padStart(2, "0")}`
}

/** Reads CSV with the header `month,index` and one line for each consecutive month. */
export const seriesOf = Effect.fnUntraced(function* (file: string) {
  const fs = yield* FileSystem.FileSystem
  const text = yield* fs
    .readFileString(file)
    .pipe(Effect.mapError(() => new CommandFailed({ message: `${file} cannot be read.` })))
  const [header = "", ...lines] = text.trim().split(/\r?\n/)
  if (header.trim() !== "month,index") {
    return yield* new CommandFailed({ message: `${file} does not begin with the line month,index.` })
  }
  const index: Array<{ readonly month: string; readonly index: number }> = []
  for (const [position, each] of lines.entries()) {
    const [, month, level] = line.exec(each.trim()) ?? []
    const previous = index.at(-1)
    const isNext = previous === undefined || month === following(previous.month)
    if (month === undefined || level === undefined || Number(level) <= 0 || !isNext) {
      return yield* new CommandFailed({
        message: `${file}, line ${position + 2}: expected ${previous === undefined ? "a month" : following(previous.month)} and an index above 0, such as 2020-01,257.971.`
      })
    }
    index.push({ month, index: Number(level) })
  }
  const months = index.flatMap(({ index: level, month }, position): ReadonlyArray<Month> => {
    const before = index[position - 12]
    return before === undefined ? [] : [{ month, value: oneDecimal((level / before.index - 1) * 100) }]
  })
  return { index, months }
})
