/** What the ledger's constraints refuse, in the words of who asked for it. */
import { Effect, Predicate } from "effect"
import type { SqlError } from "effect/sql"
import { InvalidRequest } from "../../../services/errors.ts"
import { sqlDefect } from "../sql.ts"

/** The constraint that a statement met. */
export const constraintOf = (error: SqlError.SqlError): unknown =>
  Predicate.hasProperty(error.reason.cause, "constraint") ? error.reason.cause.constraint : undefined

/** An account that is full; any other failure is ours. */
export const orTooMuch = (error: SqlError.SqlError) =>
  constraintOf(error) === "accounts_exact"
    ? Effect.fail(
        InvalidRequest.of("amount", "Expected less: no account holds more than 1 000 000 000 credits")
      )
    : sqlDefect(error)
