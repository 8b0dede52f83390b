/** Parses a feed into its newest items, each with the keys that identify it. */
import { createHash } from "node:crypto"
import { DateTime } from "effect"
import { decodeHTMLStrict, escapeUTF8 } from "entities"
import { parseFeed } from "feedsmith"
import { eventUrlFault } from "../../services/Events.ts"
import { maxRawLength, toNfc } from "../../services/domain/text.ts"
import { withAbsoluteLinks } from "./absoluteLinks.ts"
import { statedDate } from "./dates.ts"
import type { StatedDate } from "./dates.ts"

/** A longer feed is cut to its newest items. */
const maxItems = 200
const maxTitle = 500
const maxSummary = 2000

export interface FeedItem {
  readonly title: string
  readonly summary: string | null
  readonly url: string | null
  readonly publishedAt: DateTime.Utc
  /**
   * False if the feed states no readable moment, or a future one. `publishedAt` is then the stated day or time as of UTC, if that is
   * past, else now.
   */
  readonly isPublishedAtKnown: boolean
  /** The date as it is written. */
  readonly stated: string | undefined
  /** Keys (SHA-256) of the item: an event that has one of them is this item. */
  readonly names: ReadonlyArray<Uint8Array>
  /** The key of its address, if guids distinguish the items of this feed: an event of another feed with this key is this item. */
  readonly elsewhere: ReadonlyArray<Uint8Array>
  /** All keys that are stored for the item. */
  readonly keys: ReadonlyArray<Uint8Array>
}

/** An item of any format. */
interface Entry {
  readonly guid: string | undefined
  /** A guid that is an address, too. */
  readonly permalink?: string | undefined
  readonly title: string | undefined
  readonly link: string | undefined
  readonly text: string | undefined
  readonly date: string | undefined
}

/** By RFC 4287, 4.2.7.2, a link without a relation is the same as one with the relation's name as an IRI. */
const alternate = new Set([undefined, "alternate", "http://www.iana.org/assignments/relation/alternate"])

const entriesOf = (document: string): ReadonlyArray<Entry> | undefined => {
  const { feed, format } = parseFeed(document.replace(/^\ufeff/, ""))
  switch (format) {
    case "rss":
      return (feed.items ?? []).map((item) => ({
        guid: item.guid?.value,
        permalink: item.guid?.isPermaLink === false ? undefined : item.guid?.value,
        title: item.title,
        link: item.link,
        text: item.description ?? item.content?.encoded,
        date: item.pubDate ?? item.dc?.dates?.[0]
      }))
    case "rdf":
      return (feed.items ?? []).map((item) => ({
        guid: item.rdf?.about,
        permalink: item.rdf?.about,
        title: item.title,
        link: item.link,
        text: item.description,
        date: item.dc?.dates?.[0]
      }))
    case "atom":
      return (feed.entries ?? []).map((entry) => ({
        guid: entry.id,
        title: entry.title?.value,
        link: entry.links?.find(({ rel }) => alternate.has(rel))?.href,
        text: entry.summary?.value ?? entry.content?.value,
        date: entry.published ?? entry.updated
      }))
    case "json":
      // In JSON Feed 1.1 titles and `content_text` are plain text.
      return (feed.items ?? []).map((item) => ({
        guid: item.id,
        permalink: item.id,
        title: plain(item.title),
        link: item.url ?? item.external_url,
        text: plain(item.summary) ?? item.content_html ?? plain(item.content_text),
        date: item.date_published
      }))
    default:
      return undefined
  }
}

const plain = (text: string | undefined) => (text === undefined ? undefined : escapeUTF8(text))

const webAddress = (link: string | undefined, base?: string): string | null => {
  if (link === undefined || !URL.canParse(link.trim(), base)) return null
  const url = new URL(link.trim(), base)
  return eventUrlFault(url) === undefined ? url.href : null
}

/** The address without fragment and tracking parameters. */
const canonical = (address: string): string => {
  const url = new URL(address)
  url.hash = ""
  const tracking = [...url.searchParams.keys()].filter((name) => /^utm_/i.test(name))
  for (const name of tracking) url.searchParams.delete(name)
  return url.href
}

const keyOf = (...parts: ReadonlyArray<string>): Uint8Array =>
  createHash("sha256").update(parts.join("\0")).digest()

/** The stated date, unless it is in the future or before the epoch, as the zero of a clock is. */
const pastDate = (date: string | undefined, now: DateTime.Utc): StatedDate | undefined => {
  const stated = date === undefined ? undefined : statedDate(date)
  const millis = stated === undefined ? 0 : DateTime.toEpochMillis(stated.at)
  return millis > 0 && millis <= DateTime.toEpochMillis(now) ? stated : undefined
}

interface Unnamed {
  readonly guid: string | undefined
  readonly address: string | undefined
  readonly title: string
}

/** An item is identified by the first of guid, address and title that no other item of its document has. */
const naming = (items: ReadonlyArray<Unnamed>, feedUrl: string) => {
  const distinct = new Map(items.map((item) => [JSON.stringify([item.guid, item.address, item.title]), item]))
  const holders = (part: "guid" | "address") => Map.groupBy(distinct.values(), (item) => item[part])
  const [guids, addresses] = [holders("guid"), holders("address")]
  return ({ address, guid, title }: Unnamed): Pick<FeedItem, "names" | "elsewhere" | "keys"> => {
    const byTitle = keyOf("title", feedUrl, address ?? guid ?? "", title)
    const both =
      guid === undefined || address === undefined ? [] : [keyOf("guid and url", feedUrl, guid, address)]
    const isOwn = address !== undefined && addresses.get(address)?.length === 1
    const byAddress = isOwn ? [keyOf("url", address)] : []
    // This address identified an item before the feed had guids.
    const withoutGuid = isOwn ? [keyOf("url without guid", address)] : []
    if (guid !== undefined && guids.get(guid)?.length === 1) {
      const byGuid = keyOf("guid", feedUrl, guid)
      return {
        names: [byGuid, ...both, ...withoutGuid],
        elsewhere: byAddress,
        keys: [byGuid, ...both, ...byAddress]
      }
    }
    return isOwn
      ? { names: byAddress, elsewhere: [], keys: [...byAddress, ...withoutGuid, ...both, byTitle] }
      : { names: [byTitle], elsewhere: [], keys: [byTitle] }
  }
}

