/**
 * How an agent proves who it is, at the token endpoint and wherever else it has no token: what was sent is checked
 * against what the agent registered. Whether the agent may then have what it asks for is the caller's to decide.
 */
import { Context } from "effect"
import type { Effect } from "effect"
import type { AgentId } from "./identifiers.ts"
import type { TooManyRequests } from "./Limits.ts"
import type { InvalidClient } from "./Tokens.ts"

/** An agent's own secret, as it was sent. */
export interface PresentedSecret {
  readonly agentId: string
  readonly clientSecret: string
  /** Where the request comes from; refused credentials are limited by address. */
  readonly address: string
}

export class AgentCredentials extends Context.Service<
  AgentCredentials,
  {
    /**
     * Whose secret this is. That of a `private_key_jwt` agent is good here: it renews the claim link, and nothing else.
     * An unknown agent and a wrong secret are one answer that takes the same work.
     */
    readonly verifySecret: (
      presented: PresentedSecret
    ) => Effect.Effect<AgentId, InvalidClient | TooManyRequests>
  }
>()("auspex/services/AgentCredentials") {}
