/**
 * E-mail addresses that key accounts and receive mails: exactly one, in ASCII, in lower case, with the letters of a domain as IDNA
 * encodes them. Any other content of a mail header does not parse.
 */
import { Option, Schema, SchemaTransformation } from "effect"
import { apiError } from "./errors.ts"

/** RFC 5322's dot-atom, of which RFC 5321 allows 64 characters. */
const localPart = /^(?=.{1,64}$)[a-z0-9!#$%&'*+/=?^_`{|}~-]+(\.[a-z0-9!#$%&'*+/=?^_`{|}~-]+)*$/u
/** A host name with a dot in it, whose last label is no number. */
const domainPart = /^([a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?\.)+(?!\d+$)[a-z0-9][a-z0-9-]{0,61}[a-z0-9]$/u
const maxAddress = 254

/** The domain in ASCII (UTS #46, as the hosts of URLs have it), with its letters encoded; empty if it is no domain. */
const asciiDomain = (domain: string): string =>
  /^(?:[\p{L}\p{M}\p{N}.\u3002\uff0e\uff61\u30fb-]|\u200c|\u200d)*$/u.test(domain)
    ? (URL.parse(`http://${domain}`)?.hostname ?? "")
    : domain

const asciiAddress = (sent: string): string => {
  const text = sent.trim().toLowerCase()
  const at = text.lastIndexOf("@")
  return text.slice(0, at + 1) + asciiDomain(text.slice(at + 1))
}

/** The fault that keeps a text from being an address: misplaced dots, letters before the @ outside ASCII, or its form. */
export type AddressFault = "dots" | "letters" | "form"

const faultOf = (text: string): AddressFault | undefined => {
  const [local = "", domain = "", ...more] = text.split("@")
  if (text.length <= maxAddress && more.length === 0 && localPart.test(local) && domainPart.test(domain)) {
    return undefined
  }
  if (more.length > 0 || !domainPart.test(domain)) return "form"
  if (/^\.|\.\.|\.$/.test(local)) return "dots"
  return /^[\p{L}\p{M}\p{N}.+_-]+$/u.test(local) && /[^\p{ASCII}]/u.test(local) ? "letters" : "form"
}

const complaints: Readonly<Record<AddressFault, string>> = {
  dots: "Expected no dot at the beginning or the end of what stands before the @, nor two in a row: use another address",
  letters: "Expected ASCII before the @: mail servers that take other letters there are few",
  form: "Expected one e-mail address, for example ada@example.org"
}

/** The fault of a text as it was sent; undefined if it is one address. */
export const addressFault = (sent: string): AddressFault | undefined => faultOf(asciiAddress(sent))

/** One address; surrounding space is dropped and letters become lower case before the check. */
export const EmailAddress = Schema.String.pipe(
  Schema.decodeTo(
    Schema.String.check(
      Schema.makeFilter((text: string) => {
        const fault = faultOf(text)
        return fault === undefined ? undefined : complaints[fault]
      })
    ).pipe(Schema.brand("EmailAddress")),
    SchemaTransformation.transform({
      decode: asciiAddress,
      encode: (stored) => stored
    })
  )
)
export type EmailAddress = typeof EmailAddress.Type

/** The address of a text that is nothing else; an agent's `operator_contact` may be a phone or chat handle. */
export const emailAddressOf: (text: string) => Option.Option<EmailAddress> =
  Schema.decodeUnknownOption(EmailAddress)

/** Mail hosts that are known to deliver several forms of an address to one mailbox; the first domain stands for all. */
const hosts = [
  // Neither dots (support.google.com/mail/answer/7436150) nor the choice of domain (support.google.com/mail/answer/10313) matter.
  { domains: ["gmail.com", "googlemail.com"], ignored: /\./gu },
  // A name is one person's at all of these domains (proton.me/support/addresses-and-aliases), and "." "_" "-" do not matter
  // (removeEmailAlias in github.com/ProtonMail/WebClients).
  { domains: ["proton.me", "protonmail.com", "protonmail.ch", "pm.me"], ignored: /[._-]/gu },
  // A name is one person's at all of these domains (support.apple.com/HT201771).
  { domains: ["icloud.com", "me.com", "mac.com"], ignored: /$^/gu }
] as const

const hostOf = new Map<string, { readonly domain: string; readonly ignored: RegExp }>(
  hosts.flatMap(({ domains, ignored }) =>
    domains.map((domain) => [domain, { domain: domains[0], ignored }] as const)
  )
)

/**
 * The mailbox of an address, for accounts, limits and refusals: `ada+news@` and `ada@` are one person's, and so are the forms that a
 * known host takes for one. Only an account's own address signs in to it. Accounts and refusals store their mailboxes: a change here
 * needs a migration of `operators.mailbox` and `declined_mailboxes`.
 */
export const mailboxOf = (address: string): string => {
  const [name = "", domain = ""] = address.split("@")
  const untagged = name.replace(/(.)\+.*$/u, "$1")
  const host = hostOf.get(domain)
  if (host === undefined) return `${untagged}@${domain}`
  // A name of ignored characters alone stays unchanged.
  return `${untagged.replaceAll(host.ignored, "") || untagged}@${host.domain}`
}

/** True if an address belongs to one of these domains or to a subdomain. */
export const isOfDomains = (address: EmailAddress, domains: ReadonlySet<string>): boolean => {
  const labels = address.slice(address.indexOf("@") + 1).split(".")
  return labels.some((_, index) => domains.has(labels.slice(index).join(".")))
}

/** Domains separated by commas or lines; text after a `#` is ignored. It is none if one of them is no domain. */
export const domainsIn = (text: string): Option.Option<ReadonlySet<string>> => {
  const words = text
    .replaceAll(/#.*$/gmu, "")
    .split(/[\s,]+/u)
    .filter((word) => word !== "")
    .map((word) => asciiDomain(word.toLowerCase()))
  return words.every((word) => domainPart.test(word)) ? Option.some(new Set(words)) : Option.none()
}

/** 400: no new account for an address of a disposable domain (`AUSPEX_DISPOSABLE_DOMAINS`). */
export class DisposableAddress extends apiError("DisposableAddress", 400, "disposable_address") {
  static of(address: EmailAddress) {
    const domain = address.slice(address.indexOf("@") + 1)
    return new DisposableAddress({
      detail: `Addresses of ${domain} are not taken here, because they do not last: use one that you keep.`
    })
  }
}