const millisOf = (date: StatedDate | undefined): number =>
  date === undefined ? 0 : DateTime.toEpochMillis(date.at)

/**
 * The items of a document, each once, oldest first; undefined if it is no RSS, Atom or JSON feed. Relative links are resolved against
 * `base`, the address that answered.
 */
export const feedItems = (
  document: string,
  feedUrl: string,
  now: DateTime.Utc,
  base: string = feedUrl
): ReadonlyArray<FeedItem> | undefined => {
  const entries = entriesOf(withAbsoluteLinks(document, base))?.flatMap(
    ({ date, guid, link, permalink, text, title }) => {
      const summary = plainText(text ?? "", maxSummary)
      const heading = plainText(title ?? "", maxTitle) || plainText(summary, 120)
      const url = webAddress(link, base) ?? webAddress(permalink)
      if (heading === "" || (guid === undefined && url === null)) return []
      const address = url === null ? undefined : canonical(url)
      return [{ guid, address, title: heading, summary, url, date, past: pastDate(date, now) }]
    }
  )
  if (entries === undefined) return undefined
  const newest = entries
    .toSorted((left, right) => millisOf(right.past) - millisOf(left.past))
    .slice(0, maxItems)
  const nameOf = naming(newest, feedUrl)
  const seen = new Set<string>()
  return newest
    .flatMap((entry): ReadonlyArray<FeedItem> => {
      const { date, past, summary, title, url } = entry
      const named = nameOf(entry)
      const name = Buffer.from(named.names[0] ?? []).toString("hex")
      if (seen.has(name)) return []
      seen.add(name)
      return [
        {
          title,
          summary: summary === "" ? null : summary,
          url,
          publishedAt: past?.at ?? now,
          isPublishedAtKnown: past?.isExact ?? false,
          stated: date,
          ...named
        }
      ]
    })
    .toReversed()
}

/** Elements whose content is dropped. */
const hiddenTags: ReadonlySet<string> = new Set([
  "script",
  "style",
  "template",
  "noscript",
  "iframe",
  "svg",
  "math"
])
/** Elements that do not separate words; all others do. */
const inlineTags: ReadonlySet<string> = new Set(
  "a abbr b bdi bdo cite code data del dfn em font i ins kbd mark q s samp small span strong sub sup time tt u var wbr".split(
    " "
  )
)
/** Longer markup is cut. */
const maxMarkup = 100_000

/** A reference that names no character stays as it is written. */
const decoded = (text: string): string =>
  text.replaceAll(/&(?:#\d{1,12}|#x[0-9a-f]{1,12}|[a-z][a-z0-9]{1,40});/gi, (reference) => {
    const character = decodeHTMLStrict(reference)
    return character === "\ufffd" ? reference : character
  })

/** The position after the next `end`, or the end of the text. */
const after = (text: string, end: string, from: number): number => {
  const at = text.indexOf(end, from)
  return at === -1 ? text.length : at + end.length
}

/** A tag at the start of the match: its closing slash and its name. */
const tag = /<(\/?)([a-z][a-z0-9]*)|<[!?]/iy

const withoutTags = (markup: string): string => {
  // ASCII only: lower-casing other scripts may change the length, and positions must agree with the markup.
  const lower = markup.replaceAll(/[A-Z]+/g, (letters) => letters.toLowerCase())
  const parts: Array<string> = []
  let at = 0
  while (at < markup.length) {
    const open = markup.indexOf("<", at)
    if (open === -1) break
    parts.push(markup.slice(at, open))
    tag.lastIndex = open
    const found = tag.exec(lower)
    if (found === null) {
      parts.push("<")
      at = open + 1
      continue
    }
    const [, slash, name = ""] = found
    if (lower.startsWith("<!--", open)) at = after(lower, "-->", open)
    else at = after(lower, ">", open)
    if (slash === "" && hiddenTags.has(name)) at = after(lower, ">", after(lower, `</${name}`, at))
    if (!inlineTags.has(name)) parts.push(" ")
  }
  parts.push(markup.slice(at))
  return parts.join("")
}

// oxlint-disable-next-line no-control-regex -- naming control characters is the purpose
const controls = /[\u0000-\u0008\u000b-\u001f\u202a-\u202e\u2066-\u2069]/g

/** The text of markup as one line, without control characters. Security does not depend on it: pages escape all texts. */
export const plainText = (markup: string, maxLength: number): string => {
  const line = decoded(withoutTags(markup.slice(0, maxMarkup)))
    .replaceAll(/\s+/gu, " ")
    .replaceAll(controls, "")
    .trim()
  const text = toNfc(line.slice(0, maxRawLength(maxLength)).toWellFormed())
  const characters = [...text]
  return characters.length <= maxLength
    ? text
    : `${characters
        .slice(0, maxLength - 1)
        .join("")
        .trimEnd()}…`
}
