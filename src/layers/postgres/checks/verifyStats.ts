/**
 * Compares scores with predictions and settlements, stored sums with all scores, and verified agents with claimed ones.
 * The queries for directional scores and for sums repeat the formulas of `settlement/` on purpose, so that a mistake there
 * shows here. Numeric scores and calibration are recomputed by the functions that settled them.
 */
import { BigDecimal, DateTime, Duration, Effect, Schema, Struct } from "effect"
import { SqlClient } from "effect/sql"
import { latestSettlement } from "../latestSettlement.ts"
import { findAll, findOne, whenGiven, timestamp, transaction, withStatementTimeout } from "../sql.ts"
import { numberKinds } from "../../../scoring/kinds/facts.ts"
import { pitBuckets } from "../../../scoring/calibration.ts"
import { floatOf, submittedColumns, submittedValues, verdictOf } from "../challenges/challengeRows.ts"
import { boundedSkill, brierScore, oddsOf, referenceSkill } from "../../../scoring/reference.ts"
import { Direction } from "../../../services/domain/Challenge.ts"
import { questionColumns, QuestionRow } from "../challenges/rows.ts"
import { makeReferences, stepFor } from "../challenges/reference.ts"
import type { SettledReference } from "../challenges/reference.ts"
import { beginning, differingSums } from "../skill/agentSkill.ts"
import { calibrationOf, forecastScore, numericScore, submittedForecast } from "../settlement/scores.ts"

const maxReported = 100

/** A newer claim is not checked: if a settlement holds the agent's rows during the claim, a job marks them as verified later. */
const confirmedAfter = { hours: 1 }

export const verifyStats = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const counted = findOne(Schema.Struct({ agents: Schema.Int }))
  const different = findAll(Schema.Struct({ board: Schema.String, agent_id: Schema.String }))
  const misranked = findAll(
    Schema.Struct({ board: Schema.String, agent_id: Schema.String, verified: Schema.Boolean })
  )
  const claimedBefore = timestamp(DateTime.subtract(yield* DateTime.now, confirmedAfter))
  const wrongScores = findAll(Schema.Struct({ challenge_id: Schema.String, agent_id: Schema.String }))
  return yield* transaction(sql)(
    Effect.gen(function* () {
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
                   -- The check does not trust settlement/scores.ts, so it has the formula of the score again.
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
          ...(yield* skillDifferences),
          ...scores.map((row) => `score in challenge ${row.challenge_id}: ${row.agent_id}`),
          ...found.map((row) => `${row.board}: ${row.agent_id}`),
          ...ranks.map(
            ({ agent_id, board, verified }) =>
              `${board}: ${agent_id} is ${verified ? "verified, but not claimed" : "not verified, but claimed"}`
          )
        ]
      }
    }).pipe(withStatementTimeout(sql, Duration.minutes(15)))
  )
})

const page = 5000

const ForecastRow = Schema.Struct({
  challenge_id: Schema.String,
  agent_id: Schema.String,
  predicted_value: Schema.NullOr(Schema.String),
  predicted_std: Schema.NullOr(Schema.String),
  submitted: submittedForecast,
  actual_value: Schema.String,
  reference_scale: Schema.String,
  decimal_step: Schema.NullOr(Schema.String),
  is_calibrated: Schema.Boolean,
  categories: Schema.NullOr(Schema.Array(Schema.String)),
  is_last_revision: Schema.Boolean,
  score: Schema.NullOr(Schema.Finite),
  crps: Schema.NullOr(Schema.Finite),
  skill: Schema.NullOr(Schema.Finite)
})

const CalibrationRow = Schema.Struct({
  agent_id: Schema.NullOr(Schema.String),
  sums: Schema.Array(Schema.BigDecimalFromString)
})

const zero = BigDecimal.fromBigInt(0n)

/** Zeros for count, buckets, coverage and sums, in the order of the select list. */
const zeros = Array.from({ length: pitBuckets + 6 }, () => zero)

const isSame = (one: ReadonlyArray<BigDecimal.BigDecimal>, other: ReadonlyArray<BigDecimal.BigDecimal>) =>
  one.every((value, index) => BigDecimal.Equivalence(value, other[index] ?? zero))

