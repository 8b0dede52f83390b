import { Clock, Effect, Layer, Metric, Ref, Schema } from "effect"
import { SqlClient } from "effect/sql"
import { Health } from "../../services/Health.ts"
import { latestMigration } from "./Database.ts"
import { one } from "./query.ts"

/** Seconds of drift above which stamps and the database's own records would tell different stories. */
const mostDrift = 2

const driftGauge = Metric.gauge("clock_drift_seconds", {
  description: "This clock minus the database server's, in seconds"
})

const make = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const drift = yield* Ref.make(0)
  const isDraining = yield* Ref.make(false)
  const migration = one(Schema.Struct({ id: Schema.Int }))
  const serverTime = one(Schema.Struct({ millis: Schema.Finite }))

  const measureClockDrift = Effect.gen(function* () {
    const before = yield* Clock.currentTimeMillis
    // The one place that asks the database for its time: to compare it, never to stamp with it.
    const { millis } = yield* serverTime(
      sql`select extract(epoch from clock_timestamp())::float8 * 1000 as millis`
    )
    const after = yield* Clock.currentTimeMillis
    const seconds = ((before + after) / 2 - millis) / 1000
    yield* Ref.set(drift, seconds)
    yield* Metric.update(driftGauge, seconds)
    if (Math.abs(seconds) > mostDrift) {
      yield* Effect.logWarning("this clock and the database server's disagree").pipe(
        Effect.annotateLogs({ drift_seconds: seconds })
      )
    }
  }).pipe(Effect.withSpan("Health.measureClockDrift"))

  const checkMigrations = migration(sql`select max(migration_id)::int as id from effect_sql_migrations`).pipe(
    Effect.map(({ id }) => ({
      name: "migrations" as const,
      ok: id === latestMigration,
      reason:
        id === latestMigration
          ? null
          : `the database has migration ${id}, this program knows ${latestMigration}`
    })),
    Effect.map((migrations) => [{ name: "database" as const, ok: true, reason: null }, migrations]),
    Effect.timeoutOrElse({
      duration: "3 seconds",
      orElse: () => Effect.succeed([{ name: "database" as const, ok: false, reason: "no answer within 3 s" }])
    }),
    Effect.catchDefect(() =>
      Effect.succeed([{ name: "database" as const, ok: false, reason: "cannot be reached" }])
    )
  )

  const readiness = Effect.gen(function* () {
    const seconds = yield* Ref.get(drift)
    const leaving = yield* Ref.get(isDraining)
    const steady = Math.abs(seconds) <= mostDrift
    const checks = [
      ...(yield* checkMigrations),
      {
        name: "clock_drift" as const,
        ok: steady,
        reason: steady ? null : `${seconds.toFixed(1)} s between this clock and the database server's`
      },
      { name: "draining" as const, ok: !leaving, reason: leaving ? "shutting down" : null }
    ]
    return { status: checks.every((check) => check.ok) ? ("ready" as const) : ("not_ready" as const), checks }
  }).pipe(Effect.withSpan("Health.readiness"))

  return Health.of({
    readiness,
    measureClockDrift,
    drain: Ref.set(isDraining, true),
    draining: Ref.get(isDraining)
  })
})

export const layer = Layer.effect(Health, make)
