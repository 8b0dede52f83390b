/** Challenges of every type as lists and pages of the site show them. */
import { DateTime, Effect, Schema } from "effect"
import { SqlClient } from "effect/sql"
import type { Statement } from "effect/sql"
import type { Arenas } from "../../../services/Arenas.ts"
import {
  ChallengeSummary,
  ListCounts,
  Outcomes,
  unknownChallenge
} from "../../../services/domain/Challenge.ts"
import type { ListFilter, ListStatus } from "../../../services/domain/Challenge.ts"
import { isUuid } from "../../../services/domain/ids.ts"
import { Cursors } from "../../../services/domain/paging.ts"
import { InstantText } from "../../../services/domain/text.ts"
import { Settings } from "../../../services/Settings.ts"
import { Targets } from "../../../services/Targets.ts"
import type { Category } from "../../../services/Targets.ts"
import { arrayParam, findAll, isoTimestamp, plannedByValues, timestamp, whenGiven } from "../sql.ts"
import { countsOfChallenge, hasStatus, outcomeNameOf, statusOf } from "./challengeRows.ts"
import { latestSettlement } from "../latestSettlement.ts"
import { shownLevels } from "../levels.ts"
import { areCountsLive } from "./countPublication.ts"

/** An event concerns a day or two, so few challenges refer to it. */
const maxOfEvent = 20
/** The base rates of an asset come from at most this many challenges. */
const maxOutcomes = 250

export const makeSummaries = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const cursors = yield* Cursors
  const targets = yield* Targets
  const { countsEvery } = yield* Settings

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
    ${shownLevels(sql)}, c.period, c.open_price::float8 as open_price,
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

  /** The joins that `summaryColumns` reads, for the challenges `c` of a page. The latest price may come from any of several sources. */
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
    left join ${latestSettlement(sql)} s on true`

  /** The types are literals: a partial index of a type needs a condition that names it. */
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

  /** The keys of the targets in a category; undefined without a category. */
  const keysIn = (category: Category | undefined) =>
    category === undefined
      ? Effect.undefined
      : Effect.map(targets.catalog, ({ categories }) =>
          categories
            .filter((each) => each.category === category)
            .flatMap((each) => each.targets.map(({ key }) => key))
        )

  const listSummaries: Arenas["Service"]["listSummaries"] = Effect.fn("Arenas.listSummaries")(
    function* (filter, page) {
      const { asset, category, status, type } = filter
      yield* targets.checkFilter(asset)
      const { after, toPage, limit } = yield* listPages.decode(
        page,
        [status, asset, category].join(" ").trim()
      )
      const now = yield* DateTime.now
      const first = (condition: Statement.Fragment) => sql`
      (select * from challenges c
        where ${condition} and ${hasStatus(sql, status === "ended" ? "void" : status, now)}
          ${whenGiven(sql, type, (wanted) => ofType[wanted])}
          ${whenGiven(sql, after, (last) => beyond(status, last))}
        order by ${orders[status]}
        limit ${limit})`
      // Each target has a list of its own: the planner knows how rare a single key is.
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
      return toPage(rows, (last) => ({ deadline: last.deadline, id: last.id }))
    }
  )

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
       cross join ${latestSettlement(sql)} s`)
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

  return { listSummaries, counts, outcomes, lastSettled, listByEvent, summaries: summariesOf, summary }
})
