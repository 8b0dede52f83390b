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
