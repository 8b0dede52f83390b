/**
 * Whether this instance can serve: it has started, its database, its migrations, its clock. A log that is not signed is said, but does
 * not make it unready: a balancer would take out all replicas, and everything but the signing goes on.
 */
import { Context, Duration, Schema } from "effect"
import type { DateTime, Effect } from "effect"

export const Readiness = Schema.Struct({
  status: Schema.Literals(["ready", "not_ready"]),
  checks: Schema.Array(
    Schema.Struct({
      name: Schema.Literals([
        "starting",
        "database",
        "migrations",
        "clock_drift",
        "log",
        "prices",
        "draining"
      ]),
      ok: Schema.Boolean,
      reason: Schema.NullOr(Schema.String)
    })
  )
}).annotate({ identifier: "Readiness" })
export type Readiness = typeof Readiness.Type

/** How far this instance's clock and the database server's may differ. Beyond it the instance is not ready and runs no job. */
export const maxClockDrift = Duration.seconds(2)

/** What an instance is at, from its start to its end. */
export type Phase = "serving" | "draining" | "stopping"

export class Health extends Context.Service<
  Health,
  {
    readonly readiness: Effect.Effect<Readiness>
    /** Measures the drift between this clock and the database server's; kept for `readiness` and as a metric. */
    readonly measureClockDrift: Effect.Effect<void>
    /** Whether the two agree, by the last measurement; without one it is measured now. No job runs where they do not. */
    readonly clocksAgree: Effect.Effect<boolean>
    /** When a request came: by this clock, or by the database's where the two differ or this one was set since they were compared. */
    readonly receiptTime: Effect.Effect<DateTime.Utc>
    /** From now on this instance is not ready, and still serves, so that balancers have time to notice. */
    readonly drain: Effect.Effect<void>
    /** Waits until this instance drains. */
    readonly draining: Effect.Effect<void>
    /** From now on it finishes what it has and takes nothing new. */
    readonly stop: Effect.Effect<void>
    readonly phase: () => Phase
  }
>()("auspex/services/Health") {}
