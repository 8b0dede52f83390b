/**
 * Rate limits: sliding windows that all replicas share. There are never more than N uses in any window of that length, and
 * there is room again the moment the oldest has left it. What a limit itself refuses is no use.
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

/** A window after a use. Times are seconds. */
export interface Quota {
  readonly count: number
  readonly window: number
  readonly remaining: number
  /** Until the oldest use leaves the window. */
  readonly reset: number
}

/** The windows that a request met, by policy; kept only where somebody wants to tell of them. */
export const MetQuotas = Context.Reference<Map<string, Quota> | undefined>("auspex/services/MetQuotas", {
  defaultValue: () => undefined
})

/** What a limit counts a use by: an agent, an address. */
export type Use = readonly [limit: LimitName, subject: string]

/** A write that was let in, until it is known what became of it. One that is accepted needs nothing. */
export interface AdmittedWrite {
  /** It was refused: uses none of what counts accepted writes, but one of the refused ones; fails if there are too many. */
  readonly refused: Effect.Effect<void, TooManyRequests>
  /** Nothing was done, and the agent is not to blame: uses none of what counts accepted writes. */
  readonly undone: Effect.Effect<void>
}

export class RateLimiter extends Context.Service<
  RateLimiter,
  {
    /** Counts one use by `subject` (an agent or an address) and fails when a window is full. */
    readonly consume: (limit: LimitName, subject: string) => Effect.Effect<void, TooManyRequests>
    /** The same for several limits at once: counts towards all of them, or fails and counts towards none. */
    readonly consumeAll: (uses: ReadonlyArray<Use>) => Effect.Effect<void, TooManyRequests>
    /** Counts an agent's write like `consumeAll`, as long as the agent's refused writes leave room. */
    readonly admitWrite: (
      agentId: string,
      uses: ReadonlyArray<Use>
    ) => Effect.Effect<AdmittedWrite, TooManyRequests>
    /** Fails when a window is full, without counting: for limits on failures, which are counted when they happen. */
    readonly check: (limit: LimitName, subject: string) => Effect.Effect<void, TooManyRequests>
    /** Removes the windows that can no longer refuse anything. */
    readonly trim: Effect.Effect<void>
  }
>()("auspex/services/RateLimiter") {}
