/** Scores the last prediction of every agent, within the transaction that records the result. */
import { DateTime, Effect, Schema } from "effect"
import { SqlClient } from "effect/sql"
import type { Statement } from "effect/sql"
import { arrayParam, decimal, execute, findAll, pageAfter, rowsOf, timestamp } from "../sql.ts"
import { addCalibration, replaceCalibration } from "./calibration.ts"
import { distributionOf } from "../../../services/domain/Answer.ts"
import type { Direction } from "../../../services/domain/Challenge.ts"
import { calibrationRow } from "../../../scoring/calibration.ts"
import type { CalibrationRow } from "../../../scoring/calibration.ts"
import { crpsScore } from "../../../scoring/crps.ts"
import { rps, rpsScore } from "../../../scoring/ordered.ts"
import type { Distribution } from "../../../scoring/distributions.ts"
import {
  boundedNumericSkill,
  boundedSkill,
  minSpan,
  referenceLoss,
  referenceSkill
} from "../../../scoring/reference.ts"
import type { Reference } from "../../../scoring/reference.ts"
import {
  factorOf,
  floatOf,
  impliedProbability,
  submittedColumns,
  submittedValues
} from "../challenges/challengeRows.ts"
import { stepFor } from "../challenges/reference.ts"
import type { SettledReference } from "../challenges/reference.ts"

/**
 * The last answers `p` with their skill and their bounded skill against the reference, by the formulas of
 * src/scoring/reference.ts. It computes in doubles: a million answers are settled at once. The Brier score of a vector
 * p is sum p^2 - 2 p(outcome) + 1, of an answer and of a reference alike. Each `offset 0` has the columns under it
 * computed once.
 */
const withSkill = (
  sql: SqlClient.SqlClient,
  answers: Statement.Fragment,
  { expected, steps }: SettledReference,
  result: Direction
) => {
  const [{ odds: first = [] } = {}] = steps
  const isBinary = first.length === 2
  const names = isBinary ? ["bullish", "bearish"] : ["bullish", "neutral", "bearish"]
  const all = (each: (name: string, index: number) => Statement.Fragment) => sql.csv(names.map(each))
  const times = arrayParam(
    "timestamptz",
    steps.map(({ at }) => timestamp(DateTime.makeUnsafe(at)))
  )
  /** The sum q^2 - 2 q(outcome) of each step. */
  const terms = (index: number) =>
    arrayParam(
      "numeric",
      steps.map(({ odds = [] }) => decimal(odds.reduce((sum, q) => sum + q * q, 0) - 2 * (odds[index] ?? 0)))
    )
  const squares = sql.literal(names.map((name) => `${name} * ${name}`).join(" + "))
  return sql`
    select p.*, ${sql(`by_${result}`)} as reference_skill,
           ${sql(`by_${result}`)} / greatest(${minSpan}::float8, ${all((name) => sql`abs(${sql(`by_${name}`)})`)}) as bounded_skill
      from (
        select p.*, ${all(
          (name, index) =>
            sql`((${terms(index)}::float8[])[step] - squares + 2 * ${sql(name)}) / ${expected}::float8 as ${sql(`by_${name}`)}`
        )}
          from (
            select p.*, ${squares} as squares
              from (
                select p.*, greatest(1, width_bucket(received_at, ${times})) as step, ${all(
                  (name) => sql`
                    case when submitted is not null
                         then coalesce(${factorOf(sql, `(submitted -> 'probabilities' ->> '${name}')::numeric`)}, 0)
                         when direction = ${name} then ${impliedProbability(sql, sql.literal("c"))}
                         else (1 - c) / ${isBinary ? 2 : 4}::int end as ${sql(name)}`
                )}
                  from (select p.*, ${floatOf(sql, "p.confidence")} as c from (${answers}) p offset 0) p
                offset 0) p
            offset 0) p
        offset 0) p`
}

