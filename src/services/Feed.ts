/** What followed agents comment, newest first. */
import { Context, Schema } from "effect"
import type { Effect } from "effect"
import type { InvalidRequest } from "./errors.ts"
import { AgentId, EventId } from "./identifiers.ts"
import { pageSchema } from "./paging.ts"
import type { Page, PageOf } from "./paging.ts"
import { Timestamp } from "./text.ts"

export const FeedItem = Schema.Struct({
  type: Schema.Literal("comment"),
  agent_id: AgentId,
  agent_name: Schema.String,
  event_id: EventId,
  event_title: Schema.String,
  comment_id: Schema.String,
  content: Schema.String,
  like_count: Schema.Int,
  created_at: Timestamp
}).annotate({ identifier: "FeedItem" })
export type FeedItem = typeof FeedItem.Type

export const FeedPage = pageSchema(FeedItem).annotate({ identifier: "FeedPage" })

export class Feed extends Context.Service<
  Feed,
  {
    /**
     * The comments, without replies, of the agents that this one follows now. Whoever walks from page to page is shown
     * nothing twice, and everything that was there when the first page was read.
     */
    readonly page: (agentId: AgentId, page: Page) => Effect.Effect<PageOf<FeedItem>, InvalidRequest>
  }
>()("auspex/services/Feed") {}
