/** Makes the terms of a new price event: the requested ones, or terms computed from known prices. */
import { BigDecimal, DateTime, Effect, Option, Schema } from "effect"
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
import { candleFacts, eachLevel } from "../../../scoring/kinds/facts.ts"
import type { CandleKindName } from "../../../scoring/kinds/facts.ts"
import { problemsOf } from "../../../scoring/kinds/kinds.ts"
import { ruleVersion } from "../../../scoring/kinds/priceEvent.ts"
import { plainDecimal, roundedScale } from "../../../scoring/wording.ts"
import type { NewPriceEvent } from "../../../services/domain/Challenge.ts"
import { InvalidRequest } from "../../../services/domain/errors.ts"
import { wholeSeconds } from "../../../services/domain/text.ts"
import { Prices } from "../../../services/Prices.ts"
import { Settings } from "../../../services/Settings.ts"
import type { Target } from "../../../services/Targets.ts"
import { exact, findOne, orDie } from "../sql.ts"
import type { DraftOf } from "./rows.ts"
import { exactLevels, levelColumns, levelValues } from "../levels.ts"

/** Reads the known daily closes from which a scale is computed, up to the UTC day that ends at a time. */
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
    // No administrator decides about a contested day that settles nothing: the scale takes its last hour.
    const hours = contested.flatMap((candles) => candles.filter(({ interval }) => interval === "1h"))
    return [...counting, ...hours]
      .toSorted((one, other) => one.endTime - other.endTime)
      .map(({ close }) => BigDecimal.toNumberUnsafe(close))
  })
})

const Printed = Schema.Struct({
  ...eachLevel(() => Schema.NullOr(Schema.String)),
  reference_scale: Schema.NullOr(Schema.String)
})

const decimalOf = (value: number | undefined): string | null =>
  value === undefined ? null : plainDecimal(value)

/** By default the window of a barrier begins at the next whole hour; a window in the past covers a week. */
const windowOf = ({ kind, resolve_at, window_from }: NewPriceEvent, now: DateTime.Utc) => {
  if (!candleFacts[kind].hasWindow) return null
  if (window_from !== undefined) return window_from
  return DateTime.isGreaterThan(resolve_at, now)
    ? DateTime.makeUnsafe(wholeHour(DateTime.toEpochMillis(now)))
    : DateTime.subtract(resolve_at, { days: 7 })
}

export const makePriceEventTerms = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const settings = yield* Settings
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

  /** Says why a kind is not asked on a target. Crypto trades at all hours, so every hour has its candle. */
  const problemOfTarget = Effect.fnUntraced(function* (kind: CandleKindName, { category, key }: Target) {
    if (category === "crypto") return undefined
    if (candleFacts[kind].targets === "crypto") return `${key} is not a crypto asset`
    const known =
      yield* sql`select 1 from price_points where asset = ${key} and interval = '1d' limit 1`.pipe(orDie)
    return known.length > 0 ? undefined : `No daily closes of ${key} are known`
  })

  // The deadline is a whole second; the other times must be whole hours or days, which the kind checks.
  const draft: DraftOf<"price_event"> = Effect.fnUntraced(function* (wanted, target, now) {
    // A pause of the target concerns directional challenges only.
    const problem = yield* problemOfTarget(wanted.kind, target)
    if (problem !== undefined) return yield* InvalidRequest.of("asset", problem)
    const { kind, window_from } = wanted
    const windowFrom = windowOf(wanted, now)
    const errors = problemsOf({
      kind,
      ...eachLevel((name) => wanted[name]),
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
    const given = {
      ...eachLevel((name) => decimalOf(wanted[name])),
      reference_scale: decimalOf(scale ?? undefined)
    }
    const decimals = yield* printed(sql`
      select ${exactLevels(sql)}, ${exact(sql, "c.reference_scale")} as reference_scale
        from (values (${levelValues(sql, given)}, ${given.reference_scale}::numeric)) as c (${levelColumns(sql)}, reference_scale)`)
    const cancelAt = DateTime.addDuration(
      DateTime.max(wanted.deadline, wanted.resolve_at),
      wholeSeconds(settings.priceEventVoidAfter)
    )
    return {
      kind,
      resolve_at: wanted.resolve_at,
      close_price_until: cancelAt,
      cancel_at: cancelAt,
      rule_version: ruleVersion,
      ...decimals,
      // Calibration needs to know that counts are whole numbers.
      decimal_step: candleFacts[kind].counts === null ? null : "1",
      window_from: windowFrom
    }
  })

  return draft
})
