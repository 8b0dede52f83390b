/** Scores the last prediction of every agent, within the transaction that records the result. */
import { Effect, Schema } from "effect"
import { SqlClient } from "effect/sql"
import { execute, findAll, rowsOf, decimal } from "../sql.ts"
import { addCalibration, replaceCalibration } from "./calibration.ts"
import { distributionOf } from "../../../services/domain/Answer.ts"
import type { Direction } from "../../../services/domain/Challenge.ts"
import { calibrationRow } from "../../../scoring/calibration.ts"
import type { CalibrationRow } from "../../../scoring/calibration.ts"
import { crpsScore } from "../../../scoring/crps.ts"
import { rps, rpsScore } from "../../../scoring/ordered.ts"
import type { Distribution } from "../../../scoring/distributions.ts"
import { statedOf } from "../challenges/challengeRows.ts"

/** By a direction: half of the points, plus or minus half times the confidence. */
export const scoreDirections = (
  sql: SqlClient.SqlClient,
  settlement: { readonly challengeId: string; readonly version: number },
  result: Direction
) =>
  execute(sql`
    insert into prediction_scores (challenge_id, version, agent_id, revision, is_correct, score)
    select p.challenge_id, ${settlement.version}::int, p.agent_id, p.revision, p.direction = ${result},
           case when p.direction = ${result} then 50 + 50 * p.confidence else 50 - 50 * p.confidence end
      from (
        select distinct on (agent_id) challenge_id, agent_id, revision, direction, confidence
          from predictions where challenge_id = ${settlement.challengeId}::uuid
         order by agent_id, revision desc) p
     order by p.agent_id`)

/** What a settlement scores forecasts by, as decimal texts. */
interface Outcome {
  readonly actual_value: string
  /** Of an ordered question what the reference expects of its own score. */
  readonly reference_scale: string
  /** Of an ordered question; its value is the number of one of them. */
  readonly categories: ReadonlyArray<string> | null
}

/** What a prediction `p` of a number or of categories says, as it was sealed; null of a normal distribution. */
export const statedForecast = Schema.NullOr(
  Schema.Union([
    Schema.Struct({ quantiles: Schema.Array(Schema.Struct({ p: Schema.Finite, value: Schema.Finite })) }),
    Schema.Struct({ samples: Schema.Array(Schema.Finite) }),
    Schema.Struct({ probabilities: Schema.Record(Schema.String, Schema.Finite) })
  ])
)

/** A stored forecast, with decimals as texts. */
interface Forecast {
  readonly predicted_value: string | null
  readonly predicted_std: string | null
  readonly stated: typeof statedForecast.Type
}

const distribution = ({ predicted_std, predicted_value, stated }: Forecast): Distribution =>
  distributionOf(stated ?? {}, Number(predicted_value), Number(predicted_std))

const earnedBy = (forecast: Forecast, { actual_value, categories, reference_scale }: Outcome) => {
  const { stated } = forecast
  const [outcome, scale] = [Number(actual_value), Number(reference_scale)]
  if (stated !== null && "probabilities" in stated) {
    const value = rps(categories?.map((name) => stated.probabilities[name] ?? 0) ?? [], outcome)
    return { value, ...rpsScore(value, scale) }
  }
  const value = distribution(forecast).crps(outcome)
  return { value, ...crpsScore(value, scale) }
}

/** The stored decimals of a numeric score. Its doubles come out the same on every machine. */
export const numericScore = (forecast: Forecast, outcome: Outcome) => {
  const { score, skill, value } = earnedBy(forecast, outcome)
  return { crps: decimal(value), skill: decimal(skill), score: decimal(score) }
}

export const calibrationOf = (
  forecast: Forecast,
  outcome: Outcome,
  decimalStep: string | null
): CalibrationRow =>
  calibrationRow(
    distribution(forecast),
    Number(outcome.actual_value),
    Number(outcome.reference_scale),
    decimalStep === null ? null : Number(decimalStep)
  )

/** Forecasts are scored a page at a time, so that memory does not grow with the challenge. */
const page = 5000

const LastForecast = Schema.Struct({
  agent_id: Schema.String,
  revision: Schema.Int,
  predicted_value: Schema.NullOr(Schema.String),
  predicted_std: Schema.NullOr(Schema.String),
  stated: statedForecast
})

/** One version of a settlement. */
export interface ForecastSettlement {
  readonly challengeId: string
  readonly version: number
  readonly outcome: Outcome
  /** The outcome of the version before it; null for the first. */
  readonly replaced: Outcome | null
  /** Challenges without a frozen scale do not count in calibration, and ordered ones neither. */
  readonly isCalibrated: boolean
  readonly decimalStep: string | null
}

export const makeScoreForecasts = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const forecasts = findAll(LastForecast)

  const lastForecasts = (challengeId: string, after: string | undefined) =>
    forecasts(sql`
      select distinct on (p.agent_id) p.agent_id::text, revision, predicted_value::text, predicted_std::text,
             ${statedOf(sql)} as stated
        from predictions p
       where challenge_id = ${challengeId}::uuid ${after === undefined ? sql`` : sql`and agent_id > ${after}::uuid`}
       order by p.agent_id, revision desc
       limit ${page}`)

  const write = (settlement: ForecastSettlement, rows: ReadonlyArray<typeof LastForecast.Type>) => {
    const scores = rows.map((row) => ({ ...row, ...numericScore(row, settlement.outcome) }))
    return execute(sql`
      insert into prediction_scores (challenge_id, version, agent_id, revision, score, crps, skill)
      select ${settlement.challengeId}::uuid, ${settlement.version}::int, agent_id, revision, score, crps, skill
        from ${rowsOf(sql, "s", scores, {
          agent_id: ["uuid", (each) => each.agent_id],
          revision: ["int4", (each) => each.revision],
          score: ["numeric", (each) => each.score],
          crps: ["numeric", (each) => each.crps],
          skill: ["numeric", (each) => each.skill]
        })}`)
  }

  const calibrate = (
    { decimalStep, outcome, replaced }: ForecastSettlement,
    rows: ReadonlyArray<typeof LastForecast.Type>
  ) =>
    replaced === null
      ? addCalibration(
          sql,
          rows.map((row) => ({ agent_id: row.agent_id, row: calibrationOf(row, outcome, decimalStep) }))
        )
      : replaceCalibration(
          sql,
          rows.map((row) => ({
            agent_id: row.agent_id,
            before: calibrationOf(row, replaced, decimalStep),
            after: calibrationOf(row, outcome, decimalStep)
          }))
        )

  return Effect.fnUntraced(function* (settlement: ForecastSettlement) {
    let rows = yield* lastForecasts(settlement.challengeId, undefined)
    while (rows.length > 0) {
      yield* write(settlement, rows)
      if (settlement.isCalibrated) yield* calibrate(settlement, rows)
      rows = rows.length < page ? [] : yield* lastForecasts(settlement.challengeId, rows.at(-1)?.agent_id)
    }
  })
})

/** Why a value is the number of no category of an ordered question. */
export const faultOfCategory = (
  categories: ReadonlyArray<string> | null,
  value: number
): string | undefined => {
  if (categories === null || categories[value] !== undefined) return undefined
  const numbered = categories.map((name, index) => `${index} ${name}`).join(", ")
  return `Expected the number of a category: ${numbered}`
}
