/**
 * The stored sums of agents on boards: settlements add to them, amendments correct them, and the API shows statistics
 * computed from them.
 */
import { Effect, Schema } from "effect"
import type { DateTime } from "effect"
import type { SqlClient } from "effect/sql"
import { accuracyRate, avgScore, brierIndex, meanSkill, scoreCi95 } from "../../../scoring/agentStats.ts"
import type { AgentStats } from "../../../scoring/agentStats.ts"
import { execute, findOne, pageAfter, timestamp } from "../sql.ts"
import { squaredLoss } from "./scores.ts"

const sums = [
  "scored",
  "score_sum",
  "binary_scored",
  "correct",
  "brier_sum",
  "skill_count",
  "skill_sum",
  "day_count",
  "day_sum",
  "days",
  "sum_day_sq",
  "sum_day_cross"
]

/** The columns of `StatsRow`, of `agent_stats f`. */
export const statsColumns = (sql: SqlClient.SqlClient) =>
  sql.literal(
    `f.last_day, ${sums.map((name) => `f.${name}`).join(", ")}, f.sum_day_count_sq::float8 as sum_day_count_sq`
  )

/** The same columns from a row that may be missing; an agent without a row has no scores. */
export const statsOrNone = (sql: SqlClient.SqlClient) =>
  sql.literal(`coalesce(f.last_day::text, '') as last_day, ${sums.map((name) => `coalesce(f.${name}, 0) as ${name}`).join(", ")},
    coalesce(f.sum_day_count_sq, 0)::float8 as sum_day_count_sq`)

