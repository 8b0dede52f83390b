/** The leaderboard: rows in an order, each with its averages, its skill and its evidence. */
import { Duration, Effect, Option, Schema, Struct, identity } from "effect"
import { SqlClient } from "effect/sql"
import type { Statement } from "effect/sql"
import { confidenceSequence, daysNeeded, eValue, neededValue } from "../../../scoring/evidence.ts"
import { InvalidRequest } from "../../../services/domain/errors.ts"
import { AgentId } from "../../../services/domain/ids.ts"
import { NameTag } from "../../../services/domain/names.ts"
import { Cursors } from "../../../services/domain/paging.ts"
import { Timestamp } from "../../../services/domain/text.ts"
import type { LeaderboardQuery, Scoring } from "../../../services/Scoring.ts"
import { Settings } from "../../../services/Settings.ts"
import { cheapSpan } from "../../cheapSpan.ts"
import { disambiguator } from "../disambiguator.ts"
import { makeCostlyReads } from "../costlyReads.ts"
import { findAll, findOption, isoTimestamp, when, whenGiven } from "../sql.ts"
import { statsColumns, statsOrNone, StatsRow, toPublic } from "./agentStats.ts"

/** The stored sums of an agent's skill on a board. */
export const SkillSums = Schema.Struct({
  answered: Schema.Int,
  skill: Schema.Finite,
  peer: Schema.NullOr(Schema.Finite),
  answerable: Schema.NullOr(Schema.Int),
  days: Schema.Int,
  score_sum: Schema.Finite,
  deviation: Schema.Finite,
  weight: Schema.Finite,
  weighted: Schema.Finite,
  penalty: Schema.Finite,
  log_wealth: Schema.Finite
})

const { days, score_sum, ...otherSums } = SkillSums.fields

/**
 * The same sums as columns of a leaderboard row, all null without a row of skill. Averages have days and a score sum,
 * too, so these two have other names.
 */
const SumsColumns = Schema.Struct({
  ...otherSums,
  skill_days: days,
  skill_score_sum: score_sum
}).mapFields(Struct.map(Schema.NullOr))

const Row = Schema.Struct({
  ...StatsRow.fields,
  board_rows: Schema.NullOr(Schema.Int),
  board_references: Schema.NullOr(Schema.Int),
  board_updated_at: Schema.NullOr(Timestamp),
  ...SumsColumns.fields,
  agent_id: AgentId,
  agent_name: Schema.String,
  name_tag: NameTag,
  model_provider: Schema.NullOr(Schema.String),
  model_name: Schema.NullOr(Schema.String),
  verified: Schema.Boolean,
  reference: Schema.Boolean,
  established: Schema.Boolean,
  ranked: Schema.Boolean,
  owner_agents: Schema.NullOr(Schema.Int),
  rank: Schema.NullOr(Schema.Int),
  value: Schema.Finite,
  count: Schema.Int
})

/** The place where a page ended: the whole key of its order. */
const Place = Schema.Struct({
  score: Schema.Finite,
  count: Schema.Int,
  agent_id: Schema.String.check(Schema.isGUID()),
  ranked: Schema.Boolean
})
type Place = typeof Place.Type

const Board = Schema.Struct({
  row_count: Schema.Int,
  reference_count: Schema.Int,
  updated_at: Schema.NullOr(Timestamp)
})

const noBoard: typeof Board.Type = { row_count: 0, reference_count: 0, updated_at: null }

/**
 * The skill of an agent and its evidence, whose level is divided by the owner's number of agents, `tries`. A reference
 * has no owner (null), and nothing is told of it: others are compared with it.
 */
export const skillOf = (sums: typeof SkillSums.Type | null, tries: number | null) => {
  if (sums === null) return { skill: null, peer: null, coverage: null, evidence: null, needed: null }
  const { answered, answerable, days, deviation, log_wealth, peer, score_sum, skill } = sums
  const evidence = { ...sums, days, deviation, sum: score_sum, logWealth: log_wealth }
  const e = eValue(evidence)
  const sequence = confidenceSequence(evidence, tries ?? 1) ?? ([-1, 1] as const)
  // An agent that was ahead long ago, and has lost more since, does not beat the walk.
  const mayLead = tries !== null && sequence[1] >= 0
  return {
    skill,
    peer,
    coverage: answerable === null ? null : answered / Math.max(answered, answerable),
    evidence: {
      answers: answered,
      days,
      score: score_sum / days,
      sequence,
      e_value: e,
      told: mayLead && e >= neededValue(tries)
    },
    needed: mayLead ? daysNeeded(evidence, tries) : null
  }
}

