/**
 * Rows that nobody waits for: they are kept in memory and written together, with a rest between two writes, and at the end
 * of the scope what is left. A process that is killed loses those of its last rest.
 */
import { Array as Arr, Effect, Exit, Latch } from "effect"
import type { Cause, Duration } from "effect"
import { storeUnavailableIn } from "../../services/errors.ts"

export interface Options<Item> {
  /** Writes all of them or none; writing one that was written before does nothing. */
  readonly write: (items: Arr.NonEmptyReadonlyArray<Item>) => Effect.Effect<unknown>
  /** So long between two writes, unless there is more than one can take. */
  readonly rest: Duration.Input
  readonly largest: number
}

/** The database is away, or a lock was waited for in vain: nothing is wrong with the rows. */
const isUnavailable = (cause: Cause.Cause<unknown>): boolean => storeUnavailableIn(cause).length > 0

/** Rows that could not be written are tried again so often, for minutes. */
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

  /** To be tried again; given up when that has been in vain for minutes, or nothing comes after. */
  const putBack = (items: ReadonlyArray<Item>, cause: Cause.Cause<unknown>, mayWait: boolean) => {
    attemptsInVain += 1
    if (!mayWait || attemptsInVain > mostAttempts) {
      attemptsInVain = 0
      return lost(items, cause)
    }
    kept.unshift(...items)
    some.openUnsafe()
    return Effect.void
  }

  /** What failed in company is written one by one, so that it takes nobody with it, until the database is away. */
  const oneByOne = Effect.fnUntraced(function* (items: ReadonlyArray<Item>, mayWait: boolean) {
    for (const [index, item] of items.entries()) {
      const exit = yield* Effect.exit(Effect.suspend(() => write([item])))
      if (Exit.isSuccess(exit)) continue
      if (isUnavailable(exit.cause)) return yield* putBack(items.slice(index), exit.cause, mayWait)
      yield* lost([item], exit.cause)
    }
  })

  const flush = (mayWait: boolean) =>
    Effect.suspend(() => {
      const items = kept.splice(0, largest)
      if (kept.length === 0) some.closeUnsafe()
      if (!Arr.isArrayNonEmpty(items)) return Effect.void
      return Effect.matchCauseEffect(
        Effect.suspend(() => write(items)),
        {
          onSuccess: () => Effect.sync(() => void (attemptsInVain = 0)),
          onFailure: (cause) =>
            isUnavailable(cause) ? putBack(items, cause, mayWait) : oneByOne(items, mayWait)
        }
      )
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
