/** Asks a feed whether there is anything new. Redirects are followed, each judged like the address itself. */
import { Effect } from "effect"
import { fetchAnswer, FetchFailed } from "../keys/fetchDocument.ts"
import { feedUrlFault } from "./feedList.ts"

const limits = { maxBytes: 2 * 1024 * 1024, maxMillis: 10_000 }
const maxRedirects = 3
const redirects = [301, 302, 303, 307, 308]
const maxValidator = 500

/** What a feed answered with last time, for it to compare. */
export interface Validators {
  readonly etag: string | null
  readonly last_modified: string | null
}

export type FeedAnswer =
  | { readonly changed: false }
  | ({ readonly changed: true; readonly document: string } & Validators)

const validator = (value: string | undefined): string | null =>
  value === undefined || value.length > maxValidator ? null : value

export const fetchFeed = Effect.fnUntraced(function* (
  from: string,
  { etag, last_modified }: Validators,
  ownMachine: boolean
) {
  const headers = {
    accept: "application/rss+xml, application/atom+xml, application/xml;q=0.9, text/xml;q=0.8",
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
      statuses: [200, 304, ...redirects]
    })
    if (status === 304) {
      const unchanged: FeedAnswer = { changed: false }
      return unchanged
    }
    if (status === 200) {
      const changed: FeedAnswer = {
        changed: true,
        document: new TextDecoder(charsetOf(answered["content-type"], bytes)).decode(bytes),
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

/** By its header, else by its XML declaration (XML 1.0, 4.3.3), if we know it; else UTF-8. */
const charsetOf = (contentType: string | undefined, bytes: Uint8Array): string => {
  const start = Buffer.from(bytes.subarray(0, 200)).toString("latin1")
  const label =
    /charset="?([\w-]+)/i.exec(contentType ?? "")?.[1] ?? /^<\?xml[^>]*encoding=["']([\w-]+)/.exec(start)?.[1]
  try {
    return new TextDecoder(label ?? "utf-8").encoding
  } catch {
    return "utf-8"
  }
}
