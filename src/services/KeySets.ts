/**
 * The public keys that agents publish at their `jwks_url`. They are fetched when needed, and only from public addresses: the fetch
 * happens before its caller is authenticated.
 */
import { Context, Data } from "effect"
import type { Effect, Option } from "effect"
import type { TooManyRequests } from "./RateLimiter.ts"

/** The algorithms that may sign an assertion. The key fixes the one to use, never the assertion. */
export const assertionAlgorithms = ["RS256", "ES256"] as const
export type AssertionAlgorithm = (typeof assertionAlgorithms)[number]

/** A public key that an agent registered, or publishes in its key set. */
export interface AssertionKey {
  readonly algorithm: AssertionAlgorithm
  readonly verifies: (signed: Uint8Array, signature: Uint8Array) => boolean
}

/** The key that an assertion's header names by its `kid`, which a set with one key of the algorithm does not need. */
export interface WantedKey {
  readonly algorithm: AssertionAlgorithm
  readonly kid: string | undefined
}

/** The key set has no such key, or several. */
export class NoSuchKey extends Data.TaggedError("NoSuchKey")<{ readonly detail: string }> {}

export class KeySets extends Context.Service<
  KeySets,
  {
    /**
     * The wanted key, from memory or from the URL. It is none if the key set is unavailable; only our own logs have
     * the reason. It fails with TooManyRequests if so many other fetches are in flight that it takes too long, or if
     * `mayFetch` refuses a fetch.
     */
    readonly find: (
      url: string,
      wanted: WantedKey,
      mayFetch?: Effect.Effect<void, TooManyRequests>
    ) => Effect.Effect<Option.Option<AssertionKey>, NoSuchKey | TooManyRequests>
  }
>()("auspex/services/KeySets") {}
