/** What a feed holds, as events will have it: the newest items, each with what it is known by. */
import { createHash } from "node:crypto"
import { DateTime, Option } from "effect"
import { parseFeed } from "feedsmith"
import { eventUrlFault } from "../../services/Events.ts"
import { plainText } from "./plainText.ts"

/** A feed that holds more has its newest ones first. */
const maxItems = 200
const maxTitle = 500
const maxSummary = 2000

export interface FeedItem {
  readonly title: string
  readonly summary: string | null
  readonly url: string | null
  readonly publishedAt: DateTime.Utc
  /** SHA-256 of its guid within the feed, and of its address: whoever has one of them is the same item. */
  readonly keys: ReadonlyArray<Uint8Array>
}

/** As the formats say it, in one shape. */
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

/** The address without what only tells where a reader came from. */
const canonical = (address: string): string => {
  const url = new URL(address)
  url.hash = ""
  const tracking = [...url.searchParams.keys()].filter((name) => /^utm_/i.test(name))
  for (const name of tracking) url.searchParams.delete(name)
  return url.href
}

const keyOf = (...parts: ReadonlyArray<string>): Uint8Array =>
  createHash("sha256").update(parts.join("\0")).digest()

/** An item that says it is from the future, or nothing, is of now. */
const publishedAt = (date: string | undefined, now: DateTime.Utc): DateTime.Utc =>
  Option.getOrElse(
    Option.filter(
      Option.map(DateTime.make(date ?? ""), DateTime.toUtc),
      (said) => DateTime.isLessThan(said, now) && DateTime.toEpochMillis(said) > 0
    ),
    () => now
  )

/**
 * The items of a document, each once, oldest first; none where it is no RSS or Atom feed. What it says of a time is taken
 * for one only up to `now`.
 */
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
      const shown = plainText(title ?? "", maxTitle) || plainText(summary, 120)
      const url = webAddress(link, feedUrl)
      const keys = [
        ...(guid === undefined ? [] : [keyOf("guid", feedUrl, guid)]),
        ...(url === null ? [] : [keyOf("url", canonical(url))])
      ]
      const names = keys.map((key) => Buffer.from(key).toString("hex"))
      if (shown === "" || keys.length === 0 || names.some((name) => seen.has(name))) return []
      for (const name of names) seen.add(name)
      return [
        {
          title: shown,
          summary: summary === "" ? null : summary,
          url,
          publishedAt: publishedAt(date, now),
          keys
        }
      ]
    })
    .toReversed()
}
