/** The stored sums of skill and evidence, to which each settlement day adds once it is over (src/scoring/evidence.ts). */
import { DateTime, Effect } from "effect"
import type { SqlClient, Statement } from "effect/sql"
import { level, maxBet, maxLambda, volumeDecay } from "../../../scoring/evidence.ts"
import { execute, timestamp } from "../sql.ts"

/** The condition of questions `c` whose answers have a skill. */
const hasSkill = (sql: SqlClient.SqlClient) =>
  sql.literal("(c.type = 'macro' or c.reference_scale is not null or c.reference_loss is not null)")

/** The horizon of a question `c` on prices; null for a series. */
export const horizonOf = (sql: SqlClient.SqlClient) =>
  sql.literal(`case when c.type <> 'macro' then
         case when c.resolve_at - c.deadline <= interval '2 hours' then '1h'
              when c.resolve_at - c.deadline <= interval '8 hours' then '4h'
              when c.resolve_at - c.deadline <= interval '2 days' then '1d' else '1w' end end`)

/** The boards on which a question `q` counts. */
const boardsOf = (sql: SqlClient.SqlClient) =>
  sql.literal(`(
         select board from (values ('global'), (q.category), (q.target), (q.horizon), (q.category || ' ' || q.horizon)) as b (board)
          where board is not null)`)

/** Settlement days after one ISO date and up to another. */
export interface Days {
  readonly after: string
  readonly to: string | Statement.Fragment
}

/** A date before the first day. */
export const beginning = "1970-01-01"

/** The questions of these days that have a skill, by their newest settlement. */
const questionsOf = (sql: SqlClient.SqlClient, { after, to }: Days) => sql`
  select l.challenge_id, l.version, l.day, c.target, t.category, ${horizonOf(sql)} as horizon, c.deadline
    from (
      select challenge_id, max(version) as version, day from settlements
       where day > ${after}::date and day <= ${to}::date
       group by challenge_id, day) l
    join challenges c on c.id = l.challenge_id and ${hasSkill(sql)}
    join targets t on t.key = c.target`

/** The answers to questions `q` that count: those that an agent gave once it was claimed, and all of references. */
const answersTo = (sql: SqlClient.SqlClient, agents: Statement.Fragment) => sql`
  select q.*, s.agent_id, a.owner_id, round(s.reference_skill::numeric, 12) as skill, round(s.bounded_skill::numeric, 12) as bounded
    from question q
    join prediction_scores s on s.challenge_id = q.challenge_id and s.version = q.version
     and s.reference_skill is not null
    join agents a on a.id = s.agent_id and ${agents}
   where (select received_at from predictions p
           where p.challenge_id = s.challenge_id and p.agent_id = s.agent_id and p.revision = s.revision)
         >= case when a.reference is null then a.claimed_at else '-infinity' end
   union all
  -- The consensus, by the outcome that came.
  select q.*, a.id, null::uuid, k.skills[o.place], k.bounded[o.place]
    from question q
    join challenge_consensus k on k.challenge_id = q.challenge_id and k.skills is not null and k.owners > 0
    join settlements t on t.challenge_id = q.challenge_id and t.version = q.version
   cross join lateral (
     select case when t.result is null then t.actual_value::int + 1
                 when t.result = 'bullish' then 1
                 when t.result = 'neutral' then 2
                 else cardinality(k.skills) end as place) o
    join agents a on a.reference = 'consensus' and ${agents}`

/** Stores the sum of all agents' skills on each question of these days, with which peers are compared. */
export const countQuestions = (sql: SqlClient.SqlClient, days: Days) =>
  execute(sql`
    with question as (${questionsOf(sql, days)}),
    answer as (${answersTo(sql, sql`a.owner_id is not null`)})
    insert into challenge_skill as k (challenge_id, answers, skill_sum)
    select challenge_id, count(*), sum(skill) from answer group by challenge_id
    on conflict (challenge_id) do update set answers = excluded.answers, skill_sum = excluded.skill_sum`)

