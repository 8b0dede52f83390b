/**
 * Access tokens: JWTs signed with the platform's shared secret, bound to a site, valid for an hour. `issue` is the token endpoint's
 * operation; `authenticate` checks every request with a bearer credential.
 */
import { Context, Effect, Schema } from "effect"
import type { DateTime } from "effect"
import { apiError, apiErrorWith, errorCode } from "./domain/errors.ts"
import type { AgentId } from "./domain/ids.ts"
import type { TooManyRequests } from "./RateLimiter.ts"
import type { Scope } from "./Scopes.ts"

export const TrustLevel = Schema.Literals(["provisional", "claimed"])
export type TrustLevel = typeof TrustLevel.Type

/** The caller, by a verified token. */
export interface Principal {
  readonly agentId: AgentId
  readonly trustLevel: TrustLevel
  readonly scopes: ReadonlySet<Scope>
  /** The agent's token epoch at issue; absent for gateway keys. */
  readonly epoch?: number
  /** The end of the token; absent for gateway keys. */
  readonly expiresAt?: DateTime.Utc
}

/** 401 on a request: the token is missing, malformed, expired, forged or ended. */
export class InvalidToken extends apiError("InvalidToken", 401, "invalid_token") {}

export const endedToken = () =>
  new InvalidToken({ detail: `The access token has been ended: POST ${tokenPath} issues a new one.` })

/**
 * Fails for a token that has ended since it was authenticated, which may be accepted for some seconds. A caller that makes something
 * that outlives a token locks the agent's row and compares.
 */
export const checkEpoch = (by: { readonly epoch?: number | undefined }, epoch: number) =>
  by.epoch === undefined || by.epoch === epoch ? Effect.void : Effect.fail(endedToken())

/** 403: an authentic token of the other site. */
export class WrongSite extends apiError("WrongSite", 403, "wrong_site") {}

/** 401 at the token endpoint: an unknown agent and a wrong secret get the same answer. */
export class InvalidClient extends apiErrorWith("InvalidClient", 401, {
  code: errorCode("invalid_client"),
  error: errorCode("invalid_client"),
  error_description: Schema.String
}) {}

const unauthorized = {
  detail: Schema.String,
  error: errorCode("unauthorized_client"),
  error_description: Schema.String
}

/** 403 at the token endpoint: the registration challenge has not been passed. */
export class ChallengePending extends apiErrorWith("ChallengePending", 403, {
  ...unauthorized,
  code: errorCode("challenge_pending")
}) {}

/** 403 at the token endpoint: the grace window has ended and the agent is unclaimed. */
export class IssuancePaused extends apiErrorWith("IssuancePaused", 403, {
  ...unauthorized,
  code: errorCode("issuance_paused")
}) {}

/** 403: an administrator has suspended the agent. */
export class AgentSuspended extends apiErrorWith("AgentSuspended", 403, {
  ...unauthorized,
  code: errorCode("agent_suspended")
}) {}

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

/** An agent's own secret, as it was sent. */
export interface PresentedSecret {
  readonly agentId: string
  readonly clientSecret: string
  /** The address that the request comes from: rejected credentials are counted by address, and by agent at an address. */
  readonly address: string
}

/** A JWT that the agent signed (RFC 7523 2.2), as it was sent. */
export interface PresentedAssertion {
  /** If left out, the assertion's `sub` names the agent. */
  readonly agentId?: string
  readonly clientAssertion: string
  readonly address: string
}

export type PresentedCredentials = PresentedSecret | PresentedAssertion

/** The path of the token endpoint below the base URL; it is the audience of assertions. */
export const tokenPath = "/api/v1/agent/auth/token"

export class Tokens extends Context.Service<
  Tokens,
  {
    /** Issues a token by the method that the agent registered with. */
    readonly issue: (
      credentials: PresentedCredentials
    ) => Effect.Effect<
      IssuedToken,
      InvalidClient | ChallengePending | IssuancePaused | AgentSuspended | TooManyRequests
    >
    /**
     * Verifies credentials where an agent has no token; an assertion is used up immediately. The secret of a
     * `private_key_jwt` agent is valid here: it renews the claim link and reads the challenge, and nothing else. An
     * unknown agent and wrong credentials get the same answer.
     */
    readonly verifyCredentials: (
      credentials: PresentedCredentials
    ) => Effect.Effect<AgentId, InvalidClient | TooManyRequests>
    /** Checks signature, site and expiry, then that the agent's tokens have not ended since (within 5 s). */
    readonly authenticate: (bearer: string) => Effect.Effect<Principal, InvalidToken | WrongSite>
    /** Deletes the assertions that can no longer be valid on any replica. */
    readonly trim: Effect.Effect<void>
  }
>()("auspex/services/Tokens") {}
