/**
 * Mail to humans. A mail is a row of the outbox, written in the transaction of its cause, and sent by a job: so sending neither
 * delays nor fails a request, and a rollback removes the mail.
 */
import { Context, Data, Option } from "effect"
import type { DateTime, Effect } from "effect"
import { emailAddressOf } from "./domain/emails.ts"
import type { EmailAddress } from "./domain/emails.ts"

export interface Sender {
  readonly name: string
  readonly address: string
}

const senderShape = /^(?:(?<name>[\p{L}\p{N} ._-]{1,80}) )?<(?<boxed>[^<>]+)>$|^(?<bare>[^<>]+)$/u

/** The sender in a text: an address, or `Name <address>`. */
export const senderOf = (text: string): Option.Option<Sender> => {
  const { name, boxed, bare } = senderShape.exec(text)?.groups ?? {}
  return Option.map(emailAddressOf(boxed ?? bare ?? ""), (address) => ({
    name: name?.trim() ?? "Auspex",
    address
  }))
}

/** People wait for a link to sign in or to claim, but not for a digest. Mails of kinds that only newer versions know are normal. */
export const urgencies = ["urgent", "normal", "bulk"] as const
export type Urgency = (typeof urgencies)[number]

/** The number of mails that an instance sends at once. Each urgency has its own sends, so that none waits for another. */
export const maxSends: Readonly<Record<Urgency, number>> = { urgent: 5, normal: 2, bulk: 3 }

export interface Message {
  /** The id of the outbox row: it names the file and makes the Message-ID, by which a receiver recognizes a mail sent twice. */
  readonly id: string
  readonly to: EmailAddress
  readonly subject: string
  readonly text: string
  readonly unsubscribeUrl: string | null
  readonly urgency: Urgency
  readonly createdAt: DateTime.Utc
}

/** The mail was rejected. `permanent`: it always will be, for example because there is no such mailbox. */
export class DeliveryFailed extends Data.TaggedError("DeliveryFailed")<{
  readonly reason: string
  readonly permanent: boolean
}> {}

/** Delivers one mail: by SMTP, or into a file for an operator who runs Auspex on one machine. */
export class MailTransport extends Context.Service<
  MailTransport,
  { readonly deliver: (message: Message) => Effect.Effect<void, DeliveryFailed> }
>()("auspex/services/MailTransport") {}

export const mailKinds = [
  "sign_in",
  "claim",
  "grace_reminder",
  "issuance_paused",
  "credit_alert",
  "webhook_disabled",
  "agent_suspended",
  "digest"
] as const
export type MailKind = (typeof mailKinds)[number]

/** A mail in plain text, to one address. */
export interface Mail {
  readonly kind: MailKind
  readonly to: EmailAddress
  readonly subject: string
  readonly text: string
  /** The address that ends mails of this kind by one click (RFC 8058). */
  readonly unsubscribeUrl?: string
  /** The time from which it is sent; the default is now. */
  readonly dueAt?: DateTime.Utc
  /** The time from which it would only confuse, because its link has ended. */
  readonly expiresAt: DateTime.Utc
}

/** A deferred mail was not taken this time and is tried again later. A failed one was rejected finally, or is no longer worth sending. */
export type MailOutcome = "sent" | "deferred" | "failed"

/** The number of mails that were due, by outcome. */
type DrainReport = Readonly<Record<MailOutcome, number>>

export class Mailer extends Context.Service<
  Mailer,
  {
    /** Puts a mail into the outbox, within the caller's transaction. */
    readonly enqueue: (mail: Mail) => Effect.Effect<void>
    /**
     * Sends the next mail of this urgency that is due. Any number may do so at once, in all replicas: each mail is leased by one, and
     * a lease ends by itself if its holder dies.
     */
    readonly sendNext: (urgency: Urgency) => Effect.Effect<Option.Option<MailOutcome>>
    /** Sends all due mails, as the jobs do. */
    readonly drain: Effect.Effect<DrainReport>
    readonly measure: Effect.Effect<void>
    /** Deletes mails that were sent or given up long ago. */
    readonly trim: Effect.Effect<void>
  }
>()("auspex/services/Mailer") {}
