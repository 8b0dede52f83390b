/** The kept figures of agents, as the pure reference of their arithmetic has them. */
import { BigDecimal, Effect, Schema } from "effect"
import { FigureRow, figureColumns } from "../../src/layers/postgres/scoring/figures.ts"
import type { Figures } from "../../src/scoring/figures.ts"
import { rowsOf } from "./builders.ts"

const KeptRow = Schema.Struct({ ...FigureRow.fields, board: Schema.String, agent_id: Schema.String })

/** The kept rows of these agents, by board and agent. */
export const keptFigures = Effect.fnUntraced(function* (agents: ReadonlyArray<string>) {
  const rows = yield* rowsOf(
    KeptRow,
    (sql) => sql`
      select ${figureColumns(sql)}, f.board, f.agent_id::text from agent_figures f
       where f.agent_id = any(${agents}::uuid[])`
  )
  return new Map(
    rows.map((row): readonly [string, Figures] => [
      `${row.board}: ${row.agent_id}`,
      {
        scoredCount: row.scored,
        scoreSum: BigDecimal.fromStringUnsafe(row.score_sum),
        binaryCount: row.binary_scored,
        correctCount: row.correct,
        brierSum: BigDecimal.fromStringUnsafe(row.brier_sum),
        skillCount: row.skill_count,
        skillSum: BigDecimal.fromStringUnsafe(row.skill_sum),
        lastDay: row.last_day,
        dayCount: row.day_count,
        daySum: BigDecimal.fromStringUnsafe(row.day_sum),
        days: row.days,
        sumDaySq: BigDecimal.fromStringUnsafe(row.sum_day_sq),
        sumDayCross: BigDecimal.fromStringUnsafe(row.sum_day_cross),
        sumDayCountSq: row.sum_day_count_sq
      }
    ])
  )
})
