import { DateTime, Duration, Effect, Layer, Schema } from "effect"
import { SqlClient } from "effect/sql"
import { Settings } from "../../../services/Settings.ts"
import { Skill } from "../../../services/Skill.ts"
import { arrayParam, boundTime, execute, findAll, findOne, whenGiven } from "../sql.ts"
import { addDays, beginning, countAnswerable, countQuestions } from "./agentSkill.ts"
import { makeComparison, makeOfOwner, makeProfile, makeReferenceOf, makeRank } from "./skillQueries.ts"
import { isRanked, maxRank } from "../settlement/leaderboard.ts"
import { makeSkillTransaction } from "../settlement/settlementTransaction.ts"

const Due = Schema.Struct({
  day: Schema.String,
  settlements: Schema.Int,
  /** True for a counted day whose settlements have changed since. */
  amended: Schema.Boolean
})

const dayBefore = (day: string): string =>
  DateTime.formatIsoDateUtc(DateTime.subtract(DateTime.makeUnsafe(day), { days: 1 }))

/** A day is counted this long after its end, when the settlements of its last moment are stored. */
const countedAfter = Duration.minutes(15)

/** A statement recomputes the agents of at most this many owners. */
const ownersPerStatement = 500

/** Ranks are kept longer than a change of rank looks back: a week, and the days without settlements before it. */
const keptRankDays = 40

const make = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const dueDays = findAll(Due)
  const counted = findOne(Schema.Struct({ last: Schema.NullOr(Schema.String) }))
  const owners = findAll(Schema.Struct({ owner: Schema.String }))
  const inTransaction = yield* makeSkillTransaction
  const { rankMinDays } = yield* Settings

  /** Settlement days that are over and whose counts are missing or outdated, in order. */
  const due = Effect.flatMap(DateTime.now, (now) =>
    dueDays(sql`
      select s.day::text, s.settlements, k.day is not null as amended
        from (select day, count(*)::int as settlements from settlements group by day) s
        left join skill_days k on k.day = s.day
       where s.day < (${boundTime(sql, now, countedAfter)} at time zone 'UTC')::date and s.settlements is distinct from k.settlements
       order by s.day`)
  )

  const recordDay = ({ day, settlements }: typeof Due.Type) =>
    execute(sql`
      insert into skill_days (day, settlements) values (${day}::date, ${settlements})
      on conflict (day) do update set settlements = excluded.settlements`)

  /** Stores the ranks at the end of a day, which later changes of rank look back on, and deletes old ones. */
  const storeRanks = Effect.fnUntraced(function* (day: string) {
    yield* execute(sql`
      delete from agent_ranks where day = ${day}::date or day < ${day}::date - ${keptRankDays}::int`)
    yield* execute(sql`
      insert into agent_ranks (agent_id, day, rank)
      select agent_id, ${day}::date, rank() over (order by skill desc, answered desc)
        from (
          select agent_id, skill, answered from agent_skill
           where ${isRanked(sql, rankMinDays)} order by skill desc, answered desc, agent_id limit ${maxRank}) r
       order by agent_id`)
  })

  /** After an amendment, recomputes all sums of every agent scored on that day: evidence is sequential. */
  const recomputeFromDay = Effect.fnUntraced(function* (amended: ReadonlyArray<typeof Due.Type>) {
    const { last } = yield* counted(sql`select max(day)::text as last from skill_days`)
    if (last === null) return
    for (const { day } of amended) yield* countQuestions(sql, { after: dayBefore(day), to: day })
    const days = sql`t.day = any(${arrayParam(
      "text",
      amended.map(({ day }) => day)
    )}::date[])`
    // An agent without an owner is a reference, and counts as its own owner.
    const some = (after: string | undefined) =>
      owners(sql`
        select distinct coalesce(a.owner_id, a.id)::text as owner
          from settlements t
          join prediction_scores s on s.challenge_id = t.challenge_id and s.version = t.version
          join agents a on a.id = s.agent_id and (a.claimed_at is not null or a.reference is not null)
         where ${days} ${whenGiven(sql, after, (last) => sql`and coalesce(a.owner_id, a.id) > ${last}::uuid`)}
         order by owner limit ${ownersPerStatement}`)
    let page = yield* some(undefined)
    while (page.length > 0) {
      const whose = sql`coalesce(a.owner_id, a.id) = any(${arrayParam(
        "uuid",
        page.map(({ owner }) => owner)
      )})`
      for (const table of ["agent_skill", "agent_skill_months"]) {
        yield* execute(sql`
          delete from ${sql(table)} k using agents a where a.id = k.agent_id and ${whose}`)
      }
      yield* addDays(sql, { after: beginning, to: last }, whose)
      page = page.length < ownersPerStatement ? [] : yield* some(page.at(-1)?.owner)
    }
    yield* storeRanks(last)
  })

  const countDay = Effect.fnUntraced(function* (due: typeof Due.Type) {
    const days = { after: dayBefore(due.day), to: due.day }
    yield* countQuestions(sql, days)
    yield* countAnswerable(sql, days)
    yield* addDays(sql, days, sql`true`)
    yield* storeRanks(due.day)
    yield* recordDay(due)
  })

  const countDue: Skill["Service"]["countDue"] = Effect.gen(function* () {
    if ((yield* due).length === 0) return 0
    // The days are read again under the lock: another instance may have been faster.
    const days = yield* inTransaction(
      Effect.gen(function* () {
        const found = yield* due
        const amended = found.filter((each) => each.amended)
        if (amended.length > 0) {
          yield* recomputeFromDay(amended)
          yield* Effect.forEach(amended, recordDay)
          return amended
        }
        const [first] = found
        if (first === undefined) return []
        yield* countDay(first)
        return [first]
      })
    )
    if (days.length > 0) {
      yield* Effect.logInfo("the skill of finished days was counted").pipe(
        Effect.annotateLogs({ days: days.map(({ day }) => day).join(", ") })
      )
    }
    return days.length
  }).pipe(Effect.repeat({ while: (counted) => counted > 0 }), Effect.withSpan("Skill.countDue"))

  return Skill.of({
    countDue,
    compare: yield* makeComparison,
    profile: yield* makeProfile,
    rank: yield* makeRank,
    ofOwner: yield* makeOfOwner,
    referenceOf: yield* makeReferenceOf
  })
})

export const layer = Layer.effect(Skill, make)
