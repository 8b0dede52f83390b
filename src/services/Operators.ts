/**
 * Operators: the humans responsible for agents. They sign in by a link in a mail, or by an identity provider, and have a
 * session afterwards. Secrets (links, sessions) are 256 random bits of which only a hash is kept.
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

/** Reaching language models through the gateway needs a paid plan. */
export const isPaid = (plan: Plan): boolean => plan !== "free"

/** What the rewards of credit pools are multiplied by. */
export const rewardCoefficient = (plan: Plan): string => planCoefficients[plan]

/** What an agent says of its owner. */
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
/** Of a sign-in mail: shows one button, which signs in. */
export const signInPage = (token: string) => `/sign-in/${token}`

/** Where a sign-in leads afterwards: a page of the account, or the claim page it began on. Never a path somebody else chose. */
export const ReturnTo = Schema.String.check(
  Schema.isPattern(/^\/(account(\/(credit|api-keys|notices))?|claim\/aus_cl_[A-Za-z0-9_-]{43})$/u, {
    message: "Expected /account, a page of it, or the path of a claim page"
  })
).pipe(Schema.brand("ReturnTo"))
export type ReturnTo = typeof ReturnTo.Type

/** The account page. */
export const toAccount = ReturnTo.make(accountPage)

export interface Operator {
  readonly operatorId: OperatorId
  /** Verified; null for who came by an identity provider that vouches for none. */
  readonly email: EmailAddress | null
  readonly plan: Plan
}

/** A session as it begins: `secret` is for the browser's cookie, and is not kept here. */
export interface NewSession {
  readonly operatorId: OperatorId
  readonly secret: string
  /** When it ends even if it is used all the time. */
  readonly expiresAt: DateTime.Utc
}

export type SignInView =
  | { readonly state: "open"; readonly email: EmailAddress; readonly returnTo: ReturnTo }
  | { readonly state: "expired" | "replaced" | "used" }

/** 400: a sign-in link works once, within minutes, and only the newest does. */
export class SignInLinkEnded extends apiErrorWith("SignInLinkEnded", 400, {
  code: errorCode("sign_in_link_ended"),
  reason: Schema.Literals(["expired", "replaced", "used"])
}) {}

/** What an account has, in micro-credits. */
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
  /** Whether it may spend its credit on calls of models. */
  readonly creditArenaEnabled: boolean
}

export interface Account {
  readonly operator: Operator
  readonly credit: Holdings
  /** Claimed last, first. */
  readonly agents: ReadonlyArray<OwnAgent>
}

export class Operators extends Context.Service<
  Operators,
  {
    /**
     * Mails a sign-in link, and answers the same whether anybody has an account with this address; but to a disposable one
     * only where somebody has.
     */
    readonly requestSignIn: (request: {
      readonly email: EmailAddress
      readonly returnTo: ReturnTo
      /** Where the request comes from. */
      readonly address: string
    }) => Effect.Effect<void, DisposableAddress | TooManyRequests>
    readonly viewSignIn: (token: string) => Effect.Effect<SignInView, NotFound>
    /** Uses up the link. Who has no account gets one: the link proves the address. */
    readonly signIn: (
      token: string
    ) => Effect.Effect<
      { readonly session: NewSession; readonly returnTo: ReturnTo },
      DisposableAddress | NotFound | SignInLinkEnded
    >
    /**
     * The account is that of issuer and subject. `email` only if the provider vouches for it; a new account is refused where
     * another one has its mailbox, or it is disposable.
     */
    readonly signInWithIdentity: (identity: {
      readonly issuer: string
      readonly subject: string
      readonly email: EmailAddress | null
    }) => Effect.Effect<NewSession, DisposableAddress | SignInRejected>
    /** Who has this session, unless it ended: unused for too long, over, or signed out. */
    readonly session: (secret: string) => Effect.Effect<Option.Option<Operator>>
    readonly signOut: (secret: string) => Effect.Effect<void>
    readonly account: (operatorId: OperatorId) => Effect.Effect<Account, NotFound>
    /** A new client_secret for an agent of this operator, shown once; every token it holds ends, and its keys if so asked. */
    readonly rotateSecret: (request: {
      readonly operatorId: OperatorId
      readonly agentId: string
      readonly gatewayKeys: GatewayKeysAtRotation
    }) => Effect.Effect<SecretRotation, NotFound>
    /** Lets an agent of this operator spend its credit on calls of models, or not any more: no call is let in from then on. */
    readonly allowSpending: (request: {
      readonly operatorId: OperatorId
      readonly agentId: string
      readonly isAllowed: boolean
    }) => Effect.Effect<void, NotFound>
    /** As administrators see an operator: as the owner of agents, with the plan it is on. */
    readonly owner: (ownerId: string) => Effect.Effect<Owner, NotFound>
    readonly changeOwner: (ownerId: string, change: OwnerChange) => Effect.Effect<Owner, NotFound>
    /** Forgets links and sessions that ended long ago. */
    readonly trim: Effect.Effect<void>
  }
>()("auspex/services/Operators") {}

/** Who the provider says this is. Accounts are keyed on issuer and subject, which never change hands. */
export interface Identity {
  readonly issuer: string
  readonly subject: string
  /** Only when the provider says that it verified the address. */
  readonly email: string | null
}

/** 503: the provider cannot be reached, or answers what is not OpenID Connect. */
export class ProviderUnavailable extends apiError(
  "ProviderUnavailable",
  503,
  "identity_provider_unavailable"
) {}

/** 400: the sign-in was refused, cancelled, begun in another browser or too long ago, or replayed. */
export class SignInRejected extends apiError("SignInRejected", 400, "sign_in_refused") {}

/**
 * Signing in at an OpenID Connect provider: authorization code flow with PKCE, state and nonce. What a sign-in needs
 * between its two halves is kept by the browser that began it, so any replica can finish it and no other browser can.
 */
export class IdentityProvider extends Context.Service<
  IdentityProvider,
  {
    /** What people know the provider by; none when no provider is configured, and then every sign-in is refused. */
    readonly name: Option.Option<string>
    /** Begins a sign-in: where to send the browser, and what it has to keep until it comes back, or it is too late. */
    readonly begin: (options: {
      readonly returnTo: string
    }) => Effect.Effect<
      { readonly redirectTo: string; readonly pending: string; readonly expiresAt: DateTime.Utc },
      ProviderUnavailable | SignInRejected
    >
    /** Finishes it: `answer` is what the browser came back with, `pending` is as `begin` gave it. */
    readonly finish: (options: {
      readonly answer: URLSearchParams
      readonly pending: string
    }) => Effect.Effect<
      { readonly identity: Identity; readonly returnTo: string },
      ProviderUnavailable | SignInRejected
    >
  }
>()("auspex/services/IdentityProvider") {}
