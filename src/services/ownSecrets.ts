/** Secrets of this service, recognised by their prefixes wherever they turn up. */

/** Client secrets, claim links, gateway keys, claim mails, sign-in links, sessions; in Markdown `_` may be escaped. */
const kinds = "aus\\\\?_(cs|cl|gw|mc|si|ss)\\\\?_"

const anything = new RegExp(`${kinds}[\\w-]+`, "g")
/** A secret is longer than what stands for it, so that a text never gains length. */
const secrets = new RegExp(`${kinds}[\\w\\\\-]{10,}`, "g")

/** For logs: also what is only the beginning of a secret. */
export const withoutPrefixed = (text: string): string => text.replaceAll(anything, "aus_$1_<redacted>")

/** For what is published: the secrets, and the access tokens whose headers are these. */
export const redactSecrets = (text: string, tokenHeaders: ReadonlyArray<string>): string =>
  tokenHeaders.reduce(
    (rest, header) =>
      rest.replaceAll(new RegExp(`${header}\\.[\\w-]+(\\.[\\w-]*)?`, "g"), "<redacted access token>"),
    text.replaceAll(secrets, "aus_$1_<redacted>")
  )
