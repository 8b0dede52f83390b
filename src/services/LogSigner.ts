/**
 * The keys of the public log, and what they have signed. A log that signs two trees that contradict each other is
 * worth nothing, so this instance remembers the last tree head it signed outside the database, too: a database that
 * was restored from an older backup shows.
 */
import { Context, Data } from "effect"
import type { Effect, Option } from "effect"

/** How far a log has grown: its name, its number of entries, and the root over them. */
export interface TreeHead {
  readonly origin: string
  readonly size: number
  readonly root: Uint8Array
}

export interface LogKeys {
  /** What others check this instance's signatures with. */
  readonly verifierKey: (origin: string) => string
  /** The key before the last change: it goes on signing, beside the new one, while it is set. */
  readonly previousVerifierKey: (origin: string) => Option.Option<string>
  /** The signature lines of both keys under a text, the newest first. */
  readonly sign: (origin: string, text: string) => string
}

/** A key cannot be read or made, or what was signed cannot be kept; the message is for the operator. */
export class SignerUnusable extends Data.TaggedError("SignerUnusable")<{ readonly message: string }> {}

export class LogSigner extends Context.Service<
  LogSigner,
  {
    /** Made at the first use, where no key is set and none was made. */
    readonly keys: Effect.Effect<LogKeys, SignerUnusable>
    /** The last tree head that was signed here. */
    readonly lastSigned: Effect.Effect<Option.Option<TreeHead>, SignerUnusable>
    /** Returns once it is on disk; what is signed is shown to nobody before. */
    readonly rememberSigned: (head: TreeHead) => Effect.Effect<void, SignerUnusable>
  }
>()("auspex/services/LogSigner") {}
