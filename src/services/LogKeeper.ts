/**
 * Keeps the public log of the track record: gives what was recorded its place in the log, and signs how far the log
 * has grown. Any number of replicas may do so at once; the log never forks.
 */
import { Context } from "effect"
import type { Effect, Option } from "effect"
import type { TreeHead } from "./LogSigner.ts"

/** How many entries one pass of `sequence` gives their indices at most. */
export const maxPerPass = 1024

export interface Standstill {
  /** What was found wrong with the log, and keeps all replicas from adding to it and signing it. */
  readonly fault: string | null
  /** For how long something has waited and nothing got its place, as this instance has seen. */
  readonly seconds: number
}

/** What an instance signed last. */
export interface Signed extends TreeHead {
  /** Whether a checkpoint of it, or of a larger tree, is kept. */
  readonly isKept: boolean
}

/** What waits for longer than this shows that nobody keeps the log. */
export const maxWait = 60

export class LogKeeper extends Context.Service<
  LogKeeper,
  {
    /**
     * Names the log and its key at the very first start, changes the key where a new one is set beside the previous
     * one, and compares the tree with what was signed of it. Until this has succeeded nothing is signed; `publish` does
     * it where it was not done.
     */
    readonly verifyAtStart: Effect.Effect<void>
    /**
     * Gives indices to what waits, up to `maxPerPass` entries, in the order in which it was queued. Answers how many;
     * 0 when nothing waits, another replica is at it, or the log has a fault.
     */
    readonly sequence: Effect.Effect<number>
    /** Signs the log as far as it has grown, and publishes that, unless it has not grown or has a fault. */
    readonly publish: Effect.Effect<void>
    /** Queues the reveals of some predictions whose challenge is closed in the log and past its deadline; how many. */
    readonly revealDue: Effect.Effect<number>
    /** Thins out old checkpoints: of what is older than a day, one an hour stays. */
    readonly trim: Effect.Effect<void>
    /** Measures how much waits for its index, how old the newest checkpoint is, and whether the log has a fault. */
    readonly measure: Effect.Effect<void>
    /** What this instance signed last, as it remembers outside the database. */
    readonly signed: Effect.Effect<Option.Option<Signed>>
    /** The newest key that checkpoints are signed with, once the log has one. */
    readonly verifierKey: Effect.Effect<Option.Option<string>>
    /** Why this instance does not keep the log, as far as it knows, or why its last passes failed; null while it does. */
    readonly fault: Effect.Effect<string | null>
    /** Whether the log stands still, whoever was to keep it: asking costs next to nothing. */
    readonly standstill: Effect.Effect<Standstill>
  }
>()("auspex/services/LogKeeper") {}
