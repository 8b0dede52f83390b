/**
 * The public keys that agents publish at their `jwks_url`. They are fetched when they are needed, and only
 * from public addresses: the fetch happens before its caller is authenticated.
 */
import { Context, Data } from "effect"
import type { Effect, Option } from "effect"
import type { TooManyRequests } from "./RateLimiter.ts"

/** The algorithms an assertion may be signed with. Which one is fixed by the key, never by the assertion. */
export const assertionAlgorithms = ["RS256", "ES256"] as const
export type AssertionAlgorithm = (typeof assertionAlgorithms)[number]

/** A public key that an agent registered, or publishes in its key set. */
export interface AssertionKey {
  readonly algorithm: AssertionAlgorithm
  readonly verifies: (signed: Uint8Array, signature: Uint8Array) => boolean
}

/** The key that an assertion's header names: its `kid`, which a set with one key of the algorithm does not need. */
export interface WantedKey {
  readonly algorithm: AssertionAlgorithm
  readonly kid: string | undefined
}

/** A key set that was read has no such key, or several. */
export class NoSuchKey extends Data.TaggedError("NoSuchKey")<{ readonly detail: string }> {}

export class KeySets extends Context.Service<
  KeySets,
  {
    /**
     * The wanted key, from memory or from the URL. None when the key set cannot be had, for a reason that only the log
     * tells. TooManyRequests when so many others are being fetched that it takes too long, or
     * when `mayFetch` refuses what is not in memory.
     */
    readonly find: (
      url: string,
      wanted: WantedKey,
      mayFetch?: Effect.Effect<void, TooManyRequests>
    ) => Effect.Effect<Option.Option<AssertionKey>, NoSuchKey | TooManyRequests>
  }
>()("auspex/services/KeySets") {}
