/** Scoring the forecasts of a challenge by an outcome, a page at a time, within the transaction that records it. */
import { Effect, Schema } from "effect"
import { SqlClient } from "effect/sql"
import { execute, findAll, rowsOf } from "../sql.ts"
import { addCalibration, replaceCalibration } from "./calibration.ts"
import { calibrationOf, numericScore } from "./numericScores.ts"
import type { Outcome } from "./numericScores.ts"

/** Forecasts that are scored at a time: what is in memory does not grow with the challenge. */
const page = 5000

const LastForecast = Schema.Struct({
  agent_id: Schema.String,
  revision: Schema.Int,
  predicted_value: Schema.String,
  predicted_std: Schema.String
})

/** One version of a settlement. */
export interface ForecastSettlement {
  readonly challengeId: string
  readonly version: number
  readonly outcome: Outcome
  /** What the version before it scored by; null of the first. */
  readonly replaced: Outcome | null
  /** Without a frozen scale a challenge is scored, and left out of calibration. */
  readonly isFrozen: boolean
  readonly decimalStep: string | null
}

export const makeScoreForecasts = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const forecasts = findAll(LastForecast)

  const lastForecasts = (challengeId: string, after: string | undefined) =>
    forecasts(sql`
      select distinct on (p.agent_id) p.agent_id::text, revision, predicted_value::text, predicted_std::text
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
      if (settlement.isFrozen) yield* calibrate(settlement, rows)
      rows = rows.length < page ? [] : yield* lastForecasts(settlement.challengeId, rows.at(-1)?.agent_id)
    }
  })
})
