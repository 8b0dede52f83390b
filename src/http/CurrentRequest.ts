/** What is known of the request under way: its id, and the address it counts by. */
import { Context, Option, Result } from "effect"
import { IpNetwork, NetAddress } from "effect/net"

export const CurrentRequest = Context.Reference<{ readonly requestId: string; readonly address: string }>(
  "auspex/http/CurrentRequest",
  { defaultValue: () => ({ requestId: "none", address: "unknown" }) }
)

/** What an address counts as: a host with IPv6 has 2^64 of them to choose from, so there its network counts. */
export const countedAddress = (text: string): string => {
  const parsed = NetAddress.ipFromString(text.split("%", 1).join(""))
  if (Result.isFailure(parsed)) return text
  const address = NetAddress.toCanonical(parsed.success)
  return NetAddress.isIpv4Address(address)
    ? NetAddress.formatIp(address)
    : IpNetwork.format(IpNetwork.fromAddressUnsafe(address, 64))
}

/** The address is read when it is asked for: most requests count by something else. */
export class RequestUnderWay {
  readonly requestId: string
  readonly #remote: Option.Option<string>

  constructor(requestId: string, remote: Option.Option<string>) {
    this.requestId = requestId
    this.#remote = remote
  }

  get address(): string {
    return Option.match(this.#remote, { onNone: () => "unknown", onSome: countedAddress })
  }
}
