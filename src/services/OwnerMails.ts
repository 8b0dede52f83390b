/** Mails about agents, credit and webhooks that an owner chose, and can end by one click in any of them. */
import { Context } from "effect"
import type { Effect } from "effect"
import type { NotFound } from "./domain/errors.ts"
import type { OperatorId } from "./domain/ids.ts"

export const ownerMails = ["credit_low", "agent_suspended", "webhook_disabled", "digest"] as const
export type OwnerMail = (typeof ownerMails)[number]

/** The parts of a mail's link: the kind, which may be any text if it was changed, and the id of the mail. */
export interface UnsubscribeLink {
  readonly mail: string
  readonly token: string
}

/** The page of a mail that ends mails of its kind. */
export const unsubscribePage = (link: UnsubscribeLink) => `/unsubscribe/${link.mail}/${link.token}`

export class OwnerMails extends Context.Service<
  OwnerMails,
  {
    /** The chosen mails; by default all but the digest. */
    readonly chosen: (ownerId: OperatorId) => Effect.Effect<ReadonlyArray<OwnerMail>>
    readonly choose: (ownerId: OperatorId, mails: ReadonlyArray<OwnerMail>) => Effect.Effect<void>
    /** The mails that a link is about, and if they are still sent. */
    readonly view: (
      link: UnsubscribeLink
    ) => Effect.Effect<{ readonly mail: OwnerMail; readonly isChosen: boolean }, NotFound>
    /** Ends mails of the link's kind; no sign-in is needed. */
    readonly unsubscribe: (link: UnsubscribeLink) => Effect.Effect<OwnerMail, NotFound>
    /** Puts a mail into the outbox, within the caller's transaction, if the owner chose it and has an address. */
    readonly enqueue: (
      ownerId: string,
      mail: OwnerMail,
      message: { readonly subject: string; readonly text: string }
    ) => Effect.Effect<void>
    /** Mails last week's settlements to owners whose week is over; returns their number. */
    readonly sendDigests: Effect.Effect<number>
  }
>()("auspex/services/OwnerMails") {}
