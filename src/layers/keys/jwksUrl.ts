/** What may be a `jwks_url`: judged at registration and again before every fetch, by the text alone. */
import { isIP } from "node:net"
import { isPublicAddress } from "./publicAddresses.ts"

const longest = 2048
const securePorts: ReadonlySet<string> = new Set(["", "8443"])
/** Names that mean this machine or its network wherever they are asked for (RFC 6761, RFC 6762, RFC 8375). */
const localName =
  /(^|\.)(localhost|localdomain|local|internal|intranet|lan|home|corp|home\.arpa|test|invalid|onion)$/
const loopbackHosts: ReadonlySet<string> = new Set(["127.0.0.1", "[::1]", "localhost"])

/** The address that a URL's host spells out, if it is one. */
export const literalAddress = (hostname: string): string | undefined => {
  const bare = hostname.replace(/^\[|\]$/g, "")
  return isIP(bare) === 0 ? undefined : bare
}

/** Whether this is a key set of the developer's own machine, which is only looked at when we serve nobody else. */
export const isOwnMachine = (url: URL): boolean => loopbackHosts.has(url.hostname)

/** What is wrong with it, if anything. `ownMachine`: whether key sets on this very machine are allowed. */
export const jwksUrlFault = (text: string, allow: { readonly ownMachine: boolean }): string | undefined => {
  if (text.length > longest) return `Expected a URL of at most ${longest} characters`
  const url = URL.canParse(text) ? new URL(text) : undefined
  if (url === undefined) return "Expected an absolute https URL"
  if (url.username !== "" || url.password !== "") return "Expected a URL without user name and password"
  if (text.includes("#")) return "Expected a URL without a fragment"
  // Odd spellings (0x7f.1, %31, a dot at the end, a backslash, upper case) are how filters are fooled.
  if (url.href !== text && url.href !== `${text}/`)
    return `Expected the URL as it is normally written: ${url.href.slice(0, 200)}`
  if (allow.ownMachine && isOwnMachine(url) && (url.protocol === "http:" || url.protocol === "https:"))
    return undefined
  if (url.protocol !== "https:") return "Expected an https URL"
  if (!securePorts.has(url.port)) return "Expected port 443 or 8443"
  const address = literalAddress(url.hostname)
  if (address !== undefined)
    return isPublicAddress(address) ? undefined : "Expected a host on the public internet"
  return localName.test(url.hostname) || !url.hostname.includes(".") || url.hostname.endsWith(".")
    ? "Expected a host on the public internet"
    : undefined
}
