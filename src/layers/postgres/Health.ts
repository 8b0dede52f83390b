import { Clock, DateTime, Effect, Layer, Metric, Ref, Schema } from "effect"
import { SqlClient } from "effect/sql"
import { Health } from "../../services/Health.ts"
import type { Phase } from "../../services/Health.ts"
import { latestMigration } from "./Database.ts"
import { LogSequencer, maxWait } from "../../services/LogSequencer.ts"
import type { Stalled } from "../../services/LogSequencer.ts"
import { Settings } from "../../services/Settings.ts"
import { latePrices, LatePrices, whyPricesAreLate } from "./prices/PriceIngestion.ts"
import { findOne } from "./sql.ts"

/** Tolerated seconds between the program's clock and the database's. */
const maxDrift = 2

const driftGauge = Metric.gauge("clock_drift_seconds", {
  description: "This clock minus the database server's, in seconds"
})

const make = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const drift = yield* Ref.make(0)
  const phase = yield* Ref.make<Phase>("serving")
  const sequencer = yield* LogSequencer
  const settings = yield* Settings
  const state = findOne(
    Schema.Struct({ min_program: Schema.Int, read_only: Schema.Boolean, ...LatePrices.fields })
  )
  const serverTime = findOne(Schema.Struct({ millis: Schema.Finite }))

  const measureClockDrift = Effect.gen(function* () {
    const before = yield* Clock.currentTimeMillis
    // The one place that reads the database's time, to compare it only.
    const { millis } = yield* serverTime(
      sql`select extract(epoch from clock_timestamp())::float8 * 1000 as millis`
    )
    const after = yield* Clock.currentTimeMillis
    const seconds = ((before + after) / 2 - millis) / 1000
    yield* Ref.set(drift, seconds)
    yield* Metric.update(driftGauge, seconds)
    if (Math.abs(seconds) > maxDrift) {
      yield* Effect.logWarning("this clock and the database server's disagree").pipe(
        Effect.annotateLogs({ drift_seconds: seconds })
      )
    }
  }).pipe(Effect.withSpan("Health.measureClockDrift"))

  const unreachable = (reason: string) =>
    Effect.succeed({
      checks: [{ name: "database" as const, ok: false, reason }],
      stalled: { fault: null, seconds: 0 },
      late: null
    })

  /** Why the log is not up to date: a fault that a replica or an audit found, a failure here, or no sequencer at work. */
  const logFault = Effect.fnUntraced(function* ({ fault, seconds: waited }: Stalled) {
    const known = fault ?? (yield* sequencer.fault)
    if (known !== null || waited < maxWait) return known
    return `Something has waited for its place in the log for ${Math.floor(waited)} s, and nothing got any: does an instance with the role jobs run?`
  })

  const databaseState = Effect.all([
    Effect.flatMap(DateTime.now, (now) =>
      state(sql`
        select (select min_program from instance) as min_program,
               current_setting('transaction_read_only') = 'on' as read_only,
               ${latePrices(sql, settings.priceSource, now)}`)
    ),
    sequencer.stalled
  ]).pipe(
    Effect.map(([{ min_program, read_only, late, contested }, stalled]) => ({
      checks: [
        {
          name: "database" as const,
          ok: !read_only,
          reason: read_only ? "the server takes no writes: it is a standby, or was made read-only" : null
        },
        {
          name: "migrations" as const,
          ok: min_program <= latestMigration,
          reason:
            min_program <= latestMigration
              ? null
              : `the database needs a program that knows migration ${min_program}, this one knows ${latestMigration}`
        }
      ],
      stalled,
      late: whyPricesAreLate({ late, contested })
    })),
    Effect.timeoutOrElse({ duration: "3 seconds", orElse: () => unreachable("no answer within 3 s") }),
    Effect.catchDefect(() => unreachable("cannot be reached"))
  )

  /** Cached for a second, since many probe it. */
  const cachedState = yield* Effect.cachedWithTTL(
    Effect.flatMap(databaseState, (database) =>
      Effect.map(logFault(database.stalled), (logProblem) => ({ ...database, logProblem }))
    ),
    "1 second"
  )

  const readiness = Effect.gen(function* () {
    const { logProblem, ...database } = yield* cachedState
    const seconds = yield* Ref.get(drift)
    const draining = (yield* Ref.get(phase)) !== "serving"
    const inStep = Math.abs(seconds) <= maxDrift
    const checks = [
      ...database.checks,
      {
        name: "clock_drift" as const,
        ok: inStep,
        reason: inStep ? null : `${seconds.toFixed(1)} s between this clock and the database server's`
      },
      { name: "log" as const, ok: logProblem === null, reason: logProblem },
      { name: "prices" as const, ok: database.late === null, reason: database.late },
      { name: "draining" as const, ok: !draining, reason: draining ? "shutting down" : null }
    ]
    const serves = checks.every((check) => check.ok || check.name === "log" || check.name === "prices")
    return { status: serves ? ("ready" as const) : ("not_ready" as const), checks }
  }).pipe(Effect.withSpan("Health.readiness"))

  return Health.of({
    readiness,
    measureClockDrift,
    drain: Ref.set(phase, "draining"),
    stop: Ref.set(phase, "stopping"),
    phase: () => Ref.getUnsafe(phase)
  })
})

export const layer = Layer.effect(Health, make)
