/** Waiting in real time for an event, also in a test whose clock stands still. */
import { setTimeout } from "node:timers/promises"
import { Effect } from "effect"
import { TestClock } from "effect/testing"

const pause = (millis: number) => Effect.promise(() => setTimeout(millis))

/** Reads again and again until an answer is right. */
export const readUntil = Effect.fnUntraced(function* <A, E, R>(
  read: Effect.Effect<A, E, R>,
  isRight: (answer: A) => boolean
) {
  let answer = yield* read
  while (!isRight(answer)) {
    yield* pause(3)
    answer = yield* read
  }
  return answer
})

/** Waits until a condition outside of the test's clock holds. */
export const until = (fact: () => boolean) => Effect.asVoid(readUntil(Effect.sync(fact), (holds) => holds))

/**
 * Moves the test's clock on, step by step, until the effect has ended: its pauses and time limits are of that clock, its sockets and
 * statements need real time, a few milliseconds a step.
 */
export const passing = <A, E, R>(
  effect: Effect.Effect<A, E, R>,
  step: Parameters<typeof TestClock.adjust>[0],
  millis = 3
) => Effect.raceFirst(effect, Effect.forever(Effect.andThen(pause(millis), TestClock.adjust(step))))
