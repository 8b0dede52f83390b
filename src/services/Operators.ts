/**
 * Operators: the humans responsible for agents. They sign in by a link in a mail, or by an identity provider, and have a session
 * afterwards. Secrets (links, sessions) are 256 random bits of which only a hash is kept.
 */
import { Context, Schema } from "effect"
import type { DateTime, Effect, Option } from "effect"
import type { DisposableAddress, EmailAddress } from "./domain/emails.ts"
import { apiError, apiErrorWith, errorCode } from "./domain/errors.ts"
import type { NotFound } from "./domain/errors.ts"
import type { TooManyRequests } from "./RateLimiter.ts"
import { planCoefficients } from "../scoring/pools.ts"
import { AgentStatus } from "./domain/agentStatus.ts"
import type { AuthMethod, GatewayKeysAtRotation, SecretRotation } from "./domain/credentials.ts"
import { AgentId, OperatorId } from "./domain/ids.ts"
import { Timestamp } from "./domain/text.ts"

export const Plan = Schema.Literals(["free", "pro", "team"])
export type Plan = typeof Plan.Type

/** Calls of language models through the gateway need a paid plan. */
export const isPaid = (plan: Plan): boolean => plan !== "free"

/** The factor on rewards of credit pools. */
export const rewardCoefficient = (plan: Plan): string => planCoefficients[plan]

/** The public facts about an agent's owner. */
export const OwnerOfAgent = Schema.Struct({ owner_id: OperatorId, plan: Plan }).annotate({
  identifier: "OwnerOfAgent"
})

/** An operator that claimed an agent, as administrators see it. */
export const Owner = Schema.Struct({
  owner_id: OperatorId,
  plan: Plan,
  email: Schema.NullOr(Schema.String).annotate({ description: "verified; null without one" }),
  created_at: Timestamp,
  agents: Schema.Array(
    Schema.Struct({ agent_id: AgentId, name: Schema.String, status: AgentStatus, claimed_at: Timestamp })
  )
}).annotate({ identifier: "Owner" })
export type Owner = typeof Owner.Type

export const OwnerChange = Schema.Struct({ plan: Plan })
export type OwnerChange = typeof OwnerChange.Type

export const accountPage = "/account"
/** The page of a sign-in mail. It shows one button, which signs in. */
export const signInPage = (token: string) => `/sign-in/${token}`

/** The page after a sign-in: a page of the account, or the claim page on which it began. It is never a path from outside. */
export const ReturnTo = Schema.String.check(
  Schema.isPattern(/^\/(account(\/(credit|api-keys|notices))?|claim\/aus_cl_[A-Za-z0-9_-]{43})$/u, {
    message: "Expected /account, a page of it, or the path of a claim page"
  })
).pipe(Schema.brand("ReturnTo"))
export type ReturnTo = typeof ReturnTo.Type

export const toAccount = ReturnTo.make(accountPage)

export interface Operator {
  readonly operatorId: OperatorId
  /** The verified address; null if the identity provider vouches for none. */
  readonly email: EmailAddress | null
  readonly plan: Plan
}

/** A new session: `secret` is for the browser's cookie, and is not stored here. */
export interface NewSession {
  readonly operatorId: OperatorId
  readonly secret: string
  /** The end of the session, even if it is used all the time. */
  readonly expiresAt: DateTime.Utc
}

export type SignInView =
  | { readonly state: "open"; readonly email: EmailAddress; readonly returnTo: ReturnTo }
  | { readonly state: "expired" | "replaced" | "used" }

/** 400: a sign-in link works once, within minutes, and only the newest one. */
export class SignInLinkEnded extends apiErrorWith("SignInLinkEnded", 400, {
  code: errorCode("sign_in_link_ended"),
  reason: Schema.Literals(["expired", "replaced", "used"])
}) {}

/** The credit of an account, in micro-credits. */
export interface Holdings {
  readonly available: bigint
  readonly frozen: bigint
}

export interface OwnAgent {
  readonly agentId: AgentId
  readonly name: string
  readonly status: AgentStatus
  readonly authMethod: typeof AuthMethod.Type
  readonly modelProvider: string | null
  readonly modelName: string | null
  readonly createdAt: DateTime.Utc
  readonly claimedAt: DateTime.Utc
  readonly credit: Holdings
  /** True if the agent may spend its credit on calls of models. */
  readonly creditArenaEnabled: boolean
}

