/**
 * The link between an agent and its human operator. The claim link and the pairing code are for the operator only; the database keeps
 * a hash of the one and a keyed hash of the other. An operator whose e-mail address the agent gave also gets a mail with a link of
 * its own, which signs in and claims in one step, without a pairing code.
 */
import { Context, Schema } from "effect"
import type { DateTime, Effect } from "effect"
import type { DisposableAddress, EmailAddress } from "./domain/emails.ts"
import { apiError, apiErrorWith, errorCode } from "./domain/errors.ts"
import type { NotFound } from "./domain/errors.ts"
import type { AgentId, OperatorId } from "./domain/ids.ts"
import type { TooManyRequests } from "./RateLimiter.ts"
import type { NewSession } from "./Operators.ts"
import { Timestamp } from "./domain/text.ts"

/** The page of a claim link. It shows the agent, and a signed-in operator enters the pairing code. */
export const claimPage = (token: string) => `/claim/${token}`
/** The page of a claim mail. It shows the agent and one button, which signs in and claims. */
export const mailClaimPage = (token: string) => `/claim/mail/${token}`
/** The page of a claim mail with one button that blocks the address. Mail programs post to it by themselves (RFC 8058). */
export const notMinePage = (token: string) => `/claim/mail/${token}/not-mine`

/** The answer to a passed registration challenge, and to a refresh of the claim link. */
export const ClaimLink = Schema.Struct({
  claim_url: Schema.String.annotate({ description: "one-time link for the operator, valid 48 h" }),
  pairing_code: Schema.String.annotate({ description: "six characters, XXX-XXX, for the operator" }),
  provisional_until: Timestamp,
  provisional_prediction_limit: Schema.Int
})
export type ClaimLink = typeof ClaimLink.Type

/** Tells if an agent has an owner. */
export const ClaimStatus = Schema.Struct({
  claimed: Schema.Boolean,
  claimed_at: Schema.NullOr(Timestamp)
}).annotate({ identifier: "ClaimStatus" })
export type ClaimStatus = typeof ClaimStatus.Type

/** The public description of an agent: its texts are its own and untrusted. */
export interface ClaimableAgent {
  readonly agentId: AgentId
  readonly name: string
  readonly bio: string | null
  readonly modelProvider: string | null
  readonly modelName: string | null
  readonly ownerOrg: string | null
  readonly createdAt: DateTime.Utc
  readonly provisionalUntil: DateTime.Utc
  readonly challengesPredicted: number
}

/**
 * The state of a link. All links of a claimed agent are `claimed`, however it was claimed; `claimedBy` lets a page tell the owner
 * that the claim is complete.
 */
export type ClaimState =
  | { readonly state: "open"; readonly triesLeft: number; readonly expiresAt: DateTime.Utc }
  | { readonly state: "locked" | "expired" | "replaced" }
  | { readonly state: "claimed"; readonly claimedBy: OperatorId }

export type ClaimView = ClaimState & { readonly agent: ClaimableAgent }

/** The link of a mail takes no code, so it is never locked; it is `declined` once its receiver said "not mine". */
export type MailClaimState =
  | { readonly state: "open"; readonly expiresAt: DateTime.Utc }
  | { readonly state: "expired" | "replaced" | "declined" }
  | { readonly state: "claimed"; readonly claimedBy: OperatorId }

export type MailClaimView = MailClaimState & {
  readonly agent: ClaimableAgent
  /** The receiver of the mail, who would be signed in. */
  readonly email: EmailAddress
}

/** 400: the agent has an owner already. */
export class AlreadyClaimed extends apiError("AlreadyClaimed", 400, "already_claimed") {}

/** 400: there is no claim link before the registration challenge is passed. */
export class NotClaimableYet extends apiError("NotClaimableYet", 400, "challenge_pending") {}

/** 403: too many wrong pairing codes; a refresh makes a new link. */
export class ClaimLocked extends apiError("ClaimLocked", 403, "claim_locked") {}

/** 400: this link can no longer claim: it has expired, was replaced by a newer one, or was declined. */
export class ClaimLinkEnded extends apiErrorWith("ClaimLinkEnded", 400, {
  code: errorCode("claim_link_ended"),
  reason: Schema.Literals(["expired", "replaced", "declined"])
}) {}

/** 400: this is not the code of the link; `tries_left` is at least 1, else the link is locked. */
export class WrongPairingCode extends apiErrorWith("WrongPairingCode", 400, {
  code: errorCode("wrong_pairing_code"),
  tries_left: Schema.Int
}) {}

/** 403: the operator already owns the maximum number of agents. */
export class AgentLimitReached extends apiError("AgentLimitReached", 403, "agent_limit") {}

export class Claims extends Context.Service<
  Claims,
  {
    /**
     * Makes a new link and code for an agent and ends its earlier ones. Joins the caller's transaction, so that an agent that passed
     * always has a link.
     */
    readonly issueLink: (agent: {
      readonly agentId: AgentId
      readonly provisionalUntil: DateTime.Utc
      readonly predictionLimit: number
    }) => Effect.Effect<ClaimLink>
    /**
     * Mails a one-click link to the operator if `contact` is an e-mail address, in the caller's transaction. It is best effort:
     * addresses that declined, or reached their daily limit of such mails, get none.
     */
    readonly inviteOperator: (agent: {
      readonly agentId: AgentId
      readonly name: string
      readonly contact: string | null
      readonly provisionalUntil: DateTime.Utc
    }) => Effect.Effect<void>
    /** Makes a new link and code for an agent that has authenticated. It ends the old link and extends no grace window. */
    readonly refresh: (
      agentId: AgentId
    ) => Effect.Effect<ClaimLink, AlreadyClaimed | NotClaimableYet | TooManyRequests>
    readonly status: (agentId: AgentId) => Effect.Effect<ClaimStatus>
    readonly view: (token: string) => Effect.Effect<ClaimView, NotFound>
    /** Counts the try, then compares the code; the first right one makes the operator the agent's owner. */
    readonly claimWithCode: (claim: {
      readonly token: string
      readonly pairingCode: string
      readonly operatorId: OperatorId
    }) => Effect.Effect<
      ClaimableAgent,
      NotFound | AlreadyClaimed | ClaimLocked | ClaimLinkEnded | WrongPairingCode | AgentLimitReached
    >
    readonly viewMailClaim: (token: string) => Effect.Effect<MailClaimView, NotFound>
    /** Signs in the operator of the mail's address, with a new account if needed, and claims the agent: both or neither. */
    readonly claimByMail: (
      token: string
    ) => Effect.Effect<
      { readonly agent: ClaimableAgent; readonly session: NewSession },
      NotFound | AlreadyClaimed | ClaimLinkEnded | AgentLimitReached | DisposableAddress
    >
    /** Handles "not mine": ends the mail's link and every further mail that agents would cause to this mailbox. */
    readonly notMine: (token: string) => Effect.Effect<EmailAddress, NotFound>
    /** Records which grace windows are about to end or have ended, and mails the operators, once each. */
    readonly remindDue: Effect.Effect<GraceReport>
    /**
     * Housekeeping: gives official ranks to agents that were claimed while a settlement was writing their first statistics; neither
     * of the two could see the other's rows.
     */
    readonly confirmRanks: Effect.Effect<void>
  }
>()("auspex/services/Claims") {}

/** The result of one run: the number of agents whose window is about to end, and of those whose window has ended. */
export interface GraceReport {
  readonly reminded: number
  readonly paused: number
}
