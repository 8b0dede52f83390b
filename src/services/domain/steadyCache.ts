/** As `Effect.cachedWithTTL`, which goes by the wall clock: an hour set back would keep a value for an hour. */
import { Clock, Duration, Effect, Exit, Option, Ref, Semaphore } from "effect"

/**
 * Keeps a result, be it a failure, for this long by a clock that does not jump, from when it is there: callers at once share one,
 * however long it took.
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
      // Whoever hangs up interrupts its own wait only.
      if (!Exit.hasInterrupts(exit)) {
        yield* Ref.set(kept, Option.some({ at: yield* Clock.monotonicTimeNanos, exit }))
      }
      return yield* exit
    })
  )
})
