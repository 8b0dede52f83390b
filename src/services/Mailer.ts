/**
 * Mail to humans. A mail is a row of the outbox, written in the transaction of what it tells, and sent by a job: so
 * sending neither delays nor fails a request, and nothing is sent of what was rolled back.
 */
import { Context } from "effect"
import type { DateTime, Effect } from "effect"
import type { EmailAddress } from "./emails.ts"

export const mailKinds = ["sign_in", "claim", "grace_reminder", "issuance_paused"] as const
export type MailKind = (typeof mailKinds)[number]

/** A mail in plain text, to one address. */
export interface Mail {
  readonly kind: MailKind
  readonly to: EmailAddress
  readonly subject: string
  readonly text: string
  /** Where one click ends mails of this kind (RFC 8058). */
  readonly unsubscribeUrl?: string
  /** From when on it would only confuse: what it links to has ended. */
  readonly expiresAt: DateTime.Utc
}

/** What became of the mails that were due. */
export interface DrainReport {
  readonly sent: number
  /** Not taken this time; tried again later. */
  readonly deferred: number
  /** Given up: refused for good, or no longer worth sending. */
  readonly failed: number
}

export class Mailer extends Context.Service<
  Mailer,
  {
    /** Puts a mail into the outbox, within the caller's transaction. */
    readonly enqueue: (mail: Mail) => Effect.Effect<void>
    /**
     * Sends what is due. Any number of replicas may do so at once: each mail is leased by one of them, and a lease
     * ends by itself if its holder dies.
     */
    readonly drain: Effect.Effect<DrainReport>
    /** Forgets mails that were sent or given up long ago. */
    readonly trim: Effect.Effect<void>
  }
>()("auspex/services/Mailer") {}
