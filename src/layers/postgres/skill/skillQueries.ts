/** Reads of skill: the profile of an agent, the comparison of two, ranks, and the reference of a question. */
import { DateTime, Effect, Option, Schema } from "effect"
import { SqlClient } from "effect/sql"
import { wilsonInterval } from "../../../scoring/calibration.ts"
import {
  addDay,
  clusteredMean,
  confidenceSequence,
  eValue,
  noEvidence,
  neededValue
} from "../../../scoring/evidence.ts"
import type { Evidence } from "../../../scoring/evidence.ts"
import { ReferenceForecast, unknownChallenge } from "../../../services/domain/Challenge.ts"
import { InvalidRequest, NotFound } from "../../../services/domain/errors.ts"
import { AgentId, ChallengeId, isTargetKey, isUuid } from "../../../services/domain/ids.ts"
import { NameTag } from "../../../services/domain/names.ts"
import { Horizon } from "../../../services/Scoring.ts"
import type { ReferenceMethod } from "../../../services/ReferenceAgents.ts"
import { Settings } from "../../../services/Settings.ts"
import { OwnRecord, SkillProfile, Rank } from "../../../services/Skill.ts"
import type { Comparison, Skill } from "../../../services/Skill.ts"
import { Category } from "../../../services/Targets.ts"
import { makeReferences } from "../challenges/reference.ts"
import { disambiguator } from "../disambiguator.ts"
import {
  SkillSums,
  isRanked,
  maxRank,
  rankBefore,
  rankOf,
  skillOf,
  skillSums
} from "../settlement/leaderboard.ts"
import { impliedProbability } from "../challenges/challengeRows.ts"
import { latestSettlement } from "../latestSettlement.ts"
import { findAll, findOption, isoTimestamp, timestamp } from "../sql.ts"

/** At most this many of an agent's newest answers are read. */
const maxAnswers = 5000

const shownDays = 400

/** The newest answers of an agent that count for skill, on days that are over. */
const answersOf = (sql: SqlClient.SqlClient, agentId: AgentId, now: DateTime.Utc) => sql`
  select p.challenge_id, t.day, p.received_at, p.direction, s.is_correct, s.reference_skill as skill, s.bounded_skill as bounded,
         -- A vector that an earlier program has scored is left out: its confidence is not the probability of its
         -- direction.
         coalesce(s.probability, case when p.form is null then ${impliedProbability(sql, sql.literal("p.confidence"))} end) as stated
    from (
      select distinct on (challenge_id) newest.*
        from (
          select p.challenge_id, p.revision, p.received_at, p.direction, p.confidence, p.form
            from predictions p where p.agent_id = ${agentId}::uuid order by p.id desc limit ${maxAnswers}) newest
       order by challenge_id, revision desc) p
   cross join ${latestSettlement(sql, "p.challenge_id")} t
   cross join lateral (
     select * from prediction_scores
      where challenge_id = p.challenge_id and version = t.version and agent_id = ${agentId}::uuid and reference_skill is not null
      limit 1) s
   where t.day < (${timestamp(now)}::timestamptz at time zone 'UTC')::date
     and p.received_at >= (
       select case when reference is null then claimed_at else '-infinity' end from agents where id = ${agentId}::uuid)`

const Named = Schema.Struct({
  agent_id: AgentId,
  agent_name: Schema.String,
  name_tag: NameTag,
  reference: Schema.NullOr(Schema.String)
})

/** Finds an agent by its id. */
const makeFindAgent = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const found = findOption(Named)
  return Effect.fnUntraced(function* (id: string) {
    const agent = isUuid(id)
      ? yield* found(sql`
          select a.id::text as agent_id, a.name as agent_name, ${disambiguator(sql)} as name_tag, a.reference
            from agents a where a.id = ${id}::uuid`)
      : Option.none()
    return yield* Effect.fromOption(agent).pipe(Effect.mapError(() => NotFound.agent(id)))
  })
})

type Compared = typeof Named.Type

const BoardRow = Schema.Struct({ board: Schema.String, tries: Schema.NullOr(Schema.Int), skill: SkillSums })

const DaySums = Schema.Struct({
  day: Schema.String,
  count: Schema.Int,
  skill: Schema.Finite,
  bounded: Schema.Finite
})

const Parts = Schema.Struct({
  hours: SkillProfile.fields.hours,
  directions: Schema.Array(
    Schema.Struct({ bucket: Schema.Int, answers: Schema.Int, stated: Schema.Finite, correct: Schema.Int })
  ),
  days: Schema.Array(DaySums)
})

/** Stated probabilities fall into this many buckets of equal width. */
const buckets = 10

const isCategory = Schema.is(Category)
const isHorizon = Schema.is(Horizon)

