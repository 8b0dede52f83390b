/** The kept figures: how a settlement adds to them, and how a row of them becomes what is published. */
import { Effect, Schema } from "effect"
import type { DateTime } from "effect"
import type { SqlClient } from "effect/sql"
import { accuracyRate, avgScore, brierIndex, meanSkill, scoreCi95 } from "../../../scoring/agentStats.ts"
import type { Figures } from "../../../scoring/agentStats.ts"
import { findOne, timestamp } from "../sql.ts"

/** The sums that are kept of an agent on a board, as columns of a row of `agent_stats f`. */
export const keptSums = (sql: SqlClient.SqlClient) =>
  sql.literal(`
    f.last_day, f.scored, f.score_sum, f.binary_scored, f.correct, f.brier_sum, f.skill_count, f.skill_sum, f.day_count,
    f.day_sum, f.days, f.sum_day_sq, f.sum_day_cross, f.sum_day_count_sq::float8 as sum_day_count_sq`)

export const KeptSums = Schema.Struct({
  last_day: Schema.String,
  scored: Schema.Int,
  score_sum: Schema.BigDecimalFromString,
  binary_scored: Schema.Int,
  correct: Schema.Int,
  brier_sum: Schema.BigDecimalFromString,
  skill_count: Schema.Int,
  skill_sum: Schema.BigDecimalFromString,
  day_count: Schema.Int,
  day_sum: Schema.BigDecimalFromString,
  days: Schema.Int,
  sum_day_sq: Schema.BigDecimalFromString,
  sum_day_cross: Schema.BigDecimalFromString,
  sum_day_count_sq: Schema.Int
})

const figuresOf = (row: typeof KeptSums.Type): Figures => ({
  lastDay: row.last_day,
  scoredCount: row.scored,
  scoreSum: row.score_sum,
  binaryCount: row.binary_scored,
  correctCount: row.correct,
  brierSum: row.brier_sum,
  skillCount: row.skill_count,
  skillSum: row.skill_sum,
  dayCount: row.day_count,
  daySum: row.day_sum,
  days: row.days,
  sumDaySq: row.sum_day_sq,
  sumDayCross: row.sum_day_cross,
  sumDayCountSq: row.sum_day_count_sq
})

/** A square root in doubles leaves noise in the last digits (19.999999999999996), which no figure means. */
const twelveDigits = (figure: number): number => Number(figure.toPrecision(12))

/** What is published of an agent that nothing was scored of. */
export const noFigures = {
  avg_score: null,
  accuracy_rate: null,
  correct_count: 0,
  prediction_count: 0,
  score_ci95: null,
  brier_index: null,
  mean_skill: null
}

/** What is published of kept sums. Quotients of exact sums are the nearest doubles and stay as they are. */
export const published = (row: typeof KeptSums.Type) => {
  const figures = figuresOf(row)
  const interval = scoreCi95(figures)
  const brier = brierIndex(figures)
  return {
    avg_score: avgScore(figures),
    accuracy_rate: accuracyRate(figures),
    correct_count: figures.correctCount,
    prediction_count: figures.scoredCount,
    score_ci95: interval === null ? null : ([twelveDigits(interval[0]), twelveDigits(interval[1])] as const),
    brier_index: brier === null ? null : twelveDigits(brier),
    mean_skill: meanSkill(figures)
  }
}

/** Agents a statement adds scores of: its sort and the pages it touches stay in memory, and others get their turn. */
const agentsAStatement = 10_000

/**
 * Adds the scores of one settlement to the figures of its agents on `boards`, within the caller's transaction. A day
 * that is over closes into its squares; the settlement's day never goes back, so this equals a recomputation exactly
 * (`src/scoring/agentStats.ts`).
 *
 * Rows that are there are looked up first, so that new ones are plain inserts: `on conflict` looks for each once more,
 * and logs each twice. Only settlements write new ones, and they take turns; the primary key is the guard.
 */
