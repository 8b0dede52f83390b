/** Parses a feed into items, the newest ones, each with the keys that identify it. */
import { createHash } from "node:crypto"
import { DateTime, Option } from "effect"
import { parseFeed } from "feedsmith"
import { eventUrlFault } from "../../services/Events.ts"
import { maxRawLength, toNfc } from "../../services/domain/text.ts"

/** A longer feed is cut to its first items, which are the newest. */
const maxItems = 200
const maxTitle = 500
const maxSummary = 2000

export interface FeedItem {
  readonly title: string
  readonly summary: string | null
  readonly url: string | null
  readonly publishedAt: DateTime.Utc
  /** SHA-256 of the guid within the feed, and of the address: items that share a key are the same item. */
  readonly keys: ReadonlyArray<Uint8Array>
}

/** An item of any of the formats. */
interface Entry {
  readonly guid: string | undefined
  readonly title: string | undefined
  readonly link: string | undefined
  readonly text: string | undefined
  readonly date: string | undefined
}

const entriesOf = (document: string): ReadonlyArray<Entry> | undefined => {
  const { feed, format } = parseFeed(document)
  switch (format) {
    case "rss":
      return (feed.items ?? []).map((item) => ({
        guid: item.guid?.value,
        title: item.title,
        link: item.link ?? (item.guid?.isPermaLink === true ? item.guid.value : undefined),
        text: item.description ?? item.content?.encoded,
        date: item.pubDate ?? item.dc?.dates?.[0]
      }))
    case "rdf":
      return (feed.items ?? []).map((item) => ({
        guid: item.rdf?.about,
        title: item.title,
        link: item.link,
        text: item.description,
        date: item.dc?.dates?.[0]
      }))
    case "atom":
      return (feed.entries ?? []).map((entry) => ({
        guid: entry.id,
        title: entry.title?.value,
        link: entry.links?.find(({ rel }) => rel === undefined || rel === "alternate")?.href,
        text: entry.summary?.value ?? entry.content?.value,
        date: entry.published ?? entry.updated
      }))
    default:
      return undefined
  }
}

const webAddress = (link: string | undefined, base: string): string | null => {
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

/** An item without a date, or with one in the future, counts as published now. */
const publishedAt = (date: string | undefined, now: DateTime.Utc): DateTime.Utc =>
  Option.getOrElse(
    Option.filter(
      Option.map(DateTime.make(date ?? ""), DateTime.toUtc),
      (said) => DateTime.isLessThan(said, now) && DateTime.toEpochMillis(said) > 0
    ),
    () => now
  )

/** The items of a document, each once, oldest first; undefined where it is no RSS or Atom feed. */
export const feedItems = (
  document: string,
  feedUrl: string,
  now: DateTime.Utc
): ReadonlyArray<FeedItem> | undefined => {
  const seen = new Set<string>()
  return entriesOf(document)
    ?.slice(0, maxItems)
    .flatMap(({ date, guid, link, text, title }) => {
      const summary = plainText(text ?? "", maxSummary)
      const heading = plainText(title ?? "", maxTitle) || plainText(summary, 120)
      const url = webAddress(link, feedUrl)
      const keys = [
        ...(guid === undefined ? [] : [keyOf("guid", feedUrl, guid)]),
        ...(url === null ? [] : [keyOf("url", canonical(url))])
      ]
      const names = keys.map((key) => Buffer.from(key).toString("hex"))
      if (heading === "" || keys.length === 0 || names.some((name) => seen.has(name))) return []
      for (const name of names) seen.add(name)
      return [
        {
          title: heading,
          summary: summary === "" ? null : summary,
          url,
          publishedAt: publishedAt(date, now),
          keys
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

const named: Readonly<Record<string, string>> = {
  amp: "&",
  lt: "<",
  gt: ">",
  quot: '"',
  apos: "'",
  nbsp: " ",
  ndash: "–",
  mdash: "—",
  hellip: "…",
  lsquo: "‘",
  rsquo: "’",
  ldquo: "“",
  rdquo: "”",
  euro: "€",
  pound: "£",
  copy: "©"
}

const character = (code: number, otherwise: string): string =>
  code > 0 && code <= 0x10ffff ? String.fromCodePoint(code) : otherwise

const decoded = (text: string): string =>
  text.replaceAll(/&(?:#(\d{1,7})|#x([0-9a-f]{1,6})|([a-z]{2,8}));/gi, (whole, decimal, hex, name) => {
    if (decimal !== undefined) return character(Number(decimal), whole)
    if (hex !== undefined) return character(Number.parseInt(hex, 16), whole)
    return named[String(name)] ?? whole
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

/**
 * The text of markup as one line, without control characters. Security does not depend on it: pages escape all texts.
 */
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
