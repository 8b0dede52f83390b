/**
 * Writes the public log of the track record: assigns indices to pending entries, and signs how far the log has grown. Any
 * number of replicas may do so at once. The log never forks: every instance remembers the largest checkpoint it has seen,
 * and where the database has another log, or may have lost a part of it, nothing is added or signed.
 */
import { Context, Duration, Schema } from "effect"
import type { Effect, Option } from "effect"
import type { Checkpoint } from "./LogSigner.ts"
import { apiError } from "./domain/errors.ts"
import type { InvalidRequest } from "./domain/errors.ts"
import { Timestamp } from "./domain/text.ts"

/** One pass of `sequence` assigns at most so many indices. */
export const maxPerPass = 1024

export interface Stalled {
  /** What was found wrong with the log. No replica adds to it or signs it until an audit has found it clean. */
  readonly fault: string | null
  /** For how long entries have been pending while the log did not grow, as this instance has seen. */
  readonly seconds: number
}

/** The largest checkpoint that an instance has seen. */
export interface Seen extends Checkpoint {
  /** Whether it, or a larger one, is kept in the database. */
  readonly isKept: boolean
}

/** How often an instance that keeps no log compares what it remembers with the database. */
export const watchInterval = Duration.seconds(5)

/**
 * A continuation is in force so long after it was said. Until then every running instance has looked, also one whose last look
 * failed, and objects where it remembers more.
 */
export const objectionTime = Duration.seconds(20)

/** Where a log is found, without a scheme (c2sp.org/tlog-checkpoint). */
export const NewOrigin = Schema.String.check(
  Schema.isPattern(/^[A-Za-z0-9][A-Za-z0-9._~:/-]{0,254}$/u, {
    message: "Expected a name of up to 255 letters, digits and ._~:/-, for example auspex.example/log/2"
  })
).annotate({
  description: "another name, where signed entries are lost: the log cannot go on under the one it has"
})

/** What an administrator said: the log goes on from here. */
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

/** 409: entries under a signature are gone, so that the log cannot go on under its name. */
export class LogLost extends apiError("LogLost", 409, "log_lost") {}

/** 409: nothing has been signed yet, so nothing has to go on. */
export class LogUnnamed extends apiError("LogUnnamed", 409, "log_unnamed") {}

/** After so many seconds without growth beside pending entries the log counts as stalled. */
export const maxWait = 60

export class LogSequencer extends Context.Service<
  LogSequencer,
  {
    /**
     * Names the log and its key at the very first start, changes the key where a new one is set beside the previous
     * one, and compares the tree with what was seen of it. Until this has succeeded nothing is added or signed; `sequence`
     * and `publish` do it where it was not done, and anew on another server.
     */
    readonly verifyAtStart: Effect.Effect<void>
    /**
     * Assigns indices to the oldest pending entries, up to `maxPerPass`, in the order of their ids. Answers how many; 0 when
     * none is pending, another replica came first, the log has a fault, or this instance waits for a continuation.
     */
    readonly sequence: Effect.Effect<number>
    /**
     * Signs the log as far as it has grown and as commits are durable, and publishes that, unless it has not grown, has a
     * fault, or this instance waits for a continuation.
     */
    readonly publish: Effect.Effect<void>
    /** Compares the log with what this instance remembers, and remembers more. Other passes do so themselves. */
    readonly watch: Effect.Effect<void>
    /**
     * A checkpoint is about to be shown: it is remembered first. Answers the largest that was seen under the name of the
     * log, so that nobody is shown less than before.
     */
    readonly see: (note: string) => Effect.Effect<string>
    /**
     * Lets waiting instances go on, on the server that the database is on now. It is an entry of the log. Where a checkpoint
     * that was seen is lost the log needs another name, which it has not had before: whoever holds that checkpoint can never
     * be shown that it only grew. Under that name it goes on once an audit has found it in order.
     */
    readonly continue: (said: {
      readonly reason: string
      readonly origin: Option.Option<string>
    }) => Effect.Effect<Continuation, InvalidRequest | LogLost | LogUnnamed>
    /** Adds the reveals of some predictions whose challenge is closed in the log and past its deadline; how many. */
    readonly revealDue: Effect.Effect<number>
    /** Thins out old checkpoints: of what is older than a day, one an hour stays. */
    readonly trim: Effect.Effect<void>
    /** Measures the backlog, the age of the newest checkpoint, and whether the log has a fault. */
    readonly measure: Effect.Effect<void>
    /** The largest checkpoint that this instance has seen under the log's name, as it remembers outside the database. */
    readonly seen: Effect.Effect<Option.Option<Seen>>
    /** The newest key of the log, once it has one, where this instance signs with it. */
    readonly verifierKey: Effect.Effect<Option.Option<string>>
    /** Why this instance does not sequence or sign, as far as it knows, or why its last passes failed; null while it does. */
    readonly fault: Effect.Effect<string | null>
    /** Whether the log is stalled, whichever instance was to sequence it. */
    readonly stalled: Effect.Effect<Stalled>
  }
>()("auspex/services/LogSequencer") {}
