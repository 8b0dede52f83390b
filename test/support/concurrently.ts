/** Concurrent effects, for rules that hold however requests race. */
import { Effect, Result } from "effect"

export const times = <A>(count: number, make: (index: number) => A) =>
  Array.from({ length: count }, (_, index) => make(index))

/** Each one's result, in order. */
export const concurrently = <A, E, R>(effects: ReadonlyArray<Effect.Effect<A, E, R>>) =>
  Effect.forEach(effects, Effect.result, { concurrency: "unbounded" })

/** The error codes of the rejected ones. */
export const codesOf = (results: ReadonlyArray<Result.Result<unknown, { readonly code: string }>>) =>
  results.filter(Result.isFailure).map((result) => result.failure.code)
