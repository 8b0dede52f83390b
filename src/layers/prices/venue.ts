/** A source of candles, behind retries and a circuit breaker. */
import { DateTime, Duration, Effect, Option, Predicate, Schedule, Schema } from "effect"
import type { Semaphore } from "effect"
import { CircuitBreaker } from "effect/persistence"
import { Candle } from "../../services/Prices.ts"
import { SourceFailed } from "../../services/PriceSource.ts"
import type { Reading, Window } from "../../services/PriceSource.ts"

/** An answer of a venue, with the hours for which it has something other than a candle. */
export interface VenueReading extends Reading {
  /** Open times, in milliseconds since 1970. */
  readonly unusable: ReadonlyArray<number>
}

export interface Venue {
  readonly name: string
  readonly read: (asset: string, window: Window) => Effect.Effect<VenueReading, SourceFailed>
}

const firstPause = Duration.seconds(1)
const retries = 2
/** Failures in a row, retries included, that open the circuit breaker. */
const failuresInARow = 3
const openDuration = Duration.minutes(1)
const maxOpenDuration = Duration.minutes(10)

const isUnavailable = ({ kind }: SourceFailed): boolean => kind === "unavailable"

const circuitBreaker = CircuitBreaker.make({
  tripPolicy: CircuitBreaker.consecutive(failuresInARow),
  openDuration,
  maxOpenDuration
}).pipe(Effect.provide(CircuitBreaker.layerStoreMemory()))

/** Retries and a circuit breaker around a venue that serves one call at a time. */
export const retryPolicy = Effect.fnUntraced(function* (name: string, turns: Semaphore.Semaphore) {
  const breaker = yield* circuitBreaker
  return <A>(ask: Effect.Effect<A, SourceFailed>): Effect.Effect<A, SourceFailed> =>
    ask.pipe(
      Effect.retry({
        times: retries,
        while: isUnavailable,
        schedule: Schedule.jittered(Schedule.exponential(firstPause, 3))
      }),
      breaker.execute({
        key: name,
        classify: (exit) => {
          if (exit._tag === "Success") return CircuitBreaker.success
          const failed = exit.cause.reasons.some(
            (reason) => reason._tag === "Fail" && isUnavailable(reason.error)
          )
          return failed ? CircuitBreaker.failure() : CircuitBreaker.ignored
        }
      }),
      Effect.catchTag(
        "CircuitBreakerError",
        () =>
          new SourceFailed({
            reason: `${name} failed several times in a row: its circuit breaker is open`,
            kind: "circuit_open"
          })
      ),
      turns.withPermits(1)
    )
})

const hour = 3_600_000

/** The open times of the hours of a window, in milliseconds since 1970. */
export const hoursOf = ({ from, until }: Window): ReadonlyArray<number> => {
  const first = DateTime.toEpochMillis(from)
  const count = Math.max(0, Math.floor((DateTime.toEpochMillis(until) - first) / hour))
  return Array.from({ length: count }, (_, index) => first + index * hour)
}

const decodeCandle = Schema.decodeUnknownOption(Schema.toType(Candle))
const sameCandle = Schema.toEquivalence(Schema.toType(Candle))

/** A row of an answer, as a venue's client returns it. */
export interface Row {
  readonly time: unknown
  readonly open: unknown
  readonly high: unknown
  readonly low: unknown
  readonly close: unknown
}

/** A venue shows an interval without a trade as a row without any price. */
const isWithoutTrade = ({ close, high, low, open }: Row): boolean =>
  [open, high, low, close].every(Predicate.isNullish)

const timeOf = ({ time }: Row): Option.Option<DateTime.Utc> => {
  if (time instanceof Date) return DateTime.make(time)
  return Predicate.isNumber(time) ? DateTime.make(time) : Option.none()
}

/**
 * Splits an answer into candles, which are whole past hours of the window, and unusable hours: those with an impossible candle, with
 * two candles, or with a time within the hour but none at its beginning. A row without a readable time, or of the future, may belong
 * to any hour, so every hour without a candle is then unusable.
 */
export const candlesIn = (
  rows: ReadonlyArray<Row>,
  window: Window,
  { isPossible, now }: { readonly isPossible: (candle: Candle) => boolean; readonly now: DateTime.Utc }
): Pick<VenueReading, "candles" | "unusable"> => {
  const hours = hoursOf({ ...window, until: DateTime.min(window.until, now) })
  const candles = new Map<number, Candle>()
  const unusable = new Set<number>()
  const withinHour = new Set<number>()
  let isAnyHourUnusable = false
  for (const row of rows) {
    const time = timeOf(row)
    if (Option.isNone(time) || DateTime.isGreaterThan(time.value, now)) {
      isAnyHourUnusable = true
      continue
    }
    const at = DateTime.toEpochMillis(time.value)
    if (at < DateTime.toEpochMillis(window.from) || isWithoutTrade(row)) continue
    const opens = Math.floor(at / hour) * hour
    if (opens !== at) {
      withinHour.add(opens)
      continue
    }
    const candle = Option.filter(decodeCandle({ ...row, time: time.value }), isPossible)
    const known = candles.get(at)
    if (Option.isNone(candle) || (known !== undefined && !sameCandle(known, candle.value))) unusable.add(at)
    else candles.set(at, candle.value)
  }
  const isUsable = (at: number) => candles.has(at) && !unusable.has(at)
  return {
    candles: hours.flatMap((at) => {
      const candle = candles.get(at)
      return candle === undefined || unusable.has(at) ? [] : [candle]
    }),
    unusable: hours.filter(
      (at) => !isUsable(at) && (isAnyHourUnusable || unusable.has(at) || withinHour.has(at))
    )
  }
}