/** Reads the whole record of an agent, and the number of its owner's agents, by which its level is divided. */
const makeRecordOf = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const boardRows = findAll(BoardRow)
  const parts = findAll(Parts)

  return Effect.fnUntraced(function* (agent: Compared) {
    const now = yield* DateTime.now
    const rows = yield* boardRows(sql`
      select f.board, ${skillSums(sql, sql`f.board`)} as skill,
             case when a.owner_id is not null
                  then (select count(*)::int from agents s where s.owner_id = a.owner_id) end as tries
        from agent_skill f join agents a on a.id = f.agent_id
       where f.agent_id = ${agent.agent_id}::uuid
       order by f.board`)
    const [part = { hours: [], directions: [], days: [] }] = yield* parts(sql`
      with answer as materialized (${answersOf(sql, agent.agent_id, now)})
      select (select coalesce(jsonb_agg(h order by h.hour), '[]')
                from (select extract(hour from received_at at time zone 'UTC')::int as hour, count(*)::int as answers,
                             avg(skill)::float8 as skill
                        from answer group by 1) h) as hours,
             (select coalesce(jsonb_agg(d order by d.bucket), '[]')
                from (select least(${buckets}::int - 1, floor(stated * ${buckets}::int))::int as bucket, count(*)::int as answers,
                             avg(stated)::float8 as stated, count(*) filter (where is_correct)::int as correct
                        from answer where direction is not null and stated is not null group by 1) d) as directions,
             (select coalesce(jsonb_agg(d order by d.day), '[]')
                from (select day, count(*)::int as count, sum(skill)::float8 as skill, sum(bounded)::float8 as bounded
                        from answer where day <= (select max(day) from skill_days) group by day) d) as days`)
    const boards = rows.map(({ board, skill, tries }) => ({
      board,
      answers: skill.answered,
      ...skillOf(skill, tries)
    }))
    const tries = rows[0]?.tries ?? undefined
    let evidence = noEvidence
    const by_day = part.days.map(({ bounded, count, day, skill }) => {
      evidence = addDay(evidence, { sum: bounded, count })
      return {
        day,
        answers: count,
        skill: skill / count,
        e_value: eValue(evidence),
        sequence: confidenceSequence(evidence, tries) ?? ([-1, 1] as const)
      }
    })
    const overall = boards.find(({ board }) => board === "global")
    const profile: SkillProfile = {
      ...agent,
      overall: overall ?? null,
      categories: boards.flatMap(({ board, ...each }) =>
        isCategory(board) ? [{ category: board, ...each }] : []
      ),
      horizons: boards.flatMap(({ board, ...each }) =>
        isHorizon(board) ? [{ horizon: board, ...each }] : []
      ),
      targets: boards.flatMap(({ board, ...each }) =>
        isTargetKey(board) ? [{ target: board, ...each }] : []
      ),
      hours: part.hours,
      directions: part.directions.map(({ answers, bucket, correct, stated }) => ({
        low: bucket / buckets,
        high: (bucket + 1) / buckets,
        answers,
        stated,
        right: correct / answers,
        right_ci95: wilsonInterval(correct, answers)
      })),
      by_day: by_day.slice(-shownDays)
    }
    return { profile, tries }
  })
})

type AgentRecord = Effect.Success<ReturnType<Effect.Success<typeof makeRecordOf>>>

const CommonDay = Schema.Struct({
  day: Schema.String,
  count: Schema.Int,
  a: Schema.Finite,
  b: Schema.Finite,
  bounded: Schema.Finite
})

/** The evidence for each of two agents, day by day, from the bounded difference of their skills. */
const evidenceOf = (days: ReadonlyArray<typeof CommonDay.Type>) => {
  let [ahead, behind] = [noEvidence, noEvidence]
  return days.map(({ bounded, count }): readonly [Evidence, Evidence] => {
    ahead = addDay(ahead, { sum: bounded, count })
    behind = addDay(behind, { sum: -bounded, count })
    return [ahead, behind]
  })
}

/** The e-value of a difference in either direction, with half of the wealth on each. */
const eitherWay = ([ahead, behind]: readonly [Evidence, Evidence]): number =>
  (eValue(ahead) + eValue(behind)) / 2

/** The agent that is told to be better; null while neither is. */
const betterOf = (evidence: readonly [Evidence, Evidence]): Comparison["told"] => {
  if (eitherWay(evidence) < neededValue()) return null
  return evidence[0].logWealth > evidence[1].logWealth ? "a" : "b"
}

const randomWalk: ReferenceMethod = "random walk"

/** The subtraction gives 0 for 0, not -0. */
const negated = (value: number): number => 0 - value

const mirrored = ([low, high]: readonly [number, number]) => [negated(high), negated(low)] as const

