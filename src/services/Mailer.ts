/**
 * Mail to humans. A mail is a row of the outbox, written in the transaction of what it tells, and sent by a job: so
 * sending neither delays nor fails a request, and nothing is sent of what was rolled back.
 */
import { Context, Data, Option } from "effect"
import type { DateTime, Effect } from "effect"
import { emailAddressOf } from "./domain/emails.ts"
import type { EmailAddress } from "./domain/emails.ts"

/** Whom mails come from. */
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

/** Somebody waits for a link to sign in or to claim; nobody for a digest. Kinds of newer versions are normal. */
export const urgencies = ["urgent", "normal", "bulk"] as const
export type Urgency = (typeof urgencies)[number]

/** Mails that an instance sends at once. Each urgency has sends of its own, so that none waits for another. */
export const maxSends: Readonly<Record<Urgency, number>> = { urgent: 5, normal: 2, bulk: 3 }

export interface Message {
  /** The outbox row's: names the file, and makes the Message-ID, by which a receiver knows a mail sent twice. */
  readonly id: string
  readonly to: EmailAddress
  readonly subject: string
  readonly text: string
  readonly unsubscribeUrl: string | null
  readonly urgency: Urgency
  readonly createdAt: DateTime.Utc
}

/** The mail was not taken. `permanent`: it never will be, for example because there is no such mailbox. */
export class DeliveryFailed extends Data.TaggedError("DeliveryFailed")<{
  readonly reason: string
  readonly permanent: boolean
}> {}

/** How one mail leaves the house: by SMTP, or as a file for whoever runs Auspex on one machine. */
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
  /** Where one click ends mails of this kind (RFC 8058). */
  readonly unsubscribeUrl?: string
  /** It is sent from then on; default: at once. */
  readonly dueAt?: DateTime.Utc
  /** From when on it would only confuse: what it links to has ended. */
  readonly expiresAt: DateTime.Utc
}

/** Deferred: not taken this time, and tried again later. Failed: refused for good, or no longer worth sending. */
export type MailOutcome = "sent" | "deferred" | "failed"

/** How many of the mails that were due came out so. */
type DrainReport = Readonly<Record<MailOutcome, number>>

export class Mailer extends Context.Service<
  Mailer,
  {
    /** Puts a mail into the outbox, within the caller's transaction. */
    readonly enqueue: (mail: Mail) => Effect.Effect<void>
    /**
     * Sends the next mail of this urgency that is due. Any number may do so at once, in all replicas: each mail is leased by one,
     * and a lease ends by itself if its holder dies.
     */
    readonly sendNext: (urgency: Urgency) => Effect.Effect<Option.Option<MailOutcome>>
    /** Sends all that is due, as the jobs do. */
    readonly drain: Effect.Effect<DrainReport>
    /** Brings the gauges of the queue up to date. */
    readonly measure: Effect.Effect<void>
    /** Forgets mails that were sent or given up long ago. */
    readonly trim: Effect.Effect<void>
  }
>()("auspex/services/Mailer") {}
