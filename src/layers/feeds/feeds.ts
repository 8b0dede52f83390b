/** News feeds: the operator's list (a YAML file), and the fetch of one. */
import { Effect, FileSystem, Result, Schema } from "effect"
import { parse } from "yaml"
import { FeedSource, FeedsUnusable } from "../../services/Events.ts"
import { rootCause } from "../../services/domain/errors.ts"
import { list } from "../../services/domain/text.ts"
import { isOwnMachine, isPublicAddress, literalAddress } from "../keys/publicUrl.ts"
import { fetchAnswer, FetchFailed } from "../keys/fetchDocument.ts"
import { decodeXml } from "./encoding.ts"

const FeedList = Schema.Struct({ feeds: list(FeedSource, { minimum: 1, maximum: 500 }) })
const decode = Schema.decodeUnknownEffect(FeedList)

/** Names the fault of a feed's URL, if there is one. The addresses that its name resolves to are checked at each fetch. */
const feedUrlFault = (text: string, allow: { readonly ownMachine: boolean }): string | undefined => {
  const url = URL.canParse(text) ? new URL(text) : undefined
  if (url === undefined || !/^https?:$/.test(url.protocol)) return "Expected an http or https URL"
  if (url.username !== "" || url.password !== "") return "Expected a URL without user name and password"
  if (allow.ownMachine && isOwnMachine(url)) return undefined
  const address = literalAddress(url.hostname)
  return address === undefined || isPublicAddress(address)
    ? undefined
    : "Expected a host on the public internet"
}

export const readFeedList = Effect.fnUntraced(function* (
  path: string,
  allow: { readonly ownMachine: boolean }
) {
  const fileSystem = yield* FileSystem.FileSystem
  const unusable = (message: string) =>
    new FeedsUnusable({ message: `AUSPEX_EVENT_FEEDS=${path} cannot be used: ${message}` })
  const text = yield* fileSystem
    .readFileString(path)
    .pipe(Effect.mapError((error) => unusable(rootCause(error).message)))
  const parsed: unknown = yield* Effect.fromResult(
    Result.try({
      try: (): unknown => parse(text, { maxAliasCount: 0 }),
      catch: (cause) =>
        unusable(cause instanceof Error ? (cause.message.split("\n")[0] ?? "") : String(cause))
    })
  )
  const { feeds } = yield* decode(parsed, { errors: "all" }).pipe(
    Effect.mapError(({ message }) => unusable(message.replaceAll(/\s*\n\s*/g, " ")))
  )
  const seen = new Set<string>()
  for (const [index, { url }] of feeds.entries()) {
    const fault = feedUrlFault(url, allow)
    if (fault !== undefined) return yield* unusable(`feeds.${index}.url: ${fault}`)
    if (seen.has(url)) return yield* unusable(`feeds.${index}.url: Expected each feed once`)
    seen.add(url)
  }
  return feeds
})

const limits = { maxBytes: 2 * 1024 * 1024, maxMillis: 10_000 }
const maxRedirects = 3
const redirects = [301, 302, 303, 307, 308]
const maxValidator = 500

/** The validators of the last answer, for a conditional request. */
export interface Validators {
  readonly etag: string | null
  readonly last_modified: string | null
}

export type FeedAnswer =
  | { readonly changed: false }
  | ({
      readonly changed: true
      readonly document: string
      /** The address that answered, after redirects. */
      readonly url?: string
      /** Names the bytes that are no characters; each of these is a U+FFFD in the document. */
      readonly misread?: string
    } & Validators)

const validator = (value: string | undefined): string | null =>
  value === undefined || value.length > maxValidator ? null : value

/** Fetches a feed conditionally. Redirects are followed, and each target is checked like the URL itself. */
export const fetchFeed = Effect.fnUntraced(function* (
  from: string,
  { etag, last_modified }: Validators,
  ownMachine: boolean
) {
  const headers = {
    accept:
      "application/rss+xml, application/atom+xml, application/feed+json, application/xml;q=0.9, text/xml;q=0.8",
    ...(etag !== null && { "if-none-match": etag }),
    ...(last_modified !== null && { "if-modified-since": last_modified })
  }
  let url = from
  for (let hops = 0; hops <= maxRedirects; hops++) {
    const fault = feedUrlFault(url, { ownMachine })
    if (fault !== undefined) return yield* new FetchFailed({ reason: `${url.slice(0, 200)}: ${fault}` })
    const {
      bytes,
      headers: answered,
      status
    } = yield* fetchAnswer(new URL(url), {
      ...limits,
      ownMachine,
      headers,
      compression: "taken",
      statuses: [200, 304, ...redirects]
    })
    if (status === 304) {
      const unchanged: FeedAnswer = { changed: false }
      return unchanged
    }
    if (status === 200) {
      const { misread, text } = decodeXml(bytes, answered["content-type"])
      const changed: FeedAnswer = {
        changed: true,
        document: text,
        ...(misread !== undefined && { misread }),
        ...(url !== from && { url }),
        etag: validator(answered.etag),
        last_modified: validator(answered["last-modified"])
      }
      return changed
    }
    const target = answered.location
    if (target === undefined || !URL.canParse(target, url)) {
      return yield* new FetchFailed({ reason: `it answered ${status} without an address` })
    }
    url = new URL(target, url).href
  }
  return yield* new FetchFailed({ reason: `it redirects more than ${maxRedirects} times` })
})
