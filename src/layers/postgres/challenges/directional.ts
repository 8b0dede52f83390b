/** The directional arena: challenges on which way a price moves, and predictions of it. */
import { BigDecimal, DateTime, Effect, Option, Schema } from "effect"
import { SecureRandom } from "effect/crypto"
import { SqlClient } from "effect/sql"
import { plainDecimal } from "../../../scoring/wording.ts"
import type { ChallengeFilter, DirectionalArena } from "../../../services/Arenas.ts"
import {
  Challenge,
  ChallengeState,
  TargetPaused,
  unknownChallenge
} from "../../../services/domain/Challenge.ts"
import type { NewChallenge } from "../../../services/domain/Challenge.ts"
import { InvalidRequest } from "../../../services/domain/errors.ts"
import { isUuid } from "../../../services/domain/ids.ts"
import type { AgentId } from "../../../services/domain/ids.ts"
import { Cursors } from "../../../services/domain/paging.ts"
import type { Page } from "../../../services/domain/paging.ts"
import { wholeSecond, wholeSeconds } from "../../../services/domain/text.ts"
import { Prices } from "../../../services/Prices.ts"
import { Settings } from "../../../services/Settings.ts"
import { Targets, unknownAsset } from "../../../services/Targets.ts"
import { countsOfChallenge, hasStatus, statusOf } from "./challengeRows.ts"
import { areCountsLive, countsAsOf, publishCounts } from "./countSteps.ts"
import { cancelChallenge, createChallenge } from "./lifecycle.ts"
import { makeReferences } from "./reference.ts"
import { noTerms } from "../../../scoring/kinds/kind.ts"
import { rowOf, textsOf } from "./rows.ts"
import {
  boundNow,
  execute,
  findAll,
  findOne,
  findOption,
  whenGiven,
  isoTimestamp,
  orDie,
  pageAfter
} from "../sql.ts"

const Total = Schema.Struct({ total: Schema.Int })
const PrintedDecimals = Schema.Struct({
  open_price: Schema.String,
  dead_zone_pct: Schema.NullOr(Schema.String)
})

