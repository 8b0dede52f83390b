/**
 * Prices that settle questions. Every price point is stored with its source and the time it was fetched, and never changes; a second,
 * different value for the same point is quarantined and settles nothing until an administrator decides.
 */
import { Context, Schema } from "effect"
import type { BigDecimal, DateTime, Effect, Option } from "effect"
import type { InvalidRequest, NotFound } from "./domain/errors.ts"
import { QuarantineId, TargetKey } from "./domain/ids.ts"
import { list, Instant, Timestamp } from "./domain/text.ts"
import { pageSchema } from "./domain/paging.ts"
import type { Page, PageOf } from "./domain/paging.ts"

/** A price as it was sent, stored as the exact decimal of the JSON number. Crude oil was negative in April 2020. */
const Price = Schema.Finite.check(Schema.isBetween({ minimum: -1e15, maximum: 1e15 }))

/** `time` is the open time. */
export const Candle = Schema.Struct({
  time: Instant,
  open: Price,
  high: Price,
  low: Price,
  close: Price
}).check(
  Schema.makeFilter((candle: { open: number; high: number; low: number; close: number }) =>
    candle.low <= Math.min(candle.open, candle.close) && candle.high >= Math.max(candle.open, candle.close)
      ? undefined
      : "Expected low <= open, close <= high"
  )
)
export type Candle = typeof Candle.Type

/** True if every price of a candle is above 0, as all but those of crude oil are: no price is below the low. */
export const isPositive = ({ low }: Candle): boolean => low > 0

export const Quote = Schema.Struct({ time: Instant, price: Price })
export type Quote = typeof Quote.Type

const points = { minimum: 1, maximum: 20_000 }

/** An administrator's import: candles of one interval, or quotes. */
export const PriceImport = Schema.Union([
  Schema.Struct({
    asset: TargetKey,
    interval: Schema.Literals(["1h", "1d"]),
    candles: list(Candle, points)
  }),
  Schema.Struct({ asset: TargetKey, quotes: list(Quote, points) })
])
export type PriceImport = typeof PriceImport.Type

/** A quarantined point, which contradicts a stored one. */
export const QuarantinedPrice = Schema.Struct({
  id: QuarantineId,
  source: Schema.String,
  asset: Schema.String,
  interval: Schema.Literals(["1h", "1d", "quote"]),
  time: Timestamp,
  stored_close: Schema.Finite,
  offered_close: Schema.Finite,
  received_at: Timestamp,
  decision: Schema.NullOr(Schema.Literals(["accepted", "rejected"])),
  reason: Schema.NullOr(Schema.String)
}).annotate({ identifier: "QuarantinedPrice" })
export type QuarantinedPrice = typeof QuarantinedPrice.Type

export const QuarantinedPrices = pageSchema(QuarantinedPrice)

export const ImportReport = Schema.Struct({
  asset: Schema.String,
  inserted: Schema.Int,
  unchanged: Schema.Int,
  quarantined: Schema.Array(QuarantinedPrice)
}).annotate({ identifier: "ImportReport" })
export type ImportReport = typeof ImportReport.Type

export const CandleInterval = Schema.Literals(["1h", "1d"])

/** The valid candles of an asset, as everybody may read them. */
export const Candles = Schema.Struct({
  asset: Schema.String,
  interval: CandleInterval,
  items: Schema.Array(
    Schema.Struct({
      time: Timestamp.annotate({ description: "when it opens; its close is observed when it ends" }),
      open: Schema.Finite,
      high: Schema.Finite,
      low: Schema.Finite,
      close: Schema.Finite,
      source: Schema.String,
      fetched_at: Timestamp
    })
  ),
  next_cursor: Schema.NullOr(Schema.String)
}).annotate({ identifier: "Candles" })
export type Candles = typeof Candles.Type

export const LatestPrices = Schema.Struct({
  prices: Schema.Array(
    Schema.Struct({
      asset: Schema.String,
      price: Schema.Finite,
      observed_at: Timestamp,
      source: Schema.String.annotate({ description: "with the interval of its candle, or quote" }),
      fetched_at: Timestamp
    })
  )
}).annotate({ identifier: "LatestPrices" })

/** Candles that open from one time on, and before another. */
export interface CandleFilter {
  readonly asset: string
  readonly interval: typeof CandleInterval.Type
  readonly from?: DateTime.Utc | undefined
  readonly before?: DateTime.Utc | undefined
}

/** One observed price: a quote at its time, or a candle's close at the candle's end. */
export interface ObservedPrice {
  readonly asset: string
  readonly price: BigDecimal.BigDecimal
  readonly observedAt: DateTime.Utc
  readonly fetchedAt: DateTime.Utc
  /** The origin for the settlement's record, for example `admin 1h candle`. */
  readonly source: string
  /** SHA-256 of the bytes that the source answered; null for an administrator's import. */
  readonly payloadHash: Uint8Array | null
}

/** One candle of an asset, as one source shows it. */
export interface KnownCandle {
  /** The opening time in milliseconds since 1970, UTC. */
  readonly openTime: number
  readonly endTime: number
  readonly high: BigDecimal.BigDecimal
  readonly low: BigDecimal.BigDecimal
  readonly close: BigDecimal.BigDecimal
  readonly fetchedAt: DateTime.Utc
  /** The source, for example `admin 1h candle`. */
  readonly source: string
  /** The same hash as in an observed price. */
  readonly payloadHash: Uint8Array | null
}