/**
 * Compares an agent with the random walk on all its answers, each with the walk at its own moment, so the result is
 * that of the agent's page.
 */
const besideWalk = (
  one: Compared,
  walk: Compared,
  { profile: { by_day, overall }, tries }: AgentRecord
): Comparison => {
  const evidence = overall?.evidence ?? null
  const clustered = clusteredMean(
    by_day.map(({ answers, skill }) => ({ count: answers, sum: skill * answers }))
  )
  const isWhole =
    clustered !== null && by_day.reduce((sum, { answers }) => sum + answers, 0) === evidence?.answers
  const better = () => {
    if (evidence === null) return null
    if (evidence.told) return "a" as const
    return evidence.sequence[1] < 0 ? ("b" as const) : null
  }
  return {
    a: { ...one, skill: overall?.skill ?? null },
    b: { ...walk, skill: evidence === null ? null : 0 },
    questions: evidence?.answers ?? 0,
    days: evidence?.days ?? 0,
    difference: overall?.skill ?? null,
    difference_ci95: isWhole ? clustered.interval : null,
    sequence: evidence?.sequence ?? null,
    e_value: evidence?.e_value ?? null,
    told_from: neededValue(tries),
    told: better(),
    by_day: by_day.map(({ answers, day, sequence, skill }) => ({
      day,
      questions: answers,
      difference: skill,
      sequence
    }))
  }
}

/** The same comparison with its agents exchanged. */
const exchanged = ({
  a,
  b,
  by_day,
  difference,
  difference_ci95,
  sequence,
  told,
  ...rest
}: Comparison): Comparison => ({
  ...rest,
  a: b,
  b: a,
  difference: difference === null ? null : negated(difference),
  difference_ci95: difference_ci95 === null ? null : mirrored(difference_ci95),
  sequence: sequence === null ? null : mirrored(sequence),
  told: told === null ? null : ({ a: "b", b: "a" } as const)[told],
  by_day: by_day.map((each) => ({
    ...each,
    difference: negated(each.difference),
    sequence: mirrored(each.sequence)
  }))
})

export const makeComparison = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const findAgent = yield* makeFindAgent
  const recordOf = yield* makeRecordOf
  const commonDays = findAll(CommonDay)

  const agent = Effect.fnUntraced(function* (field: "a" | "b", id: string) {
    if (!isUuid(id)) return yield* InvalidRequest.of(field, "Expected the id of an agent")
    return yield* findAgent(id)
  })

  const compare: Skill["Service"]["compare"] = Effect.fn("Skill.compare")(function* (a, b) {
    const [one, other] = [yield* agent("a", a), yield* agent("b", b)]
    if (one.agent_id === other.agent_id) {
      return yield* InvalidRequest.of("b", "Expected another agent than a")
    }
    if (other.reference === randomWalk && one.reference === null) {
      return besideWalk(one, other, yield* recordOf(one))
    }
    if (one.reference === randomWalk && other.reference === null) {
      return exchanged(besideWalk(other, one, yield* recordOf(other)))
    }
    // No reference is told to be better than another: others are compared with them.
    const isOfAgents = one.reference === null || other.reference === null
    const now = yield* DateTime.now
    const days = yield* commonDays(sql`
      select x.day::text, count(*)::int as count, sum(x.skill)::float8 as a, sum(y.skill)::float8 as b,
             (sum(x.bounded - y.bounded) / 2)::float8 as bounded
        from (${answersOf(sql, one.agent_id, now)}) x
        join (${answersOf(sql, other.agent_id, now)}) y using (challenge_id)
       group by x.day
       order by x.day`)
    const evidence = evidenceOf(days)
    const last = evidence.at(-1)
    const difference = clusteredMean(days.map((each) => ({ count: each.count, sum: each.a - each.b })))
    const questions = days.reduce((sum, { count }) => sum + count, 0)
    const mean = (of: "a" | "b") =>
      questions === 0 ? null : days.reduce((sum, each) => sum + each[of], 0) / questions
    const sequence = last === undefined ? null : confidenceSequence(last[0])
    return {
      a: { ...one, skill: mean("a") },
      b: { ...other, skill: mean("b") },
      questions,
      days: days.length,
      difference: difference?.mean ?? null,
      difference_ci95: difference?.interval ?? null,
      sequence,
      e_value: last === undefined ? null : eitherWay(last),
      told_from: neededValue(),
      told: last === undefined || !isOfAgents ? null : betterOf(last),
      by_day: days
        .map((each, index) => ({
          day: each.day,
          questions: each.count,
          difference: (each.a - each.b) / each.count,
          sequence: confidenceSequence(evidence[index]?.[0] ?? noEvidence) ?? ([-1, 1] as const)
        }))
        .slice(-shownDays)
    } satisfies Comparison
  })
  return compare
})

