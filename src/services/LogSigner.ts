/**
 * The keys of the public log and the signer state of this instance. A log is worthless once two signed trees contradict each
 * other, so every instance records the largest checkpoint it has seen outside the database, where no restore and no failover
 * of the database reaches it.
 */
import { Context, Data } from "effect"
import type { Effect, Option } from "effect"

/** A state of a log: its name, its number of entries, and the root over them. */
export interface TreeHead {
  readonly origin: string
  readonly size: number
  readonly root: Uint8Array
}

/** A tree head and its signed note. */
export interface Checkpoint extends TreeHead {
  readonly note: string
}

export interface SignerState {
  /** The largest checkpoint that this instance has seen. */
  readonly checkpoint: Option.Option<Checkpoint>
  /** The database server on which this instance may sequence and sign; none until an administrator lets it. */
  readonly server: Option.Option<string>
  /** The number of the newest known continuation; 0 without one. */
  readonly continuation: number
}

/** The server in a state from a version that recorded none: it stands for the first server met. */
export const anyServer = "any"

export interface LogKeys {
  /** The key that verifies this instance's signatures. */
  readonly verifierKey: (origin: string) => string
  /** The key before the last change, which also signs while it is set. */
  readonly previousVerifierKey: (origin: string) => Option.Option<string>
  /** Signs a text: the signature lines of both keys, the newest first. */
  readonly sign: (origin: string, text: string) => string
}

/** A key cannot be read or made, or the signer state cannot be saved; the message is for the operator. */
export class SignerUnusable extends Data.TaggedError("SignerUnusable")<{ readonly message: string }> {}

export class LogSigner extends Context.Service<
  LogSigner,
  {
    /** The keys. If none is set, the first use makes one. */
    readonly keys: Effect.Effect<LogKeys, SignerUnusable>
    /** The saved state; none in a data directory that has never seen a log. */
    readonly state: Effect.Effect<Option.Option<SignerState>, SignerUnusable>
    /**
     * Saves the state and returns once it is on disk, before which no signature may be shown. A larger checkpoint, from
     * another process with this directory, stays.
     */
    readonly save: (state: SignerState) => Effect.Effect<void, SignerUnusable>
  }
>()("auspex/services/LogSigner") {}
