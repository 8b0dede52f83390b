/**
 * Submits checkpoints to witnesses and to the time stamp authority. Each has a row with what it has attested and when it
 * may be asked again: over all replicas one asks at a time, always about the newest checkpoint, and less often after each
 * failure.
 */
import { createHash } from "node:crypto"
import { DateTime, Duration, Effect, Layer, Metric, Option, Schema } from "effect"
import { SecureRandom } from "effect/crypto"
import { SqlClient } from "effect/sql"
import { NotFound } from "../../../services/domain/errors.ts"
import { LogSequencer } from "../../../services/LogSequencer.ts"
import { Settings } from "../../../services/Settings.ts"
import { Witnesses } from "../../../services/Witnesses.ts"
import { parseNote } from "../../crypto/signedNote.ts"
import { ExchangeFailed, makePost } from "../../witness/boundedPost.ts"
import { addCheckpoint, parseWitnessKey } from "../../witness/cosignature.ts"
import type { Witness } from "../../witness/cosignature.ts"
import { askTimeStamp, nonceOf } from "../../witness/timeStamp.ts"
import { doublingPause } from "../retryPause.ts"
import { boundTime, boundNow, execute, findAll, findOption, intervalOf, timestamp } from "../sql.ts"
import { consistencyProof } from "./proofs.ts"

/** The tolerated skew of a witness's clock. */
const maxAhead = Duration.minutes(5)
/** The interval between requests for time stamps. */
const interval = Duration.hours(1)
const nonceLength = 16
/** The name contains a space, so no witness can have it. */
const attestor = "time stamp authority"
const maxListed = 1000

const textOf = (note: string): string => Option.getOrThrow(parseNote(note)).text

/** A request holds its row for this long, even if its replica dies; an exchange ends sooner. */
const lease = Duration.minutes(1)
const firstPause = Duration.seconds(5)
const maxPause = Duration.minutes(10)
/** The maximum Retry-After that is honoured. */
const maxRetryAfter = Duration.hours(1)

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
/** The checkpoint to submit, and the state of the row. */
export type Turn = typeof Turn.Type

/** The pause is at least the Retry-After of the last failure. */
const pauseAfter = (failures: number, { retryAfter = Duration.zero }: ExchangeFailed): Duration.Duration =>
  Duration.max(doublingPause(failures, firstPause, maxPause), Duration.min(retryAfter, maxRetryAfter))

export const makeExchange = Effect.fnUntraced(function* (name: string) {
  const sql = yield* SqlClient.SqlClient
  const sequencer = yield* LogSequencer
  const turn = findOption(Turn)

  /** Claims the row and answers the newest checkpoint, if it is due. */
  const take = Effect.fnUntraced(function* () {
    const now = yield* DateTime.now
    return yield* turn(sql`
      with newest as (select size, note from log_checkpoints order by size desc limit 1),
      taken as (
        insert into log_witnesses as a (witness, size, due_at, failures)
        select ${name}, 0, ${boundTime(sql, now)} + ${intervalOf(sql, lease)}, 0
          from newest
         where newest.size > 0
           and not exists (
             select from log_witnesses k
              where k.witness = ${name} and (k.due_at > ${boundTime(sql, now)} or k.size >= newest.size))
        on conflict (witness) do update set due_at = excluded.due_at where a.due_at <= ${boundTime(sql, now)}
        returning a.size, a.failures, a.failure
      )
      select t.size::float8 as attested, t.failures, t.failure, n.size::float8 as size, n.note
        from taken t cross join newest n`)
    // It runs every second and mostly finds nothing, so it is not traced.
  }, Effect.withTracerEnabled(false))

  const succeeded = Effect.fnUntraced(function* (taken: Turn, rest: Duration.Duration) {
    const now = yield* boundNow(sql)
    yield* execute(sql`
      update log_witnesses
         set size = ${taken.size}, due_at = ${timestamp(DateTime.addDuration(now, rest))}, failures = 0, failure = null
       where witness = ${name}`)
    yield* Metric.update(Metric.withAttributes(attempts, { attestor: name, outcome: "attested" }), 1)
    if (taken.failure !== null) {
      yield* Effect.logInfo("the log's checkpoints are attested again").pipe(
        Effect.annotateLogs({ attestor: name, size: taken.size })
      )
    }
  })

  const failed = Effect.fnUntraced(function* (taken: Turn, failure: ExchangeFailed) {
    const { reason } = failure
    const now = yield* boundNow(sql)
    const due = DateTime.addDuration(now, pauseAfter(taken.failures + 1, failure))
    yield* execute(sql`
      update log_witnesses set failures = failures + 1, failure = ${reason}, due_at = ${timestamp(due)}
       where witness = ${name}`)
    yield* Metric.update(Metric.withAttributes(attempts, { attestor: name, outcome: "failed" }), 1)
    if (taken.failure !== reason) {
      yield* Effect.logWarning("a checkpoint of the log was not attested; it is submitted again").pipe(
        Effect.annotateLogs({ attestor: name, size: taken.size, reason })
      )
    }
  })

  /** Submits the newest checkpoint if it is due; after an answer the next is due after `rest`. */
  const attend = (
    rest: Duration.Duration,
    ask: (taken: Turn) => Effect.Effect<void, ExchangeFailed>
  ): Effect.Effect<void> =>
    Effect.flatMap(
      take(),
      Option.match({
        onNone: () => Effect.void,
        onSome: (taken) =>
          // The checkpoint is recorded before a third party sees it.
          Effect.andThen(sequencer.recordShown(taken.note), ask(taken)).pipe(
            Effect.andThen(succeeded(taken, rest)),
            Effect.catchTag("ExchangeFailed", (failure) => failed(taken, failure)),
            Effect.withSpan("log.attest", { attributes: { "log.attestor": name, "log.size": taken.size } })
          )
      })
    )

  return { attend }
})

