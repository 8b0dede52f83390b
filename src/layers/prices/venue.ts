/** A source of candles, behind retries and a circuit breaker. */
import { DateTime, Duration, Effect, Option, Schedule, Schema } from "effect"
import type { Semaphore } from "effect"
import { CircuitBreaker } from "effect/persistence"
import { Candle } from "../../services/Prices.ts"
import { SourceFailed } from "../../services/PriceSource.ts"
import type { Reading, Window } from "../../services/PriceSource.ts"

export interface Venue {
  readonly name: string
  readonly read: (asset: string, window: Window) => Effect.Effect<Reading, SourceFailed>
}

const firstPause = Duration.seconds(1)
const retries = 2
/** Failures in a row, retries included, that open the circuit breaker. */
const failuresInARow = 3
const restFor = Duration.minutes(1)
const maxRest = Duration.minutes(10)

const isUnavailable = ({ kind }: SourceFailed): boolean => kind === "unavailable"

const restless = CircuitBreaker.make({
  tripPolicy: CircuitBreaker.consecutive(failuresInARow),
  openDuration: restFor,
  maxOpenDuration: maxRest
}).pipe(Effect.provide(CircuitBreaker.layerStoreMemory()))

/** Retries and a circuit breaker around a venue that serves one call at a time. */
export const makeCare = Effect.fnUntraced(function* (name: string, turns: Semaphore.Semaphore) {
  const breaker = yield* restless
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
            reason: `${name} failed several times in a row and rests`,
            kind: "resting"
          })
      ),
      turns.withPermits(1)
    )
})

const decodeCandle = Schema.decodeUnknownOption(Schema.toType(Candle))
const sameCandle = Schema.toEquivalence(Schema.toType(Candle))

/**
 * The usable candles of an answer: whole hours that begin on the hour and lie in the window. An hour with two different
 * values is dropped and fetched again.
 */
export const usableCandles = (
  answered: ReadonlyArray<unknown>,
  { from, until }: Window
): ReadonlyArray<Candle> => {
  const byTime = new Map<number, ReadonlyArray<Candle>>()
  for (const each of answered) {
    const candle = Option.getOrUndefined(decodeCandle(each))
    if (candle === undefined) continue
    const time = DateTime.toEpochMillis(candle.time)
    const begins = time % 3_600_000 === 0 && time >= DateTime.toEpochMillis(from)
    if (!begins || time + 3_600_000 > DateTime.toEpochMillis(until)) continue
    const known = byTime.get(time) ?? []
    if (!known.some((other) => sameCandle(other, candle))) byTime.set(time, [...known, candle])
  }
  return [...byTime]
    .sort(([left], [right]) => left - right)
    .flatMap(([, candles]) => (candles.length === 1 ? candles : []))
}
