/** Mails that an owner chose to get about agents, credit and webhooks, and ends by one click in any of them. */
import { Context } from "effect"
import type { Effect } from "effect"
import type { NotFound } from "./domain/errors.ts"
import type { OperatorId } from "./domain/ids.ts"

export const ownerMails = ["credit_low", "agent_suspended", "webhook_disabled", "digest"] as const
export type OwnerMail = (typeof ownerMails)[number]

/** What the link of a mail says: its kind, any text if it was changed, and whose mail it is. */
export interface UnsubscribeLink {
  readonly mail: string
  readonly token: string
}

/** Of a mail: ends those of its kind. */
export const unsubscribePage = (link: UnsubscribeLink) => `/unsubscribe/${link.mail}/${link.token}`

export class OwnerMails extends Context.Service<
  OwnerMails,
  {
    /** All but the digest, unless chosen otherwise. */
    readonly chosen: (ownerId: OperatorId) => Effect.Effect<ReadonlyArray<OwnerMail>>
    readonly choose: (ownerId: OperatorId, mails: ReadonlyArray<OwnerMail>) => Effect.Effect<void>
    /** Which mails a link is about, and whether they still come. */
    readonly view: (
      link: UnsubscribeLink
    ) => Effect.Effect<{ readonly mail: OwnerMail; readonly isChosen: boolean }, NotFound>
    /** Ends mails of the kind that the link is about; no sign-in is needed. */
    readonly unsubscribe: (link: UnsubscribeLink) => Effect.Effect<OwnerMail, NotFound>
    /** Puts a mail into the outbox, within the caller's transaction, if the owner chose it and has an address. */
    readonly tell: (
      ownerId: string,
      mail: OwnerMail,
      message: { readonly subject: string; readonly text: string }
    ) => Effect.Effect<void>
    /** Mails what was settled in the last week to those whose week is over; answers to how many. */
    readonly sendDigests: Effect.Effect<number>
  }
>()("auspex/services/OwnerMails") {}
