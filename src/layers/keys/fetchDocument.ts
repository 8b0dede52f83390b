/**
 * Fetches a document from a stranger's URL. The connection goes only to checked addresses (a second lookup could answer others), follows
 * no redirect, takes no cookies, and bounds time and bytes. Compression is accepted if the operator named the URL.
 */
import { lookup as systemLookup, Resolver } from "node:dns"
import type { LookupAddress, LookupAllOptions } from "node:dns"
import { request as httpRequest } from "node:http"
import type { ClientRequest, IncomingHttpHeaders, IncomingMessage } from "node:http"
import { request as httpsRequest } from "node:https"
import { isIP } from "node:net"
import type { LookupFunction } from "node:net"
import { brotliDecompress, gunzip, inflate, inflateRaw, zstdDecompress } from "node:zlib"
import { Array as Arr, Data, Effect } from "effect"
import { isOwnMachine, literalAddress, isPublicAddress } from "./publicUrl.ts"

/** The reason why a fetch failed: only for the operator's log, since it could map a network. */
export class FetchFailed extends Data.TaggedError("FetchFailed")<{ readonly reason: string }> {}

type Resolve = (
  name: string,
  options: LookupAllOptions,
  callback: (error: NodeJS.ErrnoException | null, addresses: Array<LookupAddress>) => void
) => void

/**
 * Strangers' names are resolved by DNS alone. The system's lookups block one of the few threads that file I/O needs, for as long as the
 * stranger's name server wants.
 */
export const dnsLookup = (servers?: ReadonlyArray<string>): Resolve => {
  const resolver = new Resolver({ timeout: 1000, tries: 2 })
  if (servers !== undefined) resolver.setServers(servers)
  return (name, _options, callback) => {
    const found: Array<LookupAddress> = []
    let answers = 0
    const take =
      (family: 4 | 6) => (error: NodeJS.ErrnoException | null, addresses: ReadonlyArray<string>) => {
        if (error === null) found.push(...addresses.map((address) => ({ address, family })))
        answers += 1
        if (answers < 2) return
        found.sort((left, right) => left.family - right.family)
        callback(found.length > 0 ? null : new Error("the name has no address"), found)
      }
    resolver.resolve4(name, take(4))
    resolver.resolve6(name, take(6))
  }
}

export interface FetchOptions {
  readonly maxBytes: number
  readonly maxMillis: number
  /** URLs on this machine are allowed. */
  readonly ownMachine: boolean
  readonly resolve?: Resolve
  readonly isAllowed?: (address: string) => boolean
  /** Headers that add to or replace ours. */
  readonly headers?: Readonly<Record<string, string>>
  /** Statuses that count as answers; 200 by default. */
  readonly statuses?: ReadonlyArray<number>
  /** The body of a POST; only the status of its answer is read. */
  readonly post?: string
  /** Certificate authorities in place of the usual ones. */
  readonly ca?: string
  /** A compressed body is decompressed within `maxBytes`; otherwise it is rejected. */
  readonly compression?: "taken"
}

const loopback = (address: string): boolean => address === "127.0.0.1" || address === "::1"

export type Addresses = Arr.NonEmptyReadonlyArray<LookupAddress>

/**
 * The addresses of a URL, if all of them are allowed: a mixed answer is suspicious. The time limit is real time, not the program's clock.
 */
export const addressesOf = (
  url: URL,
  { isAllowed, maxMillis, ownMachine, resolve = systemLookup }: FetchOptions
): Effect.Effect<Addresses, FetchFailed> =>
  Effect.callback((resume) => {
    const allowed = isAllowed ?? (ownMachine && isOwnMachine(url) ? loopback : isPublicAddress)
    const fail = (reason: string) => resume(Effect.fail(new FetchFailed({ reason })))
    const literal = literalAddress(url.hostname)
    if (literal !== undefined) {
      return allowed(literal)
        ? resume(Effect.succeed([{ address: literal, family: isIP(literal) }]))
        : fail("the address is not allowed")
    }
    const timer = setTimeout(() => fail(`its name was not found within ${maxMillis} ms`), maxMillis)
    resolve(url.hostname, { all: true }, (error, addresses) => {
      clearTimeout(timer)
      if (error !== null || !Arr.isReadonlyArrayNonEmpty(addresses))
        return fail(error?.message ?? "no address")
      if (!addresses.every(({ address }) => allowed(address))) {
        return fail("the name resolves to an address that is not allowed")
      }
      return resume(Effect.succeed(addresses))
    })
    return Effect.sync(() => clearTimeout(timer))
  })

/** A lookup with the checked addresses: a second query might answer others. */
const pinned =
  (addresses: Addresses): LookupFunction =>
  (_name, options, callback) =>
    options.all === true
      ? callback(null, [...addresses])
      : callback(null, addresses[0].address, addresses[0].family)

const ownHeaders = {
  accept: "application/jwk-set+json, application/json",
  "accept-encoding": "identity",
  "user-agent": "auspex"
}

