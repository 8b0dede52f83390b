/**
 * Rate limits: sliding windows that all replicas share. Every request that passes authentication and scope counts
 * towards its limit, also one that is refused later; what the limit itself refuses does not lengthen the wait.
 */
import { Context, Result, Schema } from "effect"
import type { Effect } from "effect"
import { IpNetwork, NetAddress } from "effect/net"
import { apiErrorWith, errorCode } from "./domain/errors.ts"
import type { LimitName } from "./Settings.ts"

/** 429: too many. Waiting `retry_after` seconds is enough. */
export class TooManyRequests extends apiErrorWith("TooManyRequests", 429, {
  code: errorCode("rate_limited"),
  retry_after: Schema.Int.annotate({ description: "seconds" })
}) {}

/** What an address counts as: a host with IPv6 has 2^64 of them to choose from, so there its network counts. */
export const countedAddress = (text: string): string => {
  const parsed = NetAddress.ipFromString(text.split("%", 1).join(""))
  if (Result.isFailure(parsed)) return text
  const address = NetAddress.toCanonical(parsed.success)
  return NetAddress.isIpv4Address(address)
    ? NetAddress.formatIp(address)
    : IpNetwork.format(IpNetwork.fromAddressUnsafe(address, 64))
}

export class RateLimiter extends Context.Service<
  RateLimiter,
  {
    /** Counts one use by `subject` (an agent or an address) and fails when a window is full. */
    readonly consume: (limit: LimitName, subject: string) => Effect.Effect<void, TooManyRequests>
    /** The same for several limits at once: counts towards all of them, or fails by the first that is full and counts towards none. */
    readonly consumeAll: (
      uses: ReadonlyArray<readonly [limit: LimitName, subject: string]>
    ) => Effect.Effect<void, TooManyRequests>
    /** Fails when a window is full, without counting: for limits on failures, which are counted when they happen. */
    readonly check: (limit: LimitName, subject: string) => Effect.Effect<void, TooManyRequests>
    /** Removes the windows that can no longer refuse anything. */
    readonly trim: Effect.Effect<void>
  }
>()("auspex/services/RateLimiter") {}
