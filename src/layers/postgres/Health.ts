import {
  Cause,
  Clock,
  DateTime,
  Duration,
  Effect,
  Fiber,
  Latch,
  Layer,
  Metric,
  Option,
  Ref,
  Schema
} from "effect"
import { SqlClient } from "effect/sql"
import { cheapSpan } from "../cheapSpan.ts"
import { Health, maxClockDrift } from "../../services/Health.ts"
import type { Phase } from "../../services/Health.ts"
import { rootCause } from "../../services/domain/errors.ts"
import { cachedSteadily } from "../../services/domain/steadyCache.ts"
import { BackgroundClient } from "./BackgroundClient.ts"
import { latestMigration, minVersion } from "./Database.ts"
import { LogSequencer, stalledAfter } from "../../services/LogSequencer.ts"
import type { Stalled } from "../../services/LogSequencer.ts"
import { Settings } from "../../services/Settings.ts"
import { latePrices, LatePrices, whyPricesAreLate } from "./prices/PriceIngestion.ts"
import { execute, findOne, sqlDefect, transaction } from "./sql.ts"

const maxDrift = Duration.toSeconds(maxClockDrift)

/** A lasting difference is logged this often. */
const warningInterval = Duration.toNanosUnsafe(Duration.minutes(1))

const driftGauge = Metric.gauge("clock_drift_seconds", {
  description: "This clock minus the database server's, in seconds"
})

/** The pause between two writes that only test if the database takes any. */
const writeInterval = Duration.toNanosUnsafe(Duration.seconds(10))

const Server = Schema.Struct({
  version: Schema.Int,
  encoding: Schema.String,
  read_only: Schema.Boolean,
  commits_wait: Schema.Boolean,
  min_program: Schema.Int,
  ...LatePrices.fields
})

/** True if commits of this role wait for a synchronous standby; the server compares two of its own times. */
const commitsWait = (sql: SqlClient.SqlClient) => sql`
  exists (select from pg_stat_activity
           where wait_event = 'SyncRep' and clock_timestamp() - query_start > interval '2 seconds')`

/** Names the problem that the server's own report shows; null for none. */
const serverProblem = (server: typeof Server.Type): string | null => {
  if (server.version < minVersion) return `it is PostgreSQL ${Math.floor(server.version / 10_000)}`
  if (server.encoding !== "UTF8") return `it is encoded in ${server.encoding}`
  if (server.read_only) return "the server takes no writes: it is a standby, or was made read-only"
  return server.commits_wait ? "commits wait for a synchronous standby" : null
}

interface Found {
  /** The database's problem; null for none. */
  readonly problem: string | null
  readonly min_program: number | null
  readonly stalled: Stalled
  readonly late: string | null
}

const unreachable = (problem: string): Found => ({
  problem,
  min_program: null,
  stalled: { fault: null, seconds: 0 },
  late: null
})

