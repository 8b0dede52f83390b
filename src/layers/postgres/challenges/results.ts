/** The results of a challenge of any type with its predictions, and an agent's own predictions. */
import { DateTime, Effect, Option, Schema } from "effect"
import { SqlClient } from "effect/sql"
import { binOf, binsOf } from "../../../scoring/macro.ts"
import { OwnPredictions, Receipt } from "../../../services/domain/Prediction.ts"
import { Results } from "../../../services/Arenas.ts"
import type { Arenas } from "../../../services/Arenas.ts"
import { ChallengeType, unknownChallenge } from "../../../services/domain/Challenge.ts"
import { InvalidRequest } from "../../../services/domain/errors.ts"
import { Timestamp } from "../../../services/domain/text.ts"
import { isUuid } from "../../../services/domain/ids.ts"
import { Cursors } from "../../../services/domain/paging.ts"
import { Settings } from "../../../services/Settings.ts"
import { findAll, findOption, isoTimestamp, pageAfter, when, whenGiven } from "../sql.ts"
import { disambiguator } from "../disambiguator.ts"
import {
  challengeOf,
  countsOfChallenge,
  statusOf,
  valuesOf,
  verdictOf,
  settlementOf,
  versionsOf
} from "./challengeRows.ts"
import { latestSettlement } from "../latestSettlement.ts"
import { shownLevels } from "../levels.ts"

const {
  bin: _bin,
  bins: _bins,
  predictions,
  next_cursor: _,
  settlement: __,
  log: ____,
  ...resultColumns
} = Results.fields

const ResultRow = Schema.Struct({
  ...resultColumns,
  bin_edges: Schema.NullOr(Schema.Array(Schema.Finite)),
  categories: Schema.NullOr(Schema.Array(Schema.String)),
  past_deadline: Schema.Boolean,
  end_is_proved: Schema.Boolean,
  version: Schema.NullOr(Schema.Int),
  settled_at: Schema.NullOr(Timestamp)
})

/** The index of the entry of a prediction `p`; null while it is pending. */
const leafIndexOf = (sql: SqlClient.SqlClient) => sql`
  (select index from log_entries where type = 'prediction.commit' and commit = p.commit)::float8 as leaf_index`

const { receipt: _____, ...ownColumns } = OwnPredictions.fields.items.value.fields
const OwnRow = Schema.Struct({
  ...ownColumns,
  ...Receipt.fields
})

/** A row of a filtered page: a prediction or none, and the last prediction that the page read if there are more. */
const lookedAt = { looked_at: Schema.NullOr(Schema.String) }
const FoundRow = Schema.Union([
  Schema.Struct({ ...OwnRow.fields, ...lookedAt }),
  Schema.Struct({ prediction_id: Schema.Null, ...lookedAt })
])

/** A filtered page reads this many predictions for each item that it may have. */
const lookedAtPerItem = 5

