/** The terms of a new price-event question: as they were asked for, or computed from the prices that are known. */
import { BigDecimal, DateTime, Effect, Option, Schema } from "effect"
import { SqlClient } from "effect/sql"
import {
  priceEventCriteria,
  priceEventCriteriaChinese,
  priceEventQuestion
} from "../../../scoring/priceEventCriteria.ts"
import {
  closeScale,
  countedDays,
  countScale,
  dailyCloses,
  day,
  hour,
  scaleReturns,
  wholeHour
} from "../../../scoring/priceEvents.ts"
import { InvalidRequest } from "../../../services/errors.ts"
import type { FieldProblem } from "../../../services/errors.ts"
import type { NewPriceEvent } from "../../../services/domain/Challenge.ts"
import { Prices } from "../../../services/Prices.ts"
import { Settings } from "../../../services/Settings.ts"
import type { Target } from "../../../services/Targets.ts"
import { decimal, findOne } from "../sql.ts"

const Printed = Schema.Struct({
  level: Schema.NullOr(Schema.String),
  reference_scale: Schema.NullOr(Schema.String)
})

const monday = 1
const isNumeric = ({ kind }: NewPriceEvent) => kind === "numeric_close" || kind === "count_days"

/** Eleven years; a time a thousand years on is a mistake. */
const maxHours = 100_000

/** A barrier begins with the first whole hour from its making on; of a window in the past it is the last week of it. */
const windowOf = ({ kind, resolve_at, window_from }: NewPriceEvent, now: DateTime.Utc) => {
  if (kind !== "barrier") return null
  if (window_from !== undefined) return window_from
  return DateTime.isGreaterThan(resolve_at, now)
    ? DateTime.makeUnsafe(wholeHour(DateTime.toEpochMillis(now)))
    : DateTime.subtract(resolve_at, { days: 7 })
}

const isHour = (moment: DateTime.Utc) => DateTime.toEpochMillis(moment) % hour === 0

/** What is wrong with when a barrier begins and ends. */
const windowProblem = (
  { resolve_at, window_from }: NewPriceEvent,
  windowFrom: DateTime.Utc
): FieldProblem | undefined => {
  const anHour = "Expected a whole hour, for example 2026-01-31T12:00:00Z"
  const hours = (DateTime.toEpochMillis(resolve_at) - DateTime.toEpochMillis(windowFrom)) / hour
  if (!isHour(resolve_at)) return { path: "resolve_at", message: anHour }
  if (!isHour(windowFrom)) return { path: "window_from", message: anHour }
  if (hours > maxHours) {
    const path = window_from === undefined ? "resolve_at" : "window_from"
    return { path, message: `Expected a window of at most ${maxHours} hours` }
  }
  if (hours > 0) return undefined
  return window_from === undefined
    ? { path: "resolve_at", message: "Expected a whole hour that begins from now on, or a window_from" }
    : { path: "window_from", message: "Expected a time before resolve_at" }
}

/** What of a question does not fit its kind. */
const problemsOf = (wanted: NewPriceEvent, windowFrom: DateTime.Utc | null): ReadonlyArray<FieldProblem> => {
  const { kind, level, reference_scale, resolve_at, window_from } = wanted
  const problems: Array<FieldProblem> = []
  const wrong = (path: string, message: string) => problems.push({ path, message })
  const isMidnight = DateTime.toEpochMillis(resolve_at) % day === 0
  if (isNumeric(wanted)) {
    if (level !== undefined) wrong("level", `Expected no value: a ${kind} question has no level`)
  } else {
    if (level === undefined) wrong("level", `Missing key: a ${kind} question has a level`)
    if (reference_scale !== undefined) {
      wrong("reference_scale", `Expected no value: a ${kind} question has no reference scale`)
    }
  }
  if (windowFrom !== null) {
    const problem = windowProblem(wanted, windowFrom)
    return problem === undefined ? problems : [...problems, problem]
  }
  if (window_from !== undefined) wrong("window_from", `Expected no value: only a barrier has a window`)
  if (kind === "count_days" && !(isMidnight && DateTime.getPartUtc(resolve_at, "weekDay") === monday)) {
    wrong("resolve_at", "Expected the midnight (UTC) that begins a Monday, at which the seven days end")
  } else if (!isMidnight) {
    wrong("resolve_at", "Expected the midnight (UTC) at which the day ends, for example 2026-02-01T00:00:00Z")
  }
  return problems
}

