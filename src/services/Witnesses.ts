/**
 * Third parties that attest checkpoints of the log. Witnesses (c2sp.org/tlog-witness) cosign one once they have checked
 * that the log has only grown since the last one they saw, so two parts of the world can never be shown two logs. A time
 * stamp authority (RFC 3161) says when a tree head was there, so nobody has to believe this service's clock. The log waits
 * for neither.
 */
import { Context } from "effect"
import type { Effect, Option } from "effect"
import type { NotFound } from "./domain/errors.ts"

export interface Witness {
  /** The name of its key. */
  readonly name: string
  /**
   * Asks it to cosign the newest checkpoint, if it has not, nobody is asking it just now, and it is not left alone after
   * a failure. What it refuses is logged, and never fails.
   */
  readonly ask: Effect.Effect<void>
}

export interface TimeStamp {
  /** The text of the checkpoint's note (origin, size and root, three lines): the very bytes that are stamped. */
  readonly text: string
  /** The authority's answer, DER, as `openssl ts -verify -in` reads it. */
  readonly reply: Uint8Array
}

export class Witnesses extends Context.Service<
  Witnesses,
  {
    /** Those that are configured. Each is asked on its own, so that one that hangs holds up no other. */
    readonly all: ReadonlyArray<Witness>
    /** Has the newest checkpoint stamped, once an hour at most. What the authority refuses is logged, and never fails. */
    readonly stamp: Effect.Effect<void>
    /** The time stamp of the checkpoint of this size. */
    readonly timeStamp: (size: number) => Effect.Effect<TimeStamp, NotFound>
    /** The sizes of stamped checkpoints, newest first, those before one of them. */
    readonly timeStamped: (before: Option.Option<number>) => Effect.Effect<ReadonlyArray<number>>
  }
>()("auspex/services/Witnesses") {}
