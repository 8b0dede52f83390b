/**
 * Proves that the scores are what predictions and settlements say, and the kept figures what the scores say: the same
 * sums, computed by a scan instead of kept. And who is verified among them is who was claimed.
 */
import { DateTime, Effect, Schema } from "effect"
import { SqlClient } from "effect/sql"
import { findAll, findOne, timestamp, transaction } from "../sql.ts"
import { numericDifferences } from "./numericStatsCheck.ts"

const maxReported = 100

/** A claim is confirmed by a job, if a settlement held the figures just then. */
const confirmed = { hours: 1 }

export const differences = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const counted = findOne(Schema.Struct({ agents: Schema.Int }))
  const different = findAll(Schema.Struct({ board: Schema.String, agent_id: Schema.String }))
  const misranked = findAll(
    Schema.Struct({ board: Schema.String, agent_id: Schema.String, verified: Schema.Boolean })
  )
  const claimedBefore = timestamp(DateTime.subtract(yield* DateTime.now, confirmed))
  const wrongScores = findAll(Schema.Struct({ challenge_id: Schema.String, agent_id: Schema.String }))
  return yield* transaction(sql)(
    Effect.gen(function* () {
      yield* sql`set local statement_timeout = '15min'`
      const found = yield* different(sql`
          with latest as (
            select distinct on (challenge_id) challenge_id, version, day from settlements
             order by challenge_id, version desc
          ),
          daily as (
            select b.board, s.agent_id, l.day, count(*)::int as n, sum(s.score) as points,
                   count(s.is_correct)::int as binary_n, coalesce(sum(s.is_correct::int), 0)::int as correct,
                   coalesce(sum((1 - s.score * 0.01) * (1 - s.score * 0.01)) filter (where s.is_correct is not null), 0)
                     as brier,
                   count(s.skill)::int as skill_n, coalesce(sum(s.skill), 0) as skill
              from latest l
              join prediction_scores s on s.challenge_id = l.challenge_id and s.version = l.version
              join challenges c on c.id = l.challenge_id
              join targets t on t.key = c.target
              cross join lateral (values ('global'), (t.category), (t.key)) as b (board)
             group by b.board, s.agent_id, l.day
          ),
          marked as (
            select *, day = max(day) over (partition by board, agent_id) as is_last from daily
          ),
          recomputed as (
            select board, agent_id, sum(n)::int as scored, sum(points) as score_sum,
                   sum(binary_n)::int as binary_scored, sum(skill_n)::int as skill_count, sum(skill) as skill_sum,
                   sum(correct)::int as correct, sum(brier) as brier_sum, max(day) as last_day,
                   sum(n) filter (where is_last)::int as day_count, sum(points) filter (where is_last) as day_sum,
                   count(*) filter (where not is_last)::int as days,
                   coalesce(sum(points * points) filter (where not is_last), 0) as sum_day_sq,
                   coalesce(sum(points * n) filter (where not is_last), 0) as sum_day_cross,
                   coalesce(sum(n::bigint * n) filter (where not is_last), 0)::bigint as sum_day_count_sq
              from marked group by board, agent_id
          )
          select coalesce(f.board, r.board) as board, coalesce(f.agent_id, r.agent_id)::text as agent_id
            from agent_stats f full join recomputed r on r.board = f.board and r.agent_id = f.agent_id
           where (f.scored, f.score_sum, f.binary_scored, f.correct, f.brier_sum, f.skill_count, f.skill_sum, f.last_day, f.day_count, f.day_sum,
                  f.days, f.sum_day_sq, f.sum_day_cross, f.sum_day_count_sq)
                 is distinct from
                 (r.scored, r.score_sum, r.binary_scored, r.correct, r.brier_sum, r.skill_count, r.skill_sum, r.last_day, r.day_count, r.day_sum,
                  r.days, r.sum_day_sq, r.sum_day_cross, r.sum_day_count_sq)
           order by 1, 2
           limit ${maxReported}`)
      const scores = yield* wrongScores(sql`
          with latest as (
            select distinct on (challenge_id) challenge_id, version, result from settlements
             order by challenge_id, version desc
          ),
          expected as (
            select distinct on (p.challenge_id, p.agent_id) p.challenge_id, l.version, p.agent_id, p.revision,
                   p.direction = l.result as is_correct,
                   case when p.direction = l.result then 50 + 50 * p.confidence else 50 - 50 * p.confidence end as score
              from latest l join predictions p on p.challenge_id = l.challenge_id
             where p.direction is not null
             order by p.challenge_id, p.agent_id, p.revision desc
          ),
          kept as (
            select s.* from prediction_scores s join latest l using (challenge_id, version) where s.crps is null)
          select coalesce(e.challenge_id, k.challenge_id)::text as challenge_id,
                 coalesce(e.agent_id, k.agent_id)::text as agent_id
            from expected e full join kept k using (challenge_id, version, agent_id)
           where (e.revision, e.is_correct, e.score) is distinct from (k.revision, k.is_correct, k.score)
           order by 1, 2
           limit ${maxReported}`)
      const ranks = yield* misranked(sql`
          select f.board, f.agent_id::text, f.verified
            from agent_stats f left join agents a on a.id = f.agent_id
           where case when f.verified then a.claimed_at is null else a.claimed_at < ${claimedBefore} end
           order by 1, 2
           limit ${maxReported}`)
      const { agents } = yield* counted(
        sql`select count(*)::int as agents from agent_stats where board = 'global'`
      )
      return {
        agents,
        differences: [
          ...(yield* numericDifferences(sql, maxReported)),
          ...scores.map((row) => `score in challenge ${row.challenge_id}: ${row.agent_id}`),
          ...found.map((row) => `${row.board}: ${row.agent_id}`),
          ...ranks.map(
            ({ agent_id, board, verified }) =>
              `${board}: ${agent_id} is ${verified ? "verified, and nobody claimed it" : "not verified, and was claimed"}`
          )
        ]
      }
    })
  )
})
