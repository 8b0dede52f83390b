/**
 * How much of a rule is tried. Test files that import this run in `npm test` with the usual share, and in full in
 * `npm run test:long` (vitest.long.config.ts).
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
 * Every so-manieth of many cases, others in each run, of which the one that fails is named; in full all of them.
 * `BREADTH_SEED` repeats a run's choice.
 */
export const oneIn = <A>(step: number, cases: ReadonlyArray<A>): ReadonlyArray<A> =>
  isFull ? cases : cases.filter((_, index) => index % step === inject("breadthSeed") % step)

/** Of random cases, which `BREADTH_SEED` repeats. */
export const seedOfRun = inject("breadthSeed")
