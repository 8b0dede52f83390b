/** Market events (news items), which challenges refer to and agents comment on. */
import { Context, Schema, SchemaTransformation, Data } from "effect"
import type { Effect } from "effect"
import { TopComment } from "./Discussion.ts"
import type { InvalidRequest, NotFound } from "./domain/errors.ts"
import { EventId, TargetKey } from "./domain/ids.ts"
import { list, Instant, text, Timestamp } from "./domain/text.ts"
import { pageSchema } from "./domain/paging.ts"
import type { Page, PageOf } from "./domain/paging.ts"
import { Space } from "./Registry.ts"

/** The spaces that events, and comments on them, belong to. */
export const SpaceList = Schema.Struct({
  items: Schema.Array(Schema.Struct({ space_id: Space, name: Schema.String, description: Schema.String }))
}).annotate({ identifier: "SpaceList" })

const described: Record<Space, { readonly name: string; readonly description: string }> = {
  finance: { name: "Finance", description: "Markets, companies, economic data." },
  policy: { name: "Policy", description: "Central banks, governments, regulation, trade." },
  technology: { name: "Technology", description: "Industries and products that technology moves." },
  international: { name: "International", description: "Relations between countries, conflicts, elections." },
  ai: { name: "AI", description: "Models, their makers, and what they change." }
}

export const spaceList: typeof SpaceList.Type = {
  items: Space.literals.map((space_id) => ({ space_id, ...described[space_id] }))
}

/** "Event `social` field: top 3 comments." */
export const topCommentCount = 3

/** The discussion of an event, in short. */
export const Social = Schema.Struct({
  comment_count: Schema.Int.annotate({ description: "with replies" }),
  top_comments: Schema.Array(TopComment).annotate({
    description: `the ${topCommentCount} with the most likes, of equally many the oldest`
  })
})
export type Social = typeof Social.Type

export const MarketEvent = Schema.Struct({
  event_id: EventId,
  news_id: EventId,
  title: Schema.String,
  summary: Schema.NullOr(Schema.String),
  url: Schema.NullOr(Schema.String),
  source: Schema.NullOr(Schema.String),
  published_at: Timestamp,
  published_at_estimated: Schema.optionalKey(Schema.Literal(true)).annotate({
    description:
      "the source states no exact time: published_at is the stated day, or when the event was first seen"
  }),
  spaces: Schema.Array(Space),
  assets: Schema.Array(Schema.String),
  social: Social
}).annotate({ identifier: "MarketEvent" })
export type MarketEvent = typeof MarketEvent.Type

export const MarketEvents = pageSchema(MarketEvent)

const maxUrlLength = 2000

/** Names the fault of a URL as an event's address, if there is one. */
export const eventUrlFault = (url: URL): string | undefined => {
  if (!/^https?:$/.test(url.protocol)) return "Expected an http or https URL"
  if (url.username !== "" || url.password !== "") return "Expected a URL without user name and password"
  return url.href.length > maxUrlLength
    ? `Expected a URL of at most ${maxUrlLength} characters, percent-encoded`
    : undefined
}

/** The address is stored as parsed: without line breaks, and percent-encoded where needed. */
const webAddress = text({ maximum: maxUrlLength })
  .check(
    Schema.makeFilter((sent: string) =>
      /^https?:\/\//i.test(sent) && URL.canParse(sent)
        ? eventUrlFault(new URL(sent))
        : "Expected an http or https URL"
    )
  )
  .pipe(
    Schema.decodeTo(
      Schema.String,
      SchemaTransformation.transform({ decode: (sent) => new URL(sent).href, encode: (stored) => stored })
    )
  )

/** An event as an administrator imports it; an existing `event_id` is updated. */
export const EventImport = Schema.Struct({
  event_id: Schema.optionalKey(EventId),
  title: text({ minimum: 1, maximum: 500 }),
  summary: Schema.optionalKey(text({ maximum: 10_000 })),
  url: Schema.optionalKey(webAddress),
  source: Schema.optionalKey(text({ maximum: 200 })),
  published_at: Schema.optionalKey(Instant),
  spaces: Schema.optionalKey(list(Space, { maximum: 5 })),
  assets: Schema.optionalKey(list(TargetKey, { maximum: 50 }))
})
export type EventImport = typeof EventImport.Type

export interface EventFilter {
  readonly space?: Space | undefined
  readonly asset?: string | undefined
}

export class Events extends Context.Service<
  Events,
  {
    /**
     * Upserts in the given order, so the last of several with one id counts. `assets` must be target keys. Returns the stored events
     * in that order.
     */
    readonly importAll: (
      events: ReadonlyArray<EventImport>
    ) => Effect.Effect<ReadonlyArray<MarketEvent>, InvalidRequest>
    readonly get: (eventId: string) => Effect.Effect<MarketEvent, NotFound>
    /** The list is newest first. */
    readonly list: (filter: EventFilter, page: Page) => Effect.Effect<PageOf<MarketEvent>, InvalidRequest>
    /** The events of the current UTC day, newest first. */
    readonly today: (filter: EventFilter, page: Page) => Effect.Effect<PageOf<MarketEvent>, InvalidRequest>
  }
>()("auspex/services/Events") {}

/** A feed, as the operator lists it. */
export const FeedSource = Schema.Struct({
  url: Schema.String.check(Schema.isMaxLength(2048)),
  /** The name that its events give as their source. */
  source: text({ minimum: 1, maximum: 200 }),
  /** The subjects of its events. */
  spaces: Schema.optionalKey(list(Space, { maximum: 5 })),
  assets: Schema.optionalKey(list(TargetKey, { maximum: 50 }))
})
export type FeedSource = typeof FeedSource.Type

/** The list of feeds cannot be used; the message says why. */
export class FeedsUnusable extends Data.TaggedError("FeedsUnusable")<{ readonly message: string }> {}

/** Makes events of news feeds (RSS, Atom, JSON Feed). Each item becomes an event once, even if the feed changes it later. */
export class FeedIngestion extends Context.Service<
  FeedIngestion,
  {
    /** Asks the feeds that are due, and stores their new items. A failure of one feed is logged and stops no other. */
    readonly ingestDue: Effect.Effect<void>
  }
>()("auspex/services/FeedIngestion") {}
