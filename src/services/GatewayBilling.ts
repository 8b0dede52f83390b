/**
 * What calls of models cost. The largest possible cost is reserved before anything is sent, and replaced by the real one
 * afterwards, so that calls at once never spend more than there is, and a call that failed costs nothing.
 */
import { Context } from "effect"
import type { Effect } from "effect"
import type { CreditTooLow, Style } from "./Gateway.ts"
import type { GatewayDisabled, InvalidGatewayKey, KeyHolder } from "./GatewayKeys.ts"

/** A call that is let in, as far as it is known before it is made. */
export interface OpenCall {
  readonly callId: string
  readonly holder: KeyHolder
  readonly requestId: string
  /** As the client named it. */
  readonly model: string
  readonly style: Style
  readonly stream: boolean
  /** The most it can cost, in micro-credits; 0: nothing is reserved, and nothing charged. */
  readonly reserved: bigint
  /** In milliseconds since 1970. */
  readonly createdAt: number
}

/** How a call ended. */
export interface EndedCall extends OpenCall {
  readonly provider: string | null
  readonly promptTokens: number
  readonly completionTokens: number
  /** In micro-credits. Never more than was reserved is charged. */
  readonly cost: bigint
  readonly status: number
  readonly error: string | null
  readonly latencyMs: number
  readonly firstByteMs: number | null
  readonly attempts: number
  readonly estimated: boolean
}

export class GatewayBilling extends Context.Service<
  GatewayBilling,
  {
    /** Fails where the agent's credit, or what is left of the key's limit, is less than this; nothing is frozen. */
    readonly covers: (holder: KeyHolder, amount: bigint) => Effect.Effect<void, CreditTooLow>
    /** Freezes the most that the call can cost; once more looks whether the key may be used. */
    readonly reserve: (
      call: OpenCall
    ) => Effect.Effect<void, CreditTooLow | GatewayDisabled | InvalidGatewayKey>
    /**
     * Records the call and charges it, once however often it is asked; answers what was charged: nothing for a call that
     * reserved nothing. A call whose reservation was let go meanwhile is not charged and not recorded again.
     */
    readonly settle: (call: EndedCall) => Effect.Effect<bigint>
    /** Says of calls under way that they are, so that their reservations stay. */
    readonly keepAlive: (callIds: ReadonlyArray<string>) => Effect.Effect<void>
    /** Lets go of reservations whose calls ended with their process; answers how many. */
    readonly sweep: Effect.Effect<number>
  }
>()("auspex/services/GatewayBilling") {}
