import { DateTime, Effect, Layer, Schema, Struct } from "effect"
import { SqlClient } from "effect/sql"
import type { Statement } from "effect/sql"
import { eachLevel } from "../../../scoring/kinds/facts.ts"
import { noTerms } from "../../../scoring/kinds/kind.ts"
import { practiceCriteria, practiceCriteriaChinese } from "../../../scoring/kinds/direction.ts"
import { binsOf } from "../../../scoring/macro.ts"
import { plainDecimal } from "../../../scoring/wording.ts"
import { answerSchema, formNames } from "../../../services/domain/Answer.ts"
import { NotFound } from "../../../services/domain/errors.ts"
import { isUuid } from "../../../services/domain/ids.ts"
import type { AgentId } from "../../../services/domain/ids.ts"
import { Cursors } from "../../../services/domain/paging.ts"
import { PredictionValues } from "../../../services/domain/Prediction.ts"
import { InstantText } from "../../../services/domain/text.ts"
import { Mine, OpenQuestion, OpenQuestions } from "../../../services/OpenQuestions.ts"
import type { QuestionFilter } from "../../../services/OpenQuestions.ts"
import { practiceHours, practiceQuestion, practiceSlot } from "../../../services/Practice.ts"
import { Settings } from "../../../services/Settings.ts"
import { firstObserved } from "../prices/Prices.ts"
import { findAll, isoTimestamp, timestamp } from "../sql.ts"
import { referenceNow } from "./reference.ts"
import { levelColumns, levelValues, shownLevels } from "../levels.ts"
import { categoriesOf, countsOfChallenge, hasStatus, outcomesOf, valuesOf } from "./challengeRows.ts"

const { answer, context, mine: _, practice: _practice, question, ...columns } = OpenQuestion.fields
const { candles, price } = context.fields
const { bins: __, forms: ___, schema: ____, ...measure } = answer.fields

const Row = Schema.Struct({
  ...columns,
  ...measure,
  question: Schema.NullOr(question),
  target_name: Schema.String,
  candles,
  volatility: Schema.NullOr(Schema.Finite),
  odds: Schema.NullOr(Schema.Array(Schema.Finite)),
  outcomes: Schema.NullOr(Schema.Array(Schema.String)),
  bin_edges: Schema.NullOr(Schema.Array(Schema.Finite)),
  price,
  ...PredictionValues.fields,
  prediction_id: Mine.fields.prediction_id,
  revision_count: Mine.fields.revision_count,
  predicted_at: Mine.fields.created_at,
  subscribed: Mine.fields.subscribed,
  predictions_left: Mine.fields.predictions_left
})

const mineOf = (row: typeof Row.Type): typeof Mine.Type => {
  const { prediction_id } = row
  const isAnswered = prediction_id !== null
  return {
    answer: isAnswered ? Struct.pick(row, Struct.keys(PredictionValues.fields)) : null,
    prediction_id,
    revision_count: row.revision_count,
    created_at: row.predicted_at,
    may_revise: isAnswered && (row.type !== "price_event" || row.subscribed === true),
    subscribed: row.subscribed,
    predictions_left: row.predictions_left
  }
}

/** The filter as a text, which keeps the cursors of different lists apart. */
const whichOf = ({ asset, category, closingBefore, kind, practice, type }: QuestionFilter): string =>
  [asset, category, type, kind, practice, closingBefore && DateTime.formatIso(closingBefore)]
    .map((each) => each ?? "any")
    .join()

/** The texts of a practice question, which its row does not have. */
const practiceTexts = ({ asset, dead_zone_pct, open_price, target_name }: typeof Row.Type) => {
  const terms = {
    targetName: target_name,
    target: asset,
    openPrice: plainDecimal(open_price ?? NaN),
    deadZonePct: plainDecimal(dead_zone_pct ?? NaN),
    hours: practiceHours
  }
  return {
    question: practiceQuestion(asset),
    resolution_criteria: practiceCriteria(terms),
    resolution_criteria_zh: practiceCriteriaChinese(terms)
  }
}