/** The score of a prediction of a direction: half of the points, plus or minus half times the confidence. */
export const directionScore = (sql: SqlClient.SqlClient, alias: "l" | "p", result: Statement.Fragment) => {
  const confidence = sql.literal(`${alias}.confidence`)
  return sql`
    case when ${sql.literal(alias)}.direction = ${result} then 50 + 50 * ${confidence} else 50 - 50 * ${confidence} end`
}

/** The squared loss of a prediction of a direction, from its score; Brier indices average it. */
export const squaredLoss = (sql: SqlClient.SqlClient, score: string) =>
  sql.literal(`(1 - ${score} * 0.01) * (1 - ${score} * 0.01)`)

/** Scores the last predictions of a question on directions. */
export const scoreDirections = (
  sql: SqlClient.SqlClient,
  settlement: { readonly challengeId: string; readonly version: number },
  result: Direction,
  reference: SettledReference | null
) => {
  // Only the bodies of the last revisions are read.
  const answers = sql`
    select p.challenge_id, p.agent_id, p.revision, p.direction, p.confidence, p.received_at, ${submittedValues(sql)} as submitted
      from (
        select distinct on (p.agent_id) p.challenge_id, p.agent_id, p.revision, p.direction, p.confidence, p.received_at,
               ${submittedColumns(sql)}
          from predictions p where p.challenge_id = ${settlement.challengeId}::uuid
         order by p.agent_id, p.revision desc) p`
  const scored =
    reference === null
      ? sql`select p.*, null::float8 as reference_skill, null::float8 as bounded_skill from (${answers}) p`
      : withSkill(sql, answers, reference, result)
  return execute(sql`
    insert into prediction_scores
      (challenge_id, version, agent_id, revision, is_correct, score, reference_skill, bounded_skill, probability)
    select p.challenge_id, ${settlement.version}::int, p.agent_id, p.revision, p.direction = ${result},
           ${directionScore(sql, "p", sql`${result}`)},
           p.reference_skill, p.bounded_skill,
           (select max(value::numeric) from jsonb_each_text(p.submitted -> 'probabilities'))
      from (${scored}) p
     order by p.agent_id`)
}

/** The outcome by which a settlement scores forecasts, as decimal texts. */
interface Outcome {
  readonly actual_value: string
  /** The scale of scores; for an ordered question, the score that the reference expects of itself. */
  readonly reference_scale: string
  /** The categories of an ordered question, whose value is the number of one of them; null for a number. */
  readonly categories: ReadonlyArray<string> | null
}

/** The sealed values of a prediction `p` of a number or of categories; null for a normal distribution. */
export const submittedForecast = Schema.NullOr(
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
  readonly submitted: typeof submittedForecast.Type
}

const distribution = ({ predicted_std, predicted_value, submitted }: Forecast): Distribution =>
  distributionOf(submitted ?? {}, Number(predicted_value), Number(predicted_std))

/** The forecast of the walk for a number when an answer was received. */
const referenceOf = (reference: SettledReference, receivedAt: DateTime.Utc): Reference | undefined => {
  const step = stepFor(reference, receivedAt)
  if (step?.counts !== undefined) return { counts: step.counts }
  return step?.mean === undefined || step.sd === undefined ? undefined : { mean: step.mean, sd: step.sd }
}

const earnedBy = (forecast: Forecast, { actual_value, categories, reference_scale }: Outcome) => {
  const { submitted } = forecast
  const [outcome, scale] = [Number(actual_value), Number(reference_scale)]
  if (submitted !== null && "probabilities" in submitted) {
    const vector = categories?.map((name) => submitted.probabilities[name] ?? 0) ?? []
    const skills = vector.map((_, other) => rpsScore(rps(vector, other), scale).skill)
    const value = rps(vector, outcome)
    return { value, skills, ...rpsScore(value, scale) }
  }
  const value = distribution(forecast).crps(outcome)
  return { value, skills: null, ...crpsScore(value, scale) }
}

