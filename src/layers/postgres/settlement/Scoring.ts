import { Effect, Layer, Option, Schema } from "effect"
import { SqlClient } from "effect/sql"
import type { Statement } from "effect/sql"
import { NotFound } from "../../../services/domain/errors.ts"
import { AgentId, isUuid } from "../../../services/domain/ids.ts"
import { Cursors } from "../../../services/domain/paging.ts"
import { Scorecard, Scoring } from "../../../services/Scoring.ts"
import { Settings } from "../../../services/Settings.ts"
import { Category } from "../../../services/Targets.ts"
import { Timestamp } from "../../../services/domain/text.ts"
import { cheapSpan } from "../../cheapSpan.ts"
import { findAll, findOption, isoTimestamp } from "../sql.ts"
import { differences } from "./statsCheck.ts"
import { challengeOf, valuesOf, verdictOf } from "../challenges/challengeRows.ts"
import { CalibrationStats, calibrationColumns, toPublicCalibration } from "./calibration.ts"
import { statsColumns, StatsRow, noStats, toPublic } from "./agentStats.ts"
import { makeManualSettlement } from "./manualSettlement.ts"
import { makeSettleDue } from "./settlement.ts"
import { NameTag } from "../../../services/domain/names.ts"
import { nameTag } from "../nameTag.ts"

const LeaderboardRow = Schema.Struct({
  ...StatsRow.fields,
  agent_id: AgentId,
  agent_name: Schema.String,
  name_tag: NameTag,
  model_provider: Schema.NullOr(Schema.String),
  model_name: Schema.NullOr(Schema.String),
  verified: Schema.Boolean,
  established: Schema.Boolean,
  owner_agents: Schema.NullOr(Schema.Int),
  rank: Schema.NullOr(Schema.Int),
  sort_score: Schema.Finite,
  board_agents: Schema.Int,
  board_updated_at: Timestamp
})

/** Where a page of the leaderboard ended: its whole sort key. */
const LeaderboardPlace = Schema.Struct({
  score: Schema.Finite,
  count: Schema.Int,
  agent_id: Schema.String.check(Schema.isGUID())
})
type LeaderboardPlace = typeof LeaderboardPlace.Type

const Board = Schema.Struct({ agents: Schema.Int, updated_at: Timestamp })
const BoardStatsRow = Schema.Struct({ ...StatsRow.fields, board: Schema.String })
const Named = Schema.Struct({ name: Schema.String, name_tag: NameTag, verified: Schema.Boolean })

const isCategory = Schema.is(Category)

