/**
 * Billing of model calls. The largest possible cost is reserved before anything is sent and replaced by the real cost
 * afterwards, so that concurrent calls never overspend and a failed call costs nothing.
 */
import { Context } from "effect"
import type { Effect } from "effect"
import type { CreditInFlight, CreditTooLow, Style } from "./Gateway.ts"
import type { GatewayDisabled, InvalidGatewayKey, KeyHolder } from "./GatewayKeys.ts"

/** An admitted call before it is made. */
export interface OpenCall {
  readonly callId: string
  readonly holder: KeyHolder
  readonly requestId: string
  /** The client's name of the model. */
  readonly model: string
  readonly style: Style
  readonly stream: boolean
  /** The call's maximum cost in micro-credits; if it is 0, nothing is reserved or charged. */
  readonly reserved: bigint
  /** The unit is milliseconds since 1970. */
  readonly createdAt: number
}

/** A call that has ended, with its result. */
export interface EndedCall extends OpenCall {
  readonly provider: string | null
  /** The model that stood in for the named one. */
  readonly servedModel: string | null
  readonly promptTokens: number
  /** The part of the prompt's tokens that was read from the provider's cache; `cacheWriteTokens` were written to it. */
  readonly cachedTokens: number
  readonly cacheWriteTokens: number
  readonly completionTokens: number
  /** The part of the completion's tokens that were reasoning. */
  readonly reasoningTokens: number
  /** The cost in micro-credits. The charge is at most the reservation. */
  readonly cost: bigint
  /** The provider's price of the call, in 10^-12 credit; null if the gateway's file does not give it. */
  readonly providerCost: bigint | null
  readonly status: number
  readonly error: string | null
  readonly latencyMs: number
  readonly firstByteMs: number | null
  readonly attempts: number
  readonly estimated: boolean
}

/** Amounts are in micro-credits. */
export interface Settled {
  readonly charged: bigint
  /** The rest of the agent's credit, or of the key's limit if that is less; undefined if unknown. */
  readonly left: bigint | undefined
}

export class GatewayBilling extends Context.Service<
  GatewayBilling,
  {
    /** Fails if the agent's credit, or the rest of the key's limit, is less than the amount; reserves nothing. */
    readonly covers: (holder: KeyHolder, amount: bigint) => Effect.Effect<void, CreditInFlight | CreditTooLow>
    /** Reserves the call's maximum cost; checks again that the key may be used. The result is the credit that can still be spent. */
    readonly reserve: (
      call: OpenCall
    ) => Effect.Effect<bigint, CreditInFlight | CreditTooLow | GatewayDisabled | InvalidGatewayKey>
    /**
     * Records and charges the call once, even if it is repeated. A call without a reservation is not charged; a call whose
     * reservation was swept meanwhile is neither charged nor recorded again.
     */
    readonly settle: (call: EndedCall) => Effect.Effect<Settled>
    /** Renews the reservations of open calls. */
    readonly keepAlive: (callIds: ReadonlyArray<string>) => Effect.Effect<void>
    /** Releases reservations that nobody renewed, because their process died; returns their number. */
    readonly sweep: Effect.Effect<number>
  }
>()("auspex/services/GatewayBilling") {}
