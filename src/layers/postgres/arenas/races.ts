import { Predicate } from "effect"

/** Each lost race is won by another submission of the same agent, so looking again this often is plenty. */
export const mostLooks = 20

/** The last of a provisional agent's predictions, taken by another one meanwhile. */
export const isProvisionalLimit = (cause: unknown): boolean =>
  Predicate.hasProperty(cause, "constraint") && cause.constraint === "agents_provisional_limit"
