/** The price-event arena: questions on the prices of crypto assets, and predictions of them. */
import { DateTime, Effect, Option, Schema, BigDecimal } from "effect"
import { SecureRandom } from "effect/crypto"
import { SqlClient } from "effect/sql"
import {
  closeScale,
  closingCandles,
  dailyCloses,
  day,
  hour,
  scaleOfCount,
  scaleReturns,
  wholeHour
} from "../../../scoring/candles.ts"
import { candleFacts } from "../../../scoring/kinds/facts.ts"
import { problemsOf } from "../../../scoring/kinds/kinds.ts"
import { ruleVersion } from "../../../scoring/kinds/priceEvent.ts"
import { plainDecimal, roundedScale } from "../../../scoring/wording.ts"
import { unknownChallenge, PriceEvent } from "../../../services/domain/Challenge.ts"
import type { NewPriceEvent } from "../../../services/domain/Challenge.ts"
import { InvalidRequest } from "../../../services/domain/errors.ts"
import { isUuid } from "../../../services/domain/ids.ts"
import { wholeSecond, wholeSeconds } from "../../../services/domain/text.ts"
import { Cursors } from "../../../services/domain/paging.ts"
import type { PriceEventArena } from "../../../services/Arenas.ts"
import { Targets, unknownAsset } from "../../../services/Targets.ts"
import { countsOfChallenge, hasStatus, statusOf } from "./challengeRows.ts"
import { isCloseOf } from "../prices/PriceIngestion.ts"
import { createChallenge } from "./lifecycle.ts"
import { makeReferences } from "./reference.ts"
import { noTerms } from "../../../scoring/kinds/kind.ts"
import { rowOf, textsOf } from "./rows.ts"
import { boundNow, findAll, findOne, findOption, whenGiven, isoTimestamp, pageAfter } from "../sql.ts"
import { Prices } from "../../../services/Prices.ts"
import { Settings } from "../../../services/Settings.ts"

/** Questions `c`; the caller adds conditions, order and limit. */
const selectPriceEvent = (sql: SqlClient.SqlClient, now: DateTime.Utc) => sql`
  select c.id::text, c.kind, c.target as asset, c.question, c.level::float8 as level, ${statusOf(sql, now)} as status,
         ${isoTimestamp(sql, "c.created_at")} as created_at, ${isoTimestamp(sql, "c.deadline")} as deadline,
         ${isoTimestamp(sql, "c.window_from")} as window_from, ${isoTimestamp(sql, "c.resolve_at")} as resolve_at,
         c.reference_scale::float8 as reference_scale, n.bullish + n.bearish + n.forecasts as prediction_count,
         c.resolution_criteria, c.resolution_criteria_zh, s.result, s.actual_value::float8 as actual_value,
         c.cancel_reason as void_reason,
         c.resolved_at is null and c.cancelled_at is null and exists (
           select 1 from price_quarantine q
            where q.asset = c.target and q.interval = '1d' and ${isCloseOf(sql)} and q.decision is null) as awaits_decision
    from challenges c
    ${countsOfChallenge(sql)}
    left join lateral (
      select result, actual_value from settlements where challenge_id = c.id order by version desc limit 1) s on true`

export const makePriceEventArena = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const pages = (yield* Cursors).listById("price events")
  const targets = yield* Targets
  const random = yield* SecureRandom.SecureRandom
  const questions = findAll(PriceEvent)
  const question = findOption(PriceEvent)
  const settings = yield* Settings
  const termsOf = yield* makePriceEventTerms
  const references = yield* makeReferences

  const get: PriceEventArena["get"] = Effect.fn("PriceEventArena.get")(function* (id) {
    if (!isUuid(id)) return yield* unknownChallenge(id)
    const now = yield* DateTime.now
    const found = yield* question(
      sql`${selectPriceEvent(sql, now)} where c.id = ${id}::uuid and c.type = 'price_event'`
    )
    return yield* Effect.fromOption(found).pipe(Effect.mapError(() => unknownChallenge(id)))
  })

  const list: PriceEventArena["list"] = Effect.fn("PriceEventArena.list")(function* (status, page) {
    const { after, cut, limit } = yield* pages.open(page)
    const now = yield* DateTime.now
    const rows = yield* questions(sql`
      ${selectPriceEvent(sql, now)}
       where c.type = 'price_event' ${whenGiven(sql, status, (value) => sql`and ${hasStatus(sql, value, now)}`)}
         ${pageAfter(sql, "c.id <", after)}
       order by c.id desc
       limit ${limit}`)
    return cut(rows, (last) => last.id)
  })

  const create: PriceEventArena["create"] = Effect.fn("PriceEventArena.create")(function* (asked) {
    // The other times must be whole hours or days, which its kind checks.
    const wanted = { ...asked, deadline: wholeSecond(asked.deadline) }
    const target = yield* targets
      .get(wanted.asset)
      .pipe(Effect.catch(() => unknownAsset(targets, wanted.asset)))
    // Crypto trades at all hours, so every hour has its candle. A pause concerns directional challenges only.
    if (target.category !== "crypto") {
      return yield* InvalidRequest.of("asset", `${target.key} is not a crypto asset`)
    }
    const now = yield* boundNow(sql)
    const terms = yield* termsOf(wanted, now)
    const id = yield* random.uuidV7()
    const cancelAt = DateTime.addDuration(
      DateTime.max(wanted.deadline, wanted.resolve_at),
      wholeSeconds(settings.priceEventVoidAfter)
    )
    const unworded = {
      ...noTerms,
      ...terms,
      challenge_id: id,
      challenge_type: "price_event",
      asset: target.key,
      kind: wanted.kind,
      event_id: null,
      created_at: now,
      deadline: wanted.deadline,
      resolve_at: wanted.resolve_at,
      close_price_until: cancelAt,
      cancel_at: cancelAt,
      rule_version: ruleVersion
    }
    const { question, ...criteria } = textsOf(unworded, target.name)
    const created = { ...unworded, ...criteria, question: wanted.question ?? question }
    const reference = yield* references.freeze(rowOf(unworded))
    yield* createChallenge(sql, created, reference)
    return yield* Effect.orDie(get(id))
  })

  return { get, list, create }
})

