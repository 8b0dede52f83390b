/**
 * RFC 3161 time stamps of the log's checkpoints: an authority of its own says when a tree head was there, so that nobody
 * has to believe this service's clock. What is stamped is the text of the note (origin, size and root, three lines), which
 * everybody who has the checkpoint has, with whatever signatures.
 */
import { Context } from "effect"
import type { Effect, Option } from "effect"
import type { NotFound } from "./errors.ts"

export interface LogTimeStamp {
  /** The text of the checkpoint's note: the very bytes that are stamped. */
  readonly text: string
  /** The authority's answer, DER, as `openssl ts -verify -in` reads it. */
  readonly reply: Uint8Array
}

export class LogTimeStamps extends Context.Service<
  LogTimeStamps,
  {
    /** Has the newest checkpoint stamped, once an hour at most. What the authority refuses is logged, and never fails. */
    readonly stamp: Effect.Effect<void>
    /** The time stamp of the checkpoint of this size. */
    readonly find: (size: number) => Effect.Effect<LogTimeStamp, NotFound>
    /** The sizes of stamped checkpoints, newest first, those before one of them. */
    readonly sizes: (before: Option.Option<number>) => Effect.Effect<ReadonlyArray<number>>
  }
>()("auspex/services/LogTimeStamps") {}
