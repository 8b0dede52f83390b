/**
 * First prints from FRED's API: the earliest of all vintages of an observation. A change is computed within that vintage, as the
 * statistical office computed it.
 */
import { BigDecimal, DateTime, Effect, Layer, Option, Redacted, Schema, Semaphore } from "effect"
import { DecimalText, numberIn } from "../../services/domain/numbers.ts"
import { MacroSource } from "../../services/MacroSource.ts"
import { SourceFailed } from "../../services/PriceSource.ts"
import { payloadHashOf } from "../crypto/payloadHash.ts"
import { makeRecorder } from "./recordingFetch.ts"
import { retryPolicy } from "./venue.ts"

const address = "https://api.stlouisfed.org/fred/series/observations"
/** FRED's word for "until today". */
const endOfTime = "9999-12-31"

const Day = Schema.String.check(Schema.isPattern(/^\d{4}-\d{2}-\d{2}$/))

const Value = Schema.Union([DecimalText, Schema.Literal(".")])

/** A decimal, or a point for no value. Anything else is an answer of another shape. */
const Observations = Schema.fromJsonString(
  Schema.Struct({
    observations: Schema.Array(Schema.Struct({ realtime_start: Day, date: Day, value: Value }))
  })
)

const decode = Schema.decodeUnknownOption(Observations)

class Rejected extends Error {
  readonly status: number
  constructor(status: number) {
    super(`it answered ${status}`)
    this.status = status
  }
}

const failed = (error: unknown) =>
  new SourceFailed({
    reason: error instanceof Rejected ? `fred: ${error.message}` : "fred: it cannot be reached",
    // A wrong key or an unknown series is not retried.
    kind: error instanceof Rejected && error.status < 429 ? "unknown" : "unavailable"
  })

const rounded = (text: string, decimals: number): Option.Option<number> =>
  Option.map(
    Option.filter(BigDecimal.fromString(text), () => Option.isSome(numberIn(text))),
    (value) => BigDecimal.toNumberUnsafe(BigDecimal.round(value, { scale: decimals, mode: "half-from-zero" }))
  )

const make = Effect.fnUntraced(function* (key: Redacted.Redacted) {
  const recorder = yield* makeRecorder("fred")
  const retried = yield* retryPolicy("fred", yield* Semaphore.make(1))

  const observations = Effect.fnUntraced(function* (query: Readonly<Record<string, string>>) {
    const parameters = new URLSearchParams({ ...query, file_type: "json", api_key: Redacted.value(key) })
    const { payloadHash, value } = yield* recorder.during(async () => {
      const response = await recorder.fetch(`${address}?${parameters.toString()}`)
      if (!response.ok) throw new Rejected(response.status)
      return response.text()
    }, failed)
    const decoded = decode(value)
    if (Option.isNone(decoded)) {
      return yield* new SourceFailed({ reason: "fred: its answer has another shape", kind: "unavailable" })
    }
    return { rows: decoded.value.observations, payloadHash }
  })

  const firstPrint: MacroSource["Service"]["firstPrint"] = Effect.fn("MacroSource.firstPrint")(function* ({
    asset,
    period,
    unit
  }) {
    const series = seriesOf(asset, unit)
    const observation = observationOf(period)
    if (series === undefined || observation === undefined) return Option.none()
    const parameters = { series_id: series.id, observation_start: observation, observation_end: observation }
    // Nothing is published before its period begins, so this excludes no vintage.
    const vintages = yield* retried(
      observations({ ...parameters, realtime_start: observation, realtime_end: endOfTime })
    )
    const [first] = vintages.rows
      .filter(({ date, value }) => date === observation && value !== ".")
      .toSorted((left, right) => left.realtime_start.localeCompare(right.realtime_start))
    if (first === undefined) return Option.none()
    const released = first.realtime_start
    const computed =
      series.units === "lin"
        ? vintages
        : yield* retried(
            observations({
              ...parameters,
              realtime_start: released,
              realtime_end: released,
              units: series.units
            })
          )
    const text =
      computed === vintages ? first.value : computed.rows.find(({ date }) => date === observation)?.value
    const fetchedAt = yield* DateTime.now
    return Option.map(rounded(text ?? ".", series.decimals), (value) => ({
      value,
      source: `FRED ${series.id} ${series.units}`,
      observation,
      releasedOn: released,
      fetchedAt,
      payloadHash: payloadHashOf(
        computed === vintages ? [vintages.payloadHash] : [vintages.payloadHash, computed.payloadHash]
      )
    }))
  })

  return MacroSource.of({ firstPrint })
})

export const layer = (key: Redacted.Redacted) => Layer.effect(MacroSource, make(key))

/** The FRED series of a value, and how its office computes and rounds it. */

interface Series {
  readonly id: string
  /** FRED's transformation: lin none, chg change, pch and pc1 percent over the period before and the year before. */
  readonly units: "lin" | "chg" | "pch" | "pc1"
  readonly decimals: number
}

const overAYear = "% over a year"
const overAMonth = "% over a month"

/** Series by asset and unit. Changes over a year are of unadjusted indices, over a month of adjusted ones, as published. */
const known: Readonly<Record<string, Readonly<Record<string, Series>>>> = {
  CPI: {
    [overAYear]: { id: "CPIAUCNS", units: "pc1", decimals: 1 },
    [overAMonth]: { id: "CPIAUCSL", units: "pch", decimals: 1 },
    index: { id: "CPIAUCNS", units: "lin", decimals: 3 }
  },
  CORE_CPI: {
    [overAYear]: { id: "CPILFENS", units: "pc1", decimals: 1 },
    [overAMonth]: { id: "CPILFESL", units: "pch", decimals: 1 }
  },
  PPI: {
    [overAYear]: { id: "PPIFID", units: "pc1", decimals: 1 },
    [overAMonth]: { id: "PPIFIS", units: "pch", decimals: 1 }
  },
  NFP: { "thousand jobs": { id: "PAYEMS", units: "chg", decimals: 0 } },
  UNRATE: { "%": { id: "UNRATE", units: "lin", decimals: 1 } },
  PCE: {
    [overAYear]: { id: "PCEPI", units: "pc1", decimals: 1 },
    [overAMonth]: { id: "PCEPI", units: "pch", decimals: 1 }
  },
  GDP: { "% annualised": { id: "A191RL1Q225SBEA", units: "lin", decimals: 1 } }
}

/** Other units have none: a value is never guessed. */
const seriesOf = (asset: string, unit: string | null): Series | undefined => known[asset]?.[unit ?? ""]

/** The first day of a period: `2026-03` or `2026-Q1`. */
const observationOf = (period: string): string | undefined => {
  const month = /^(\d{4})-(0[1-9]|1[0-2])$/.exec(period)
  if (month !== null) return `${month[1]}-${month[2]}-01`
  const quarter = /^(\d{4})-?Q([1-4])$/.exec(period)
  if (quarter === null) return undefined
  return `${quarter[1]}-${String(Number(quarter[2]) * 3 - 2).padStart(2, "0")}-01`
}