/** Counts the questions that an agent could have answered, by the day of their deadline. */
export const countAnswerable = Effect.fnUntraced(function* (sql: SqlClient.SqlClient, days: Days) {
  yield* execute(sql`
    with question as (${questionsOf(sql, days)})
    insert into skill_questions as k (board, day, questions, total)
    select b.board, (q.deadline at time zone 'UTC')::date, count(*), 0
      from question q cross join lateral ${boardsOf(sql)} b
     group by 1, 2
     order by 1, 2
    on conflict (board, day) do update set questions = k.questions + excluded.questions`)
  yield* execute(sql`
    update skill_questions k set total = c.total
      from (select board, day, sum(questions) over (partition by board order by day) as total from skill_questions) c
     where c.board = k.board and c.day = k.day and c.total <> k.total`)
})

/** Each day of an agent on a board as `addDay` adds it to the evidence, after the stored sums of `agent_skill` or from nothing. */
const daysOf = (
  sql: SqlClient.SqlClient,
  days: Days,
  options: { readonly agents: Statement.Fragment; readonly resumes: boolean }
) => sql`
  with question as (${questionsOf(sql, days)}),
  answer as (${answersTo(sql, options.agents)}),
  -- Peers are the agents of other owners.
  peered as (
    select q.*, case when k.answers > q.own_answers
                     then round(q.skill - (k.skill_sum - q.own_sum) / (k.answers - q.own_answers), 12) end as peer
      from (
        select *, count(owner_id) over w as own_answers, coalesce(sum(skill) filter (where owner_id is not null) over w, 0) as own_sum
          from answer
        window w as (partition by challenge_id, owner_id)) q
      left join challenge_skill k on k.challenge_id = q.challenge_id
  ),
  daily as (
    select b.board, q.agent_id, q.day, count(*)::int as answered, sum(q.skill) as skill_sum, sum(q.bounded)::float8 as bounded_sum,
           count(q.peer)::int as peer_count, coalesce(sum(q.peer), 0) as peer_sum
      from peered q cross join lateral ${boardsOf(sql)} b
     group by b.board, q.agent_id, q.day
  ),
  numbered as (
    select d.*, row_number() over w as k, coalesce(s.days, 0) as days_before, coalesce(s.volume, 0) as volume_before,
           coalesce(s.score_sum, 0) as score_before, coalesce(s.deviation, 0) as deviation_before
      from daily d
      left join agent_skill s on ${options.resumes} and s.agent_id = d.agent_id and s.board = d.board
    window w as (partition by d.board, d.agent_id order by d.day)
  ),
  voluminous as (
    select *, greatest(volume_before, max(answered * power(${volumeDecay}::float8, -k)) over w) * power(${volumeDecay}::float8, k) as volume
      from numbered
    window w as (partition by board, agent_id order by day)
  ),
  scored as (
    select *, greatest(-1, bounded_sum / case
             when bounded_sum >= 0 then volume
             when days_before + k = 1 then answered
             else ${volumeDecay}::float8 * coalesce(lag(volume) over w, volume_before) end) as score
      from voluminous
    window w as (partition by board, agent_id order by day)
  ),
  averaged as (
    select *, (score + 1) / 2 as y, days_before + k as t,
           (score_before + days_before + coalesce(sum(score + 1) over before, 0)) / 2 as sum_before
      from scored
    window before as (partition by board, agent_id order by day rows between unbounded preceding and 1 preceding)
  ),
  spread as (
    select *, (0.5 + sum_before) / t as mean_before, power(y - (0.5 + sum_before + y) / (t + 1), 2) as deviation from averaged
  ),
  varied as (
    select *, (0.25 + deviation_before + coalesce(sum(deviation) over before, 0)) / t as variance_before, 2 * mean_before - 1 as edge
      from spread
    window before as (partition by board, agent_id order by day rows between unbounded preceding and 1 preceding)
  ),
  weighed as (
    select *, least(sqrt(2 * ln(2 / ${level}::float8) / (variance_before * t * ln(1 + t::float8))), ${maxLambda}::float8) as lambda,
           greatest(0, least(${maxBet}::float8, edge / (4 * variance_before + edge * edge))) as bet
      from varied
  )
  select board, agent_id, day, answered, skill_sum, peer_count, peer_sum, volume, score, deviation, lambda as weight,
         lambda * y as weighted, power(y - mean_before, 2) * (-ln(1 - lambda) - lambda) as penalty, ln(1 + bet * score) as log_wealth
    from weighed`