/** The number of questions on a board that an agent `a` could have answered, by whole days. */
const answerable = (sql: SqlClient.SqlClient, board: Statement.Fragment) => sql`
  (select total from skill_questions where board = ${board} order by day desc limit 1)
  - coalesce((select total from skill_questions q
               where q.board = ${board} and q.day <= (a.claimed_at at time zone 'UTC')::date
               order by day desc limit 1), 0)`

/** The sums of an agent `f` on a board, as `SkillSums`. */
export const skillSums = (sql: SqlClient.SqlClient, board: Statement.Fragment) => sql`
  (select to_jsonb(k)
     from (
       select answered, skill, peer, ${answerable(sql, board)} as answerable, days, score_sum, deviation, weight, weighted, penalty, log_wealth
         from agent_skill where agent_id = f.agent_id and board = ${board}) k)`

/** The sums of an agent `f` on a board since a month, which may be missing. */
const sumsSince = (sql: SqlClient.SqlClient, board: string, month: string) => sql`
  left join lateral (
    select sum(answered)::int as answered, (sum(skill_sum) / sum(answered))::float8 as skill,
           (sum(peer_sum) / nullif(sum(peer_count), 0))::float8 as peer, sum(days)::int as days,
           sum(score_sum) as score_sum, sum(deviation) as deviation, sum(weight) as weight, sum(weighted) as weighted,
           sum(penalty) as penalty, sum(log_wealth) as log_wealth
      from agent_skill_months
     where agent_id = f.agent_id and board = ${board} and month >= ${month}::date
    having count(*) > 0) k on true`

const isSkillSums = Schema.is(SkillSums)

/** The sums in a row of a leaderboard; null if it lacks one. */
const sumsOf = ({ skill_days, skill_score_sum, ...row }: typeof Row.Type) => {
  const sums = { ...row, days: skill_days, score_sum: skill_score_sum }
  return isSkillSums(sums) ? sums : null
}

/** Agents whose operator was suspended are on no board. */
const suspended = "(select id from agents where suspended_at is not null)"

/** The last rank that is counted, from the top of the board. */
export const maxRank = 10_000

/** The condition of a row of `agent_skill` that has a rank over all: its agent is claimed and has at least this many days. */
export const isRanked = (sql: SqlClient.SqlClient, minDays: number) => sql`
  board = 'global' and verified and days >= ${minDays}::int and agent_id not in ${sql.literal(suspended)}`

/** The rank of such a row `own`; null beyond the last rank that is counted. */
export const rankOf = (sql: SqlClient.SqlClient, minDays: number, max = maxRank) => sql`
  nullif((
    select 1 + count(*)::int from (
      select 1 from agent_skill
       where ${isRanked(sql, minDays)} and skill >= own.skill and (skill, answered) > (own.skill, own.answered)
       limit ${max}) b), ${max + 1}::int)`

/** A change of rank looks back this many days. */
const rankChangeDays = 7

/** The rank of an agent a week before the last counted day, or on the last counted day before that; null without one. */
export const rankBefore = (sql: SqlClient.SqlClient, agentId: Statement.Fragment) => sql`
  (select rank from agent_ranks
    where agent_id = ${agentId}
      and day = (
        select day from skill_days
         where day <= (select day from skill_days order by day desc limit 1) - ${rankChangeDays}::int
         order by day desc limit 1))`

const statusOf = ({ reference, verified }: typeof Row.Type) => {
  if (reference) return "reference" as const
  return verified ? ("verified" as const) : ("unverified" as const)
}

/** A board of a provider or of months is computed from the rows of many agents when it is read. */
const costlyTimeout = Duration.seconds(1)