export const makePriceEventTerms = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const prices = yield* Prices
  const settings = yield* Settings
  const printed = findOne(Printed)

  /** Of a day in the past the scale is what it would have been a day before its end. */
  const scaleOfClose = Effect.fnUntraced(function* (
    asset: string,
    resolveAt: DateTime.Utc,
    now: DateTime.Utc
  ) {
    const isAhead = DateTime.isGreaterThan(resolveAt, now)
    const asOf = isAhead ? now : DateTime.subtract(resolveAt, { days: 1 })
    const lastMidnight = Math.floor(DateTime.toEpochMillis(asOf) / day) * day
    const candles = yield* prices.hourly(asset, dailyCloses(lastMidnight, scaleReturns + 1))
    const closes = candles.map(({ close }) => BigDecimal.toNumberUnsafe(close))
    const latest = isAhead ? yield* prices.latest(asset) : Option.none()
    const openPrice = Option.match(latest, {
      onNone: () => closes.at(-1) ?? 0,
      onSome: ({ price }) => BigDecimal.toNumberUnsafe(price)
    })
    const hours = (DateTime.toEpochMillis(resolveAt) - DateTime.toEpochMillis(asOf)) / hour
    return { scale: closeScale(openPrice, closes, hours), known: closes.length }
  })

  const scaleOf = Effect.fnUntraced(function* (wanted: NewPriceEvent, now: DateTime.Utc) {
    if (!isNumeric(wanted)) return null
    if (wanted.reference_scale !== undefined) return wanted.reference_scale
    if (wanted.kind === "count_days") return countScale
    const { known, scale } = yield* scaleOfClose(wanted.asset, wanted.resolve_at, now)
    if (scale === undefined) {
      return yield* InvalidRequest.of(
        "reference_scale",
        `Expected a value: it is computed from the last ${scaleReturns + 1} daily closes of ${wanted.asset}, of which ${known} are known, and from their moves`
      )
    }
    return scale
  })

  return Effect.fnUntraced(function* (wanted: NewPriceEvent, target: Target, now: DateTime.Utc) {
    const windowFrom = windowOf(wanted, now)
    const errors = problemsOf(wanted, windowFrom)
    if (errors.length > 0) {
      const detail = errors.map(({ message, path }) => `${path}: ${message}`).join("; ")
      return yield* new InvalidRequest({ detail, errors })
    }
    const scale = yield* scaleOf(wanted, now)
    // As PostgreSQL prints exact decimals, which is how the criteria text and the log show them.
    const { level, reference_scale } = yield* printed(sql`
      select trim_scale(${wanted.level === undefined ? null : decimal(wanted.level)}::numeric)::text as level,
             trim_scale(${scale === null ? null : decimal(scale)}::numeric)::text as reference_scale`)
    const cancelAt = DateTime.addDuration(
      DateTime.max(wanted.deadline, wanted.resolve_at),
      settings.priceEventVoidAfter
    )
    const texts = {
      kind: wanted.kind,
      targetName: target.name,
      target: target.key,
      firstDay: DateTime.formatIsoDateUtc(DateTime.subtract(wanted.resolve_at, { days: countedDays })),
      lastDay: DateTime.formatIsoDateUtc(DateTime.subtract(wanted.resolve_at, { days: 1 })),
      windowFrom: windowFrom === null ? null : DateTime.formatIso(windowFrom),
      resolveAt: DateTime.formatIso(wanted.resolve_at),
      voidAt: DateTime.formatIso(cancelAt),
      level,
      scale: reference_scale
    }
    return {
      level,
      reference_scale,
      // Counts come in whole numbers, which calibration has to know.
      decimal_step: wanted.kind === "count_days" ? "1" : null,
      window_from: windowFrom,
      cancel_at: cancelAt,
      question: wanted.question ?? priceEventQuestion(texts),
      resolution_criteria: priceEventCriteria(texts),
      resolution_criteria_zh: priceEventCriteriaChinese(texts)
    }
  })
})
