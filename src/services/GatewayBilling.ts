/**
 * What model calls cost. The largest possible cost is reserved before anything is sent and replaced by the real one
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
  /** As the client named it. */
  readonly model: string
  readonly style: Style
  readonly stream: boolean
  /** Its maximum cost in micro-credits; 0: nothing is reserved or charged. */
  readonly reserved: bigint
  /** In milliseconds since 1970. */
  readonly createdAt: number
}

/** How a call ended. */
export interface EndedCall extends OpenCall {
  readonly provider: string | null
  /** The model that stood in for the one that was named. */
  readonly servedModel: string | null
  readonly promptTokens: number
  /** Of the prompt's: those that were read from the provider's cache, and those that were written to it. */
  readonly cachedTokens: number
  readonly cacheWriteTokens: number
  readonly completionTokens: number
  /** Of the completion's. */
  readonly reasoningTokens: number
  /** In micro-credits. At most what was reserved is charged. */
  readonly cost: bigint
  /** What the provider charges, in 10^-12 credit; null: the gateway's file does not say. */
  readonly providerCost: bigint | null
  readonly status: number
  readonly error: string | null
  readonly latencyMs: number
  readonly firstByteMs: number | null
  readonly attempts: number
  readonly estimated: boolean
}

/** In micro-credits. */
export interface Settled {
  readonly charged: bigint
  /** What can still be spent: of the agent's credit, or of the key's limit where that is less; undefined: it is not known. */
  readonly left: bigint | undefined
}

export class GatewayBilling extends Context.Service<
  GatewayBilling,
  {
    /** Fails when the agent's credit, or the rest of the key's limit, is less than this; reserves nothing. */
    readonly covers: (holder: KeyHolder, amount: bigint) => Effect.Effect<void, CreditInFlight | CreditTooLow>
    /** Reserves the call's maximum cost; checks again that the key may be used. Answers what can still be spent. */
    readonly reserve: (
      call: OpenCall
    ) => Effect.Effect<bigint, CreditInFlight | CreditTooLow | GatewayDisabled | InvalidGatewayKey>
    /**
     * Records and charges the call, once however often it is repeated. A call that reserved nothing is not charged; one
     * whose reservation was swept meanwhile is neither charged nor recorded again.
     */
    readonly settle: (call: EndedCall) => Effect.Effect<Settled>
    /** Renews the reservations of open calls. */
    readonly keepAlive: (callIds: ReadonlyArray<string>) => Effect.Effect<void>
    /** Releases reservations that nobody renewed, because their process died; answers how many. */
    readonly sweep: Effect.Effect<number>
  }
>()("auspex/services/GatewayBilling") {}
