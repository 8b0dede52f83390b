/** How an amendment corrects the kept figures: to what a recomputation from the newest versions gives, exactly. */
import { Effect, Schema } from "effect"
import type { DateTime } from "effect"
import type { SqlClient } from "effect/sql"
import { execute, findOne, timestamp } from "../sql.ts"

/** Agents a statement corrects, as those that a settlement adds. */
const agentsAStatement = 10_000

export interface AmendedScores {
  readonly challengeId: string
  /** The amendment, whose scores are written. They are of the same predictions as those of the version before. */
  readonly version: number
  readonly boards: ReadonlyArray<string>
  readonly now: DateTime.Utc
}

/**
 * Replaces the scores of the version before by those of an amendment, within the caller's transaction. They count under
 * the day of the first settlement. While that day is an agent's last one on a board, its sums take the difference. Once
 * it is over, only the squares of its sums are kept: those are taken out and put back, after the sums of the day have
 * been added up again from the newest versions of all that was settled on it.
 */
export const amendFigures = (sql: SqlClient.SqlClient, amended: AmendedScores) => {
  const done = findOne(Schema.Struct({ agents: Schema.Int, last: Schema.NullOr(Schema.String) }))
  const id = amended.challengeId
  const next = (after: string | null) =>
    done(sql`
      with scored as (
        select s.agent_id, s.score, s.is_correct, s.skill
          from prediction_scores s
         where s.challenge_id = ${id}::uuid and s.version = ${amended.version}
           ${after === null ? sql`` : sql`and s.agent_id > ${after}::uuid`}
         order by s.agent_id
         limit ${agentsAStatement}
      ),
      changed as (
        select s.agent_id, s.score - o.score as score,
               coalesce(s.is_correct::int, 0) - coalesce(o.is_correct::int, 0) as correct,
               case when s.is_correct is null then 0
                    else (1 - s.score * 0.01) * (1 - s.score * 0.01) - (1 - o.score * 0.01) * (1 - o.score * 0.01) end
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
        -- Of agents whose scores are not changed there is no such row.
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
    let { agents, last } = yield* next(null)
    while (agents === agentsAStatement) ({ agents, last } = yield* next(last))
    yield* execute(sql`
      with held as (
        select board from boards where board = any(${amended.boards}::text[]) order by board for no key update
      )
      update boards b set updated_at = ${timestamp(amended.now)} from held where b.board = held.board`)
  })
}