const make = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const { baseUrl } = yield* Settings
  const pages = (yield* Cursors).list(
    "open questions",
    Schema.Struct({ deadline: InstantText, id: Schema.String.check(Schema.isGUID()) })
  )
  const questions = findAll(Row)

  /** Selects at most `limit` open questions `c` that meet the conditions, from challenges, practice questions or both. */
  const open = (
    wanted: { readonly challenges: boolean; readonly practice: boolean },
    conditions: ReadonlyArray<Statement.Fragment>,
    limit: number,
    now: DateTime.Utc
  ) => {
    const some = (isWanted: boolean, all: Statement.Fragment) => sql`
      (select * from (${all}) c where ${sql.and([sql`${isWanted}::boolean`, ...conditions])} order by deadline, id limit ${limit})`
    return sql`
      ${some(
        wanted.challenges,
        sql`select id, type, kind, target, event_id, question, resolution_criteria, resolution_criteria_zh, created_at, deadline,
                   resolve_at, open_price, dead_zone_pct, ${levelColumns(sql)}, window_from, period, unit, reference_scale, bin_edges,
                   categories, reference, volatility, odds, null::jsonb as candles
              from challenges c
             where ${hasStatus(sql, "open", now)}`
      )}
       union all
      ${some(
        wanted.practice,
        sql`select id, 'directional' as type, 'practice' as kind, asset as target, null::text, null::text, null::text, null::text,
                   opened_at, deadline, deadline as resolve_at, open_price, dead_zone_pct, ${levelValues(sql, noTerms)},
                   null::timestamptz, null::text, null::text, null::numeric, null::numeric[], null::text[],
                   null::numeric[], null::numeric, null::numeric[], candles
              from practice_questions
             where opened_at = ${timestamp(practiceSlot(now))}`
      )}
       order by deadline, id
       limit ${limit}`
  }

  /** Reads the chosen questions, with the agent's own answers if there is an agent. */
  const select = (chosen: Statement.Fragment, agentId: AgentId | undefined, now: DateTime.Utc) => {
    const agent = sql`${agentId ?? null}::uuid`
    const isPractice = sql.literal("c.kind = 'practice'")
    return questions(sql`
      select c.id::text as challenge_id, c.type, c.kind, c.target as asset, t.name as target_name, t.category, c.event_id,
             c.question, c.resolution_criteria, c.resolution_criteria_zh, ${isoTimestamp(sql, "c.created_at")} as created_at,
             ${isoTimestamp(sql, "c.deadline")} as deadline, ${isoTimestamp(sql, "c.resolve_at")} as resolve_at,
             c.open_price::float8 as open_price, c.dead_zone_pct::float8 as dead_zone_pct, ${shownLevels(sql)},
             ${isoTimestamp(sql, "c.window_from")} as window_from, c.period, c.unit,
             c.reference_scale::float8 as reference_scale, c.bin_edges::float8[] as bin_edges, ${outcomesOf(sql)} as outcomes,
             ${categoriesOf(sql)} as categories, c.candles,
             c.volatility::float8 as volatility, c.odds::float8[] as odds,
             n.bullish + n.bearish + n.neutral + n.forecasts + case when ${isPractice}
               then (select count(*)::int from practice_predictions where question_id = c.id) else 0 end as prediction_count,
             v.price, ${valuesOf(sql)}, p.id::text as prediction_id, p.revision as revision_count,
             ${isoTimestamp(sql, "p.received_at")} as predicted_at, s.subscribed, a.predictions_left
        from (${chosen}) c
       cross join lateral (select name, category, kind from targets where key = c.target limit 1) t
        ${countsOfChallenge(sql)}
        left join lateral (
          select jsonb_build_object('price', o.close, 'source', o.source,
                                    'observed_at', ${isoTimestamp(sql, "o.observed_at")}) as price
            from (${firstObserved(sql, sql`p.asset = c.target and p.observed_at <= ${timestamp(now)}`, "desc")}) o
           where not (${isPractice})
           union all
          select jsonb_build_object('price', c.open_price, 'source', 'practice',
                                    'observed_at', ${isoTimestamp(sql, "c.created_at")})
           where ${isPractice}) v on true
        left join lateral (
          (select id, revision, received_at, direction, confidence, predicted_value, predicted_std, form, body
             from predictions where challenge_id = c.id and agent_id = ${agent} order by revision desc limit 1)
           union all
          select id, revision, received_at, direction, confidence, null, null, form, body
            from practice_predictions where question_id = c.id and agent_id = ${agent}) p on true
        left join lateral (
          select exists (select from prediction_scopes where agent_id = ${agent} and target = c.target) as subscribed
           where t.kind = 'asset' and not (${isPractice})) s on true
        left join lateral (
          select case when prediction_limit is not null then greatest(0, prediction_limit - predictions_used) end
                   as predictions_left
            from agents
           where id = ${agent} and not (${isPractice}) limit 1) a on true
       order by c.deadline, c.id`)
  }

  const toQuestion =
    (agentId: AgentId | undefined) =>
    (row: typeof Row.Type): OpenQuestion => {
      const { bin_edges, challenge_id, event_id, kind, outcomes, reference_scale, type, unit } = row
      const form = { type, kind, outcomes }
      const practice = kind === "practice"
      const isOnSeries = type === "macro"
      return {
        challenge_id,
        type,
        kind,
        practice,
        asset: row.asset,
        category: row.category,
        event_id,
        ...(practice
          ? practiceTexts(row)
          : {
              question: row.question ?? "",
              resolution_criteria: row.resolution_criteria ?? null,
              resolution_criteria_zh: row.resolution_criteria_zh ?? null
            }),
        created_at: row.created_at,
        deadline: row.deadline,
        resolve_at: row.resolve_at,
        open_price: row.open_price,
        dead_zone_pct: row.dead_zone_pct,
        ...eachLevel((name) => row[name]),
        window_from: row.window_from,
        period: row.period,
        prediction_count: row.prediction_count,
        answer: {
          forms: formNames(form),
          schema: answerSchema(form),
          unit,
          reference_scale,
          bins: bin_edges === null ? null : binsOf(bin_edges, outcomes),
          categories: row.categories
        },
        context: {
          price: row.price,
          reference: referenceNow(row),
          candles: row.candles,
          links: {
            page: practice ? null : `${baseUrl}/challenges/${challenge_id}`,
            prices: practice || isOnSeries ? null : `${baseUrl}/api/v1/public/prices/${row.asset}`,
            releases: isOnSeries ? `${baseUrl}/api/v1/public/releases?asset=${row.asset}` : null,
            event:
              event_id === null ? null : `${baseUrl}/api/v1/public/comments/${encodeURIComponent(event_id)}`
          }
        },
        ...(agentId !== undefined && { mine: mineOf(row) })
      }
    }

  const conditionsOf = (filter: QuestionFilter) => [
    ...(filter.asset === undefined ? [] : [sql`c.target = ${filter.asset}`]),
    ...(filter.category === undefined
      ? []
      : [sql`(select category from targets where key = c.target) = ${filter.category}`]),
    ...(filter.type === undefined ? [] : [sql`c.type = ${filter.type}`]),
    ...(filter.kind === undefined ? [] : [sql`c.kind = ${filter.kind}`]),
    ...(filter.closingBefore === undefined ? [] : [sql`c.deadline < ${timestamp(filter.closingBefore)}`])
  ]

  const list: OpenQuestions["Service"]["list"] = Effect.fn("OpenQuestions.list")(
    function* (filter, page, agentId) {
      const { after, toPage, limit } = yield* pages.decode(page, whichOf(filter))
      const now = yield* DateTime.now
      const beyond =
        after === undefined
          ? []
          : [sql`(c.deadline, c.id) > (${after.deadline}::timestamptz, ${after.id}::uuid)`]
      const rows = yield* select(
        open(
          { challenges: filter.practice !== true, practice: filter.practice !== false },
          [...conditionsOf(filter), ...beyond],
          limit,
          now
        ),
        agentId,
        now
      )
      return toPage(rows.map(toQuestion(agentId)), (last) => ({
        deadline: last.deadline,
        id: last.challenge_id
      }))
    }
  )

  const get: OpenQuestions["Service"]["get"] = Effect.fn("OpenQuestions.get")(function* (id, agentId) {
    const now = yield* DateTime.now
    const [found] = isUuid(id)
      ? yield* select(
          open({ challenges: true, practice: true }, [sql`c.id = ${id}::uuid`], 1, now),
          agentId,
          now
        )
      : []
    if (found !== undefined) return toQuestion(agentId)(found)
    return yield* new NotFound({
      detail: `No challenge ${id.slice(0, 64)} is open: GET /api/v1/eval/challenges/{challenge_id} shows one in any state.`
    })
  })

  return OpenQuestions.of({ list, get })
})

export const layer = Layer.effect(OpenQuestions, make)