/** The closing candle of a UTC day: the daily one, or the last 1-hour one. */
export interface KnownClose extends KnownCandle {
  readonly interval: "1d" | "1h"
  /** The time at which it was fetched, in milliseconds since 1970. */
  readonly knownAt: number
  /** True for a daily candle that an administrator decided to count instead of the 1-hour one. */
  readonly isUpheld: boolean
}

/** The range of several 1-hour candles, adjacent or not. */
export interface HourlySpan {
  readonly low: BigDecimal.BigDecimal
  readonly high: BigDecimal.BigDecimal
  /** True if the level lies within one of them. */
  readonly touched: boolean
  /** The number of candles. */
  readonly count: number
  /** The end of the last of them, in milliseconds since 1970, UTC. */
  readonly until: number
}

export class Prices extends Context.Service<
  Prices,
  {
    /** Stores new points and reports contradictions. A repeated value changes nothing. */
    readonly import: (prices: PriceImport) => Effect.Effect<ImportReport, NotFound | InvalidRequest>
    /** The latest price known now. */
    readonly latest: (asset: string) => Effect.Effect<Option.Option<ObservedPrice>>
    /** The latest price of every asset that has one, in the order of the catalog. */
    readonly latestOfAll: Effect.Effect<typeof LatestPrices.Type>
    /** Past candles, latest first; of several sources the first by name, each by its newest revision. */
    readonly candles: (filter: CandleFilter, page: Page) => Effect.Effect<Candles, InvalidRequest>
    /**
     * The first price observed in [from, until], as known now: so the settling price does not depend on when the resolver runs. A
     * point in the future is not observed.
     */
    readonly firstBetween: (
      asset: string,
      from: DateTime.Utc,
      until: DateTime.Utc
    ) => Effect.Effect<Option.Option<ObservedPrice>>
    /**
     * The 1-hour candles that open at these times (milliseconds since 1970, UTC), as known now and over, in the order of time; with a
     * time, only those known by then. If several sources have an hour, the first by name counts.
     */
    readonly hourly: (
      asset: string,
      openTimes: ReadonlyArray<number>,
      knownBy?: DateTime.Utc
    ) => Effect.Effect<ReadonlyArray<KnownCandle>>
    /**
     * The closing candles of the UTC days with these ends (milliseconds since 1970), as known by a time, in the order of time. Each
     * day has those of one source: the administrators' decision if there is one, else the first by name.
     */
    readonly closes: (
      asset: string,
      endsOfDays: ReadonlyArray<number>,
      knownBy: DateTime.Utc
    ) => Effect.Effect<ReadonlyArray<KnownClose>>
    /**
     * Asks administrators which close of a day counts, as a case of the quarantine that offers the 1-hour candle's close for the
     * daily candle. A repeated call finds the same case.
     */
    readonly contestClose: (asset: string, closes: ReadonlyArray<KnownClose>) => Effect.Effect<void>
    /**
     * The span of the candles of `hourly` that open from one time until before another, beside a level, computed in the database;
     * none while none is known.
     */
    readonly hourlySpan: (
      asset: string,
      hours: { readonly from: number; readonly until: number; readonly level: BigDecimal.BigDecimal }
    ) => Effect.Effect<Option.Option<HourlySpan>>
    /** The cases that wait for an administrator's decision, oldest first. */
    readonly quarantine: (page: Page) => Effect.Effect<PageOf<QuarantinedPrice>, InvalidRequest>
    /** Accepts the offered value as the point's new revision, or rejects it. A case is decided once. */
    readonly decide: (
      id: string,
      decision: { readonly accept: boolean; readonly reason: string }
    ) => Effect.Effect<QuarantinedPrice, NotFound | InvalidRequest>
  }
>()("auspex/services/Prices") {}

/** The result of a run, in candles. */
export interface IngestionReport {
  /** Candles seen for the first time. */
  readonly read: number
  /** Candles seen again with the same values: now price points. */
  readonly settled: number
  /** Candles seen again with different values. */
  readonly contested: number
  /** Candles that were not traded, or not recorded anywhere. */
  readonly absent: number
  /** Assets for which no place answered. */
  readonly failed: ReadonlyArray<string>
}

/**
 * Makes price points of the readings of price sources. A candle becomes a point when it is over and its source showed it twice alike,
 * some time apart. A candle that was shown in two ways waits for an administrator, and settles nothing.
 */
export class PriceIngestion extends Context.Service<
  PriceIngestion,
  {
    /** The places that the source asks, each in a job of its own. */
    readonly places: ReadonlyArray<string>
    /**
     * Asks one place for its due candles. Rows show the due ones, so any number of replicas may run it at once, and after a crash or
     * an outage it continues from there.
     */
    readonly ingestDue: (place: string) => Effect.Effect<IngestionReport>
    /** Updates the metric of late prices. */
    readonly measure: Effect.Effect<void>
  }
>()("auspex/services/PriceIngestion") {}