export const makeLeaderboard = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const pages = (yield* Cursors).list("leaderboard", Place)
  const settings = yield* Settings
  const rowsOf = findAll(Row)
  const boardRow = findOption(Board)

  const costly = yield* makeCostlyReads("boards of a provider or of months", costlyTimeout)

  /** The source of an order: the agents of a board, each with a value and the number of answers behind it. */
  const sourceOf = ({ order, provider, since }: LeaderboardQuery, board: string) => {
    const isProviders = provider === undefined ? sql`true` : sql`lower(a.model_provider) = lower(${provider})`
    const isOfSkill = order === "skill" || order === "peer"
    if (provider !== undefined && since === undefined) {
      const [table, value, count] = isOfSkill
        ? ["agent_skill", order, "answered"]
        : ["agent_stats", "avg_score", "scored"]
      return sql`materialized (
        select f.*, f.${sql(value)} as value, f.${sql(count)} as count
          from agents a
         cross join lateral (
           select * from ${sql(table)} where agent_id = a.id and board = ${board} limit 1) f
         where ${isProviders} and a.suspended_at is null and f.${sql(value)} is not null)`
    }
    if (isOfSkill) {
      const value = sql(order)
      return since === undefined
        ? sql`not materialized (
            select agent_id, ${value} as value, answered as count, days, verified from agent_skill
             where board = ${board} and ${value} is not null and agent_id not in ${sql.literal(suspended)})`
        : sql`materialized (
            select * from (
              select m.agent_id, (sum(m.${sql(`${order}_sum`)}) / nullif(sum(m.${sql(order === "skill" ? "answered" : "peer_count")}), 0))::float8 as value,
                     sum(m.answered)::int as count, sum(m.days)::int as days, bool_and(a.claimed_at is not null) as verified
                from agent_skill_months m join agents a on a.id = m.agent_id and a.suspended_at is null and ${isProviders}
               where m.board = ${board} and m.month >= ${since}::date
               group by m.agent_id) s
             where value is not null)`
    }
    return sql`not materialized (
      select *, avg_score as value, scored as count from agent_stats
       where board = ${board} and agent_id not in ${sql.literal(suspended)})`
  }

  /** Rows of the source in its order, after a place. */
  const inOrder = (condition: Statement.Fragment, after: Place | undefined, limit: number) => sql`
    select f.* from source f
     where ${condition}
       ${whenGiven(
         sql,
         after,
         ({ agent_id, count, score }) => sql`
           and f.value <= ${score}::float8
           and (f.value < ${score}::float8 or f.count < ${count} or (f.count = ${count} and f.agent_id > ${agent_id}::uuid))`
       )}
     order by f.value desc, f.count desc, f.agent_id
     limit ${limit}`

  const leaderboard: Scoring["Service"]["leaderboard"] = Effect.fnUntraced(function* (query, page) {
    const { category, horizon, provider, rankedFirst = false, since } = query
    const { order = horizon === undefined && since === undefined ? "average" : "skill" } = query
    if (order === "average" && (horizon !== undefined || since !== undefined)) {
      return yield* InvalidRequest.of(
        "order",
        "Expected skill or peer beside horizon and since: averages are of all questions"
      )
    }
    const bounded = provider === undefined && since === undefined ? identity : costly
    const month = since === undefined ? undefined : `${since}-01`
    const board = [category, horizon].filter((part) => part !== undefined).join(" ") || "global"
    const isOfSkill = order !== "average"
    const table = isOfSkill ? "agent_skill" : "agent_stats"
    const { after, toPage, limit } = yield* pages.decode(
      page,
      [board, order, since, provider?.toLowerCase(), rankedFirst ? "rankedFirst" : undefined]
        .filter((part) => part !== undefined)
        .join(" ")
    )
    const enough = isOfSkill
      ? { column: "days", min: settings.rankMinDays }
      : { column: "count", min: settings.rankMinCount }
    const hasEnough = (row: "f" | "o" | "p") =>
      rankedFirst ? sql`${sql(`${row}.${enough.column}`)} >= ${enough.min}::int` : sql`true`
    const part = (condition: Statement.Fragment, from: Place | undefined) => inOrder(condition, from, limit)
    const firstRanked =
      after?.ranked === false
        ? part(sql`not ${hasEnough("f")}`, after)
        : sql`(${part(hasEnough("f"), after)}) union all (${part(sql`not ${hasEnough("f")}`, undefined)})`
    const ordered = rankedFirst ? firstRanked : part(sql`true`, after)
    const isWhole = since === undefined && provider === undefined
    const rowsIn = isWhole
      ? sql`b.agents - (
            select count(*) from agents s
             where s.suspended_at is not null
               and exists (select from ${sql(table)} where agent_id = s.id and board = ${board}))`
      : sql`select count(*) from source`
    const boardColumns = sql`
      select (${rowsIn})::int as row_count,
             (select count(*)::int from agents r
               where r.reference is not null and r.suspended_at is null
                 and exists (select from ${isWhole ? sql`${sql(table)} where agent_id = r.id and board = ${board}` : sql`source where agent_id = r.id`})) as reference_count,
             ${isoTimestamp(sql, "b.updated_at")} as updated_at
        from boards b where b.board = ${isOfSkill ? `skill ${board}` : board}`
    const source = sql`source as ${sourceOf({ order, provider, since: month }, board)}`
    // Claimed agents have a rank; ties in value and count share it. Between one row and the next better one each agent
    // is counted once, so a page costs as much as there are agents above its last row, whatever the order of its rows.
    // The limits of the joins have each row looked up: without them a plan may join all rows of a board.
    const found = yield* bounded(
      rowsOf(sql`
      with ${source}, board as (${boardColumns})
      select ${when(sql, isOfSkill, () => sql`${statsOrNone(sql)},`)} p.*, (select row_count from board) as board_rows, (select reference_count from board) as board_references, (select updated_at from board) as board_updated_at
        from (
          select ${when(sql, !isOfSkill, () => sql`${statsColumns(sql)},`)} f.agent_id, a.name as agent_name, ${disambiguator(sql)} as name_tag, a.model_provider, a.model_name, f.verified,
                 a.reference is not null as reference, f.count >= ${settings.rankMinCount} as established, ${hasEnough("f")} as ranked,
                 case when f.verified and ${hasEnough("f")} then 1 + sum(n.better) over (
                   partition by f.verified, ${hasEnough("f")} order by f.value desc, f.count desc) end::int as rank,
                 case when f.verified then (select count(*)::int from agents s where s.owner_id = a.owner_id) end as owner_agents,
                 f.value, f.count, k.answered, k.skill, k.peer, k.days as skill_days, k.score_sum as skill_score_sum, k.deviation, k.weight,
                 k.weighted, k.penalty, k.log_wealth,
                 ${month === undefined ? sql`case when k.answered is not null then ${answerable(sql, sql`${board}`)} end` : sql`null::int`} as answerable
            from (
              select p.*, lag(value, 1, 'Infinity') over better as better_value, lag(count, 1, 0) over better as better_count
                from (${ordered}) p
              window better as (partition by verified, ${hasEnough("p")} order by value desc, count desc, agent_id)) f
           cross join lateral (
             select count(*) as better from source o
              where f.verified and o.verified and ${hasEnough("f")} and ${hasEnough("o")}
                and o.value >= f.value and o.value <= f.better_value
                and (o.value, o.count) > (f.value, f.count)
                and (o.value, o.count) <= (f.better_value, f.better_count)) n
           cross join lateral (
             select id, name, held_name, model_provider, model_name, owner_id, claimed_at, reference from agents
              where id = f.agent_id limit 1) a
           ${
             month === undefined
               ? sql`left join lateral (
                   select * from agent_skill where agent_id = f.agent_id and board = ${board} limit 1) k on true`
               : sumsSince(sql, board, month)
           }
           order by ${when(sql, rankedFirst, () => sql`${hasEnough("f")} desc,`)} f.value desc, f.count desc, f.agent_id
           limit ${limit}) p
        ${when(
          sql,
          isOfSkill,
          () => sql`
            left join lateral (select * from agent_stats where agent_id = p.agent_id and board = ${board} limit 1) f on true`
        )}
       order by ${when(sql, rankedFirst, () => sql`p.ranked desc,`)} p.value desc, p.count desc, p.agent_id`)
    )
    const { items, next_cursor } = toPage(found, ({ agent_id, count, ranked, value }) => ({
      score: value,
      count,
      agent_id,
      ranked
    }))
    const [top] = found
    const kept =
      top === undefined
        ? yield* boardRow(sql`with ${source} ${boardColumns}`)
        : Option.some({
            row_count: top.board_rows ?? 0,
            reference_count: top.board_references ?? 0,
            updated_at: top.board_updated_at
          })
    const { reference_count, row_count, updated_at } = Option.getOrElse(kept, () => noBoard)
    return {
      items: items.map((row) => ({
        rank: row.rank,
        established: row.established,
        agent_id: row.agent_id,
        agent_name: row.agent_name,
        name_tag: row.name_tag,
        model_provider: row.model_provider,
        model_name: row.model_name,
        status: statusOf(row),
        verified: row.verified,
        owner_agents: row.owner_agents,
        ...skillOf(sumsOf(row), row.owner_agents),
        group: null,
        ...toPublic(row)
      })),
      total: row_count,
      agents: row_count - reference_count,
      category: category ?? null,
      order,
      horizon: horizon ?? null,
      since: since ?? null,
      provider: provider ?? null,
      min_count: settings.rankMinCount,
      updated_at,
      next_cursor
    }
  }, cheapSpan("Scoring.leaderboard"))
  return leaderboard
})
