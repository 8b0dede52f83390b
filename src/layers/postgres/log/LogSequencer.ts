import { Cause, Clock, DateTime, Effect, Layer, Metric, Option, Ref, Schema, Semaphore } from "effect"
import { SqlClient } from "effect/sql"
import { rootCause } from "../../../services/domain/errors.ts"
import { LogSequencer } from "../../../services/LogSequencer.ts"
import { LogSigner } from "../../../services/LogSigner.ts"
import type { SignerUnusable } from "../../../services/LogSigner.ts"
import { execute, findOne, findOption, timestamp } from "../sql.ts"
import { makeCheckpoints } from "./checkpoints.ts"
import { makeContinue } from "./continuations.ts"
import { nameIn } from "./identity.ts"
import { makeSignerState } from "./signerState.ts"
import type { LogStopped } from "./signerState.ts"
import { makeRevealDue } from "./reveals.ts"
import { makeSequence } from "./sequencer.ts"
import type { LogFault } from "./tree.ts"

const pendingGauge = Metric.gauge("log_pending_entries", {
  description: "Entries of the public log that are pending, counted up to 100 000"
})
const ageGauge = Metric.gauge("log_checkpoint_age_seconds", {
  description: "The age of the newest checkpoint of the public log, in seconds"
})
const stalledGauge = Metric.gauge("log_standstill_seconds", {
  description: "How long entries of the public log have been pending while it did not grow, in seconds"
})
const faultGauge = Metric.gauge("log_fault", {
  description:
    "1 while nothing is added to the public log or signed, for a fault or until an administrator lets it go on; else 0"
})
const failures = Metric.counter("log_passes_failed_total", {
  description: "Passes over the public log that failed, by what they were to do",
  incremental: true
})

const maxCounted = 100_000

/** The number of failures in a row that are reported. A single one is not, since the next pass makes up for it. */
const threshold = 3

const maxReason = 200

interface Failures {
  readonly times: number
  readonly reason: string
}

const reasonOf = (cause: Cause.Cause<unknown>): string =>
  rootCause(Cause.squash(cause)).message.slice(0, maxReason)

/** Repeated failures of passes, for the health check. */
const jobFailures = Effect.gen(function* () {
  const failed = yield* Ref.make<ReadonlyMap<string, Failures>>(new Map())

  const tracked = (pass: string) => {
    const succeeded = Ref.update(failed, (before) =>
      before.has(pass) ? new Map([...before].filter(([name]) => name !== pass)) : before
    )
    const noted = (cause: Cause.Cause<unknown>) =>
      Cause.hasInterruptsOnly(cause)
        ? Effect.void
        : Effect.andThen(
            Metric.update(Metric.withAttributes(failures, { pass }), 1),
            Ref.update(failed, (before) => {
              const times = (before.get(pass)?.times ?? 0) + 1
              return new Map([...before, [pass, { times, reason: reasonOf(cause) }]])
            })
          )
    return <A, E, R>(effect: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
      effect.pipe(
        Effect.tap(() => succeeded),
        Effect.tapCause(noted)
      )
  }

  /** The message for a pass that failed several times in a row. */
  const lastFailure = Effect.map(Ref.get(failed), (passes) => {
    const worst = [...passes].find(([, { times }]) => times >= threshold)
    if (worst === undefined) return null
    const [pass, { reason, times }] = worst
    return `The last ${times} passes to ${pass} failed: ${reason}`
  })

  return { tracked, lastFailure }
})

const Progress = Schema.Struct({
  size: Schema.NullOr(Schema.Finite),
  fault: Schema.NullOr(Schema.String),
  pending: Schema.Boolean
})

/**
 * Detects a stalled log: entries are pending and the size stays the same between two calls on this instance. Pending entries
 * carry no time, which keeps inserts cheap.
 */
const watchProgress = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const progress = findOne(Progress)
  const seen = yield* Ref.make(Option.none<{ readonly size: number | null; readonly since: number }>())

  const stalled = Effect.gen(function* () {
    const now = yield* Clock.currentTimeMillis
    const { fault, pending, size } = yield* progress(sql`
      select (select size::float8 from log_state) as size, (select fault from log_state) as fault,
             (select id from log_pending order by id desc limit 1) is not null as pending`)
    const before = yield* Ref.get(seen)
    if (!pending) {
      yield* Ref.set(seen, Option.none())
      return { fault, seconds: 0 }
    }
    if (Option.isSome(before) && before.value.size === size) {
      return { fault, seconds: Math.max(0, (now - before.value.since) / 1000) }
    }
    yield* Ref.set(seen, Option.some({ size, since: now }))
    return { fault, seconds: 0 }
  })
  return { stalled }
})

