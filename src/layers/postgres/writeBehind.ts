/**
 * Rows that nobody waits for: they are kept in memory and written together, with a rest between two writes, and at the end
 * of the scope what is left. A process that is killed loses those of its last rest.
 */
import { Array as Arr, Cause, Effect, Latch } from "effect"
import type { Duration } from "effect"
import { isAway } from "./naturalBatch.ts"

export interface Options<Item> {
  /** Writes all of them or none; writing one that was written before does nothing. */
  readonly write: (items: Arr.NonEmptyReadonlyArray<Item>) => Effect.Effect<unknown>
  /** So long between two writes, unless there is more than one can take. */
  readonly rest: Duration.Input
  readonly largest: number
}

/** A database that is away is asked again so often, for minutes. */
const restWhileAway: Duration.Input = "5 seconds"
const mostAttempts = 100

/** Takes an item, to be written soon. */
export const make = Effect.fnUntraced(function* <Item>({ largest, rest, write }: Options<Item>) {
  const kept: Array<Item> = []
  const some = Latch.makeUnsafe(false)
  let attemptsInVain = 0

  const lost = (items: ReadonlyArray<Item>, cause: Cause.Cause<unknown>) =>
    Effect.logError("rows could not be written and are lost", cause).pipe(
      Effect.annotateLogs({ rows: items.length })
    )

  const written = (items: Arr.NonEmptyReadonlyArray<Item>, mayWait: boolean): Effect.Effect<void> =>
    Effect.matchCauseEffect(
      Effect.suspend(() => write(items)),
      {
        onSuccess: () => {
          attemptsInVain = 0
          return Effect.void
        },
        onFailure: (cause) => {
          if (isAway(cause)) {
            attemptsInVain += 1
            if (!mayWait || attemptsInVain > mostAttempts) return lost(items, cause)
            kept.unshift(...items)
            some.openUnsafe()
            return Effect.void
          }
          // What fails in company is written alone, so that it takes nobody with it.
          return items.length === 1
            ? lost(items, cause)
            : Effect.forEach(items, (item) => written([item], mayWait), { discard: true })
        }
      }
    )

  const flush = (mayWait: boolean) =>
    Effect.suspend(() => {
      const items = kept.splice(0, largest)
      if (kept.length === 0) some.closeUnsafe()
      return Arr.isArrayNonEmpty(items) ? written(items, mayWait) : Effect.void
    })

  yield* Effect.addFinalizer(() =>
    Effect.whileLoop({ while: () => kept.length > 0, body: () => flush(false), step: () => {} })
  )
  const pause = Effect.suspend(() => {
    if (attemptsInVain > 0) return Effect.sleep(restWhileAway)
    return kept.length < largest ? Effect.sleep(rest) : Effect.void
  })
  // A write that has begun is ended, whenever the scope is.
  yield* Effect.forkScoped(
    Effect.forever(Effect.andThen(some.whenOpen(Effect.uninterruptible(flush(true))), pause))
  )

  return (item: Item): void => {
    kept.push(item)
    some.openUnsafe()
  }
})
