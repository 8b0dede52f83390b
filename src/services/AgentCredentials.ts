/**
 * How an agent proves who it is, at the token endpoint and wherever else it has no token: what was sent is checked
 * against what the agent registered. Whether the agent may then have what it asks for is the caller's to decide.
 */
import { Context } from "effect"
import type { Effect } from "effect"
import type { AgentId } from "./identifiers.ts"
import type { TooManyRequests } from "./RateLimiter.ts"
import type { InvalidClient } from "./Tokens.ts"

/** An agent's own secret, as it was sent. */
export interface PresentedSecret {
  readonly agentId: string
  readonly clientSecret: string
  /** Where the request comes from: refused credentials are counted by address, and by agent at an address. */
  readonly address: string
}

/** A JWT that the agent signed (RFC 7523 2.2), as it was sent. */
export interface PresentedAssertion {
  /** Left out, the assertion's `sub` says it. */
  readonly agentId?: string
  readonly clientAssertion: string
  readonly address: string
}

export type PresentedCredentials = PresentedSecret | PresentedAssertion

/** That an agent is who it says, as of one moment. */
export interface Proof {
  readonly agentId: AgentId
  /** Rises when the agent's credentials change: what is given for this proof must not be given for another epoch. */
  readonly epoch: number
  /**
   * Does what the proof is for. An assertion is good once: it is taken in the same transaction, so of parallel ones one
   * does its work and the others fail with InvalidClient. It stays taken when the work fails; a defect undoes both.
   */
  readonly once: <A, E, R>(
    work: Effect.Effect<A, E, R>
  ) => Effect.Effect<A, E | InvalidClient | TooManyRequests, R>
}

export class AgentCredentials extends Context.Service<
  AgentCredentials,
  {
    /**
     * Whose credentials these are; an assertion is taken at once. The secret of a `private_key_jwt` agent is good here:
     * it renews the claim link, and nothing else. An unknown agent and wrong credentials are one answer.
     */
    readonly verify: (
      presented: PresentedCredentials
    ) => Effect.Effect<AgentId, InvalidClient | TooManyRequests>
    /** The same for a token, which an agent gets by the method it registered with only. */
    readonly proveForToken: (
      presented: PresentedCredentials
    ) => Effect.Effect<Proof, InvalidClient | TooManyRequests>
    /** Forgets the assertions that can no longer be valid on any replica. */
    readonly trim: Effect.Effect<void>
  }
>()("auspex/services/AgentCredentials") {}