export const StatsRow = Schema.Struct({
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

const decodeStats = (row: typeof StatsRow.Type): AgentStats => ({
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

/** Drops the noise that a square root in doubles leaves in the last digits (19.999999999999996). */
const twelveDigits = (value: number): number => Number(value.toPrecision(12))

/** The public statistics of an agent without scores. */
export const noStats = {
  avg_score: null,
  accuracy_rate: null,
  correct_count: 0,
  prediction_count: 0,
  score_ci95: null,
  brier_index: null,
  mean_skill: null
}

/** The public statistics. Quotients of exact sums are the nearest doubles already. */
export const toPublic = (row: typeof StatsRow.Type) => {
  const stats = decodeStats(row)
  const interval = scoreCi95(stats)
  const brier = brierIndex(stats)
  return {
    avg_score: avgScore(stats),
    accuracy_rate: accuracyRate(stats),
    correct_count: stats.correctCount,
    prediction_count: stats.scoredCount,
    score_ci95: interval === null ? null : ([twelveDigits(interval[0]), twelveDigits(interval[1])] as const),
    brier_index: brier === null ? null : twelveDigits(brier),
    mean_skill: meanSkill(stats)
  }
}

/** A statement takes at most this many agents. Its sort and its pages stay in memory, and other statements run in between. */
const agentsPerStatement = 10_000

const PageRow = Schema.Struct({ agents: Schema.Int, last: Schema.NullOr(Schema.String) })
const pageRow = findOne(PageRow)

/** Runs a statement for each page of agents; each returns the number of its agents and the last one. */
const inPages = Effect.fnUntraced(function* (
  next: (after: string | null) => Effect.Effect<typeof PageRow.Type>
) {
  let { agents, last } = yield* next(null)
  while (agents === agentsPerStatement) ({ agents, last } = yield* next(last))
})

/** A version of a settlement whose scores are written. */
interface ScoredVersion {
  readonly challengeId: string
  readonly version: number
  readonly boards: ReadonlyArray<string>
  readonly now: DateTime.Utc
}

/**
 * Adds the scores of one settlement to its agents' rows on `boards`, within the caller's transaction. A day that is over
 * closes into its squares. The settlement's day never goes back, so this equals a recomputation exactly
 * (`src/scoring/agentStats.ts`).
 *
 * Existing rows are looked up first, so that new ones are plain inserts: `on conflict` would look each up again, and write
 * two log records for each. Only settlements insert rows, and they take turns; the primary key is the guard.
 */
export const addScores = (sql: SqlClient.SqlClient, settlement: ScoredVersion) => {
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
    pageRow(sql`
      with scored as materialized (
        select s.agent_id, s.score, s.is_correct, s.skill
          from prediction_scores s
         where s.challenge_id = ${settlement.challengeId}::uuid and s.version = ${settlement.version}
           ${pageAfter(sql, "s.agent_id >", after)}
         order by s.agent_id
         limit ${agentsPerStatement}
      ),
      item as materialized (
        select s.agent_id, a.verified, s.score, (s.is_correct is not null)::int as binary_scored,
               coalesce(s.is_correct, false)::int as correct,
               case when s.is_correct is null then 0 else ${squaredLoss(sql, "s.score")} end as brier,
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
          -- An agent that was claimed while this statement waited for the row stays claimed.
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
  return inPages(next)
}

/**
 * Replaces the scores of the previous version by those of an amendment, within the caller's transaction, so that the
 * rows equal a recomputation from the newest versions. The scores count under the day of the first settlement. While
 * that day is an agent's last one on a board, its sums take the difference. Once the day is over, only the squares of
 * its sums are stored: they are replaced, after the sums of the day have been added up again from the newest versions
 * of all its settlements.
 */
export const amendStats = (sql: SqlClient.SqlClient, amended: ScoredVersion) => {
  const id = amended.challengeId
  const next = (after: string | null) =>
    pageRow(sql`
      with scored as (
        select s.agent_id, s.score, s.is_correct, s.skill
          from prediction_scores s
         where s.challenge_id = ${id}::uuid and s.version = ${amended.version}
           ${pageAfter(sql, "s.agent_id >", after)}
         order by s.agent_id
         limit ${agentsPerStatement}
      ),
      changed as (
        select s.agent_id, s.score - o.score as score,
               coalesce(s.is_correct::int, 0) - coalesce(o.is_correct::int, 0) as correct,
               case when s.is_correct is null then 0
                    else ${squaredLoss(sql, "s.score")} - ${squaredLoss(sql, "o.score")} end
                 as brier,
               coalesce(s.skill, 0) - coalesce(o.skill, 0) as skill
          from scored s
          join prediction_scores o
            on o.challenge_id = ${id}::uuid and o.version = ${amended.version - 1} and o.agent_id = s.agent_id
         where (s.score, s.is_correct, s.skill) is distinct from (o.score, o.is_correct, o.skill)
      ),
      held as (
        select f.agent_id, f.board, f.last_day > t.day as is_over, c.score, c.correct, c.brier, c.skill
          from changed c
          join agent_stats f on f.agent_id = c.agent_id and f.board = any(${amended.boards}::text[])
          join settlements t on t.challenge_id = ${id}::uuid and t.version = ${amended.version}
         order by f.agent_id, f.board
           for no key update of f
      ),
      settled as (
        select l.challenge_id, l.version, b.board
          from (
            select challenge_id, max(version) as version from settlements
             where day = (select day from settlements
                           where challenge_id = ${id}::uuid and version = ${amended.version})
             group by challenge_id) l
          join challenges c on c.id = l.challenge_id
          join targets t on t.key = c.target
         cross join lateral (values ('global'), (t.category), (t.key)) as b (board)
         where b.board = any(${amended.boards}::text[]) and exists (select 1 from held where is_over)
      ),
      -- Grouped, not joined: rows of this transaction have no statistics yet, and a join of them can be planned badly.
      days as (
        select agent_id, board, bool_or(is_over) as is_over, sum(score) as score, sum(correct)::int as correct,
               sum(brier) as brier, sum(skill) as skill, sum(n)::int as n, sum(points) as points
          from (
            select agent_id, board, is_over, score, correct, brier, skill, 0 as n, 0::numeric as points from held
             union all
            select s.agent_id, l.board, null, 0, 0, 0, 0, 1, s.score
              from settled l
              join prediction_scores s
                on s.challenge_id = l.challenge_id and s.version = l.version
               and s.agent_id >= (select agent_id from scored order by agent_id limit 1)
               and s.agent_id <= (select agent_id from scored order by agent_id desc limit 1)) each
         group by agent_id, board
        -- Agents whose scores did not change have no row in held.
        having bool_or(is_over) is not null
      ),
      corrected as (
        update agent_stats f set
          score_sum = f.score_sum + d.score,
          correct = f.correct + d.correct,
          brier_sum = f.brier_sum + d.brier,
          skill_sum = f.skill_sum + d.skill,
          day_sum = case when d.is_over then f.day_sum else f.day_sum + d.score end,
          sum_day_sq =
            case when d.is_over
                 then f.sum_day_sq + d.points * d.points - (d.points - d.score) * (d.points - d.score)
                 else f.sum_day_sq end,
          sum_day_cross = case when d.is_over then f.sum_day_cross + d.n * d.score else f.sum_day_cross end
          from days d
         where f.agent_id = d.agent_id and f.board = d.board
      )
      select count(*)::int as agents, (select agent_id::text from scored order by agent_id desc limit 1) as last
        from scored`)
  return Effect.gen(function* () {
    yield* inPages(next)
    yield* execute(sql`
      with held as (
        select board from boards where board = any(${amended.boards}::text[]) order by board for no key update
      )
      update boards b set updated_at = ${timestamp(amended.now)} from held where b.board = held.board`)
  })
}
