/**
 * Rate limits: sliding windows that all replicas share. There are never more than N uses in any window of that length, and
 * there is room again the moment the oldest has left it. What a limit itself refuses is no use.
 */
import { Context, Data, Effect, Result, Schema } from "effect"
import { IpNetwork, NetAddress } from "effect/net"
import { apiErrorWith, errorCode } from "./domain/errors.ts"
import type { LimitName } from "./Settings.ts"

/** 429: too many. Waiting `retry_after` seconds is enough. */
export class TooManyRequests extends apiErrorWith("TooManyRequests", 429, {
  code: errorCode("rate_limited"),
  retry_after: Schema.Int.annotate({ description: "seconds" })
}) {}

/** What an address counts as: a host with IPv6 has 2^64 of them to choose from, so there its network counts, also if named by itself. */
export const countedAddress = (text: string, networkBits: number = 64): string => {
  const parsed = NetAddress.ipFromString(text.split(/[%/]/, 1).join(""))
  if (Result.isFailure(parsed)) return text
  const address = NetAddress.toCanonical(parsed.success)
  return NetAddress.isIpv4Address(address)
    ? NetAddress.formatIp(address)
    : IpNetwork.format(IpNetwork.fromAddressUnsafe(address, networkBits))
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

/**
 * What the current request counts towards once it is accepted: the statement that records it counts it, so that what is refused
 * uses nothing, not even for a moment.
 */
export const OwedUses = Context.Reference<ReadonlyArray<Use>>("auspex/services/OwedUses", {
  defaultValue: () => []
})

/**
 * Among writes that would have been recorded these, by their places from 1, owe a use to a window that is full; nothing was
 * done. A defect, since only whoever lets requests in (`admitWrite`) can meet it and do something about it; of a write among
 * others (`admitWrites`) a failure.
 */
export class LimitReached extends Data.TaggedError("LimitReached")<{
  readonly places: ReadonlyArray<number>
}> {}

/** A write among others, which meets a full limit for itself. */
export const failingAtLimits = <A, E, R>(
  write: Effect.Effect<A, E, R>
): Effect.Effect<A, E | LimitReached, R> =>
  Effect.catchDefect(write, (defect) =>
    defect instanceof LimitReached ? Effect.fail(defect) : Effect.die(defect)
  )

/** A write that was let in. */
export interface AdmittedWrite {
  /** It was accepted: tells so in `MetQuotas`. */
  readonly accepted: Effect.Effect<void>
}

/** Writes of one request, each with what it uses. */
export interface AdmittedWrites {
  /** By their places. */
  readonly refusals: ReadonlyArray<TooManyRequests | undefined>
  /** Those at these places were accepted: tells so in `MetQuotas`. */
  readonly accepted: (places: ReadonlyArray<number>) => Effect.Effect<void>
}

export class RateLimiter extends Context.Service<
  RateLimiter,
  {
    /** Counts one use by `subject` (an agent or an address) and fails when a window is full. */
    readonly consume: (limit: LimitName, subject: string) => Effect.Effect<void, TooManyRequests>
    /** The same for several limits at once: counts towards all of them, or fails and counts towards none. */
    readonly consumeAll: (uses: ReadonlyArray<Use>) => Effect.Effect<void, TooManyRequests>
    /**
     * Lets an agent's write in, as long as what it uses and the agent's refused writes leave room. Uses of limits that count what
     * is accepted are owed (`OwedUses`), the others are counted now.
     */
    readonly admitWrite: (
      agentId: string,
      uses: ReadonlyArray<Use>
    ) => Effect.Effect<AdmittedWrite, TooManyRequests>
    /** The same for writes of one request, which owe all that they use, and are let in or refused each for itself. */
    readonly admitWrites: (
      agentId: string,
      writes: ReadonlyArray<ReadonlyArray<Use>>
    ) => Effect.Effect<AdmittedWrites>
    /** Fails when a window is full, without counting: for limits on failures, which are counted when they happen. */
    readonly check: (limit: LimitName, subject: string) => Effect.Effect<void, TooManyRequests>
    /** Removes the windows that can no longer refuse anything. */
    readonly trim: Effect.Effect<void>
  }
>()("auspex/services/RateLimiter") {}
