/** The harness's own way to the database: by a name of its own, and not put off by the faults it makes itself. */
import { PgClient } from "@effect/sql-pg"
import { Cause, Effect, Exit, Layer, Schedule } from "effect"
import type { Redacted } from "effect"
import { SqlError } from "effect/sql"
import type { SqlClient } from "effect/sql"
import { StoreUnavailable } from "../../../src/services/domain/errors.ts"
import { Overdue } from "../process.ts"

/** With time for long questions. */
const client = (url: Redacted.Redacted) =>
  PgClient.layer({
    url,
    maxConnections: 3,
    // By the number it is no instance from before heartbeats, whose role it has.
    applicationName: "harness/0",
    transformJson: false,
    startupParameters: { statement_timeout: "60000", timezone: "UTC" }
  })

const mayPass = (error: unknown) =>
  error instanceof StoreUnavailable ||
  Cause.isNoSuchElementError(error) ||
  (SqlError.isSqlError(error) && error.reason._tag !== "SqlSyntaxError")

const isAway = (exit: Exit.Exit<unknown, unknown>) =>
  Exit.isFailure(exit) &&
  exit.cause.reasons.some((reason) => {
    if (Cause.isFailReason(reason)) return mayPass(reason.error)
    return Cause.isDieReason(reason) && mayPass(reason.defect)
  })

export type Query = <A, E>(effect: Effect.Effect<A, E, SqlClient.SqlClient>) => Effect.Effect<A, E | Overdue>

/** Runs a query on the database as it is reached at this moment, again and again while it is away. */
export const makeQuery =
  <E>(url: Effect.Effect<Redacted.Redacted, E>): Query =>
  (effect) =>
    Effect.orDie(url).pipe(
      Effect.flatMap((url) => Effect.provide(effect, Layer.orDie(client(url)), { local: true })),
      Effect.exit,
      Effect.repeat({ until: (exit) => !isAway(exit), schedule: Schedule.spaced("100 millis") }),
      Effect.flatMap((exit) => exit),
      Effect.timeoutOrElse({
        duration: "60 seconds",
        orElse: () => Effect.fail(new Overdue({ message: "the database stays away for 60 s" }))
      })
    )
