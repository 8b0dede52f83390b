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

export interface Message {
  /** The outbox row's: names the file, and makes the Message-ID, by which a receiver knows a mail sent twice. */
  readonly id: string
  readonly to: EmailAddress
  readonly subject: string
  readonly text: string
  readonly unsubscribeUrl: string | null
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

export type MailKind =
  | "sign_in"
  | "claim"
  | "grace_reminder"
  | "issuance_paused"
  | "credit_alert"
  | "webhook_disabled"
  | "agent_suspended"
  | "digest"

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
interface DrainReport {
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