/** The content codings that IANA registers (HTTP Content Coding Registry), except `identity`. */
const registeredCodings: ReadonlySet<string> = new Set([
  "aes128gcm",
  "br",
  "compress",
  "dcb",
  "dcz",
  "deflate",
  "exi",
  "gzip",
  "pack200-gzip",
  "x-compress",
  "x-gzip",
  "zstd"
])

/** The codings of a body in the order in which they were applied. A word that is no coding (`UTF-8`) counts as none. */
const codingsOf = (header = ""): ReadonlyArray<string> =>
  header
    .toLowerCase()
    .split(",")
    .map((coding) => coding.trim())
    .filter((coding) => registeredCodings.has(coding))

type Decompress = (
  bytes: Uint8Array,
  options: { readonly maxOutputLength: number },
  callback: (error: NodeJS.ErrnoException | null, result: Uint8Array) => void
) => void

/** RFC 9110, 8.4.1.2 demands zlib data; some servers send only the deflate data. RFC 1950, 2.2 tells them apart. */
const inflateEither: Decompress = (bytes, options, callback) => {
  const [method = 0, flags = 0] = bytes
  const isZlib = (method & 15) === 8 && (256 * method + flags) % 31 === 0
  return isZlib ? inflate(bytes, options, callback) : inflateRaw(bytes, options, callback)
}

const decompressions: Readonly<Record<string, Decompress>> = {
  gzip: gunzip,
  "x-gzip": gunzip,
  br: brotliDecompress,
  deflate: inflateEither,
  zstd: zstdDecompress
}
const maxCodings = 4

/** Undoes one coding. The bound already holds during decompression. */
const decompressed = (bytes: Uint8Array, coding: string, maxBytes: number) =>
  Effect.callback<Uint8Array, FetchFailed>((resume) => {
    const decompress = decompressions[coding]
    if (bytes.length === 0 || decompress === undefined) return resume(Effect.succeed(bytes))
    return decompress(bytes, { maxOutputLength: maxBytes }, (error, result) => {
      if (error === null) return resume(Effect.succeed(new Uint8Array(result)))
      const reason =
        error.code === "ERR_BUFFER_TOO_LARGE"
          ? `it is larger than ${maxBytes} bytes`
          : `it cannot be decompressed as ${coding}: ${error.message}`
      return resume(Effect.fail(new FetchFailed({ reason })))
    })
  })

export interface FetchedAnswer {
  readonly status: number
  readonly headers: IncomingHttpHeaders
  readonly bytes: Uint8Array
}

/** Fetches from these addresses. The time limit is real time, not the program's clock. */
export const fetchAt = Effect.fnUntraced(function* (url: URL, addresses: Addresses, options: FetchOptions) {
  const answer = yield* receivedAt(url, addresses, options)
  let { bytes } = answer
  for (const coding of codingsOf(answer.headers["content-encoding"]).toReversed()) {
    bytes = yield* decompressed(bytes, coding, options.maxBytes)
  }
  return { ...answer, bytes }
})

const receivedAt = (
  url: URL,
  addresses: Addresses,
  { ca, compression, headers = {}, maxBytes, maxMillis, post, statuses = [200] }: FetchOptions
): Effect.Effect<FetchedAnswer, FetchFailed> =>
  Effect.callback((resume) => {
    const fail = (reason: string) => resume(Effect.fail(new FetchFailed({ reason })))
    const options = {
      agent: false,
      method: post === undefined ? "GET" : "POST",
      headers: { ...ownHeaders, ...headers },
      lookup: pinned(addresses),
      signal: AbortSignal.timeout(maxMillis),
      ...(ca !== undefined && { ca })
    } as const
    const receive = (response: IncomingMessage) => {
      const reject = (reason: string) => {
        response.destroy()
        fail(reason)
      }
      const { "content-encoding": encoding, "content-length": length = "0" } = response.headers
      const codings = codingsOf(encoding)
      const isRefused =
        compression !== "taken" ||
        codings.length > maxCodings ||
        !codings.every((coding) => coding in decompressions)
      const status = response.statusCode ?? 0
      if (post !== undefined) {
        response.destroy()
        return resume(Effect.succeed({ status, headers: response.headers, bytes: new Uint8Array() }))
      }
      if (!statuses.includes(status)) return reject(`it answered ${status}`)
      if (codings.length > 0 && isRefused) return reject(`it is encoded as ${encoding}`)
      if (Number(length) > maxBytes) return reject(`it is larger than ${maxBytes} bytes`)
      const chunks: Array<Buffer> = []
      let received = 0
      response.on("data", (chunk: Buffer) => {
        received += chunk.length
        if (received > maxBytes) return reject(`it is larger than ${maxBytes} bytes`)
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
          ? `it took longer than ${maxMillis} ms`
          : error.message
      )
    )
    request.end(post)
    return Effect.sync(() => request.destroy())
  })

/** Fetches the answer at a URL. */
export const fetchAnswer = (url: URL, options: FetchOptions): Effect.Effect<FetchedAnswer, FetchFailed> =>
  Effect.flatMap(addressesOf(url, options), (addresses) => fetchAt(url, addresses, options))
