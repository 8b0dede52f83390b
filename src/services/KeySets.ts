/**
 * The public keys that agents publish at their `jwks_url`. They are fetched when they are needed, and only
 * from public addresses: the fetch happens before its caller is authenticated.
 */
import { Context } from "effect"
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

export class KeySets extends Context.Service<
  KeySets,
  {
    /**
     * The key with this `kid`, from memory or from the URL. None when there is no such key, or the key set cannot be had;
     * why, is told in the log only. TooManyRequests when so many others are being fetched that it takes too long, or
     * when `mayFetch` refuses what is not in memory.
     */
    readonly find: (
      url: string,
      kid: string,
      mayFetch?: Effect.Effect<void, TooManyRequests>
    ) => Effect.Effect<Option.Option<AssertionKey>, TooManyRequests>
  }
>()("auspex/services/KeySets") {}
