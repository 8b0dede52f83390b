/**
 * E-mail addresses as accounts are keyed by and mails are sent to: exactly one, in ASCII, in lower case. Whatever else a
 * mail header could be made to say does not parse as one.
 */
import { Option, Schema, SchemaTransformation } from "effect"

/** RFC 5322's dot-atom, of which RFC 5321 allows 64 characters. */
const localPart = /^(?=.{1,64}$)[a-z0-9!#$%&'*+/=?^_`{|}~-]+(\.[a-z0-9!#$%&'*+/=?^_`{|}~-]+)*$/u
/** A host name with a dot in it, whose last label is no number. */
const domainPart = /^([a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?\.)+(?!\d+$)[a-z0-9][a-z0-9-]{0,61}[a-z0-9]$/u
const longest = 254

const isAddress = (text: string): boolean => {
  const [local = "", domain = "", ...more] = text.split("@")
  return text.length <= longest && more.length === 0 && localPart.test(local) && domainPart.test(domain)
}

/** One address; space around it is dropped and letters become small before it is looked at. */
export const EmailAddress = Schema.String.pipe(
  Schema.decodeTo(
    Schema.String.check(
      Schema.makeFilter((text: string) =>
        isAddress(text) ? undefined : "Expected one e-mail address, for example ada@example.org"
      )
    ).pipe(Schema.brand("EmailAddress")),
    SchemaTransformation.transform({
      decode: (sent) => sent.trim().toLowerCase(),
      encode: (stored) => stored
    })
  )
)
export type EmailAddress = typeof EmailAddress.Type

/** The address in a text that is one and nothing else; an agent's `operator_contact` may be a phone or chat handle. */
export const emailAddressOf: (text: string) => Option.Option<EmailAddress> =
  Schema.decodeUnknownOption(EmailAddress)

/** Whose mailbox an address reaches: `ada+news@` and `ada@` are one person's, for limits and for blocking. */
export const mailboxOf = (address: EmailAddress): string => address.replace(/(.)\+[^@]*@/u, "$1@")
