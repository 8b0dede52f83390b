/**
 * The public log of the track record, as strangers read it to check it: signed checkpoints, the tiles of the Merkle
 * tree and the entries below them, and proofs that can be checked offline. What is served lies below the newest
 * published checkpoint, so it never changes. (Writing the log is another service, and whoever checks trusts neither.)
 */
import { Context, Schema } from "effect"
import type { Effect } from "effect"
import { apiError, apiErrorWith, errorCode } from "./domain/errors.ts"
import type { NotFound } from "./domain/errors.ts"
import { ChallengeId } from "./domain/ids.ts"

/** 256 hashes, or entries, make a full tile. */
export const tileWidth = 256

/** A prediction's place in the log. */
export const LogEntry = Schema.Struct({
  commit: Schema.String.annotate({ description: "hex" }),
  challenge_id: ChallengeId,
  leaf_index: Schema.Int,
  entry: Schema.String.annotate({
    description: "the entry as it is logged, canonical JSON; its leaf hash is SHA-256(0x00 entry)"
  })
}).annotate({ identifier: "LogEntry" })
export type LogEntry = typeof LogEntry.Type

/** What the log says of a challenge itself: that it was made, closed, and settled or void. */
export const ChallengeEntry = Schema.Struct({
  type: Schema.String,
  version: Schema.Int,
  leaf_index: Schema.Int
})
export type ChallengeEntry = typeof ChallengeEntry.Type

/** 404: nothing has been published yet. */
export class LogEmpty extends apiError("LogEmpty", 404, "log_empty") {}

/** 409: it is recorded, and waits for its place in the log or for a checkpoint that covers it. Waiting `retry_after` seconds is usually enough. */
export class NotSequenced extends apiErrorWith("NotSequenced", 409, {
  code: errorCode("not_sequenced"),
  retry_after: Schema.Int.annotate({ description: "seconds" })
}) {}

/** How many entries a checkpoint covers: its second line. */
export const entriesIn = (checkpoint: string): number => Number(checkpoint.split("\n")[1])

export class TransparencyLog extends Context.Service<
  TransparencyLog,
  {
    /** The newest signed tree head, with the cosignatures of witnesses under it (C2SP tlog-checkpoint). */
    readonly checkpoint: Effect.Effect<string, LogEmpty>
    /** The keys that checkpoints are verified with, newest first (C2SP signed-note). */
    readonly verifierKeys: Effect.Effect<ReadonlyArray<string>>
    /** The first `width` hashes of tile `n` of a level (C2SP tlog-tiles). */
    readonly hashTile: (level: number, n: number, width: number) => Effect.Effect<Uint8Array, NotFound>
    /** The first `width` entries from number `n * 256` on, each after its length in two bytes, big-endian. */
    readonly entryBundle: (n: number, width: number) => Effect.Effect<Uint8Array, NotFound>
    /** Whether it does not grow, for a fault or because no sequencer runs: what is recorded stays pending, and is not lost. */
    readonly stalled: Effect.Effect<boolean>
    /** The place of the prediction with this commit, in hexadecimal. */
    readonly entryOf: (commit: string) => Effect.Effect<LogEntry, NotFound | NotSequenced>
    /**
     * That a prediction is in the log (C2SP tlog-proof). The extra data are canonical JSON: `entry`, and from the
     * deadline on, once the prediction is revealed in the log, the `salt` and `body` that its commit is the hash of.
     */
    readonly proofOf: (commit: string) => Effect.Effect<string, NotFound | NotSequenced>
    /** The same of the entry at a place, whatever it records; the extra data are `entry` alone. */
    readonly proofAt: (leafIndex: string) => Effect.Effect<string, NotFound | NotSequenced>
    /** The same of how a challenge ended: its newest settlement, or that it was cancelled. */
    readonly settlementProof: (challengeId: string) => Effect.Effect<string, NotFound | NotSequenced>
    /** The entries of a challenge itself that a published checkpoint covers, in the order of the log. */
    readonly entriesOf: (challengeId: string) => Effect.Effect<ReadonlyArray<ChallengeEntry>>
  }
>()("auspex/services/TransparencyLog") {}
