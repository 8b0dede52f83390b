/** Reads of challenges of every type and their predictions: lists, results, an agent's own predictions. */
import { DateTime, Effect, Option, Schema } from "effect"
import { SqlClient } from "effect/sql"
import type { Statement } from "effect/sql"
import { binOf, binsOf } from "../../../scoring/macro.ts"
import { OwnPredictions, Receipt } from "../../../services/domain/Prediction.ts"
import { Results } from "../../../services/Arenas.ts"
import type { Arenas } from "../../../services/Arenas.ts"
import {
  ChallengeSummary,
  ChallengeType,
  ListCounts,
  Outcomes,
  unknownChallenge
} from "../../../services/domain/Challenge.ts"
import type { ListFilter, ListStatus } from "../../../services/domain/Challenge.ts"
import { InvalidRequest } from "../../../services/domain/errors.ts"
import { InstantText, Timestamp } from "../../../services/domain/text.ts"
import { isUuid } from "../../../services/domain/ids.ts"
import { Cursors } from "../../../services/domain/paging.ts"
import { Settings } from "../../../services/Settings.ts"
import { Targets } from "../../../services/Targets.ts"
import type { Category } from "../../../services/Targets.ts"
import {
  arrayParam,
  findAll,
  findOption,
  isoTimestamp,
  pageAfter,
  plannedByValues,
  timestamp,
  when,
  whenGiven
} from "../sql.ts"
import { nameTag } from "../nameTag.ts"
import {
  challengeOf,
  countsOfChallenge,
  hasStatus,
  statusOf,
  outcomeNameOf,
  valuesOf,
  verdictOf,
  settlementOf,
  versionsOf
} from "./challengeRows.ts"
import { areCountsLive } from "./countSteps.ts"

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

/** What a page with a filter found, or nothing; and the last prediction that it looked at, where there are more. */
const lookedAt = { looked_at: Schema.NullOr(Schema.String) }
const FoundRow = Schema.Union([
  Schema.Struct({ ...OwnRow.fields, ...lookedAt }),
  Schema.Struct({ prediction_id: Schema.Null, ...lookedAt })
])

/** Predictions that a page with a filter looks at for each item that it may have. */
const lookedAtPerItem = 5

/** An event is about a day or two, and so are its challenges. */
const maxOfEvent = 20
/** The base rates of an asset are those of so many challenges. */
const maxOutcomes = 250

