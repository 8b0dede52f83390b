/**
 * Rate limits: sliding windows that all replicas share. There are never more than N uses in any window of that length, and there is
 * room again as soon as the oldest use has left it. A rejected use does not count.
 */
import { Context, Data, Effect, Result, Schema } from "effect"
import { IpNetwork, NetAddress } from "effect/net"
import { apiErrorWith, errorCode } from "./domain/errors.ts"
import type { LimitName } from "./Settings.ts"

/** 429: there were too many requests. A wait of `retry_after` seconds is enough. */
export class TooManyRequests extends apiErrorWith("TooManyRequests", 429, {
  code: errorCode("rate_limited"),
  retry_after: Schema.Int.annotate({ description: "seconds" })
}) {}

/**
 * The key of an address in limits: a host with IPv6 can choose among 2^64 addresses, so its network counts, also if a network itself
 * is given.
 */
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
  /** The time until the oldest use leaves the window. */
  readonly reset: number
}

/** The windows that a request met, by policy; they are collected only if an answer reports them. */
export const MetQuotas = Context.Reference<Map<string, Quota> | undefined>("auspex/services/MetQuotas", {
  defaultValue: () => undefined
})

/** The subject of a limit's count: an agent, an address. */
export type Use = readonly [limit: LimitName, subject: string]

/**
 * The uses that the current request owes once it is accepted: the statement that records it counts them, so that a rejected request
 * uses nothing, not even for a moment.
 */
export const OwedUses = Context.Reference<ReadonlyArray<Use>>("auspex/services/OwedUses", {
  defaultValue: () => []
})

/**
 * A full window stopped the statement, which has recorded nothing. The writes at these positions, counted from 1, owe a use to the
 * window. It is a defect, since only the caller that admitted the request (`admitWrite`) can handle it; for a write
 * among others (`admitWrites`) it is a failure.
 */
export class LimitReached extends Data.TaggedError("LimitReached")<{
  readonly places: ReadonlyArray<number>
}> {}

/** Makes a full limit the failure of a single write among others. */
export const failingAtLimits = <A, E, R>(
  write: Effect.Effect<A, E, R>
): Effect.Effect<A, E | LimitReached, R> =>
  Effect.catchDefect(write, (defect) =>
    defect instanceof LimitReached ? Effect.fail(defect) : Effect.die(defect)
  )

/** An admitted write. */
export interface AdmittedWrite {
  /** Reports in `MetQuotas` that the write was accepted. */
  readonly accepted: Effect.Effect<void>
}

/** Writes of one request, each with its uses. */
export interface AdmittedWrites {
  /** The rejections by position. */
  readonly refusals: ReadonlyArray<TooManyRequests | undefined>
  /** Reports in `MetQuotas` that the writes at these positions were accepted. */
  readonly accepted: (places: ReadonlyArray<number>) => Effect.Effect<void>
}

export class RateLimiter extends Context.Service<
  RateLimiter,
  {
    /** Counts one use by `subject` (an agent or an address) and fails if a window is full. */
    readonly consume: (limit: LimitName, subject: string) => Effect.Effect<void, TooManyRequests>
    /** Counts towards all of several limits, or fails and counts towards none. */
    readonly consumeAll: (uses: ReadonlyArray<Use>) => Effect.Effect<void, TooManyRequests>
    /**
     * Admits an agent's write if its limits and that of the agent's rejected writes have room. Uses of limits on accepted writes are
     * owed (`OwedUses`), the others are counted now.
     */
    readonly admitWrite: (
      agentId: string,
      uses: ReadonlyArray<Use>
    ) => Effect.Effect<AdmittedWrite, TooManyRequests>
    /** Admits the writes of one request, each on its own; all their uses are owed. */
    readonly admitWrites: (
      agentId: string,
      writes: ReadonlyArray<ReadonlyArray<Use>>
    ) => Effect.Effect<AdmittedWrites>
    /** Fails if a window is full, without counting: for limits on failures, which are counted when they happen. */
    readonly check: (limit: LimitName, subject: string) => Effect.Effect<void, TooManyRequests>
    /** Removes the windows that can no longer reject anything. */
    readonly trim: Effect.Effect<void>
  }
>()("auspex/services/RateLimiter") {}
