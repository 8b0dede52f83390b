import { Effect, Layer, Option, Schema } from "effect"
import { SqlClient } from "effect/sql"
import { NotFound } from "../../../services/domain/errors.ts"
import { OutcomeName } from "../../../services/domain/Challenge.ts"
import { AgentId, isUuid } from "../../../services/domain/ids.ts"
import { Cursors } from "../../../services/domain/paging.ts"
import { Scorecard, Scoring } from "../../../services/Scoring.ts"
import { Category } from "../../../services/Targets.ts"
import { latestSettlement } from "../latestSettlement.ts"
import { findAll, findOption, isoTimestamp, pageAfter } from "../sql.ts"
import {
  challengeOf,
  outcomeNameOf,
  valuesOf,
  verdictOf,
  withOutcomeName
} from "../challenges/challengeRows.ts"
import {
  calibrationColumns,
  calibrationOfAgents,
  CalibrationStats,
  toPublicCalibration
} from "./calibration.ts"
import { statsColumns, StatsRow, noStats, toPublic } from "./agentStats.ts"
import { makeLeaderboard } from "./leaderboard.ts"
import { makeManualSettlement } from "./manualSettlement.ts"
import { makeSettleDue } from "./settlement.ts"
import { NameTag } from "../../../services/domain/names.ts"
import { disambiguator } from "../disambiguator.ts"

const BoardStatsRow = Schema.Struct({ ...StatsRow.fields, board: Schema.String })
const Named = Schema.Struct({ name: Schema.String, name_tag: NameTag, verified: Schema.Boolean })

const isCategory = Schema.is(Category)

const make = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const cursors = yield* Cursors
  const scorecardPages = cursors.listById("scorecard")
  const named = findOption(Named)
  const boardStats = findAll(BoardStatsRow)
  const scored = findAll(
    Schema.Struct({
      ...Scorecard.fields.predictions.value.fields,
      outcome_name: Schema.NullOr(OutcomeName)
    })
  )
  const calibrationRow = findOption(CalibrationStats)
  const { settleDue } = yield* makeSettleDue
  const ends = yield* makeManualSettlement
  const leaderboard = yield* makeLeaderboard

  const scorecard: Scoring["Service"]["scorecard"] = Effect.fn("Scoring.scorecard")(
    function* (agentId, page) {
      if (!isUuid(agentId)) return yield* NotFound.agent(agentId)
      const { after, toPage, limit } = yield* scorecardPages.decode(page, agentId.toLowerCase())
      const agent = yield* named(sql`
      select a.name, ${disambiguator(sql)} as name_tag, a.claimed_at is not null as verified from agents a where a.id = ${agentId}::uuid`)
      if (Option.isNone(agent)) return yield* NotFound.agent(agentId)
      const boards = yield* boardStats(sql`
      select ${statsColumns(sql)}, f.board from agent_stats f where f.agent_id = ${agentId}::uuid order by f.board`)
      const rows = yield* scored(sql`
      select p.id::text as prediction_id, p.challenge_id::text, c.type, c.target as asset, c.question, ${valuesOf(sql)},
             t.result, t.actual_value::float8 as actual_value, ${outcomeNameOf(sql, "t")} as outcome_name,
             ${verdictOf(sql)},
             ${isoTimestamp(sql, "p.received_at")} as created_at, ${isoTimestamp(sql, "t.settled_at")} as settled_at,
             t.version > 1 as amended,
             encode(p.commit, 'hex') as commit
        from predictions p
        ${challengeOf(sql)}
        cross join ${latestSettlement(sql, "p.challenge_id")} t
        -- Only the last revision has a score. Each other revision costs one probe here, and there may be many.
        cross join lateral (
          select is_correct, crps, skill, score from prediction_scores
           where challenge_id = p.challenge_id and version = t.version and agent_id = p.agent_id
             and revision = p.revision
           limit 1) s
       where p.agent_id = ${agentId}::uuid
         ${pageAfter(sql, "p.id <", after)}
       order by p.id desc
       limit ${limit}`)
      const { items, next_cursor } = toPage(rows, (last) => last.prediction_id)
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
        predictions: items.map(withOutcomeName),
        next_cursor
      }
    }
  )

  const calibration: Scoring["Service"]["calibration"] = calibrationRow(calibrationOfAgents(sql)).pipe(
    Effect.map((found) => toPublicCalibration(Option.getOrUndefined(found))),
    Effect.withSpan("Scoring.calibration")
  )

  const calibrationOf: Scoring["Service"]["calibrationOf"] = Effect.fn("Scoring.calibrationOf")(
    function* (agentId) {
      if (!isUuid(agentId)) return yield* NotFound.agent(agentId)
      const agent = yield* named(sql`
        select a.name, ${disambiguator(sql)} as name_tag, a.claimed_at is not null as verified from agents a where a.id = ${agentId}::uuid`)
      if (Option.isNone(agent)) return yield* NotFound.agent(agentId)
      const found = yield* calibrationRow(sql`
        select ${calibrationColumns(sql)} from calibration_stats where agent_id = ${agentId}::uuid`)
      return toPublicCalibration(Option.getOrUndefined(found))
    }
  )

  return Scoring.of({ ...ends, settleDue, leaderboard, scorecard, calibration, calibrationOf })
})

export const layer = Layer.effect(Scoring, make)