export const makeResults = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const cursors = yield* Cursors
  const resultPages = cursors.listById("results")
  const ownPages = cursors.listById("own predictions")
  const { baseUrl } = yield* Settings
  const resultRow = findOption(ResultRow)
  const resultPredictions = findAll(predictions.value)
  const foundRows = findAll(FoundRow)
  const typeRow = findOption(Schema.Struct({ type: ChallengeType }))

  const typeOf = Effect.fnUntraced(function* (challengeId: string) {
    const found = isUuid(challengeId)
      ? yield* typeRow(sql`select type from challenges where id = ${challengeId}::uuid`)
      : Option.none()
    if (Option.isNone(found)) return yield* unknownChallenge(challengeId)
    return found.value.type
  })

  const noSuchFilter = (challengeId: string) =>
    InvalidRequest.of("challenge_id", unknownChallenge(challengeId).detail)

  const results: Arenas["Service"]["results"] = Effect.fn("Arenas.results")(function* (challengeId, page) {
    if (!isUuid(challengeId)) return yield* unknownChallenge(challengeId)
    const { after, toPage, limit } = yield* resultPages.decode(page, challengeId.toLowerCase())
    const now = yield* DateTime.now
    const found = yield* resultRow(sql`
      select c.id::text as challenge_id, c.type, c.kind, c.question, c.resolution_criteria, c.resolution_criteria_zh,
             ${statusOf(sql, now)} as status, s.result,
             ${isoTimestamp(sql, "c.deadline")} as deadline, c.unit,
             case c.type when 'macro' then ${isoTimestamp(sql, "c.resolve_at")} end as release_at,
             ${shownLevels(sql)}, c.open_price::float8 as open_price, s.close_price::float8 as close_price,
             coalesce(s.dead_zone_pct, c.dead_zone_pct)::float8 as dead_zone_pct, s.source as resolution_source,
             s.actual_value::float8 as actual_value, c.bin_edges::float8[] as bin_edges, c.categories,
             coalesce(s.reference_scale, c.reference_scale)::float8 as reference_scale,
             ${isoTimestamp(sql, "c.resolved_at")} as resolved_at,
             case c.type when 'directional' then c.cancel_reason end as cancel_reason,
             case when c.type <> 'directional' then c.cancel_reason end as void_reason,
             n.bullish + n.bearish + n.neutral + n.forecasts as prediction_count,
             c.deadline <= ${DateTime.toDateUtc(now)} as past_deadline, s.version,
             ${isoTimestamp(sql, "s.settled_at")} as settled_at, ${versionsOf(sql)},
             exists (
               select from log_entries e
                where e.challenge_id = c.id and e.version = coalesce(s.version, 1)
                  and e.type = case when s.version is null then 'void'
                                    when s.version = 1 then 'settlement' else 'amendment' end
                  and e.index < (select max(size) from log_checkpoints)) as end_is_proved,
             (select jsonb_build_object('owners', k.owners, 'odds', k.odds, 'value', k.value)
                from challenge_consensus k where k.challenge_id = c.id) as consensus,
             (select jsonb_build_object(
                       'outcome', outcome, 'winning_bin', winning_bin, 'reward_pool', reward_pool / 1000000.0,
                       'staked', staked / 1000000.0, 'paid', paid / 1000000.0, 'stakers', stakes)
                from pool_settlements where challenge_id = c.id) as pool
        from challenges c
        ${countsOfChallenge(sql)}
        left join ${latestSettlement(sql)} s on true
       where c.id = ${challengeId}::uuid`)
    if (Option.isNone(found)) return yield* unknownChallenge(challengeId)
    const { bin_edges, categories, end_is_proved, past_deadline, settled_at, version, ...result } =
      found.value
    const { pool } = result
    const rows = past_deadline
      ? yield* resultPredictions(sql`
          select p.agent_id::text, a.name as agent_name, ${disambiguator(sql)} as name_tag, a.reference, ${valuesOf(sql)}, p.reasoning, ${verdictOf(sql)},
                 b.stake, b.stake_bin, b.reward, encode(p.commit, 'hex') as commit, ${leafIndexOf(sql)}
            from (
              select distinct on (agent_id) agent_id, form, direction, confidence, predicted_value, predicted_std, body,
                     reasoning, commit
                from predictions
               where challenge_id = ${challengeId}::uuid
                 ${pageAfter(sql, "agent_id >", after)}
               order by agent_id, revision desc
               limit ${limit}) p
           cross join lateral (select id, name, held_name, reference from agents where id = p.agent_id limit 1) a
            left join lateral (
              select is_correct, crps, skill, score from prediction_scores
               where challenge_id = ${challengeId}::uuid and version = ${version}::int and agent_id = p.agent_id
               limit 1) s on true
            left join lateral (
              select k.amount / 1000000.0::float8 as stake, k.bin as stake_bin,
                     case when ${pool !== null} then coalesce(r.reward, 0) / 1000000.0::float8 end as reward
                from stakes k left join pool_rewards r on r.challenge_id = k.challenge_id and r.agent_id = k.agent_id
               where k.challenge_id = ${challengeId}::uuid and k.agent_id = p.agent_id
               limit 1) b on true
           order by p.agent_id`)
      : []
    const { items, next_cursor } = toPage(rows, (last) => last.agent_id)
    return {
      ...result,
      bins: bin_edges === null ? null : binsOf(bin_edges, categories),
      bin: bin_edges === null || result.actual_value === null ? null : binOf(bin_edges, result.actual_value),
      settlement:
        version === null || settled_at === null || result.resolution_source === null
          ? null
          : settlementOf({ version, settled_at, source: result.resolution_source }),
      predictions: items,
      log: {
        settlement_proof: end_is_proved ? `${baseUrl}/api/v1/log/settlement/${result.challenge_id}` : null
      },
      next_cursor
    }
  })

  const ownPredictions: Arenas["Service"]["ownPredictions"] = Effect.fn("Arenas.ownPredictions")(function* (
    agentId,
    page,
    filter = {}
  ) {
    const { challengeId, status, type } = filter
    if (challengeId !== undefined && !isUuid(challengeId)) return yield* noSuchFilter(challengeId)
    const query = [challengeId?.toLowerCase(), type, status]
    const isFiltered = query.some((each) => each !== undefined)
    const pages = yield* ownPages.decode(
      page,
      isFiltered ? query.map((each) => each ?? "any").join() : undefined
    )
    const { after, toPage, limit } = pages
    const now = yield* DateTime.now
    const looksAt = page.limit * lookedAtPerItem
    const fromHere = sql`
        agent_id = ${agentId}::uuid ${pageAfter(sql, "id <", after)}
        ${whenGiven(sql, challengeId, (value) => sql`and challenge_id = ${value}::uuid`)}`
    const isWindow = type !== undefined || status !== undefined
    const rows = yield* foundRows(sql`
        select ${isWindow ? sql`(select id::text from predictions p where ${fromHere} order by p.id desc offset ${looksAt - 1} limit 1)` : sql`null`} as looked_at, f.*
          from (values (true)) page (one)
          left join lateral (
            select p.id::text as prediction_id, p.challenge_id::text, c.type, c.target as asset, c.question,
                   ${statusOf(sql, now)} as challenge_status, ${isoTimestamp(sql, "c.deadline")} as deadline, ${valuesOf(sql)},
                   p.reasoning, p.revision as revision_count,
                   ${isoTimestamp(sql, "p.received_at")} as created_at, ${verdictOf(sql)},
                   encode(p.commit, 'hex') as commit, encode(p.salt, 'hex') as salt, convert_from(p.body, 'UTF8') as body,
                   ${leafIndexOf(sql)}
              from (
                select * from predictions where ${fromHere}
                 order by id desc ${when(sql, isWindow, () => sql`limit ${looksAt}`)}) p
              ${challengeOf(sql)}
              left join lateral (
                select is_correct, crps, skill, score from prediction_scores
                 where challenge_id = p.challenge_id and agent_id = p.agent_id
                   and version = (select max(version) from settlements where challenge_id = p.challenge_id)
                 limit 1) s on true
             where ${type === undefined ? sql`true` : sql`c.type = ${type}`}
               ${whenGiven(sql, status, (value) => sql`and ${statusOf(sql, now)} = ${value}`)}
               and p.revision = (
                 select max(revision) from predictions where challenge_id = p.challenge_id and agent_id = p.agent_id)
             order by p.id desc
             limit ${limit}) f on true
         order by f.prediction_id::uuid desc`)
    const found = rows.filter((row) => row.prediction_id !== null)
    const { items, next_cursor } = toPage(found, (last) => last.prediction_id)
    const last = rows[0]?.looked_at ?? null
    if (found.length === 0 && challengeId !== undefined) {
      yield* Effect.mapError(typeOf(challengeId), () => noSuchFilter(challengeId))
    }
    return {
      items: items.map(({ commit, salt, body, leaf_index, looked_at: _looked, ...own }) => ({
        ...own,
        receipt: { commit, salt, body, leaf_index }
      })),
      next_cursor: next_cursor ?? (last === null ? null : pages.cursorAfter(last))
    }
  })

  return { typeOf, results, ownPredictions }
})
