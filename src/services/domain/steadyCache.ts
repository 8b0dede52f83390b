/** As `Effect.cachedWithTTL`, which goes by the wall clock: an hour set back would keep a value for an hour. */
import { Clock, Duration, Effect, Option, Ref, Semaphore } from "effect"

/** Keeps a result for this long by a clock that does not jump. Callers at once share one. */
export const cachedSteadily = Effect.fnUntraced(function* <A, E, R>(
  effect: Effect.Effect<A, E, R>,
  lifetime: Duration.Input
) {
  const nanos = Duration.toNanosUnsafe(lifetime)
  const kept = yield* Ref.make(Option.none<{ readonly at: bigint; readonly value: A }>())
  const turn = yield* Semaphore.make(1)
  return turn.withPermit(
    Effect.gen(function* () {
      const at = yield* Clock.monotonicTimeNanos
      const last = yield* Ref.get(kept)
      if (Option.isSome(last) && at - last.value.at < nanos) return last.value.value
      const value = yield* effect
      yield* Ref.set(kept, Option.some({ at, value }))
      return value
    })
  )
})