/** Recomputes numeric scores and calibration from forecasts and settlements. */
const numericDifferences = Effect.fnUntraced(function* (sql: SqlClient.SqlClient, limit: number) {
  const rows = findAll(ForecastRow)
  const calibrationRows = findAll(CalibrationRow)
  const differences: Array<string> = []
  const sums = new Map<string | null, ReadonlyArray<BigDecimal.BigDecimal>>()

  const read = (after: typeof ForecastRow.Type | undefined) =>
    rows(sql`
      select f.challenge_id::text, f.agent_id::text, f.predicted_value::text, f.predicted_std::text, f.submitted,
             t.actual_value::text, t.reference_scale::text, c.decimal_step::text,
             c.reference_scale is not null and c.categories is null as is_calibrated, c.categories, s.revision is not distinct from f.revision as is_last_revision,
             ${verdictOf(sql)}
        from (
          select p.*, ${submittedValues(sql)} as submitted
            from (
              select distinct on (p.challenge_id, p.agent_id) p.challenge_id, p.agent_id, p.revision, p.predicted_value,
                     p.predicted_std, ${submittedColumns(sql)}
                from predictions p
               where p.challenge_id in (
                 select id from challenges
                  where (type = 'macro' or kind = any(${numberKinds}::text[])) and resolved_at is not null)
                 ${whenGiven(sql, after, (last) => sql`and (p.challenge_id, p.agent_id) > (${last.challenge_id}::uuid, ${last.agent_id}::uuid)`)}
               order by p.challenge_id, p.agent_id, p.revision desc
               limit ${page}) p) f
        join challenges c on c.id = f.challenge_id
        cross join ${latestSettlement(sql, "f.challenge_id")} t
        left join prediction_scores s
               on s.challenge_id = f.challenge_id and s.version = t.version and s.agent_id = f.agent_id
       order by f.challenge_id, f.agent_id`)

  let last: typeof ForecastRow.Type | undefined
  let found = yield* read(last)
  while (found.length > 0) {
    for (const row of found) {
      const earned = numericScore(row, row)
      const holds =
        row.is_last_revision &&
        row.score === Number(earned.score) &&
        row.crps === Number(earned.crps) &&
        row.skill === Number(earned.skill)
      if (!holds) differences.push(`score in challenge ${row.challenge_id}: ${row.agent_id}`)
      if (row.is_calibrated) {
        const { absZ, pit, sharpness, within50, within80, within95 } = calibrationOf(
          row,
          row,
          row.decimal_step
        )
        const added = [1, ...pit, Number(within50), Number(within80), Number(within95), absZ, sharpness].map(
          BigDecimal.fromNumberUnsafe
        )
        for (const whose of [row.agent_id, null]) {
          const before = sums.get(whose) ?? zeros
          sums.set(
            whose,
            before.map((sum, index) => BigDecimal.sum(sum, added[index] ?? zero))
          )
        }
      }
    }
    last = found.at(-1)
    found = found.length < page ? [] : yield* read(last)
  }

  const stored = yield* calibrationRows(sql`
    select agent_id::text, (count::numeric || pit || array[within_50, within_80, within_95]::numeric[]
                            || array[abs_z_sum, sharpness_sum])::text[] as sums
      from calibration_stats`)
  const kept = new Map(stored.map((row) => [row.agent_id, row.sums]))
  for (const agent of new Set([...kept.keys(), ...sums.keys()])) {
    if (!isSame(sums.get(agent) ?? zeros, kept.get(agent) ?? zeros)) {
      differences.push(`calibration: ${agent ?? "over all"}`)
    }
  }
  return differences.slice(0, limit)
})

/** The maximum number of questions, the newest settled ones, whose references and skills are recomputed. */
const maxSkillQuestions = 1000

const CheckedQuestion = Schema.Struct({
  ...QuestionRow.fields,
  id: Schema.String,
  version: Schema.Int,
  result: Schema.NullOr(Direction),
  actual_value: Schema.NullOr(Schema.String),
  settled_scale: Schema.NullOr(Schema.String),
  volatility: Schema.NullOr(Schema.Finite),
  loss: Schema.NullOr(Schema.Finite),
  made_at: Schema.NullOr(Schema.DateTimeUtcFromDate)
})

const CheckedAnswer = Schema.Struct({
  agent_id: Schema.String,
  direction: Schema.NullOr(Direction),
  confidence: Schema.NullOr(Schema.Finite),
  predicted_value: Schema.NullOr(Schema.String),
  predicted_std: Schema.NullOr(Schema.String),
  submitted: submittedForecast,
  received_at: Schema.DateTimeUtcFromDate,
  skill: Schema.NullOr(Schema.Finite),
  bounded: Schema.NullOr(Schema.Finite),
  probability: Schema.NullOr(Schema.Finite)
})

const isNear = (one: number | null, other: number): boolean => one !== null && Math.abs(one - other) <= 1e-9

