/**
 * Taking checkpoints to those who attest them. A row for each says what it has attested and when it may be asked again,
 * so over all replicas one asks at a time, always about the newest checkpoint, and what fails is asked less and less.
 */
import { DateTime, Duration, Effect, Metric, Option, Schema } from "effect"
import { SqlClient } from "effect/sql"
import type { ExchangeFailed } from "../../boundedPost.ts"
import { execute, findOption, timestamp } from "../sql.ts"

/** A replica that dies while it asks holds the attestor for so long: longer than an exchange may take. */
const lease = Duration.minutes(1)
const firstPause = Duration.seconds(5)
const maxPause = Duration.minutes(10)
/** Nobody outside makes us forget an attestor for longer. */
const maxWait = Duration.hours(1)

const attempts = Metric.counter("log_attestations_total", {
  description: "Checkpoints taken to witnesses and to the time stamp authority, by attestor and outcome",
  incremental: true
})

const Turn = Schema.Struct({
  /** The largest tree that it has attested. */
  attested: Schema.Int,
  failures: Schema.Int,
  failure: Schema.NullOr(Schema.String),
  size: Schema.Int,
  note: Schema.String
})
/** What to ask it about, and what it said before. */
export type Turn = typeof Turn.Type

/** Twice as long after every failure, and as long as it asks for itself. */
const pauseAfter = (failures: number, { retryAfter = Duration.zero }: ExchangeFailed): Duration.Duration =>
  Duration.max(
    Duration.min(Duration.times(firstPause, 2 ** Math.min(failures, 10)), maxPause),
    Duration.min(retryAfter, maxWait)
  )

export const makeAttestor = Effect.fnUntraced(function* (name: string) {
  const sql = yield* SqlClient.SqlClient
  const turn = findOption(Turn)

  /** The newest checkpoint, if it is to be asked about it now. Whoever gets it holds the attestor until it has answered. */
  const take = Effect.fnUntraced(function* () {
    const now = yield* DateTime.now
    return yield* turn(sql`
      with newest as (select size, note from log_checkpoints order by size desc limit 1),
      taken as (
        insert into log_attestors as a (attestor, size, due_at, failures)
        select ${name}, 0, ${timestamp(DateTime.addDuration(now, lease))}, 0
          from newest
         where newest.size > 0
           and not exists (
             select from log_attestors k
              where k.attestor = ${name} and (k.due_at > ${timestamp(now)} or k.size >= newest.size))
        on conflict (attestor) do update set due_at = excluded.due_at where a.due_at <= ${timestamp(now)}
        returning a.size, a.failures, a.failure
      )
      select t.size::float8 as attested, t.failures, t.failure, n.size::float8 as size, n.note
        from taken t cross join newest n`)
    // Asked every second, mostly in vain: a trace of it would tell nobody anything.
  }, Effect.withTracerEnabled(false))

  const succeeded = Effect.fnUntraced(function* (taken: Turn, rest: Duration.Duration) {
    const now = yield* DateTime.now
    yield* execute(sql`
      update log_attestors
         set size = ${taken.size}, due_at = ${timestamp(DateTime.addDuration(now, rest))}, failures = 0, failure = null
       where attestor = ${name}`)
    yield* Metric.update(Metric.withAttributes(attempts, { attestor: name, outcome: "attested" }), 1)
    if (taken.failure !== null) {
      yield* Effect.logInfo("the log's checkpoints are attested again").pipe(
        Effect.annotateLogs({ attestor: name, size: taken.size })
      )
    }
  })

  const failed = Effect.fnUntraced(function* (taken: Turn, failure: ExchangeFailed) {
    const { reason } = failure
    const now = yield* DateTime.now
    const due = DateTime.addDuration(now, pauseAfter(taken.failures, failure))
    yield* execute(sql`
      update log_attestors set failures = failures + 1, failure = ${reason}, due_at = ${timestamp(due)}
       where attestor = ${name}`)
    yield* Metric.update(Metric.withAttributes(attempts, { attestor: name, outcome: "failed" }), 1)
    if (taken.failure !== reason) {
      yield* Effect.logWarning("a checkpoint of the log was not attested; it is asked for again").pipe(
        Effect.annotateLogs({ attestor: name, size: taken.size, reason })
      )
    }
  })

  /** Takes the newest checkpoint to it, if it is time; after an answer it is left alone for `rest`. */
  const attend = (
    rest: Duration.Duration,
    ask: (taken: Turn) => Effect.Effect<void, ExchangeFailed>
  ): Effect.Effect<void> =>
    Effect.flatMap(
      take(),
      Option.match({
        onNone: () => Effect.void,
        onSome: (taken) =>
          ask(taken).pipe(
            Effect.andThen(succeeded(taken, rest)),
            Effect.catchTag("ExchangeFailed", (failure) => failed(taken, failure)),
            Effect.withSpan("log.attest", { attributes: { "log.attestor": name, "log.size": taken.size } })
          )
      })
    )

  return { attend }
})