export const addScores = (
  sql: SqlClient.SqlClient,
  settlement: {
    readonly challengeId: string
    readonly version: number
    readonly boards: ReadonlyArray<string>
    readonly now: DateTime.Utc
  }
) => {
  const done = findOne(Schema.Struct({ agents: Schema.Int, last: Schema.NullOr(Schema.String) }))
  // An agent's rows are written in the order of their key.
  const boards = settlement.boards.toSorted()
  const insertInto = sql.literal(`
        insert into agent_stats as f
          (board, agent_id, verified, scored, score_sum, binary_scored, correct, brier_sum, skill_count, skill_sum,
           last_day, day_count, day_sum)
        select b.board, i.agent_id, i.verified, 1, i.score, i.binary_scored, i.correct, i.brier, i.skill_count, i.skill,
               i.day, 1, i.score
          from item i cross join lateral`)
  const next = (after: string | null) =>
    done(sql`
      with scored as materialized (
        select s.agent_id, s.score, s.is_correct, s.skill
          from prediction_scores s
         where s.challenge_id = ${settlement.challengeId}::uuid and s.version = ${settlement.version}
           ${after === null ? sql`` : sql`and s.agent_id > ${after}::uuid`}
         order by s.agent_id
         limit ${agentsAStatement}
      ),
      item as materialized (
        select s.agent_id, a.verified, s.score, (s.is_correct is not null)::int as binary_scored,
               coalesce(s.is_correct, false)::int as correct,
               case when s.is_correct is null then 0 else (1 - s.score * 0.01) * (1 - s.score * 0.01) end as brier,
               (s.skill is not null)::int as skill_count, coalesce(s.skill, 0) as skill, t.day,
               array(select f.board from agent_stats f
                      where f.agent_id = s.agent_id and f.board = any(${boards}::text[]) order by f.board) as held
          from scored s
         cross join (
           select day from settlements
            where challenge_id = ${settlement.challengeId}::uuid and version = ${settlement.version}) t
         cross join lateral (
           select claimed_at is not null as verified from agents where id = s.agent_id limit 1) a
      ),
      begun as (
        ${insertInto} unnest(${boards}::text[]) as b (board)
         where b.board <> all(i.held)
        returning board
      ),
      added as (
        ${insertInto} unnest(i.held) as b (board)
        on conflict (agent_id, board) do update set
          -- Whoever was claimed while this waited for the row stays so: a claim is never undone.
          verified = f.verified or excluded.verified,
          scored = f.scored + excluded.scored,
          score_sum = f.score_sum + excluded.score_sum,
          binary_scored = f.binary_scored + excluded.binary_scored,
          correct = f.correct + excluded.correct,
          brier_sum = f.brier_sum + excluded.brier_sum,
          skill_count = f.skill_count + excluded.skill_count,
          skill_sum = f.skill_sum + excluded.skill_sum,
          days = case when f.last_day < excluded.last_day then f.days + 1 else f.days end,
          sum_day_sq =
            case when f.last_day < excluded.last_day then f.sum_day_sq + f.day_sum * f.day_sum else f.sum_day_sq end,
          sum_day_cross =
            case when f.last_day < excluded.last_day then f.sum_day_cross + f.day_sum * f.day_count
                 else f.sum_day_cross end,
          sum_day_count_sq =
            case when f.last_day < excluded.last_day then f.sum_day_count_sq + f.day_count::bigint * f.day_count
                 else f.sum_day_count_sq end,
          day_count = case when f.last_day < excluded.last_day then 0 else f.day_count end + excluded.day_count,
          day_sum = case when f.last_day < excluded.last_day then 0 else f.day_sum end + excluded.day_sum,
          last_day = excluded.last_day
      ),
      kept as (
        insert into boards as b (board, agents, updated_at)
        select each.board, (select count(*) from begun where begun.board = each.board), ${timestamp(settlement.now)}
          from unnest(${boards}::text[]) as each (board)
         where exists (select from scored)
         order by each.board
        on conflict (board) do update set agents = b.agents + excluded.agents, updated_at = excluded.updated_at
      )
      select count(*)::int as agents, (select agent_id::text from scored order by agent_id desc limit 1) as last
        from scored`)
  return Effect.gen(function* () {
    let { agents, last } = yield* next(null)
    while (agents === agentsAStatement) ({ agents, last } = yield* next(last))
  })
}
