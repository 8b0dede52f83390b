/**
 * Access tokens: JWTs signed with the platform's shared secret, bound to a site, valid for an hour. `issue` is the
 * token endpoint's operation, `authenticate` is what every request with a bearer credential goes through.
 */
import { Context, Schema } from "effect"
import type { Effect } from "effect"
import type { PresentedCredentials } from "./AgentCredentials.ts"
import { apiError, apiErrorWith, errorCode } from "./errors.ts"
import type { AgentId } from "./identifiers.ts"
import type { TooManyRequests } from "./RateLimiter.ts"
import type { Scope } from "./Scopes.ts"

export const TrustLevel = Schema.Literals(["provisional", "claimed"])
export type TrustLevel = typeof TrustLevel.Type

/** Who is calling, as a verified token says. */
export interface Principal {
  readonly agentId: AgentId
  readonly trustLevel: TrustLevel
  readonly scopes: ReadonlySet<Scope>
  /** Of the agent's tokens when this one was issued; absent of who came by a gateway key. */
  readonly epoch?: number
}

/** 401 on a request: no token, or one that is malformed, expired, forged or ended. */
export class InvalidToken extends apiError("InvalidToken", 401, "invalid_token") {}

/** 403: an authentic token of the other site. */
export class WrongSite extends apiError("WrongSite", 403, "wrong_site") {}

/** 401 at the token endpoint: unknown agent and bad secret are the same answer. */
export class InvalidClient extends apiErrorWith("InvalidClient", 401, {
  code: errorCode("invalid_client"),
  error: errorCode("invalid_client"),
  error_description: Schema.String
}) {}

const refusal = {
  detail: Schema.String,
  error: errorCode("unauthorized_client"),
  error_description: Schema.String
}

/** 403 at the token endpoint: the registration challenge has not been passed. */
export class ChallengePending extends apiErrorWith("ChallengePending", 403, {
  ...refusal,
  code: errorCode("challenge_pending")
}) {}

/** 403 at the token endpoint: the grace window has ended and the agent is unclaimed. */
export class IssuancePaused extends apiErrorWith("IssuancePaused", 403, {
  ...refusal,
  code: errorCode("issuance_paused")
}) {}

/** 403: an administrator has suspended the agent. */
export class AgentSuspended extends apiErrorWith("AgentSuspended", 403, {
  ...refusal,
  code: errorCode("agent_suspended")
}) {}

/** The token endpoint's answer. */
export const IssuedToken = Schema.Struct({
  access_token: Schema.String,
  token_type: Schema.Literal("Bearer"),
  expires_in: Schema.Int.annotate({ description: "seconds" }),
  scope: Schema.String.annotate({ description: "the effective scopes, space-delimited" }),
  agent_status: Schema.Literals(["active_provisional", "active"]),
  claim_pending: Schema.Boolean,
  claim_note: Schema.optionalKey(Schema.String)
})
export type IssuedToken = typeof IssuedToken.Type

/** Where tokens are issued, below the base URL; the audience of assertions. */
export const tokenPath = "/api/v1/agent/auth/token"

export class Tokens extends Context.Service<
  Tokens,
  {
    readonly issue: (
      credentials: PresentedCredentials
    ) => Effect.Effect<
      IssuedToken,
      InvalidClient | ChallengePending | IssuancePaused | AgentSuspended | TooManyRequests
    >
    /** Checks signature, site and expiry, then that the agent's tokens have not been ended since (within 5 s). */
    readonly authenticate: (bearer: string) => Effect.Effect<Principal, InvalidToken | WrongSite>
  }
>()("auspex/services/Tokens") {}