export const makeDirectionalArena = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const pages = (yield* Cursors).listById("challenges")
  const settings = yield* Settings
  const targets = yield* Targets
  const prices = yield* Prices
  const random = yield* SecureRandom.SecureRandom
  const references = yield* makeReferences
  const challenges = findAll(Challenge)
  const challenge = findOption(Challenge)
  const total = findOne(Total)
  const printedDecimals = findOne(PrintedDecimals)

  /** Directional challenges `c`; the caller adds conditions, order and limit. */
  const selectChallenges = (now: DateTime.Utc) => sql`
    select c.id::text, c.type, c.kind, c.event_id, c.question, c.target as asset, ${statusOf(sql, now)} as status,
           ${isoTimestamp(sql, "c.created_at")} as created_at, ${isoTimestamp(sql, "c.deadline")} as deadline,
           ${isoTimestamp(sql, "c.resolve_at")} as resolve_at, c.open_price::float8 as open_price,
           n.bullish + n.bearish + n.neutral as prediction_count, s.bullish as bullish_count,
           s.bearish as bearish_count, s.neutral as neutral_count,
           ${countsAsOf(sql, settings.countsEvery, now)} as counts_as_of, c.resolution_criteria,
           c.resolution_criteria_zh, c.dead_zone_pct::float8 as dead_zone_pct, c.cancel_reason
      from challenges c
      ${countsOfChallenge(sql)}
      left join lateral (select * from published_counts where challenge_id = c.id limit 1) k on true
     cross join lateral (
       select case when live then n.bullish else coalesce(k.bullish, 0) end as bullish,
              case when live then n.bearish else coalesce(k.bearish, 0) end as bearish,
              case when live then n.neutral else coalesce(k.neutral, 0) end as neutral
         from (select ${areCountsLive(sql, settings.countsEvery, now)} as live) l) s`

  const get: DirectionalArena["get"] = Effect.fn("DirectionalArena.get")(function* (id) {
    if (!isUuid(id)) return yield* unknownChallenge(id)
    const now = yield* DateTime.now
    const found = yield* challenge(sql`
      ${selectChallenges(now)}
       where c.id = ${id}::uuid and c.type = 'directional'`)
    return yield* Effect.fromOption(found).pipe(Effect.mapError(() => unknownChallenge(id)))
  })

  /** One page, newest first, of the challenges that meet the conditions, with their total. */
  const select = Effect.fnUntraced(function* (
    conditions: ReturnType<typeof sql.and>,
    page: Page,
    now: DateTime.Utc,
    totalOf = sql`select count(*)::int as total from challenges c where ${conditions}`
  ) {
    const { after, cut, limit } = yield* pages.open(page)
    const rows = yield* challenges(sql`
      ${selectChallenges(now)}
       where ${conditions} ${pageAfter(sql, "c.id <", after)}
       order by c.id desc
       limit ${limit}`)
    const count = yield* total(totalOf)
    return { ...cut(rows, (last) => last.id), total: count.total }
  })

  /** Kept counts of what only grows. Challenges that are open, closed or of one event are few, and are counted. */
  const keptTotal = (ended: "resolved" | "cancelled" | undefined, asset: string | undefined) => sql`
    select coalesce(sum(${sql(ended ?? "created")}), 0)::int as total
      from challenge_counts
     where type = 'directional' ${whenGiven(sql, asset, (value) => sql`and target = ${value}`)}`

  const list: DirectionalArena["list"] = Effect.fn("DirectionalArena.list")(function* (
    filter: ChallengeFilter,
    page: Page
  ) {
    const now = yield* DateTime.now
    const conditions = sql.and([
      sql`c.type = 'directional'`,
      ...(filter.status === undefined ? [] : [hasStatus(sql, filter.status, now)]),
      ...(filter.eventId === undefined ? [] : [sql`c.event_id = ${filter.eventId}`]),
      ...(filter.asset === undefined ? [] : [sql`c.target = ${filter.asset}`])
    ])
    const isKept = filter.eventId === undefined && filter.status !== "open" && filter.status !== "closed"
    const found = yield* isKept
      ? select(conditions, page, now, keptTotal(filter.status, filter.asset))
      : select(conditions, page, now)
    if (found.items.length === 0 && filter.eventId !== undefined) {
      const known = yield* sql`select 1 from events where id = ${filter.eventId}`.pipe(orDie)
      if (known.length === 0)
        return yield* InvalidRequest.of("event_id", `There is no event ${filter.eventId}.`)
    }
    return found
  })

  const active: DirectionalArena["active"] = Effect.fn("DirectionalArena.active")(function* (
    agentId: AgentId,
    page: Page
  ) {
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
    return yield* select(
      sql.and([
        sql`c.type = 'directional'`,
        hasStatus(sql, "open", now),
        sql`c.target = any(${subscribed}::text[])`
      ]),
      page,
      now
    )
  })

  /** Exact decimals as PostgreSQL prints them: the form in the criteria text and the log. */
  const printed = (openPrice: string, deadZonePct: string | null) =>
    printedDecimals(sql`
      select trim_scale(${openPrice}::numeric)::text as open_price,
             trim_scale(${deadZonePct}::numeric)::text as dead_zone_pct`)

  const openPriceOf = Effect.fnUntraced(function* (
    asset: string,
    { open_price: given, resolve_at }: NewChallenge,
    now: DateTime.Utc
  ) {
    if (given !== undefined) return plainDecimal(given)
    if (DateTime.isLessThanOrEqualTo(resolve_at, now)) {
      return yield* InvalidRequest.of(
        "open_price",
        "Expected a value: resolve_at is not ahead, so the latest price may be the closing price"
      )
    }
    const latest = yield* prices.latest(asset)
    if (Option.isNone(latest)) {
      return yield* InvalidRequest.of("open_price", `No price of ${asset} is known yet, so it must be given`)
    }
    if (!BigDecimal.isPositive(latest.value.price)) {
      return yield* InvalidRequest.of(
        "open_price",
        `The latest price of ${asset} is ${BigDecimal.format(latest.value.price)}; a change is measured from a price above 0`
      )
    }
    return BigDecimal.format(latest.value.price)
  })

  const create: DirectionalArena["create"] = Effect.fn("DirectionalArena.create")(function* (asked) {
    const wanted = {
      ...asked,
      deadline: wholeSecond(asked.deadline),
      resolve_at: wholeSecond(asked.resolve_at)
    }
    const closePriceWithin = wholeSeconds(settings.closePriceWithin)
    const cancelAfter = wholeSeconds(settings.directionalCancelAfter)
    const target = yield* targets
      .get(wanted.asset)
      .pipe(Effect.catch(() => unknownAsset(targets, wanted.asset)))
    if (target.dead_zone_pct === null) {
      return yield* InvalidRequest.of(
        "asset",
        `${target.key} is a macro series and has no directional challenges`
      )
    }
    if (target.paused) {
      return yield* new TargetPaused({
        detail: `${target.key} is paused: no new challenges are created on it. To resume it: npm run admin -- targets set ${target.key} --paused false`
      })
    }
    if (DateTime.isGreaterThan(wanted.deadline, wanted.resolve_at)) {
      return yield* InvalidRequest.of("resolve_at", "Expected a time at or after the deadline")
    }
    if (wanted.event_id !== undefined) {
      const found = yield* sql`select 1 from events where id = ${wanted.event_id}`.pipe(orDie)
      if (found.length === 0) return yield* InvalidRequest.of("event_id", "There is no such event")
    }
    const now = yield* boundNow(sql)
    const id = yield* random.uuidV7()
    const { dead_zone_pct, open_price } = yield* printed(
      yield* openPriceOf(target.key, wanted, now),
      wanted.dead_zone_pct === null ? null : plainDecimal(wanted.dead_zone_pct ?? target.dead_zone_pct)
    )
    const unworded = {
      ...noTerms,
      challenge_id: id,
      challenge_type: "directional",
      asset: target.key,
      kind: wanted.kind ?? "session",
      event_id: wanted.event_id ?? null,
      created_at: now,
      deadline: wanted.deadline,
      resolve_at: wanted.resolve_at,
      close_price_until: DateTime.addDuration(wanted.resolve_at, closePriceWithin),
      cancel_at: DateTime.addDuration(wanted.resolve_at, cancelAfter),
      open_price,
      dead_zone_pct
    }
    const { question, ...criteria } = textsOf(unworded, target.name)
    const created = { ...unworded, ...criteria, question: wanted.question ?? question }
    const reference = yield* references.freeze(rowOf(unworded))
    yield* createChallenge(sql, created, reference)
    return yield* get(id)
  })

  const cancel: DirectionalArena["cancel"] = Effect.fn("DirectionalArena.cancel")(function* (id, reason) {
    // Fails for challenges of other types.
    yield* get(id)
    const cancelled = yield* cancelChallenge(
      sql,
      { challenge_id: id.toLowerCase(), voided_at: yield* boundNow(sql), reason },
      // Administrators may at any time.
      sql`true`
    )
    const current = yield* get(id)
    if (!cancelled) {
      return yield* new ChallengeState({
        detail: `The challenge is ${current.status}; only one that is open or closed can be cancelled.`
      })
    }
    return current
  })

  const publishDue = Effect.gen(function* () {
    if (Option.isNone(settings.countsEvery)) return
    yield* execute(publishCounts(sql, settings.countsEvery.value, yield* boundNow(sql)))
  }).pipe(Effect.withSpan("Arenas.publishDue"))

  return { arena: { get, list, active, create, cancel }, publishDue }
})
