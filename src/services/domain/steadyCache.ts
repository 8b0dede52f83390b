/**
 * Caches like `Effect.cachedWithTTL`, which uses the wall clock: with a clock set back by an hour, that would keep a value for an
 * hour.
 */
import { Clock, Duration, Effect, Exit, Option, Ref, Semaphore } from "effect"

/**
 * Caches a result, also a failure, for this long from its completion, by a clock that does not jump. Concurrent callers share one
 * run, however long it takes.
 */
export const cachedSteadily = Effect.fnUntraced(function* <A, E, R>(
  effect: Effect.Effect<A, E, R>,
  lifetime: Duration.Input
) {
  const nanos = Duration.toNanosUnsafe(lifetime)
  const kept = yield* Ref.make(Option.none<{ readonly at: bigint; readonly exit: Exit.Exit<A, E> }>())
  const turn = yield* Semaphore.make(1)
  // @effect-diagnostics-next-line returnEffectInGen:off -- made once, run by each caller
  return turn.withPermit(
    Effect.gen(function* () {
      const last = yield* Ref.get(kept)
      if (Option.isSome(last) && (yield* Clock.monotonicTimeNanos) - last.value.at < nanos) {
        return yield* last.value.exit
      }
      const exit = yield* Effect.exit(effect)
      // A caller that hangs up interrupts only its own wait.
      if (!Exit.hasInterrupts(exit)) {
        yield* Ref.set(kept, Option.some({ at: yield* Clock.monotonicTimeNanos, exit }))
      }
      return yield* exit
    })
  )
})
