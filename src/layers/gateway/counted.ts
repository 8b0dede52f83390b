import { Effect } from "effect"

/** A call whose tokens cannot be counted is settled all the same: its reservation must not stay. */
export const counted = (count: () => Promise<number>, roughly: () => number) =>
  Effect.tryPromise(count).pipe(
    Effect.catch((error) =>
      Effect.as(
        Effect.logWarning("the tokens of a call could not be counted: four bytes are taken for one", error),
        roughly()
      )
    )
  )
