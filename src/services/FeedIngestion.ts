/** Market events from news feeds (RSS, Atom): each item becomes an event once, whatever else a feed says of it later. */
import { Context, Data, Schema } from "effect"
import type { Effect } from "effect"
import { list } from "./lists.ts"
import { Space } from "./Registry.ts"
import { text } from "./text.ts"

/** A feed, as the operator lists it. */
export const FeedSource = Schema.Struct({
  url: Schema.String.check(Schema.isMaxLength(2048)),
  /** Who is named as the source of its events. */
  source: text({ minimum: 1, maximum: 200 }),
  /** What its events are about. */
  spaces: Schema.optionalKey(list(Space, { maximum: 5 })),
  assets: Schema.optionalKey(list(text({ minimum: 1, maximum: 20 }), { maximum: 50 }))
})
export type FeedSource = typeof FeedSource.Type

/** The list of feeds cannot be used as it is; the message is all an operator needs. */
export class FeedsUnusable extends Data.TaggedError("FeedsUnusable")<{ readonly message: string }> {}

export class FeedIngestion extends Context.Service<
  FeedIngestion,
  {
    /** Asks the feeds that are due, and stores what is new in them. What is wrong with one is logged and stops no other. */
    readonly ingestDue: Effect.Effect<void>
  }
>()("auspex/services/FeedIngestion") {}
