/**
 * The keys of the public log, and what this instance remembers of the log outside the database. A log of which two trees were
 * signed that contradict each other is worth nothing, so every instance keeps the largest checkpoint it has seen where no
 * restore and no failover of the database reaches it.
 */
import { Context, Data } from "effect"
import type { Effect, Option } from "effect"

/** How far a log has grown: its name, its number of entries, and the root over them. */
export interface TreeHead {
  readonly origin: string
  readonly size: number
  readonly root: Uint8Array
}

/** A tree head, and the signed note that says it. */
export interface Checkpoint extends TreeHead {
  readonly note: string
}

export interface Memory {
  /** The largest one that was seen. */
  readonly checkpoint: Option.Option<Checkpoint>
  /** The database server on which this instance may keep the log; none until an administrator has let it. */
  readonly server: Option.Option<string>
  /** The number of the newest continuation that is known; 0 when none is. */
  readonly continuation: number
}

/** The server in a memory of a version that noted none: the first one met. */
export const anyServer = "any"

export interface LogKeys {
  /** What others check this instance's signatures with. */
  readonly verifierKey: (origin: string) => string
  /** The key before the last change: it goes on signing, beside the new one, while it is set. */
  readonly previousVerifierKey: (origin: string) => Option.Option<string>
  /** The signature lines of both keys under a text, the newest first. */
  readonly sign: (origin: string, text: string) => string
}

/** A key cannot be read or made, or what was seen cannot be kept; the message is for the operator. */
export class SignerUnusable extends Data.TaggedError("SignerUnusable")<{ readonly message: string }> {}

export class LogSigner extends Context.Service<
  LogSigner,
  {
    /** Made at the first use, where no key is set and none was made. */
    readonly keys: Effect.Effect<LogKeys, SignerUnusable>
    /** None in a data directory that has never seen a log. */
    readonly memory: Effect.Effect<Option.Option<Memory>, SignerUnusable>
    /**
     * Returns once it is on disk; what is signed is shown to nobody before. A larger checkpoint that is there already,
     * from another process with this directory, stays.
     */
    readonly remember: (memory: Memory) => Effect.Effect<void, SignerUnusable>
  }
>()("auspex/services/LogSigner") {}