const make = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const signer = yield* LogSigner
  const signerState = yield* makeSignerState
  const { sequence } = yield* makeSequence(signerState)
  const { publish, seen, trim, verify } = yield* makeCheckpoints(signerState)
  const { resume } = yield* makeContinue
  const { revealDue } = yield* makeRevealDue
  const { lastFailure, tracked } = yield* jobFailures
  const { stalled } = yield* watchProgress
  /** Passes share the tree in memory, so one runs at a time. */
  const turns = yield* Semaphore.make(1)
  const reason = yield* Ref.make<string | null>(null)
  const keyRow = findOption(Schema.Struct({ verifier_key: Schema.String }))
  const measured = findOne(
    Schema.Struct({ pending: Schema.Int, signed_at: Schema.NullOr(Schema.DateTimeUtcFromDate) })
  )

  /** Logs a reason once, not every second. */
  const setReason = Effect.fnUntraced(function* (now: string | null) {
    const before = yield* Ref.getAndSet(reason, now)
    if (before === now) return
    yield* now === null
      ? Effect.logInfo("the public log is signed again")
      : Effect.logError("the public log is not signed").pipe(Effect.annotateLogs({ reason: now }))
  })

  /** Stores the fault for all replicas, and a lost checkpoint as evidence that the next audit reads. */
  const recordFault = Effect.fnUntraced(function* ({ lost, message }: LogFault) {
    const now = yield* DateTime.now
    if (lost === undefined) {
      return yield* execute(sql`update log_state set fault = ${message} where fault is null`)
    }
    yield* execute(sql`
      with evidence as (
        insert into log_lost_heads (origin, size, root, note, found_at)
        values (${lost.origin}, ${BigInt(lost.size)}, ${lost.root}, ${lost.note}, ${timestamp(now)})
        on conflict do nothing
      )
      update log_state set fault = ${message} where fault is null`)
  })

  /** A refusal to sign is no failure of the pass. A fault is stored for all replicas, any other reason in this instance. */
  const refusing = <A>(effect: Effect.Effect<A, LogFault | LogStopped | SignerUnusable>, none: A) =>
    Effect.catchTags(effect, {
      LogFault: (fault) => recordFault(fault).pipe(Effect.andThen(setReason(fault.message)), Effect.as(none)),
      LogStopped: ({ message }) => Effect.as(setReason(message), none),
      SignerUnusable: ({ message }) => Effect.as(setReason(message), none)
    })

  /** An instance that does not sequence reports a changed server only: it may run without a stored signer state. */
  const watched = Effect.flatMap(signerState.compare(), ({ waiting }) =>
    setReason(
      Option.getOrNull(
        Option.map(
          Option.filter(waiting, ({ why }) => why === "server_changed"),
          ({ message }) => message
        )
      )
    )
  )

  return LogSequencer.of({
    verifyAtStart: refusing(verify, undefined).pipe(
      turns.withPermit,
      Effect.withSpan("LogSequencer.verifyAtStart")
    ),
    sequence: refusing(sequence, 0).pipe(
      turns.withPermit,
      tracked("give entries their place"),
      Effect.withSpan("LogSequencer.sequence")
    ),
    publish: refusing(Effect.andThen(publish, setReason(null)), undefined).pipe(
      turns.withPermit,
      tracked("sign the log"),
      Effect.withSpan("LogSequencer.publish")
    ),
    watch: refusing(watched, undefined).pipe(
      tracked("compare the log with what was seen of it"),
      Effect.withSpan("LogSequencer.watch")
    ),
    recordShown: (note) =>
      refusing(signerState.recordShown(note), undefined).pipe(
        Effect.andThen(Effect.orElseSucceed(signerState.largerOf(note), () => note)),
        Effect.withSpan("LogSequencer.recordShown")
      ),
    continue: Effect.fn("LogSequencer.continue")(function* (request) {
      yield* refusing(Effect.asVoid(signerState.compare()), undefined)
      return yield* resume(request)
    }),
    revealDue: revealDue.pipe(tracked("reveal predictions")),
    trim,
    seen: refusing(seen, Option.none()).pipe(Effect.withSpan("LogSequencer.seen")),
    measure: Effect.gen(function* () {
      const { pending, signed_at } = yield* measured(sql`
        select (select count(*)::int from (select from log_pending limit ${maxCounted}) p) as pending,
               (select signed_at from log_checkpoints order by size desc limit 1) as signed_at`)
      yield* Metric.update(pendingGauge, pending)
      const { fault, seconds } = yield* stalled
      yield* Metric.update(stalledGauge, seconds)
      yield* Metric.update(faultGauge, fault === null && (yield* Ref.get(reason)) === null ? 0 : 1)
      if (signed_at !== null) {
        const now = yield* Clock.currentTimeMillis
        yield* Metric.update(ageGauge, (now - DateTime.toEpochMillis(signed_at)) / 1000)
      }
    }).pipe(Effect.withSpan("LogSequencer.measure")),
    verifierKey: Effect.gen(function* () {
      const newest = yield* keyRow(sql`select verifier_key from log_keys order by number desc limit 1`)
      const own = yield* Effect.option(signer.keys)
      return Option.map(newest, (row) => row.verifier_key).pipe(
        Option.filter((key) => Option.exists(own, ({ verifierKey }) => verifierKey(nameIn(key)) === key))
      )
    }).pipe(Effect.withSpan("LogSequencer.verifierKey")),
    fault: Effect.gen(function* () {
      return (yield* Ref.get(reason)) ?? (yield* lastFailure)
    }),
    stalled: stalled.pipe(Effect.withSpan("LogSequencer.stalled"))
  })
})

export const layer = Layer.effect(LogSequencer, make)