const make = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const drift = yield* Ref.make(
    Option.none<{ readonly agrees: boolean; readonly seconds: number; readonly lead: number }>()
  )
  const phase = yield* Ref.make<Phase>("serving")
  const drained = yield* Latch.make()
  const sequencer = yield* LogSequencer
  const settings = yield* Settings
  const background = yield* BackgroundClient
  const serverRow = findOne(Server)
  const serverTime = findOne(Schema.Struct({ millis: Schema.Finite }))(
    sql`select extract(epoch from database_time())::float8 * 1000 as millis`
  )

  const warnedAt = yield* Ref.make(Option.none<bigint>())
  const warnOnceAMinute = Effect.fnUntraced(function* (warning: Effect.Effect<void>) {
    // A clock that jumps would lengthen or shorten the interval.
    const now = yield* Clock.monotonicTimeNanos
    const last = yield* Ref.get(warnedAt)
    if (Option.isSome(last) && now - last.value < warningInterval) return
    yield* Ref.set(warnedAt, Option.some(now))
    yield* warning
  })

  /** Milliseconds of the database's clock, and of this instance's clock at half of the time that the answer took. */
  const readClocks = transaction(sql)(
    // Time is read once the transaction has its connection, so that no wait for one counts as a difference.
    Effect.gen(function* () {
      const before = yield* Clock.currentTimeMillis
      const [took, { millis }] = yield* Effect.timed(serverTime)
      const after = yield* Clock.currentTimeMillis
      return { here: (before + after) / 2, there: millis, uncertainty: Duration.toSeconds(took) / 2 }
    })
  )

  /** The milliseconds by which this clock leads the monotonic one: they change only when this clock is set. */
  const clockLead = Effect.zipWith(
    Clock.currentTimeMillis,
    Clock.monotonicTimeNanos,
    (wall, monotonic) => wall - Number(monotonic / 1_000_000n)
  )

  const measureClockDrift = Effect.gen(function* () {
    const lead = yield* clockLead
    const { here, there, uncertainty } = yield* readClocks
    const seconds = (here - there) / 1000
    const agrees = Math.abs(seconds) - uncertainty <= maxDrift
    yield* Ref.set(drift, Option.some({ agrees, seconds, lead }))
    yield* Metric.update(driftGauge, seconds)
    if (agrees) return yield* Ref.set(warnedAt, Option.none())
    yield* warnOnceAMinute(
      Effect.logWarning(
        "this clock and the database server's disagree: this instance is not ready and runs no job"
      ).pipe(Effect.annotateLogs({ drift_seconds: seconds }))
    )
  }).pipe(
    Effect.catchCauseIf(
      (cause) => !Cause.hasInterrupts(cause),
      (cause) => warnOnceAMinute(Effect.logWarning("the database server's clock could not be read", cause))
    ),
    Effect.withSpan("Health.measureClockDrift")
  )

  const clocksAgree = Effect.gen(function* () {
    if (Option.isNone(yield* Ref.get(drift))) yield* measureClockDrift
    return Option.match(yield* Ref.get(drift), { onNone: () => false, onSome: ({ agrees }) => agrees })
  })

  const receiptTime = Effect.gen(function* () {
    const now = yield* DateTime.now
    const agree = yield* clocksAgree
    const lead = yield* clockLead
    const isSteady = Option.exists(
      yield* Ref.get(drift),
      (measured) => Math.abs(lead - measured.lead) <= maxDrift * 1000
    )
    if (agree && isSteady) return now
    const { millis } = yield* serverTime
    return DateTime.makeUnsafe(Math.floor(millis))
  }).pipe(cheapSpan("Health.receiptTime"))

  /** Names the reason that the log is behind: a fault that a replica or an audit found, a failure here, or no sequencer at work. */
  const logFault = Effect.fnUntraced(function* ({ fault, seconds: waited }: Stalled) {
    const known = fault ?? (yield* sequencer.fault)
    if (known !== null || waited < stalledAfter) return known
    return `Something has waited for its place in the log for ${Math.floor(waited)} s, and nothing got any: does an instance with the role jobs run?`
  })

  /** Busy connections are no fault: a settlement takes minutes. */
  const backgroundProblem = Effect.scoped(
    Effect.gen(function* () {
      const connection = yield* Effect.timeoutOption(background.client.reserve, "1 second")
      if (Option.isSome(connection)) yield* connection.value.executeValues("select 1", [])
      else if (!(yield* background.isBusy)) return "no connection for settlement and the log"
      return null
    })
  ).pipe(Effect.catch(sqlDefect))

  /** Writes as a record does: the commit waits for a standby if others do, and the disk needs room. The write leaves nothing. */
  const write = transaction(sql)(
    Effect.andThen(
      execute(sql`set local work_mem = '64kB'`),
      execute(sql`
        with spilled as materialized (select repeat('x', 1000) from generate_series(1, 1000))
        select count(*), pg_logical_emit_message(true, 'auspex', '')::text from spilled`)
    )
  ).pipe(
    Effect.as(null),
    Effect.catchDefect((defect) =>
      Effect.succeed(rootCause(defect).code === "53100" ? "its disk is full" : "it cannot be written to")
    )
  )
  const lastWrite = yield* Ref.make(Option.none<bigint>())
  const writeProblem = Effect.gen(function* () {
    const now = yield* Clock.monotonicTimeNanos
    const last = yield* Ref.get(lastWrite)
    if (Option.isSome(last) && now - last.value < writeInterval) return null
    const problem = yield* write
    if (problem === null) yield* Ref.set(lastWrite, Option.some(now))
    return problem
  })

  const found = yield* Ref.make<Found>(unreachable("no answer within 3 s"))
  const examined = Effect.gen(function* () {
    yield* Ref.set(found, unreachable("no answer within 3 s"))
    const now = yield* DateTime.now
    const server = yield* serverRow(sql`
      select current_setting('server_version_num')::int as version,
             current_setting('server_encoding') as encoding,
             current_setting('transaction_read_only') = 'on' as read_only,
             ${commitsWait(sql)} as commits_wait,
             (select min_program from instance) as min_program,
             ${latePrices(sql, settings.priceSource, now)}`)
    const known = {
      min_program: server.min_program,
      late: whyPricesAreLate(server),
      stalled: yield* sequencer.stalled
    }
    const problem = serverProblem(server)
    yield* Ref.set(found, { ...known, problem: problem ?? "a write is not committed within 3 s" })
    return { ...known, problem: problem ?? (yield* backgroundProblem) ?? (yield* writeProblem) }
  }).pipe(Effect.catchDefect(() => Effect.succeed(unreachable("cannot be reached"))))

  /**
   * Examinations run one at a time and are never interrupted: cancelling a statement of a silent connection takes longer than a
   * caller may wait here.
   */
  const scope = yield* Effect.scope
  const examining = yield* Ref.make(Option.none<Fiber.Fiber<Found>>())
  const databaseState = Effect.gen(function* () {
    const under = Option.filter(yield* Ref.get(examining), (fiber) => fiber.pollUnsafe() === undefined)
    const fiber = Option.isSome(under) ? under.value : yield* Effect.forkIn(examined, scope)
    yield* Ref.set(examining, Option.some(fiber))
    return yield* Effect.timeoutOrElse(Fiber.join(fiber), {
      duration: "3 seconds",
      orElse: () => Ref.get(found)
    })
  })

  /** The state is cached for a second, since probes are frequent. */
  const cachedState = yield* cachedSteadily(
    Effect.flatMap(databaseState, (state) =>
      Effect.map(logFault(state.stalled), (logProblem) => ({ ...state, logProblem }))
    ),
    "1 second"
  )

  const readiness = Effect.gen(function* () {
    const { late, logProblem, min_program, problem } = yield* cachedState
    const { agrees: clockInSync, seconds } = Option.getOrElse(yield* Ref.get(drift), () => ({
      agrees: true,
      seconds: 0
    }))
    const draining = (yield* Ref.get(phase)) !== "serving"
    const knowsSchema = min_program === null || min_program <= latestMigration
    const checks = [
      { name: "database" as const, ok: problem === null, reason: problem },
      {
        name: "migrations" as const,
        ok: knowsSchema,
        reason: knowsSchema
          ? null
          : `the database needs a program that knows migration ${min_program}, this one knows ${latestMigration}`
      },
      {
        name: "clock_drift" as const,
        ok: clockInSync,
        reason: clockInSync ? null : `${seconds.toFixed(1)} s between this clock and the database server's`
      },
      { name: "log" as const, ok: logProblem === null, reason: logProblem },
      { name: "prices" as const, ok: late === null, reason: late },
      { name: "draining" as const, ok: !draining, reason: draining ? "shutting down" : null }
    ]
    const serves = checks.every((check) => check.ok || check.name === "log" || check.name === "prices")
    return { status: serves ? ("ready" as const) : ("not_ready" as const), checks }
  }).pipe(Effect.withSpan("Health.readiness"))

  return Health.of({
    readiness,
    measureClockDrift,
    clocksAgree,
    receiptTime,
    drain: Effect.andThen(Ref.set(phase, "draining"), drained.open),
    draining: drained.await,
    stop: Effect.andThen(Ref.set(phase, "stopping"), drained.open),
    phase: () => Ref.getUnsafe(phase)
  })
})

export const layer = Layer.effect(Health, make)