export const makeQueries = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const cursors = yield* Cursors
  const targets = yield* Targets
  const resultPages = cursors.listById("results")
  const ownPages = cursors.listById("own predictions")
  const { baseUrl, countsEvery } = yield* Settings
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
    const { after, cut, limit } = yield* resultPages.open(page, challengeId.toLowerCase())
    const now = yield* DateTime.now
    const found = yield* resultRow(sql`
      select c.id::text as challenge_id, c.type, c.kind, c.question, c.resolution_criteria, c.resolution_criteria_zh,
             ${statusOf(sql, now)} as status, s.result,
             ${isoTimestamp(sql, "c.deadline")} as deadline, c.unit,
             case c.type when 'macro' then ${isoTimestamp(sql, "c.resolve_at")} end as release_at,
             c.level::float8 as level, c.open_price::float8 as open_price, s.close_price::float8 as close_price,
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
        left join lateral (
          select * from settlements where challenge_id = c.id order by version desc limit 1) s on true
       where c.id = ${challengeId}::uuid`)
    if (Option.isNone(found)) return yield* unknownChallenge(challengeId)
    const { bin_edges, categories, end_is_proved, past_deadline, settled_at, version, ...result } =
      found.value
    const { pool } = result
    const rows = past_deadline
      ? yield* resultPredictions(sql`
          select p.agent_id::text, a.name as agent_name, ${nameTag(sql)} as name_tag, a.reference, ${valuesOf(sql)}, p.reasoning, ${verdictOf(sql)},
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
    const { items, next_cursor } = cut(rows, (last) => last.agent_id)
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
    const asked = [challengeId?.toLowerCase(), type, status]
    const isFiltered = asked.some((each) => each !== undefined)
    const pages = yield* ownPages.open(
      page,
      isFiltered ? asked.map((each) => each ?? "any").join() : undefined
    )
    const { after, cut, limit } = pages
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
    const { items, next_cursor } = cut(found, (last) => last.prediction_id)
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

  // Lists by deadline need both members of the key, the others the id alone.
  const listPages = cursors.list(
    "all challenges",
    Schema.Struct({ deadline: InstantText, id: Schema.String.check(Schema.isGUID()) })
  )

  const summaries = findAll(ChallengeSummary)
  const countRows = findAll(ListCounts)
  const outcomeRows = findAll(Outcomes)

  const summaryColumns = (now: DateTime.Utc) => sql`
    c.id::text, c.type, c.kind, c.target as asset, t.name, c.question, e.title as event_title,
    c.level::float8 as level, c.period, c.open_price::float8 as open_price,
    coalesce(s.close_price, latest.close)::float8 as price, ${statusOf(sql, now)} as status,
    ${isoTimestamp(sql, "c.deadline")} as deadline, ${isoTimestamp(sql, "c.resolve_at")} as resolve_at,
    ${isoTimestamp(sql, "coalesce(c.resolved_at, c.cancelled_at)")} as ended_at,
    n.bullish + n.bearish + n.neutral + n.forecasts as prediction_count,
    case when c.type <> 'directional' then null
         when ${areCountsLive(sql, countsEvery, now)}
         then jsonb_build_object('bullish', n.bullish, 'bearish', n.bearish, 'neutral', n.neutral)
         else k.counts end as split,
    s.result, s.actual_value::float8 as actual_value, ${outcomeNameOf(sql)} as outcome_name,
    c.categories is not null as is_ordered, c.unit`

  /** The joins that `summaryColumns` read, for the challenges `c` of a page. Of several sources any says where a price stands. */
  const summaryJoins = (now: DateTime.Utc) => sql`
    cross join lateral (select name from targets where key = c.target limit 1) t
    left join lateral (select title from events where id = c.event_id limit 1) e on true
    left join lateral (
      select close from price_points
       where c.type <> 'macro' and c.resolved_at is null and c.cancelled_at is null
         and asset = c.target and observed_at <= ${timestamp(now)}
       order by observed_at desc
       limit 1) latest on true
    ${countsOfChallenge(sql)}
    left join lateral (
      select jsonb_build_object('bullish', bullish, 'bearish', bearish, 'neutral', neutral) as counts
        from published_counts where challenge_id = c.id limit 1) k on true
    left join lateral (
      select result, actual_value, close_price from settlements where challenge_id = c.id order by version desc limit 1) s on true`

  /** Literals: a partial index of a type needs a condition that names it. */
  const ofType = {
    directional: sql`and c.type = 'directional'`,
    macro: sql`and c.type = 'macro'`,
    price_event: sql`and c.type = 'price_event'`
  }

  const orders: Readonly<Record<ListStatus, ReturnType<typeof sql.and>>> = {
    open: sql`c.deadline, c.id`,
    closed: sql`c.deadline desc, c.id desc`,
    resolved: sql`c.id desc`,
    ended: sql`c.id desc`
  }

  const beyond = (status: ListStatus, last: { readonly deadline: string; readonly id: string }) => {
    switch (status) {
      case "open":
        return sql`and (c.deadline, c.id) > (${last.deadline}::timestamptz, ${last.id}::uuid)`
      case "closed":
        return sql`and (c.deadline, c.id) < (${last.deadline}::timestamptz, ${last.id}::uuid)`
      case "resolved":
      case "ended":
        return sql`and c.id < ${last.id}::uuid`
    }
  }

  /** The targets `t` of a filter. */
  const ofTargets = ({ asset, category }: Pick<ListFilter, "asset" | "category">) =>
    sql.and([
      ...(asset === undefined ? [] : [sql`t.key = ${asset}`]),
      ...(category === undefined ? [] : [sql`t.category = ${category}`])
    ])

  /** The keys of a category; undefined of all. */
  const keysIn = (category: Category | undefined) =>
    category === undefined
      ? Effect.undefined
      : Effect.map(targets.catalog, ({ categories }) =>
          categories
            .filter((each) => each.category === category)
            .flatMap((each) => each.targets.map(({ key }) => key))
        )

  const list: Arenas["Service"]["list"] = Effect.fn("Arenas.list")(function* (filter, page) {
    const { asset, category, status, type } = filter
    yield* targets.checkFilter(asset)
    const { after, cut, limit } = yield* listPages.open(page, [status, asset, category].join(" ").trim())
    const now = yield* DateTime.now
    const first = (condition: Statement.Fragment) => sql`
      (select * from challenges c
        where ${condition} and ${hasStatus(sql, status === "ended" ? "void" : status, now)}
          ${whenGiven(sql, type, (wanted) => ofType[wanted])}
          ${whenGiven(sql, after, (last) => beyond(status, last))}
        order by ${orders[status]}
        limit ${limit})`
    // A list of each target by its own key, of which the planner knows how rare it is.
    const keys = asset === undefined ? yield* keysIn(category) : [asset]
    const lists = keys === undefined ? [first(sql`true`)] : keys.map((key) => first(sql`c.target = ${key}`))
    const found = summaries(sql`
        select ${summaryColumns(now)}
          from (
            select * from (${sql.join(" union all ", false)(lists)}) c
             order by ${orders[status]}
             limit ${limit}) c
          ${summaryJoins(now)}
         order by ${orders[status]}`)
    const rows = yield* keys === undefined ? found : plannedByValues(sql)(found)
    return cut(rows, (last) => ({ deadline: last.deadline, id: last.id }))
  })

  const counts: Arenas["Service"]["counts"] = Effect.fn("Arenas.counts")(function* (filter) {
    const now = yield* DateTime.now
    const type = whenGiven(sql, filter.type, (value) => sql`and n.type = ${value}`)
    const [found] = yield* countRows(sql`
      with unended as (
        select count(*) filter (where n.deadline > ${timestamp(now)})::int as open,
               count(*) filter (where n.deadline <= ${timestamp(now)})::int as closed
          from challenges n join targets t on t.key = n.target
         where n.resolved_at is null and n.cancelled_at is null and ${ofTargets(filter)} ${type}),
      ended as (
        select coalesce(sum(n.resolved), 0)::int as resolved, coalesce(sum(n.cancelled), 0)::int as ended
          from challenge_counts n join targets t on t.key = n.target
         where ${ofTargets(filter)} ${type})
      select * from unended cross join ended`)
    return found ?? { open: 0, closed: 0, resolved: 0, ended: 0 }
  })

  const outcomes: Arenas["Service"]["outcomes"] = Effect.fn("Arenas.outcomes")(function* (asset) {
    const [found] = yield* outcomeRows(sql`
      select count(*) filter (where s.result = 'bullish')::int as bullish,
             count(*) filter (where s.result = 'bearish')::int as bearish,
             count(*) filter (where s.result = 'neutral')::int as neutral
        from (
          select id from challenges
           where type = 'directional' and target = ${asset} and resolved_at is not null
           order by id desc
           limit ${maxOutcomes}) c
       cross join lateral (
         select result from settlements where challenge_id = c.id order by version desc limit 1) s`)
    return found ?? { bullish: 0, bearish: 0, neutral: 0 }
  })

  const lastSettled: Arenas["Service"]["lastSettled"] = Effect.fn("Arenas.lastSettled")(function* (limit) {
    const now = yield* DateTime.now
    return yield* summaries(sql`
        select ${summaryColumns(now)}
          from (
            select * from challenges where resolved_at is not null
             order by resolved_at desc, id desc
             limit ${limit}) c
          ${summaryJoins(now)}
         order by c.resolved_at desc, c.id desc`)
  })

  const listByEvent: Arenas["Service"]["listByEvent"] = Effect.fn("Arenas.listByEvent")(function* (eventId) {
    const now = yield* DateTime.now
    return yield* summaries(sql`
        select ${summaryColumns(now)}
          from (select * from challenges c where c.event_id = ${eventId} order by c.id desc limit ${maxOfEvent}) c
          ${summaryJoins(now)}
         order by c.id desc`)
  })

  const summariesOf: Arenas["Service"]["summaries"] = Effect.fn("Arenas.summaries")(function* (challengeIds) {
    if (challengeIds.length === 0) return []
    const now = yield* DateTime.now
    return yield* summaries(sql`
        select ${summaryColumns(now)}
          from (select * from challenges where id = any(${arrayParam("uuid", challengeIds)})) c
          ${summaryJoins(now)}`)
  })

  const summary: Arenas["Service"]["summary"] = Effect.fn("Arenas.summary")(function* (challengeId) {
    if (!isUuid(challengeId)) return yield* unknownChallenge(challengeId)
    const now = yield* DateTime.now
    const [found] = yield* summaries(sql`
        select ${summaryColumns(now)}
          from (select * from challenges where id = ${challengeId}::uuid) c
          ${summaryJoins(now)}`)
    return found ?? (yield* unknownChallenge(challengeId))
  })

  return {
    typeOf,
    results,
    ownPredictions,
    list,
    counts,
    outcomes,
    lastSettled,
    listByEvent,
    summaries: summariesOf,
    summary
  }
})
