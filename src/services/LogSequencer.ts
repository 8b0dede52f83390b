/**
 * Writes the public log of the track record: assigns indices to pending entries, and signs checkpoints. Any number of
 * replicas may do so at once. The log never forks: every instance records the largest checkpoint it has seen, and if the
 * database has another log, or may have lost a part of it, the instance neither sequences nor signs.
 */
import { Context, Duration, Schema } from "effect"
import type { Effect, Option } from "effect"
import type { Checkpoint } from "./LogSigner.ts"
import { apiError } from "./domain/errors.ts"
import type { InvalidRequest } from "./domain/errors.ts"
import { Timestamp } from "./domain/text.ts"

/** The maximum number of indices that one pass of `sequence` assigns. */
export const maxPerPass = 1024

export interface Stalled {
  /** The fault of the log. While there is one no replica sequences or signs; an audit without differences clears it. */
  readonly fault: string | null
  /** The time that entries have been pending while the log did not grow, as measured by this instance. */
  readonly seconds: number
}

/** The largest checkpoint that an instance has seen. */
export interface Seen extends Checkpoint {
  /** True if the database has this checkpoint or a larger one. */
  readonly isKept: boolean
}

/** The interval at which an instance that does not sequence compares its signer state with the database. */
export const watchInterval = Duration.seconds(5)

/**
 * The time from a continuation until instances go on. Within it every running instance compares its signer state, even if its
 * last comparison failed, and records a fault if it has seen more of the log.
 */
export const resumeDelay = Duration.seconds(20)

/** The name of a log: its address without a scheme (c2sp.org/tlog-checkpoint). */
export const NewOrigin = Schema.String.check(
  Schema.isPattern(/^[A-Za-z0-9][A-Za-z0-9._~:/-]{0,254}$/u, {
    message: "Expected a name of up to 255 letters, digits and ._~:/-, for example auspex.example/log/2"
  })
).annotate({
  description: "another name, where signed entries are lost: the log cannot go on under the one it has"
})

/** An administrator's word that lets the log go on. */
export const Continuation = Schema.Struct({
  number: Schema.Int,
  origin: Schema.String.annotate({ description: "the name under which the log goes on" }),
  size: Schema.Int.annotate({ description: "entries that the log had then" }),
  lost_size: Schema.NullOr(Schema.Int).annotate({
    description:
      "the size of the largest checkpoint that was seen and is lost; the log has another name since"
  }),
  continued_at: Timestamp,
  in_force_at: Timestamp.annotate({ description: "when instances go on" }),
  fault: Schema.NullOr(Schema.String).annotate({
    description: "what else keeps the log from going on, until an audit finds nothing"
  })
}).annotate({ identifier: "Continuation" })
export type Continuation = typeof Continuation.Type

/** 409: signed entries are gone, so the log cannot go on under its name. */
export class LogLost extends apiError("LogLost", 409, "log_lost") {}

/** 409: the log has no name yet, so no continuation is needed. */
export class LogUnnamed extends apiError("LogUnnamed", 409, "log_unnamed") {}

/** The log counts as stalled after this many seconds without growth while entries are pending. */
export const stalledAfter = 60

export class LogSequencer extends Context.Service<
  LogSequencer,
  {
    /**
     * Names the log and its key at the very first start, changes the key if a new one is set beside the previous one, and
     * compares the tree with the checkpoints seen. `sequence` and `publish` do the same first if it has not succeeded yet on
     * this server, and neither adds nor signs until it has.
     */
    readonly verifyAtStart: Effect.Effect<void>
    /**
     * Assigns indices to the oldest pending entries, up to `maxPerPass`, in the order of their ids, and returns their number;
     * 0 if none is pending, another replica came first, the log has a fault, or this instance waits for a continuation.
     */
    readonly sequence: Effect.Effect<number>
    /**
     * Signs a checkpoint of all durable entries and publishes it, unless the log has not grown, has a fault, or this instance
     * waits for a continuation.
     */
    readonly publish: Effect.Effect<void>
    /** Compares the log with the signer state and updates that. Passes that sequence or sign do so themselves. */
    readonly watch: Effect.Effect<void>
    /**
     * Records a checkpoint before it is shown. Returns the largest one seen under the log's name, so that no reader is shown
     * less than before.
     */
    readonly recordShown: (note: string) => Effect.Effect<string>
    /**
     * Records a continuation, which lets waiting instances go on on the database's present server and is an entry of the log.
     * If a checkpoint that was seen is lost, the log needs a name that it has not had before, because no proof can show a
     * holder of that checkpoint that the log only grew. A renamed log goes on once an audit finds no difference.
     */
    readonly continue: (request: {
      readonly reason: string
      readonly origin: Option.Option<string>
    }) => Effect.Effect<Continuation, InvalidRequest | LogLost | LogUnnamed>
    /** Adds reveals of predictions whose challenge is closed in the log and past its deadline; returns their number. */
    readonly revealDue: Effect.Effect<number>
    /** Thins out checkpoints that are older than a day to one an hour. */
    readonly trim: Effect.Effect<void>
    /** Measures the backlog, the age of the newest checkpoint, and whether the log has a fault. */
    readonly measure: Effect.Effect<void>
    /** The largest checkpoint under the log's name in this instance's signer state. */
    readonly seen: Effect.Effect<Option.Option<Seen>>
    /** The newest key of the log, if this instance signs with it. */
    readonly verifierKey: Effect.Effect<Option.Option<string>>
    /** The reason why this instance does not sequence or sign, or the failure of its last passes; null while both work. */
    readonly fault: Effect.Effect<string | null>
    /** Fault and stall of the log, whichever instance is to sequence it. */
    readonly stalled: Effect.Effect<Stalled>
  }
>()("auspex/services/LogSequencer") {}
