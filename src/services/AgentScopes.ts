/**
 * What an agent may do: the scopes it asked for, less those withheld while it is unclaimed. A change is effective as of
 * the next token; tokens already held neither gain nor lose anything by it.
 */
import { Context, Schema } from "effect"
import type { Effect } from "effect"
import type { NotFound } from "./errors.ts"
import type { AgentId } from "./identifiers.ts"
import { list } from "./lists.ts"
import { Scope } from "./Scopes.ts"

/** The request to have more scopes. */
export const ScopeChange = Schema.Struct({
  add: list(Scope, { maximum: 100 })
}).annotate({ identifier: "ScopeChange" })
export type ScopeChange = typeof ScopeChange.Type

export const ScopeStanding = Schema.Struct({
  requested_scopes: Schema.Array(Scope),
  effective_scopes: Schema.Array(Scope).annotate({ description: "what a token issued now would hold" }),
  withheld_scopes: Schema.Array(Scope).annotate({ description: "enabled once the agent is claimed" }),
  note: Schema.String
}).annotate({ identifier: "ScopeStanding" })
export type ScopeStanding = typeof ScopeStanding.Type

export class AgentScopes extends Context.Service<
  AgentScopes,
  {
    readonly get: (agentId: AgentId) => Effect.Effect<ScopeStanding, NotFound>
    /** Adds to what the agent asks for; scopes it has are not added twice. */
    readonly add: (agentId: AgentId, change: ScopeChange) => Effect.Effect<ScopeStanding, NotFound>
  }
>()("auspex/services/AgentScopes") {}