/** The daily closes that a scale is computed from: of so many UTC days, the last of which ends at a time, those that are known. */
export const makeDailyCloses = Effect.gen(function* () {
  const prices = yield* Prices
  return Effect.fnUntraced(function* (asset: string, end: number) {
    const now = yield* DateTime.now
    const { contested, counting } = closingCandles(
      yield* prices.closes(
        asset,
        dailyCloses(end, scaleReturns + 1).map((opens) => opens + hour),
        now
      )
    )
    // Nobody is asked to decide on a day that settles nothing: a scale takes its last hour.
    const hours = contested.flatMap((candles) => candles.filter(({ interval }) => interval === "1h"))
    return [...counting, ...hours]
      .toSorted((one, other) => one.endTime - other.endTime)
      .map(({ close }) => BigDecimal.toNumberUnsafe(close))
  })
})

const Printed = Schema.Struct({
  level: Schema.NullOr(Schema.String),
  reference_scale: Schema.NullOr(Schema.String)
})

/** The window of a barrier begins at the next whole hour; one in the past covers a week. */
const windowOf = ({ kind, resolve_at, window_from }: NewPriceEvent, now: DateTime.Utc) => {
  if (!candleFacts[kind].hasWindow) return null
  if (window_from !== undefined) return window_from
  return DateTime.isGreaterThan(resolve_at, now)
    ? DateTime.makeUnsafe(wholeHour(DateTime.toEpochMillis(now)))
    : DateTime.subtract(resolve_at, { days: 7 })
}

/** The terms of a new price event: as they were asked for, or computed from known prices. */
const makePriceEventTerms = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const prices = yield* Prices
  const closesUntil = yield* makeDailyCloses
  const printed = findOne(Printed)

  /** For a day in the past, the scale is that of a day before its end. */
  const scaleOfClose = Effect.fnUntraced(function* (
    asset: string,
    resolveAt: DateTime.Utc,
    now: DateTime.Utc
  ) {
    const isAhead = DateTime.isGreaterThan(resolveAt, now)
    const asOf = isAhead ? now : DateTime.subtract(resolveAt, { days: 1 })
    const lastMidnight = Math.floor(DateTime.toEpochMillis(asOf) / day) * day
    const closes = yield* closesUntil(asset, lastMidnight)
    const latest = isAhead ? yield* prices.latest(asset) : Option.none()
    const openPrice = Option.match(latest, {
      onNone: () => closes.at(-1) ?? 0,
      onSome: ({ price }) => BigDecimal.toNumberUnsafe(price)
    })
    const hours = (DateTime.toEpochMillis(resolveAt) - DateTime.toEpochMillis(asOf)) / hour
    return { scale: closeScale(openPrice, closes, hours), known: closes.length }
  })

  const scaleOf = Effect.fnUntraced(function* (wanted: NewPriceEvent, now: DateTime.Utc) {
    const { answers, counts } = candleFacts[wanted.kind]
    if (answers !== "number") return null
    if (wanted.reference_scale !== undefined) return wanted.reference_scale
    if (counts !== null) return roundedScale(scaleOfCount(counts))
    const { known, scale } = yield* scaleOfClose(wanted.asset, wanted.resolve_at, now)
    if (scale === undefined) {
      return yield* InvalidRequest.of(
        "reference_scale",
        `Expected a value: it is computed from the last ${scaleReturns + 1} daily closes of ${wanted.asset}, of which ${known} are known, and from their moves`
      )
    }
    return roundedScale(scale)
  })

  return Effect.fnUntraced(function* (wanted: NewPriceEvent, now: DateTime.Utc) {
    const { kind, level: wantedLevel, window_from } = wanted
    const windowFrom = windowOf(wanted, now)
    const errors = problemsOf({
      kind,
      level: wantedLevel,
      reference_scale: wanted.reference_scale,
      resolveAt: DateTime.toEpochMillis(wanted.resolve_at),
      windowFrom: windowFrom === null ? null : DateTime.toEpochMillis(windowFrom),
      isWindowGiven: window_from !== undefined
    })
    if (errors.length > 0) {
      const detail = errors.map(({ message, path }) => `${path}: ${message}`).join("; ")
      return yield* new InvalidRequest({ detail, errors })
    }
    const scale = yield* scaleOf(wanted, now)
    // Exact decimals as PostgreSQL prints them: the form in the criteria text and the log.
    const { level, reference_scale } = yield* printed(sql`
      select trim_scale(${wantedLevel === undefined ? null : plainDecimal(wantedLevel)}::numeric)::text as level,
             trim_scale(${scale === null ? null : plainDecimal(scale)}::numeric)::text as reference_scale`)
    return {
      level,
      reference_scale,
      // Calibration needs to know that counts are whole numbers.
      decimal_step: candleFacts[kind].counts === null ? null : "1",
      window_from: windowFrom
    }
  })
})
