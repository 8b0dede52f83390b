/** How one mail leaves the house: by SMTP, or as a file for whoever runs Auspex on one machine. */
import { Context, Data, Option } from "effect"
import type { DateTime, Effect } from "effect"
import { emailAddressOf } from "./emails.ts"
import type { EmailAddress } from "./emails.ts"

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

export class MailTransport extends Context.Service<
  MailTransport,
  { readonly deliver: (message: Message) => Effect.Effect<void, DeliveryFailed> }
>()("auspex/services/MailTransport") {}