const makeWitnesses = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const { logWitnesses } = yield* Settings
  const post = yield* makePost

  const submit = Effect.fnUntraced(function* (witness: Witness, oldSize: number, { note, size }: Turn) {
    const proof = yield* consistencyProof(sql, oldSize, size)
    return yield* addCheckpoint(post, witness, { note, text: textOf(note), oldSize, proof })
  })

  /** Asks for a cosignature. If the witness remembers another size than ours, asks once more with a proof from that size. */
  const cosignature = Effect.fnUntraced(function* (witness: Witness, turn: Turn) {
    const first = yield* submit(witness, turn.attested, turn)
    if (first._tag === "Cosigned") return first.cosignature
    if (first.size > turn.size) {
      return yield* new ExchangeFailed({
        reason:
          "it has cosigned a larger tree of this log: the log was set back, or somebody signs in its name"
      })
    }
    const second = yield* submit(witness, first.size, turn)
    if (second._tag === "Cosigned") return second.cosignature
    return yield* new ExchangeFailed({
      reason: "it answered 409: it has another tree of the same size, or says another size each time"
    })
  })

  const ask = Effect.fnUntraced(function* (witness: Witness, turn: Turn) {
    const { line, seconds } = yield* cosignature(witness, turn)
    const now = yield* DateTime.now
    const cosignedAt = DateTime.makeUnsafe(0).pipe(DateTime.addDuration(Duration.seconds(Number(seconds))))
    if (DateTime.isGreaterThan(cosignedAt, DateTime.addDuration(now, maxAhead))) {
      return yield* new ExchangeFailed({ reason: "its clock is ahead of ours" })
    }
    // The checkpoint may have been thinned out meanwhile, so the row is selected again.
    yield* execute(sql`
      insert into log_cosignatures (size, witness, line, cosigned_at)
      select size, ${witness.verifier.name}, ${line}, ${timestamp(cosignedAt)}
        from log_checkpoints where size = ${turn.size} for key share
      on conflict (size, witness) do update set line = excluded.line, cosigned_at = excluded.cosigned_at`)
  })

  const all = yield* Effect.forEach(logWitnesses, ({ url, verifierKey }) =>
    Effect.gen(function* () {
      const verifier = Option.getOrThrow(parseWitnessKey(verifierKey))
      const witness: Witness = { submissionPrefix: url, verifier }
      const { attend } = yield* makeExchange(verifier.name)
      return { name: verifier.name, ask: attend(Duration.zero, (turn) => ask(witness, turn)) }
    })
  )
  return { all }
})

const makeTimeStamps = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const random = yield* SecureRandom.SecureRandom
  const { logTimeStampUrl } = yield* Settings
  const post = yield* makePost
  const { attend } = yield* makeExchange(attestor)
  const stampRow = findOption(Schema.Struct({ note: Schema.String, reply: Schema.Uint8Array }))
  const sizeRows = findAll(Schema.Struct({ size: Schema.Int }))

  const ask = Effect.fnUntraced(function* (url: string, { note, size }: Turn) {
    const hash = createHash("sha256").update(textOf(note)).digest()
    const nonce = nonceOf(yield* random.randomBytes(nonceLength))
    const reply = yield* askTimeStamp(post, url, { hash, nonce })
    yield* execute(
      sql`update log_checkpoints set time_stamp = ${reply} where size = ${size} and time_stamp is null`
    )
  })

  const stamp: Witnesses["Service"]["stamp"] = Option.match(logTimeStampUrl, {
    onNone: () => Effect.void,
    onSome: (url) => attend(interval, (turn) => ask(url, turn))
  })

  const timeStamp: Witnesses["Service"]["timeStamp"] = Effect.fn("Witnesses.timeStamp")(function* (size) {
    const row = yield* stampRow(sql`
      select note, time_stamp as reply from log_checkpoints where size = ${size} and time_stamp is not null`)
    if (Option.isNone(row)) {
      return yield* new NotFound({
        detail: `There is no time stamp of a tree of ${size} entries; /log/timestamps lists those that there are.`
      })
    }
    return { text: textOf(row.value.note), reply: row.value.reply }
  })

  const timeStamped: Witnesses["Service"]["timeStamped"] = Effect.fn("Witnesses.timeStamped")(
    function* (before) {
      const rows = yield* sizeRows(sql`
      select size::float8 as size from log_checkpoints
       where time_stamp is not null
         and ${Option.match(before, { onNone: () => sql`true`, onSome: (end) => sql`size < ${end}` })}
       order by size desc limit ${maxListed}`)
      return rows.map(({ size }) => size)
    }
  )
  return { stamp, timeStamp, timeStamped }
})

export const layer = Layer.effect(
  Witnesses,
  Effect.gen(function* () {
    return Witnesses.of({ ...(yield* makeWitnesses), ...(yield* makeTimeStamps) })
  })
)
