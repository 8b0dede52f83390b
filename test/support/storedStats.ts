/** The stored sums of agents, in the form of the pure reference arithmetic. */
import { BigDecimal, Effect, Schema } from "effect"
import type { AgentStats } from "../../src/scoring/agentStats.ts"
import { rowsOf } from "./database.ts"

const StoredRow = Schema.Struct({
  board: Schema.String,
  agent_id: Schema.String,
  scored: Schema.Int,
  score_sum: Schema.String,
  binary_scored: Schema.Int,
  correct: Schema.Int,
  brier_sum: Schema.String,
  skill_count: Schema.Int,
  skill_sum: Schema.String,
  last_day: Schema.String,
  day_count: Schema.Int,
  day_sum: Schema.String,
  days: Schema.Int,
  sum_day_sq: Schema.String,
  sum_day_cross: Schema.String,
  sum_day_count_sq: Schema.Int
})

/** The stored rows of these agents, by leaderboard and agent. */
export const storedStats = Effect.fnUntraced(function* (agents: ReadonlyArray<string>) {
  const rows = yield* rowsOf(
    StoredRow,
    (sql) => sql`
      select board, agent_id::text, scored, score_sum::text, binary_scored, correct, brier_sum::text, skill_count,
             skill_sum::text, last_day::text, day_count, day_sum::text, days, sum_day_sq::text, sum_day_cross::text,
             sum_day_count_sq::float8
        from agent_stats
       where agent_id = any(${agents}::uuid[])`
  )
  return new Map(
    rows.map((row): readonly [string, AgentStats] => [
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
