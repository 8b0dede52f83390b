/** Challenges as the interface shows them: one statement for each type, and the lists by id that all types share. */
import { DateTime, Effect, Schema } from "effect"
import { SqlClient } from "effect/sql"
import type { Statement } from "effect/sql"
import { binsOf } from "../../../scoring/macro.ts"
import type { Arenas, ChallengeFilter } from "../../../services/Arenas.ts"
import { AnyChallenge, Challenge, unknownChallenge } from "../../../services/domain/Challenge.ts"
import type { ChallengeOf, ChallengeType } from "../../../services/domain/Challenge.ts"
import { InvalidRequest } from "../../../services/domain/errors.ts"
import { isUuid } from "../../../services/domain/ids.ts"
import { Cursors } from "../../../services/domain/paging.ts"
import type { Page, PagedList } from "../../../services/domain/paging.ts"
import { Settings } from "../../../services/Settings.ts"
import { Targets } from "../../../services/Targets.ts"
import { isCloseOf } from "../prices/PriceIngestion.ts"
import { findAll, findOne, isoTimestamp, orDie, pageAfter, whenGiven } from "../sql.ts"
import { categoriesOf, countsOfChallenge, hasStatus, statusOf } from "./challengeRows.ts"
import { latestSettlement } from "../latestSettlement.ts"
import { shownLevels } from "../levels.ts"
import { areCountsLive, countsAsOf } from "./countPublication.ts"

/** The challenges of one type. */
interface View<Shown> {
  /** The cursors of its lists. */
  readonly pages: PagedList<string>
  /** Reads challenges `c`; the caller adds the conditions on `c`, the order and the limit. */
  readonly read: (now: DateTime.Utc, rest: Statement.Fragment) => Effect.Effect<ReadonlyArray<Shown>>
}

const [, MacroView, PriceEventView] = AnyChallenge.members
const { bins: _, ...macroColumns } = MacroView.fields
const MacroRow = Schema.Struct({ ...macroColumns, bin_edges: Schema.Array(Schema.Finite) })

const Total = Schema.Struct({ total: Schema.Int })

