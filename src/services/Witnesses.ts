/**
 * Third parties that attest checkpoints of the log. A witness (c2sp.org/tlog-witness) cosigns a checkpoint after it has
 * checked that the log only grew since the last one it cosigned, so two readers can never be shown two logs. A time stamp
 * authority (RFC 3161) attests when a tree head existed, so no reader has to believe this service's clock. The log waits for
 * neither.
 */
import { Context } from "effect"
import type { Effect, Option } from "effect"
import type { NotFound } from "./domain/errors.ts"

export interface Witness {
  /** The name of the witness's key. */
  readonly name: string
  /**
   * Asks for a cosignature of the newest checkpoint, unless the witness has given it, another replica is asking, or the pause
   * after a failure lasts. It never fails: a rejection is logged.
   */
  readonly ask: Effect.Effect<void>
}

export interface TimeStamp {
  /** The text of the checkpoint's note (origin, size and root, three lines), which is what is stamped. */
  readonly text: string
  /** The authority's answer in DER, which `openssl ts -verify -in` reads. */
  readonly reply: Uint8Array
}

export class Witnesses extends Context.Service<
  Witnesses,
  {
    /** The configured witnesses. Each is asked by itself, so that one that hangs delays no other. */
    readonly all: ReadonlyArray<Witness>
    /** Requests a time stamp of the newest checkpoint, at most once an hour. It never fails: a rejection is logged. */
    readonly stamp: Effect.Effect<void>
    /** The time stamp of the checkpoint of this size. */
    readonly timeStamp: (size: number) => Effect.Effect<TimeStamp, NotFound>
    /** The sizes of stamped checkpoints, newest first, below `before` if it is given. */
    readonly timeStamped: (before: Option.Option<number>) => Effect.Effect<ReadonlyArray<number>>
  }
>()("auspex/services/Witnesses") {}
