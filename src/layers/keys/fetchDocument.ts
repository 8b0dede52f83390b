/**
 * Fetches a document from a place that a stranger has named, so: only addresses that were vetted are connected to (a name
 * cannot resolve to something else in between), no redirects followed, no compression, no cookies, bounded time and bytes.
 */
import { lookup as systemLookup } from "node:dns"
import type { LookupAddress, LookupAllOptions } from "node:dns"
import { request as httpRequest } from "node:http"
import type { ClientRequest, IncomingHttpHeaders, IncomingMessage } from "node:http"
import { request as httpsRequest } from "node:https"
import type { LookupFunction } from "node:net"
import { Data, Effect } from "effect"
import { isOwnMachine, literalAddress } from "./jwksUrl.ts"
import { isPublicAddress } from "./publicAddresses.ts"

/** Why there is no document. For the operator's log; the agent is told nothing that maps a network. */
export class FetchFailed extends Data.TaggedError("FetchFailed")<{ readonly reason: string }> {}

type Resolve = (
  name: string,
  options: LookupAllOptions,
  callback: (error: NodeJS.ErrnoException | null, addresses: Array<LookupAddress>) => void
) => void

export interface FetchOptions {
  readonly mostBytes: number
  readonly mostMillis: number
  /** Whether a URL of this very machine may lead there. */
  readonly ownMachine: boolean
  readonly resolve?: Resolve
  readonly isAllowed?: (address: string) => boolean
  /** Besides, or instead of, our own. */
  readonly headers?: Readonly<Record<string, string>>
  /** What is an answer; only 200 unless said. */
  readonly statuses?: ReadonlyArray<number>
  /** Certificates to trust instead of the usual ones. */
  readonly ca?: string
}

const loopback = (address: string): boolean => address === "127.0.0.1" || address === "::1"

/** Answers addresses only when every one of them is allowed: a mixed answer is an attempt at something. */
const vetted =
  (resolve: Resolve, isAllowed: (address: string) => boolean): LookupFunction =>
  (name, options, callback) => {
    resolve(name, { ...options, all: true }, (error, addresses) => {
      const [first] = addresses ?? []
      if (error !== null || first === undefined) return callback(error ?? new Error("no address"), [])
      if (!addresses.every(({ address }) => isAllowed(address))) {
        return callback(new Error("the name resolves to an address that is not allowed"), [])
      }
      return options.all === true ? callback(null, addresses) : callback(null, first.address, first.family)
    })
  }

const ownHeaders = {
  accept: "application/jwk-set+json, application/json",
  "accept-encoding": "identity",
  "user-agent": "auspex"
}

export interface FetchedAnswer {
  readonly status: number
  readonly headers: IncomingHttpHeaders
  readonly bytes: Uint8Array
}

/** What is answered. The time limit is the network's, not the program's clock. */
export const fetchAnswer = (
  url: URL,
  {
    ca,
    headers = {},
    isAllowed,
    mostBytes,
    mostMillis,
    ownMachine,
    resolve = systemLookup,
    statuses = [200]
  }: FetchOptions
): Effect.Effect<FetchedAnswer, FetchFailed> =>
  Effect.callback((resume) => {
    const allowed = isAllowed ?? (ownMachine && isOwnMachine(url) ? loopback : isPublicAddress)
    const fail = (reason: string) => resume(Effect.fail(new FetchFailed({ reason })))
    const literal = literalAddress(url.hostname)
    // A literal is not looked up, so it is vetted here.
    if (literal !== undefined && !allowed(literal)) return fail("the address is not allowed")
    const options = {
      agent: false,
      headers: { ...ownHeaders, ...headers },
      lookup: vetted(resolve, allowed),
      signal: AbortSignal.timeout(mostMillis),
      ...(ca !== undefined && { ca })
    } as const
    const receive = (response: IncomingMessage) => {
      const refuse = (reason: string) => {
        response.destroy()
        fail(reason)
      }
      const { "content-encoding": encoding = "identity", "content-length": length = "0" } = response.headers
      const status = response.statusCode ?? 0
      if (!statuses.includes(status)) return refuse(`it answered ${status}`)
      if (encoding !== "identity") return refuse(`it is encoded as ${encoding}`)
      if (Number(length) > mostBytes) return refuse(`it is larger than ${mostBytes} bytes`)
      const chunks: Array<Buffer> = []
      let received = 0
      response.on("data", (chunk: Buffer) => {
        received += chunk.length
        if (received > mostBytes) return refuse(`it is larger than ${mostBytes} bytes`)
        return chunks.push(chunk)
      })
      response.on("error", (error) => fail(error.message))
      response.on("close", () =>
        response.complete
          ? resume(
              Effect.succeed({
                status,
                headers: response.headers,
                bytes: new Uint8Array(Buffer.concat(chunks))
              })
            )
          : fail("it broke off")
      )
      return undefined
    }
    const request: ClientRequest =
      url.protocol === "https:" ? httpsRequest(url, options, receive) : httpRequest(url, options, receive)
    request.on("error", (error) =>
      fail(
        error.name === "AbortError" || error.name === "TimeoutError"
          ? `it took longer than ${mostMillis} ms`
          : error.message
      )
    )
    request.end()
    return Effect.sync(() => request.destroy())
  })

/** The bytes of the document that is there. */
export const fetchDocument = (url: URL, options: FetchOptions): Effect.Effect<Uint8Array, FetchFailed> =>
  Effect.map(fetchAnswer(url, options), ({ bytes }) => bytes)