export const makeViews = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const cursors = yield* Cursors
  const targets = yield* Targets
  const { countsEvery } = yield* Settings
  const directional = findAll(Challenge)
  const macro = findAll(MacroRow)
  const priceEvents = findAll(PriceEventView)
  const count = findOne(Total)

  /** The columns that every type shows. */
  const shared = (now: DateTime.Utc) => sql`
    c.id::text, c.type, c.target as asset, c.question, ${statusOf(sql, now)} as status,
    ${isoTimestamp(sql, "c.created_at")} as created_at, ${isoTimestamp(sql, "c.deadline")} as deadline,
    c.resolution_criteria, c.resolution_criteria_zh`

  const selectDirectional = (now: DateTime.Utc) => sql`
    select ${shared(now)}, c.kind, c.event_id, ${isoTimestamp(sql, "c.resolve_at")} as resolve_at,
           c.open_price::float8 as open_price, n.bullish + n.bearish + n.neutral as prediction_count,
           s.bullish as bullish_count, s.bearish as bearish_count, s.neutral as neutral_count,
           ${countsAsOf(sql, countsEvery, now)} as counts_as_of, c.dead_zone_pct::float8 as dead_zone_pct, c.cancel_reason
      from challenges c
      ${countsOfChallenge(sql)}
      left join lateral (select * from published_counts where challenge_id = c.id limit 1) k on true
     cross join lateral (
       select case when live then n.bullish else coalesce(k.bullish, 0) end as bullish,
              case when live then n.bearish else coalesce(k.bearish, 0) end as bearish,
              case when live then n.neutral else coalesce(k.neutral, 0) end as neutral
         from (select ${areCountsLive(sql, countsEvery, now)} as live) l) s`

  const selectMacro = (now: DateTime.Utc) => sql`
    select ${shared(now)}, c.period, ${isoTimestamp(sql, "c.resolve_at")} as release_at, c.unit,
           c.reference_scale::float8 as reference_scale, c.decimal_step::float8 as decimal_step,
           c.bin_edges::float8[] as bin_edges, ${categoriesOf(sql)} as categories,
           c.reward_pool::float8 / 1000000 as reward_pool, coalesce(c.pool_owner_rule, true) as pool_owner_rule,
           n.forecasts as prediction_count, s.actual_value::float8 as actual_value, c.cancel_reason as void_reason
      from challenges c
      ${countsOfChallenge(sql)}
      left join ${latestSettlement(sql)} s on true`

  const selectPriceEvent = (now: DateTime.Utc) => sql`
    select ${shared(now)}, c.kind, ${shownLevels(sql)}, ${isoTimestamp(sql, "c.window_from")} as window_from,
           ${isoTimestamp(sql, "c.resolve_at")} as resolve_at, c.reference_scale::float8 as reference_scale,
           n.bullish + n.bearish + n.forecasts as prediction_count, s.result, s.actual_value::float8 as actual_value,
           c.cancel_reason as void_reason,
           c.resolved_at is null and c.cancelled_at is null and exists (
             select 1 from price_quarantine q
              where q.asset = c.target and q.interval = '1d' and ${isCloseOf(sql)} and q.decision is null) as awaits_decision
      from challenges c
      ${countsOfChallenge(sql)}
      left join ${latestSettlement(sql)} s on true`

  const views: { readonly [Type in ChallengeType]: View<ChallengeOf<Type>> } = {
    directional: {
      pages: cursors.listById("challenges"),
      read: (now, rest) => directional(sql`${selectDirectional(now)} ${rest}`)
    },
    macro: {
      pages: cursors.listById("macro challenges"),
      read: (now, rest) =>
        Effect.map(macro(sql`${selectMacro(now)} ${rest}`), (rows) =>
          rows.map(({ bin_edges, ...row }) => ({
            ...row,
            bins: binsOf(bin_edges, row.categories?.map(({ name }) => name) ?? null)
          }))
        )
    },
    price_event: {
      pages: cursors.listById("price events"),
      read: (now, rest) => priceEvents(sql`${selectPriceEvent(now)} ${rest}`)
    }
  }

  const getOf: Arenas["Service"]["getOf"] = Effect.fn("Arenas.getOf")(function* <Type extends ChallengeType>(
    type: Type,
    id: string
  ) {
    if (!isUuid(id)) return yield* unknownChallenge(id)
    const now = yield* DateTime.now
    const [found] = yield* views[type].read(now, sql`where c.id = ${id}::uuid and c.type = ${type}`)
    return found ?? (yield* unknownChallenge(id))
  })

  /** One page, newest first. The type is a literal: a partial index of a type needs a condition that names it. */
  const page = Effect.fnUntraced(function* <Type extends ChallengeType>(
    type: Type,
    conditions: ReadonlyArray<Statement.Fragment>,
    { now, page: wanted }: { readonly now: DateTime.Utc; readonly page: Page }
  ) {
    const { pages, read } = views[type]
    const { after, toPage, limit } = yield* pages.decode(wanted)
    const rows = yield* read(
      now,
      sql`
       where ${sql.and([ofType(type), ...conditions])} ${pageAfter(sql, "c.id <", after)}
       order by c.id desc
       limit ${limit}`
    )
    return toPage(rows, (last) => last.id)
  })

  const ofType = (type: ChallengeType) => sql.literal(`c.type = '${type}'`)

  const conditionsOf = ({ asset, eventId, status }: ChallengeFilter, now: DateTime.Utc) => [
    ...(status === undefined ? [] : [hasStatus(sql, status, now)]),
    ...(eventId === undefined ? [] : [sql`c.event_id = ${eventId}`]),
    ...(asset === undefined ? [] : [sql`c.target = ${asset}`])
  ]

  const list: Arenas["Service"]["list"] = Effect.fn("Arenas.list")(function* <Type extends ChallengeType>(
    type: Type,
    filter: ChallengeFilter,
    wanted: Page
  ) {
    const now = yield* DateTime.now
    const found = yield* page(type, conditionsOf(filter, now), { now, page: wanted })
    if (found.items.length === 0 && filter.eventId !== undefined) {
      const known = yield* sql`select 1 from events where id = ${filter.eventId}`.pipe(orDie)
      if (known.length === 0)
        return yield* InvalidRequest.of("event_id", `There is no event ${filter.eventId}.`)
    }
    return found
  })

  /** Counts the challenges themselves: those that are open, closed or of one event are few. */
  const counted = (type: ChallengeType, conditions: ReadonlyArray<Statement.Fragment>) =>
    count(
      sql`select count(*)::int as total from challenges c where ${sql.and([ofType(type), ...conditions])}`
    )

  /** Reads the stored counts of the other challenges, whose number only grows. */
  const kept = (type: ChallengeType, { asset, status }: ChallengeFilter) =>
    count(sql`
      select coalesce(sum(${sql(columnOfEnded(status))}), 0)::int as total
        from challenge_counts
       where type = ${type} ${whenGiven(sql, asset, (value) => sql`and target = ${value}`)}`)

  const total: Arenas["Service"]["total"] = Effect.fn("Arenas.total")(function* (type, filter) {
    const { eventId, status } = filter
    const isKept = eventId === undefined && status !== "open" && status !== "closed"
    const found = isKept ? kept(type, filter) : counted(type, conditionsOf(filter, yield* DateTime.now))
    return (yield* found).total
  })

  const active: Arenas["Service"]["active"] = Effect.fn("Arenas.active")(function* (agentId, wanted) {
    const subscribed = yield* targets.subscriptions(agentId)
    if (subscribed.length === 0) {
      return {
        items: [],
        total: 0,
        next_cursor: null,
        hint: "No prediction scope is subscribed: POST /api/v1/agent/prediction-scope/{scope_key} first, for example GC."
      }
    }
    const now = yield* DateTime.now
    const conditions = [hasStatus(sql, "open", now), sql`c.target = any(${subscribed}::text[])`]
    const found = yield* page("directional", conditions, { now, page: wanted })
    return { ...found, ...(yield* counted("directional", conditions)) }
  })

  return { getOf, list, total, active }
})

/** The column of `challenge_counts` that counts the challenges of a status; without a status, all of them. */
const columnOfEnded = (status: ChallengeFilter["status"]) => {
  if (status === "resolved") return "resolved"
  return status === undefined ? "created" : "cancelled"
}
