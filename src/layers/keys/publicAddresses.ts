/** Which addresses are out in the open, where an agent may have its key set: no others are ever connected to. */
import { BlockList, isIPv4, isIPv6 } from "node:net"

/** What the IANA special-purpose registry keeps from the global internet. */
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

/** Global unicast; so neither mapped IPv4 (::ffff:0:0/96) nor NAT64 (64:ff9b::/96) nor anything local is in it. */
const globalV6 = ["2000::", 3] as const

/** Within global unicast: protocol assignments with Teredo, documentation, 6to4 (which carries an IPv4 address). */
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

/** Whether an IP address, without a zone, is one of the global internet. */
export const isPublicAddress = (address: string): boolean => {
  if (isIPv4(address)) return !reserved.check(address, "ipv4")
  return isIPv6(address) && global.check(address, "ipv6") && !reserved.check(address, "ipv6")
}
