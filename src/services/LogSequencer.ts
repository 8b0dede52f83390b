/**
 * Writes the public log of the track record: assigns indices to pending entries, and signs how far the log has grown. Any
 * number of replicas may do so at once; the log never forks.
 */
import { Context } from "effect"
import type { Effect, Option } from "effect"
import type { TreeHead } from "./LogSigner.ts"

/** One pass of `sequence` assigns at most so many indices. */
export const maxPerPass = 1024

export interface Stalled {
  /** What was found wrong with the log. No replica adds to it or signs it until an audit has found it clean. */
  readonly fault: string | null
  /** For how long entries have been pending while the log did not grow, as this instance has seen. */
  readonly seconds: number
}

/** What an instance signed last. */
export interface Signed extends TreeHead {
  /** Whether a checkpoint of it, or of a larger tree, is kept. */
  readonly isKept: boolean
}

/** After so many seconds without growth beside pending entries the log counts as stalled. */
export const maxWait = 60

export class LogSequencer extends Context.Service<
  LogSequencer,
  {
    /**
     * Names the log and its key at the very first start, changes the key where a new one is set beside the previous
     * one, and compares the tree with what was signed of it. Until this has succeeded nothing is signed; `publish` does
     * it where it was not done.
     */
    readonly verifyAtStart: Effect.Effect<void>
    /**
     * Assigns indices to the oldest pending entries, up to `maxPerPass`, in the order of their ids. Answers how many; 0 when
     * none is pending, another replica came first, or the log has a fault.
     */
    readonly sequence: Effect.Effect<number>
    /** Signs the log as far as it has grown, and publishes that, unless it has not grown or has a fault. */
    readonly publish: Effect.Effect<void>
    /** Adds the reveals of some predictions whose challenge is closed in the log and past its deadline; how many. */
    readonly revealDue: Effect.Effect<number>
    /** Thins out old checkpoints: of what is older than a day, one an hour stays. */
    readonly trim: Effect.Effect<void>
    /** Measures the backlog, the age of the newest checkpoint, and whether the log has a fault. */
    readonly measure: Effect.Effect<void>
    /** What this instance signed last, as it remembers outside the database. */
    readonly signed: Effect.Effect<Option.Option<Signed>>
    /** The newest key that checkpoints are signed with, once the log has one. */
    readonly verifierKey: Effect.Effect<Option.Option<string>>
    /** Why this instance does not sequence or sign, as far as it knows, or why its last passes failed; null while it does. */
    readonly fault: Effect.Effect<string | null>
    /** Whether the log is stalled, whichever instance was to sequence it. */
    readonly stalled: Effect.Effect<Stalled>
  }
>()("auspex/services/LogSequencer") {}
