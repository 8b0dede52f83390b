/** The current request: its id, and the address that limits count it by. */
import { Context, Effect, Option, Result } from "effect"
import { IpNetwork, NetAddress } from "effect/net"
import { countedAddress } from "../services/RateLimiter.ts"

export const CurrentRequest = Context.Reference<{
  readonly requestId: string
  readonly address: string
  /** True if the request counts towards a limit of `RateLimiter`. The edge counts all others (`UnidentifiedLimit`). */
  isCounted: boolean
}>("auspex/http/CurrentRequest", {
  defaultValue: () => ({ requestId: "none", address: "unknown", isCounted: true })
})

/** The current request, marked as one that counts towards a limit of `RateLimiter`. */
export const countedRequest = Effect.map(CurrentRequest, (request) => {
  request.isCounted = true
  return request
})

/** An address of X-Forwarded-For: IPv6 may be in brackets, and both may have a port. */
const parsed = (text: string): NetAddress.IpAddress | undefined => {
  const address = NetAddress.ipFromString(/^\[(.*)\]$/.exec(text)?.[1] ?? text)
  if (Result.isSuccess(address)) return NetAddress.toCanonical(address.success)
  const withPort = NetAddress.inetAddressFromString(text)
  return Result.isSuccess(withPort) ? NetAddress.toCanonical(withPort.success.address) : undefined
}

/** Finds the address of a client. Only the proxies of AUSPEX_TRUSTED_PROXIES may name it by X-Forwarded-For. */
export const trustedProxies = (networks: ReadonlyArray<string>) => {
  const proxies = networks.map((text) => Result.getOrThrow(IpNetwork.fromString(text)))
  const isProxy = (address: NetAddress.IpAddress) =>
    proxies.some((network) => IpNetwork.contains(network, address))

  const isTrusted = (peer: string): boolean => {
    const address = parsed(peer)
    return address !== undefined && isProxy(address)
  }

  /** The last hop that is no trusted proxy: the client may have invented all hops before it. */
  const clientOf = (peer: string, forwardedFor: string | undefined): string => {
    if (forwardedFor === undefined || !isTrusted(peer)) return peer
    const hops = forwardedFor.split(",").map((hop) => parsed(hop.trim()))
    const last = hops.findLastIndex((hop) => hop === undefined || !isProxy(hop))
    // If all hops are proxies, the first one is the client.
    const client = hops[Math.max(last, 0)]
    return client === undefined ? peer : NetAddress.formatIp(client)
  }

  return {
    isTrusted,
    /** The address that a request from this peer counts by. */
    countedAddress: (peer: string | undefined, forwardedFor: string | undefined): string =>
      peer === undefined ? "unknown" : countedAddress(clientOf(peer, forwardedFor))
  }
}

/** Addresses and CIDR blocks in the form of the setting: separated by commas. */
export const parseNetworks = (text: string): Option.Option<ReadonlyArray<string>> => {
  const networks = text
    .split(",")
    .map((word) => word.trim())
    .filter((word) => word !== "")
    .map((word) => (word.includes("/") ? word : `${word}/${word.includes(":") ? 128 : 32}`))
  return networks.every((network) => Result.isSuccess(IpNetwork.fromString(network)))
    ? Option.some(networks)
    : Option.none()
}