const ReferenceRow = Schema.Struct({
  challenge_id: ChallengeId,
  volatility: Schema.NullOr(Schema.Finite),
  expected_loss: Schema.NullOr(Schema.Finite),
  steps: Schema.NullOr(Schema.Array(ReferenceForecast))
})

export const makeReferenceOf = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const references = yield* makeReferences
  const row = findOption(ReferenceRow)

  const referenceOf: Skill["Service"]["referenceOf"] = Effect.fn("Skill.referenceOf")(function* (id) {
    const found = isUuid(id)
      ? yield* row(sql`
          select c.id::text as challenge_id, c.volatility::float8 as volatility, c.reference_loss::float8 as expected_loss,
                 (select steps from challenge_references r where r.challenge_id = c.id) as steps
            from challenges c where c.id = ${id}::uuid`)
      : Option.none()
    if (Option.isNone(found)) return yield* unknownChallenge(id)
    const { steps, ...question } = found.value
    if (steps !== null) return { ...question, final: true, steps }
    const now = yield* DateTime.now
    return { ...question, final: false, steps: yield* references.steps(question.challenge_id, now, now) }
  })
  return referenceOf
})

/** At most this many of an agent's newest answers are searched for scored ones. */
const maxForm = 60
/** At most this many open challenges are counted. */
const maxOpen = 1000

export const makeOfOwner = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const records = findAll(OwnRecord)
  const { rankMinDays } = yield* Settings

  const ofOwner: Skill["Service"]["ofOwner"] = Effect.fn("Skill.ofOwner")(function* (operatorId) {
    const now = yield* DateTime.now
    return yield* records(sql`
      with open as materialized (
        select id from challenges
         where resolved_at is null and cancelled_at is null and deadline > ${timestamp(now)}
         order by deadline, id limit ${maxOpen})
      select a.id::text as agent_id, r.rank, ${rankBefore(sql, sql`a.id`)} as rank_before, r.skill, s.avg_score, coalesce(s.scored, 0) as scored,
             ${isoTimestamp(sql, "l.received_at")} as last_answer_at,
             (select count(*)::int from open) as open,
             (select count(*)::int from open c
               where exists (select from predictions where challenge_id = c.id and agent_id = a.id)) as open_answered,
             coalesce(f.form, '{}') as form
        from agents a
        left join lateral (
          select own.skill,
                 case when a.suspended_at is null and own.days >= ${rankMinDays}::int
                      then ${rankOf(sql, rankMinDays)} end as rank
            from agent_skill own
           where own.agent_id = a.id and own.board = 'global' limit 1) r on true
        left join lateral (
          select avg_score, scored from agent_stats where agent_id = a.id and board = 'global' limit 1) s on true
        left join lateral (
          select received_at from predictions where agent_id = a.id order by id desc limit 1) l on true
        left join lateral (
          select array_agg(coalesce(t.is_correct, t.score >= 50) order by t.id desc) as form
            from (
              select p.id, t.is_correct, t.score
                from (
                  select id, challenge_id, revision from predictions
                   where agent_id = a.id order by id desc limit ${maxForm}) p
               cross join ${latestSettlement(sql, "p.challenge_id")} v
               cross join lateral (
                 select is_correct, score from prediction_scores
                  where challenge_id = p.challenge_id and version = v.version and agent_id = a.id and revision = p.revision
                  limit 1) t
               order by p.id desc limit 10) t) f on true
       where a.owner_id = ${operatorId}::uuid
       order by a.claimed_at desc, a.id`)
  })
  return ofOwner
})

export const makeRank = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const { rankMinDays } = yield* Settings
  const ranks = findAll(Schema.Struct({ ...Rank.fields, rank: Schema.NullOr(Schema.Int) }))

  const rank: Skill["Service"]["rank"] = Effect.fn("Skill.rank")(function* (id) {
    if (!isUuid(id)) return null
    const [found] = yield* ranks(sql`
      with own as (select skill, answered from agent_skill where agent_id = ${id}::uuid and ${isRanked(sql, rankMinDays)})
      select ${rankOf(sql, rankMinDays)} as rank, ${rankBefore(sql, sql`${id}::uuid`)} as rank_before,
             (select count(*)::int from (select 1 from agent_skill where ${isRanked(sql, rankMinDays)} limit ${maxRank}) n) as of
        from own`)
    return found === undefined || found.rank === null ? null : { ...found, rank: found.rank }
  })
  return rank
})

export const makeProfile = Effect.gen(function* () {
  const findAgent = yield* makeFindAgent
  const recordOf = yield* makeRecordOf
  const profile: Skill["Service"]["profile"] = Effect.fn("Skill.profile")(function* (id) {
    return (yield* recordOf(yield* findAgent(id))).profile
  })
  return profile
})
