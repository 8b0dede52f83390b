/**
 * Decides which URLs and addresses of strangers may be fetched. A URL is checked by its text, at registration and before every fetch; an
 * address is checked before the connection.
 */
import { BlockList, isIP, isIPv4, isIPv6 } from "node:net"

const maxUrl = 2048
const securePorts: ReadonlySet<string> = new Set(["", "8443"])
/** Names of this machine or its network (RFC 6761, RFC 6762, RFC 8375). */
const localName =
  /(^|\.)(localhost|localdomain|local|internal|intranet|lan|home|corp|home\.arpa|test|invalid|onion)$/
const loopbackHosts: ReadonlySet<string> = new Set(["127.0.0.1", "[::1]", "localhost"])

/** The address in a URL's host, if the host is a literal one. */
export const literalAddress = (hostname: string): string | undefined => {
  const bare = hostname.replace(/^\[|\]$/g, "")
  return isIP(bare) === 0 ? undefined : bare
}

/** Tests whether a URL is on the developer's own machine, which is allowed only if the service listens on loopback. */
export const isOwnMachine = (url: URL): boolean => loopbackHosts.has(url.hostname)

/** The fault of the URL of a key set or webhook, if any. `ownMachine` allows URLs on this machine. */
export const publicUrlFault = (text: string, allow: { readonly ownMachine: boolean }): string | undefined => {
  if (text.length > maxUrl) return `Expected a URL of at most ${maxUrl} characters`
  const url = URL.canParse(text) ? new URL(text) : undefined
  if (url === undefined) return "Expected an absolute https URL"
  if (url.username !== "" || url.password !== "") return "Expected a URL without user name and password"
  if (text.includes("#")) return "Expected a URL without a fragment"
  // Odd spellings (0x7f.1, %31, a dot at the end, a backslash, upper case) fool filters.
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

/** The IANA special-purpose registry: addresses that are not global. */
const reservedV4 = [
  ["0.0.0.0", 8],
  ["10.0.0.0", 8],
  ["100.64.0.0", 10],
  ["127.0.0.0", 8],
  ["169.254.0.0", 16],
  ["172.16.0.0", 12],
  ["192.0.0.0", 24],
  ["192.0.2.0", 24],
  ["192.31.196.0", 24],
  ["192.52.193.0", 24],
  ["192.88.99.0", 24],
  ["192.168.0.0", 16],
  ["192.175.48.0", 24],
  ["198.18.0.0", 15],
  ["198.51.100.0", 24],
  ["203.0.113.0", 24],
  ["224.0.0.0", 4],
  ["240.0.0.0", 4]
] as const

/** Global unicast addresses exclude mapped IPv4 (::ffff:0:0/96), NAT64 (64:ff9b::/96) and everything local. */
const globalV6 = ["2000::", 3] as const

/** Excluded global addresses: protocol assignments with Teredo, documentation, 6to4 (which carries an IPv4 address). */
const reservedV6 = [
  ["2001::", 23],
  ["2001:db8::", 32],
  ["2002::", 16],
  ["2620:4f:8000::", 48],
  ["3fff::", 20]
] as const

const reserved = new BlockList()
for (const [network, prefix] of reservedV4) reserved.addSubnet(network, prefix, "ipv4")
for (const [network, prefix] of reservedV6) reserved.addSubnet(network, prefix, "ipv6")
const global = new BlockList()
global.addSubnet(...globalV6, "ipv6")

/** Tests whether an IP address, without a zone, is global. */
export const isPublicAddress = (address: string): boolean => {
  if (isIPv4(address)) return !reserved.check(address, "ipv4")
  return isIPv6(address) && global.check(address, "ipv6") && !reserved.check(address, "ipv6")
}
