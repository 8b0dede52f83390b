/**
 * Serves the public log of the track record to strangers who check it: signed checkpoints, the tiles of the Merkle tree and
 * their entries, and proofs that can be checked offline. Everything served is covered by the newest published checkpoint, so
 * it never changes. (LogSequencer writes the log; a reader who checks trusts neither service.)
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

/** An entry about a challenge itself: its creation, close, settlement, amendment or void. */
export const ChallengeEntry = Schema.Struct({
  type: Schema.String,
  version: Schema.Int,
  leaf_index: Schema.Int
})
export type ChallengeEntry = typeof ChallengeEntry.Type

/** 404: the log has no published checkpoint or key yet. */
export class LogEmpty extends apiError("LogEmpty", 404, "log_empty") {}

/** 409: the entry is recorded, but no published checkpoint covers it yet. A wait of `retry_after` seconds usually suffices. */
export class NotSequenced extends apiErrorWith("NotSequenced", 409, {
  code: errorCode("not_sequenced"),
  retry_after: Schema.Int.annotate({ description: "seconds" })
}) {}

/** The number of entries that a checkpoint covers, which is its second line. */
export const entriesIn = (checkpoint: string): number => Number(checkpoint.split("\n")[1])

export class TransparencyLog extends Context.Service<
  TransparencyLog,
  {
    /** The newest signed tree head, with the cosignatures of witnesses under it (C2SP tlog-checkpoint). */
    readonly checkpoint: Effect.Effect<string, LogEmpty>
    /** The keys that verify checkpoints, newest first (C2SP signed-note). */
    readonly verifierKeys: Effect.Effect<ReadonlyArray<string>>
    /** The first `width` hashes of tile `n` of a level (C2SP tlog-tiles). */
    readonly hashTile: (level: number, n: number, width: number) => Effect.Effect<Uint8Array, NotFound>
    /** The first `width` entries from index `n * 256` on, each preceded by its length in two bytes, big-endian. */
    readonly entryBundle: (n: number, width: number) => Effect.Effect<Uint8Array, NotFound>
    /** True while the log does not grow, because of a fault or without a sequencer; new entries stay pending and are not lost. */
    readonly stalled: Effect.Effect<boolean>
    /** The place of the prediction with this commit, in hexadecimal. */
    readonly entryOf: (commit: string) => Effect.Effect<LogEntry, NotFound | NotSequenced>
    /**
     * The proof that a prediction is in the log (C2SP tlog-proof). The extra data are canonical JSON: `entry`, and from the
     * deadline on, once the log reveals the prediction, `salt` and `body`, whose hash is its commit.
     */
    readonly proofOf: (commit: string) => Effect.Effect<string, NotFound | NotSequenced>
    /** The proof of the entry at an index, of any type; the extra data are `entry` alone. */
    readonly proofAt: (leafIndex: string) => Effect.Effect<string, NotFound | NotSequenced>
    /** The proof of the end of a challenge: its newest settlement, or its cancellation. */
    readonly settlementProof: (challengeId: string) => Effect.Effect<string, NotFound | NotSequenced>
    /** The entries about a challenge itself that a published checkpoint covers, in the order of the log. */
    readonly entriesOf: (challengeId: string) => Effect.Effect<ReadonlyArray<ChallengeEntry>>
  }
>()("auspex/services/TransparencyLog") {}