/** The columns that add up over days. */
const sums = [
  "answered",
  "skill_sum",
  "peer_count",
  "peer_sum",
  "days",
  "weight",
  "weighted",
  "penalty",
  "log_wealth",
  "score_sum",
  "deviation"
]

const grouped = (sql: SqlClient.SqlClient) =>
  sql.literal(`
    sum(answered)::int as answered, sum(skill_sum) as skill_sum, sum(peer_count)::int as peer_count, sum(peer_sum) as peer_sum,
    count(*)::int as days, sum(weight order by day) as weight, sum(weighted order by day) as weighted,
    sum(penalty order by day) as penalty, sum(log_wealth order by day) as log_wealth, sum(score order by day) as score_sum,
    sum(deviation order by day) as deviation`)

/** Adds these days to the sums of the agents, which have been counted up to the first of them. */
export const addDays = Effect.fnUntraced(function* (
  sql: SqlClient.SqlClient,
  days: Days,
  agents: Statement.Fragment
) {
  const now = yield* DateTime.now
  const names = sql.literal(sums.join(", "))
  const added = sql.literal(sums.map((name) => `${name} = k.${name} + excluded.${name}`).join(", "))
  yield* execute(sql`
    with each_day as materialized (${daysOf(sql, days, { agents, resumes: true })}),
    months as (
      insert into agent_skill_months as k (board, month, agent_id, ${names})
      select board, date_trunc('month', day)::date, agent_id, ${grouped(sql)} from each_day group by 1, 2, 3
      on conflict (board, month, agent_id) do update set ${added}
    )
    insert into agent_skill as k (board, agent_id, verified, last_day, volume, ${names})
    select d.*
      from (
        select board, agent_id, (select claimed_at is not null from agents a where a.id = agent_id), max(day),
               (array_agg(volume order by day desc))[1], ${grouped(sql)}
          from each_day group by board, agent_id) d
     order by agent_id, board
    on conflict (agent_id, board) do update set last_day = excluded.last_day, volume = excluded.volume, ${added}`)
  yield* execute(sql`
    insert into boards as b (board, agents, updated_at)
    select 'skill ' || board, count(*), ${timestamp(now)} from agent_skill group by board order by board
    on conflict (board) do update set agents = excluded.agents, updated_at = excluded.updated_at`)
})

/** Finds the sums of these agents that differ from a recomputation from scores; evidence may differ by rounding. */
export const differingSums = (sql: SqlClient.SqlClient, days: Days, agents: Statement.Fragment) => {
  const exact = sums.slice(0, 5)
  const real = sums.slice(5)
  return sql`
    with each_day as (${daysOf(sql, days, { agents, resumes: false })}),
    recomputed as (
      select board, agent_id, max(day) as last_day, (array_agg(volume order by day desc))[1] as volume, ${grouped(sql)}
        from each_day group by board, agent_id
    )
    select coalesce(f.board, r.board) as board, coalesce(f.agent_id, r.agent_id)::text as agent_id
      from (select f.* from agent_skill f join agents a on a.id = f.agent_id and ${agents}) f
      full join recomputed r on r.board = f.board and r.agent_id = f.agent_id
     where (f.last_day, ${sql.literal(exact.map((name) => `f.${name}`).join(", "))})
           is distinct from (r.last_day, ${sql.literal(exact.map((name) => `r.${name}`).join(", "))})
        or ${sql.literal(["volume", ...real].map((name) => `abs(f.${name} - r.${name}) > 1e-9 * (1 + abs(r.${name}))`).join(" or "))}
     order by 1, 2`
}