const stored = ({ score, skill, value }: Omit<ReturnType<typeof earnedBy>, "skills">) => ({
  crps: decimal(value),
  skill: decimal(skill),
  score: decimal(score)
})

/** The stored decimals of a numeric score. Its doubles come out the same on every machine. */
export const numericScore = (forecast: Forecast, outcome: Outcome) => stored(earnedBy(forecast, outcome))

/** The same, with the skill against the reference at the time of the answer. */
export const forecastScore = (
  forecast: Forecast & { readonly received_at: DateTime.Utc },
  outcome: Outcome,
  reference: SettledReference | null
) => {
  const earned = earnedBy(forecast, outcome)
  const known = reference && referenceOf(reference, forecast.received_at)
  const skill =
    reference === null || !known
      ? earned.skill
      : referenceSkill(
          earned.value,
          referenceLoss(known, Number(outcome.actual_value)),
          Number(reference.expected)
        )
  const bounded = earned.skills === null ? boundedNumericSkill(skill) : boundedSkill(skill, earned.skills)
  return { ...stored(earned), reference_skill: decimal(skill), bounded_skill: decimal(bounded) }
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
  submitted: submittedForecast,
  received_at: Schema.DateTimeUtcFromDate
})

/** One version of a settlement. */
export interface ForecastSettlement {
  readonly challengeId: string
  readonly version: number
  readonly outcome: Outcome
  /** The outcome of the version before it; null for the first. */
  readonly replaced: Outcome | null
  /** False for challenges without a frozen scale and for ordered ones, which do not count in calibration. */
  readonly isCalibrated: boolean
  readonly decimalStep: string | null
  /** The reference is null if answers are compared with the scale of the outcome. */
  readonly reference: SettledReference | null
}

export const makeScoreForecasts = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const forecasts = findAll(LastForecast)

  const lastForecasts = (challengeId: string, after: string | undefined) =>
    forecasts(sql`
      select p.agent_id::text, p.revision, p.predicted_value::text, p.predicted_std::text, p.received_at,
             ${submittedValues(sql)} as submitted
        from (
          select distinct on (p.agent_id) p.agent_id, p.revision, p.predicted_value, p.predicted_std, p.received_at,
                 ${submittedColumns(sql)}
            from predictions p
           where p.challenge_id = ${challengeId}::uuid ${pageAfter(sql, "p.agent_id >", after)}
           order by p.agent_id, p.revision desc
           limit ${page}) p
       order by p.agent_id`)

  const write = (settlement: ForecastSettlement, rows: ReadonlyArray<typeof LastForecast.Type>) => {
    const scores = rows.map((row) => ({
      ...row,
      ...forecastScore(row, settlement.outcome, settlement.reference)
    }))
    return execute(sql`
      insert into prediction_scores
        (challenge_id, version, agent_id, revision, score, crps, skill, reference_skill, bounded_skill)
      select ${settlement.challengeId}::uuid, ${settlement.version}::int, agent_id, revision, score, crps, skill,
             reference_skill, bounded_skill
        from ${rowsOf(sql, "s", scores, {
          agent_id: ["uuid", (each) => each.agent_id],
          revision: ["int4", (each) => each.revision],
          score: ["numeric", (each) => each.score],
          crps: ["numeric", (each) => each.crps],
          skill: ["numeric", (each) => each.skill],
          reference_skill: ["numeric", (each) => each.reference_skill],
          bounded_skill: ["numeric", (each) => each.bounded_skill]
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

/** The problem of a value that is the number of no category of an ordered question. */
export const faultOfCategory = (
  categories: ReadonlyArray<string> | null,
  value: number
): string | undefined => {
  if (categories === null || categories[value] !== undefined) return undefined
  const numbered = categories.map((name, index) => `${index} ${name}`).join(", ")
  return `Expected the number of a category: ${numbered}`
}
