/**
 * The share of many cases that a run tries. Test files that import this run in `npm test` with the usual share, and in full in `npm
 * run test:long` (vitest.long.config.ts).
 */
import { inject } from "vitest"

declare module "vitest" {
  export interface ProvidedContext {
    breadth: "usual" | "full"
  }
}

export const isFull = inject("breadth") === "full"

export const breadth = <A, B>(usual: A, full: B): A | B => (isFull ? full : usual)

/**
 * Every n-th of many cases, others in each run, and the failing one is named; a full run tries all. `BREADTH_SEED` repeats a run's
 * choice.
 */
export const oneIn = <A>(step: number, cases: ReadonlyArray<A>): ReadonlyArray<A> =>
  isFull ? cases : cases.filter((_, index) => index % step === inject("breadthSeed") % step)

/** The seed of random cases, which `BREADTH_SEED` repeats. */
export const seedOfRun = inject("breadthSeed")
