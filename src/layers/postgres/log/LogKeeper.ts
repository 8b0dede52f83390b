import { Clock, DateTime, Effect, Layer, Metric, Option, Ref, Schema, Semaphore } from "effect"
import { SqlClient } from "effect/sql"
import { LogKeeper } from "../../../services/LogKeeper.ts"
import type { SignerUnusable } from "../../../services/LogSigner.ts"
import { execute, findOne, findOption } from "../sql.ts"
import { makeCheckpoints } from "./checkpoints.ts"
import { makePasses } from "./passes.ts"
import { makeRevealDue } from "./reveals.ts"
import { makeSequence } from "./sequencer.ts"
import type { LogFault } from "./tree.ts"
import { makeStandstill, waitingCount } from "./waiting.ts"

const waitingGauge = Metric.gauge("log_pending_entries", {
  description: "Recorded things that wait for their index in the public log, counted up to 100 000"
})
const ageGauge = Metric.gauge("log_checkpoint_age_seconds", {
  description: "The age of the newest checkpoint of the public log, in seconds"
})
const standstillGauge = Metric.gauge("log_standstill_seconds", {
  description: "How long something has waited while nothing got its place in the public log, in seconds"
})
const faultGauge = Metric.gauge("log_fault", {
  description: "1 while the public log has a fault, and so nothing is added to it or signed; else 0"
})
const maxCounted = 100_000

const make = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const { sequence } = yield* makeSequence
  const { publish, signed, trim, verify } = yield* makeCheckpoints
  const { revealDue } = yield* makeRevealDue
  const { failing, watched } = yield* makePasses
  const { standstill } = yield* makeStandstill
  /** What is kept in memory belongs to one pass at a time. */
  const turns = yield* Semaphore.make(1)
  const reason = yield* Ref.make<string | null>(null)
  const keyRow = findOption(Schema.Struct({ verifier_key: Schema.String }))
  const measured = findOne(
    Schema.Struct({ waiting: Schema.Int, signed_at: Schema.NullOr(Schema.DateTimeUtcFromDate) })
  )

  /** Says it once, not every second. */
  const setReason = Effect.fnUntraced(function* (now: string | null) {
    const before = yield* Ref.getAndSet(reason, now)
    if (before === now) return
    yield* now === null
      ? Effect.logInfo("the public log is signed again")
      : Effect.logError("the public log is not signed").pipe(Effect.annotateLogs({ reason: now }))
  })

  /** What keeps the log from being signed is said, not a failure: a fault of the log to all replicas, the rest here. */
  const refusing = <A>(effect: Effect.Effect<A, LogFault | SignerUnusable>, none: A) =>
    effect.pipe(
      Effect.catchTags({
        LogFault: ({ message }) =>
          execute(sql`update log_state set fault = ${message} where fault is null`).pipe(
            Effect.andThen(setReason(message)),
            Effect.as(none)
          ),
        SignerUnusable: ({ message }) => Effect.as(setReason(message), none)
      }),
      turns.withPermits(1)
    )

  return LogKeeper.of({
    verifyAtStart: refusing(Effect.asVoid(verify), undefined).pipe(
      Effect.withSpan("LogKeeper.verifyAtStart")
    ),
    sequence: refusing(sequence, 0).pipe(
      watched("give entries their place"),
      Effect.withSpan("LogKeeper.sequence")
    ),
    publish: refusing(Effect.andThen(publish, setReason(null)), undefined).pipe(
      watched("sign the log"),
      Effect.withSpan("LogKeeper.publish")
    ),
    revealDue: revealDue.pipe(watched("reveal predictions")),
    trim,
    signed: refusing(signed, Option.none()).pipe(Effect.withSpan("LogKeeper.signed")),
    measure: Effect.gen(function* () {
      const { signed_at, waiting } = yield* measured(sql`
        select ${waitingCount(sql, maxCounted)} as waiting,
               (select signed_at from log_checkpoints order by size desc limit 1) as signed_at`)
      yield* Metric.update(waitingGauge, waiting)
      const { fault, seconds } = yield* standstill
      yield* Metric.update(standstillGauge, seconds)
      yield* Metric.update(faultGauge, fault === null ? 0 : 1)
      if (signed_at !== null) {
        const now = yield* Clock.currentTimeMillis
        yield* Metric.update(ageGauge, (now - DateTime.toEpochMillis(signed_at)) / 1000)
      }
    }).pipe(Effect.withSpan("LogKeeper.measure")),
    verifierKey: Effect.map(
      keyRow(sql`select verifier_key from log_keys order by number desc limit 1`),
      Option.map((row) => row.verifier_key)
    ).pipe(Effect.withSpan("LogKeeper.verifierKey")),
    fault: Effect.gen(function* () {
      return (yield* Ref.get(reason)) ?? (yield* failing)
    }),
    standstill: standstill.pipe(Effect.withSpan("LogKeeper.standstill"))
  })
})

export const layer = Layer.effect(LogKeeper, make)