/** The maximum probability of a vector; null for answers in another form. */
const maxProbability = ({ submitted }: typeof CheckedAnswer.Type): number | null =>
  submitted !== null && "probabilities" in submitted
    ? Math.max(...Object.values(submitted.probabilities))
    : null

/** Recomputes the skill of an answer by a direction with the functions of src/scoring; settling computes it in SQL. */
const directionSkill = (answer: typeof CheckedAnswer.Type, result: Direction, settled: SettledReference) => {
  const reference = stepFor(settled, answer.received_at)?.odds ?? []
  const names = reference.length === 2 ? ["bullish", "bearish"] : ["bullish", "neutral", "bearish"]
  const { submitted } = answer
  const answered =
    submitted !== null && "probabilities" in submitted
      ? names.map((name) => submitted.probabilities[name] ?? 0)
      : oddsOf(names.indexOf(answer.direction ?? ""), answer.confidence ?? 0, names.length)
  const skills = names.map((_, outcome) =>
    referenceSkill(brierScore(answered, outcome), brierScore(reference, outcome), Number(settled.expected))
  )
  const skill = skills[names.indexOf(result)] ?? Number.NaN
  return { skill, bounded: boundedSkill(skill, skills) }
}

/** Recomputes references and skills of the newest questions from prices and answers, and the sums from all skills. */
const skillDifferences = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const references = yield* makeReferences
  const questions = findAll(CheckedQuestion)
  const answers = findAll(CheckedAnswer)
  const sums = findAll(Schema.Struct({ board: Schema.String, agent_id: Schema.String }))
  const differences: Array<string> = []
  const settled = yield* questions(sql`
    select c.id::text, ${questionColumns(sql)}, t.version, t.result, t.actual_value::text,
           t.reference_scale::text as settled_scale, c.volatility::float8 as volatility,
           c.reference_loss::float8 as loss, r.made_at
      from challenges c
      join challenge_references r on r.challenge_id = c.id
     cross join ${latestSettlement(sql)} t
     where c.resolved_at is not null
     order by c.resolved_at desc, c.id desc
     limit ${maxSkillQuestions}`)
  for (const question of settled) {
    const { actual_value, id, made_at, result, settled_scale } = question
    const frozen = yield* references.freeze(question)
    if (
      !isNear(question.loss, Number(frozen.loss)) ||
      (frozen.volatility !== null && !isNear(question.volatility, Number(frozen.volatility)))
    ) {
      differences.push(`reference of challenge ${id}: its frozen values`)
    }
    const kept = yield* references.settled(id, question.created_at)
    if (kept === null || made_at === null) continue
    const again = yield* references.steps(id, made_at, made_at)
    if (JSON.stringify(again) !== JSON.stringify(kept.steps.map(Struct.omit(["at"])))) {
      differences.push(`reference of challenge ${id}: its steps`)
    }
    const found = yield* answers(sql`
      select s.agent_id::text, p.direction, ${floatOf(sql, "p.confidence")} as confidence, p.predicted_value::text, p.predicted_std::text,
             ${submittedValues(sql)} as submitted, p.received_at, s.reference_skill::float8 as skill,
             s.bounded_skill::float8 as bounded, ${floatOf(sql, "s.probability")} as probability
        from prediction_scores s
        join predictions p using (challenge_id, agent_id, revision)
       where s.challenge_id = ${id}::uuid and s.version = ${question.version}
       order by s.agent_id limit ${page}`)
    for (const answer of found) {
      const outcome = {
        actual_value: actual_value ?? "",
        reference_scale: settled_scale ?? "",
        categories: null
      }
      const byForecast = result === null ? forecastScore(answer, outcome, kept) : undefined
      const { bounded, skill } =
        result === null
          ? { skill: Number(byForecast?.reference_skill), bounded: Number(byForecast?.bounded_skill) }
          : directionSkill(answer, result, kept)
      const max = result === null ? null : maxProbability(answer)
      if (
        !isNear(answer.skill, skill) ||
        !isNear(answer.bounded, bounded) ||
        // Scores older than the column have none.
        (answer.probability ?? max) !== max
      ) {
        differences.push(`skill in challenge ${id}: ${answer.agent_id}`)
      }
    }
  }
  const kept = yield* sums(sql`
    ${differingSums(sql, { after: beginning, to: sql`(select coalesce(max(day), '1970-01-01') from skill_days)` }, sql`true`)}
     limit ${maxReported}`)
  return [
    ...differences.slice(0, maxReported),
    ...kept.map((row) => `skill on ${row.board}: ${row.agent_id}`)
  ]
})