export interface Account {
  readonly operator: Operator
  readonly credit: Holdings
  /** The agents, latest claim first. */
  readonly agents: ReadonlyArray<OwnAgent>
}

export class Operators extends Context.Service<
  Operators,
  {
    /**
     * Mails a sign-in link, and answers the same whether or not the address has an account; a disposable address gets a mail only if
     * it has one.
     */
    readonly requestSignIn: (request: {
      readonly email: EmailAddress
      readonly returnTo: ReturnTo
      /** The address that the request comes from. */
      readonly address: string
    }) => Effect.Effect<void, DisposableAddress | TooManyRequests>
    readonly viewSignIn: (token: string) => Effect.Effect<SignInView, NotFound>
    /** Uses up the link. It makes an account if there is none: the link proves the address. */
    readonly signIn: (
      token: string
    ) => Effect.Effect<
      { readonly session: NewSession; readonly returnTo: ReturnTo },
      DisposableAddress | NotFound | SignInLinkEnded
    >
    /**
     * Signs in to the account of issuer and subject. `email` is set only if the provider vouches for it; a new account is refused if
     * another one has its mailbox, or if it is disposable.
     */
    readonly signInWithIdentity: (identity: {
      readonly issuer: string
      readonly subject: string
      readonly email: EmailAddress | null
    }) => Effect.Effect<NewSession, DisposableAddress | SignInRejected>
    /** The operator of this session, unless it ended: unused for too long, expired, or signed out. */
    readonly session: (secret: string) => Effect.Effect<Option.Option<Operator>>
    readonly signOut: (secret: string) => Effect.Effect<void>
    readonly account: (operatorId: OperatorId) => Effect.Effect<Account, NotFound>
    /** Makes a new client_secret for an agent of this operator, shown once; every token of the agent ends, and its keys on request. */
    readonly rotateSecret: (request: {
      readonly operatorId: OperatorId
      readonly agentId: string
      readonly gatewayKeys: GatewayKeysAtRotation
    }) => Effect.Effect<SecretRotation, NotFound>
    /**
     * Allows or forbids an agent of this operator to spend its credit on calls of models: without permission no further call is
     * admitted.
     */
    readonly allowSpending: (request: {
      readonly operatorId: OperatorId
      readonly agentId: string
      readonly isAllowed: boolean
    }) => Effect.Effect<void, NotFound>
    /** An operator as administrators see it: as the owner of agents, with its plan. */
    readonly owner: (ownerId: string) => Effect.Effect<Owner, NotFound>
    readonly changeOwner: (ownerId: string, change: OwnerChange) => Effect.Effect<Owner, NotFound>
    /** Deletes links and sessions that ended long ago. */
    readonly trim: Effect.Effect<void>
  }
>()("auspex/services/Operators") {}

/** The identity by the provider. Accounts are keyed by issuer and subject, which never change hands. */
export interface Identity {
  readonly issuer: string
  readonly subject: string
  /** The address, only if the provider says that it verified it. */
  readonly email: string | null
}

/** 503: the provider cannot be reached, or its answer is not OpenID Connect. */
export class ProviderUnavailable extends apiError(
  "ProviderUnavailable",
  503,
  "identity_provider_unavailable"
) {}

/** 400: the sign-in was refused, cancelled, begun in another browser or too long ago, or replayed. */
export class SignInRejected extends apiError("SignInRejected", 400, "sign_in_refused") {}

/**
 * Sign-in with an OpenID Connect provider: authorization code flow with PKCE, state and nonce. The browser that began a sign-in keeps
 * its state between the two halves, so any replica can finish it and no other browser can.
 */
export class IdentityProvider extends Context.Service<
  IdentityProvider,
  {
    /** The public name of the provider; none if no provider is configured, and then every sign-in is refused. */
    readonly name: Option.Option<string>
    /** Begins a sign-in: returns the address to send the browser to, and the state that it keeps until `expiresAt`. */
    readonly begin: (options: {
      readonly returnTo: string
    }) => Effect.Effect<
      { readonly redirectTo: string; readonly pending: string; readonly expiresAt: DateTime.Utc },
      ProviderUnavailable | SignInRejected
    >
    /** Finishes a sign-in: `answer` is the query that the browser returned with, `pending` the state from `begin`. */
    readonly finish: (options: {
      readonly answer: URLSearchParams
      readonly pending: string
    }) => Effect.Effect<
      { readonly identity: Identity; readonly returnTo: string },
      ProviderUnavailable | SignInRejected
    >
  }
>()("auspex/services/IdentityProvider") {}
