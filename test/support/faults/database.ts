/** The harness's own connection to the database, with a name of its own; its own faults do not disturb it. */
import { PgClient } from "@effect/sql-pg"
import { Cause, Effect, Exit, Layer, Schedule } from "effect"
import type { Redacted } from "effect"
import { SqlError } from "effect/sql"
import type { SqlClient } from "effect/sql"
import { StoreUnavailable } from "../../../src/services/domain/errors.ts"
import { Overdue } from "../process.ts"

/** The client allows long statements. */
const client = (url: Redacted.Redacted) =>
  PgClient.layer({
    url,
    maxConnections: 3,
    // The number prevents that it counts as an instance from before heartbeats, whose role it has.
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

/** Runs a query on the database at its present address, again and again while it is away. */
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
