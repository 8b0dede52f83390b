/**
 * Readiness of this instance: its start, database, migrations and clock. A log that is not signed is reported, but does not make it
 * unready: a balancer would remove all replicas, while everything but the signing continues.
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

/**
 * The maximum difference between this instance's clock and the database server's. Beyond it the instance is not ready and runs no
 * job.
 */
export const maxClockDrift = Duration.seconds(2)

export type Phase = "serving" | "draining" | "stopping"

export class Health extends Context.Service<
  Health,
  {
    readonly readiness: Effect.Effect<Readiness>
    /** Measures the drift between this clock and the database server's, for `readiness` and as a metric. */
    readonly measureClockDrift: Effect.Effect<void>
    /** True if the two clocks agree by the last measurement; without one it is measured now. No job runs while they differ. */
    readonly clocksAgree: Effect.Effect<boolean>
    /**
     * The time at which a request arrived: by this clock, or by the database's if the two differ or this one was set since they were
     * compared.
     */
    readonly receiptTime: Effect.Effect<DateTime.Utc>
    /** Makes this instance unready, while it still serves, so that balancers have time to notice. */
    readonly drain: Effect.Effect<void>
    readonly draining: Effect.Effect<void>
    /** Makes this instance finish its work and take nothing new. */
    readonly stop: Effect.Effect<void>
    readonly phase: () => Phase
  }
>()("auspex/services/Health") {}