const make = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const cursors = yield* Cursors
  const scorecardPages = cursors.listById("scorecard")
  const leaderboardPages = cursors.list("leaderboard", LeaderboardPlace)
  const settings = yield* Settings
  const leaderboardRows = findAll(LeaderboardRow)
  const boardRow = findOption(Board)
  const named = findOption(Named)
  const boardStats = findAll(BoardStatsRow)
  const scored = findAll(Scorecard.fields.predictions.value)
  const calibrationRow = findOption(CalibrationStats)
  const { settleDue } = yield* makeSettleDue
  const ends = yield* makeManualSettlement

  /** Rows of a board in the order of the average, those after a place in it. */
  const byAverage = (options: {
    readonly board: string
    readonly condition: Statement.Fragment
    readonly after: LeaderboardPlace | undefined
    readonly limit: number
  }) => {
    const { after, board, condition, limit } = options
    return sql`
      select f.* from agent_stats f
       where f.board = ${board} and ${condition}
         ${
           after === undefined
             ? sql``
             : sql`and f.avg_score <= ${after.score}::float8
                   and (f.avg_score < ${after.score}::float8 or f.scored < ${after.count}
                        or (f.scored = ${after.count} and f.agent_id > ${after.agent_id}::uuid))`
         }
       order by f.avg_score desc, f.scored desc, f.agent_id
       limit ${limit}`
  }

  const leaderboard: Scoring["Service"]["leaderboard"] = Effect.fnUntraced(function* (category, page, order) {
    const board = category ?? "global"
    const { after, cut, limit } = yield* leaderboardPages.open(
      page,
      order === undefined ? board : `${board} ${order}`
    )
    const isEstablished = sql`f.scored >= ${settings.rankMinCount}`
    const part = (condition: Statement.Fragment, from: LeaderboardPlace | undefined) =>
      byAverage({ board, condition, after: from, limit })
    const establishedFirst =
      after !== undefined && after.count < settings.rankMinCount
        ? part(sql`not ${isEstablished}`, after)
        : sql`(${part(isEstablished, after)}) union all (${part(sql`not ${isEstablished}`, undefined)})`
    const ordered = order === undefined ? part(sql`true`, after) : establishedFirst
    // Claimed agents have a rank; ties in average and count share it. Between one row and the next better one each agent is
    // counted once, so a page costs what stands above its last row, whatever the order of its rows.
    const rows = yield* leaderboardRows(sql`
      select ${statsColumns(sql)}, f.agent_id::text, a.name as agent_name, ${nameTag(sql)} as name_tag, a.model_provider, a.model_name, f.verified,
             ${isEstablished} as established,
             case when f.verified then 1 + sum(n.better) over (
               partition by f.verified order by f.avg_score desc, f.scored desc) end::int as rank,
             case when f.verified then (select count(*)::int from agents s where s.owner_id = a.owner_id) end as owner_agents,
             f.avg_score as sort_score, (select agents::int from boards where board = ${board}) as board_agents,
             (select ${isoTimestamp(sql, "updated_at")} from boards where board = ${board}) as board_updated_at
        from (
          select p.*, lag(avg_score, 1, 'Infinity') over better as better_score, lag(scored, 1, 0) over better as better_scored
            from (${ordered}) p
          window better as (partition by verified order by avg_score desc, scored desc, agent_id)) f
       cross join lateral (
         select count(*) as better from agent_stats o
          where f.verified and o.board = ${board} and o.verified
            and o.avg_score >= f.avg_score and o.avg_score <= f.better_score
            and (o.avg_score, o.scored) > (f.avg_score, f.scored)
            and (o.avg_score, o.scored) <= (f.better_score, f.better_scored)) n
       cross join lateral (
         select id, name, held_name, model_provider, model_name, owner_id from agents where id = f.agent_id limit 1) a
       order by ${order === undefined ? sql`` : sql`${isEstablished} desc,`} f.avg_score desc, f.scored desc, f.agent_id
       limit ${limit}`)
    const { items, next_cursor } = cut(rows, (last) => ({
      score: last.sort_score,
      count: last.scored,
      agent_id: last.agent_id
    }))
    const [top] = rows
    const kept =
      top === undefined
        ? yield* boardRow(sql`
              select agents::int as agents, ${isoTimestamp(sql, "updated_at")} as updated_at from boards where board = ${board}`)
        : Option.some({ agents: top.board_agents, updated_at: top.board_updated_at })
    return {
      items: items.map((row) => ({
        rank: row.rank,
        established: row.established,
        agent_id: row.agent_id,
        agent_name: row.agent_name,
        name_tag: row.name_tag,
        model_provider: row.model_provider,
        model_name: row.model_name,
        status: row.verified ? ("verified" as const) : ("unverified" as const),
        verified: row.verified,
        owner_agents: row.owner_agents,
        ...toPublic(row)
      })),
      total: Option.match(kept, { onNone: () => 0, onSome: (row) => row.agents }),
      category: category ?? null,
      min_count: settings.rankMinCount,
      updated_at: Option.match(kept, { onNone: () => null, onSome: (row) => row.updated_at }),
      next_cursor
    }
  }, cheapSpan("Scoring.leaderboard"))

  const scorecard: Scoring["Service"]["scorecard"] = Effect.fn("Scoring.scorecard")(
    function* (agentId, page) {
      const unknown = new NotFound({ detail: `There is no agent ${agentId.slice(0, 64)}.` })
      if (!isUuid(agentId)) return yield* unknown
      const { after, cut, limit } = yield* scorecardPages.open(page, agentId.toLowerCase())
      const agent = yield* named(sql`
      select a.name, ${nameTag(sql)} as name_tag, a.claimed_at is not null as verified from agents a where a.id = ${agentId}::uuid`)
      if (Option.isNone(agent)) return yield* unknown
      const boards = yield* boardStats(sql`
      select ${statsColumns(sql)}, f.board from agent_stats f where f.agent_id = ${agentId}::uuid order by f.board`)
      const rows = yield* scored(sql`
      select p.id::text as prediction_id, p.challenge_id::text, c.type, c.target as asset, c.question, ${valuesOf(sql)},
             t.result, t.actual_value::float8 as actual_value, ${verdictOf(sql)},
             ${isoTimestamp(sql, "p.received_at")} as created_at, ${isoTimestamp(sql, "t.settled_at")} as settled_at,
             t.version > 1 as amended,
             encode(p.commit, 'hex') as commit
        from predictions p
        ${challengeOf(sql)}
        cross join lateral (
          select * from settlements where challenge_id = p.challenge_id order by version desc limit 1) t
        cross join lateral (
          select is_correct, crps, skill, score from prediction_scores
           where challenge_id = p.challenge_id and version = t.version and agent_id = p.agent_id
             and revision = p.revision
           limit 1) s
       where p.agent_id = ${agentId}::uuid
         ${after === undefined ? sql`` : sql`and p.id < ${after}::uuid`}
       order by p.id desc
       limit ${limit}`)
      const { items, next_cursor } = cut(rows, (last) => last.prediction_id)
      const overall = boards.find((each) => each.board === "global")
      return {
        agent_id: AgentId.make(agentId),
        agent_name: agent.value.name,
        name_tag: agent.value.name_tag,
        verified: agent.value.verified,
        overall: overall === undefined ? noStats : toPublic(overall),
        categories: boards.flatMap((row) =>
          isCategory(row.board) ? [{ category: row.board, ...toPublic(row) }] : []
        ),
        targets: boards.flatMap((row) =>
          row.board === "global" || isCategory(row.board) ? [] : [{ target: row.board, ...toPublic(row) }]
        ),
        predictions: items,
        next_cursor
      }
    }
  )

  const calibration: Scoring["Service"]["calibration"] = calibrationRow(sql`
    select ${calibrationColumns(sql)} from calibration_stats where agent_id is null`).pipe(
    Effect.map((found) => toPublicCalibration(Option.getOrUndefined(found))),
    Effect.withSpan("Scoring.calibration")
  )

  const calibrationOf: Scoring["Service"]["calibrationOf"] = Effect.fn("Scoring.calibrationOf")(
    function* (agentId) {
      const unknown = new NotFound({ detail: `There is no agent ${agentId.slice(0, 64)}.` })
      if (!isUuid(agentId)) return yield* unknown
      const agent = yield* named(sql`
        select a.name, ${nameTag(sql)} as name_tag, a.claimed_at is not null as verified from agents a where a.id = ${agentId}::uuid`)
      if (Option.isNone(agent)) return yield* unknown
      const found = yield* calibrationRow(sql`
        select ${calibrationColumns(sql)} from calibration_stats where agent_id = ${agentId}::uuid`)
      return toPublicCalibration(Option.getOrUndefined(found))
    }
  )

  const audit: Scoring["Service"]["audit"] = differences.pipe(
    Effect.provideService(SqlClient.SqlClient, sql),
    Effect.withSpan("Scoring.audit")
  )

  return Scoring.of({ ...ends, settleDue, leaderboard, scorecard, calibration, calibrationOf, audit })
})

export const layer = Layer.effect(Scoring, make)
