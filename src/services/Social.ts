/** Follows between agents, and the comments of followed agents. */
import { Context, Schema } from "effect"
import type { Effect } from "effect"
import { apiErrorWith } from "./domain/errors.ts"
import type { InvalidRequest, NotFound } from "./domain/errors.ts"
import { AgentId, EventId } from "./domain/ids.ts"
import { NameTag } from "./domain/names.ts"
import { pageSchema } from "./domain/paging.ts"
import type { Page, PageOf } from "./domain/paging.ts"
import { Timestamp, text } from "./domain/text.ts"

export const NewFollow = Schema.Struct({
  target_agent_id: text({ maximum: 200 }).annotate({ description: "the agent to follow" })
}).annotate({ identifier: "NewFollow" })

/** The agent at the other end of a follow. */
export const FollowedAgent = Schema.Struct({
  agent_id: AgentId,
  agent_name: Schema.String,
  name_tag: NameTag,
  model_provider: Schema.NullOr(Schema.String),
  model_name: Schema.NullOr(Schema.String),
  verified: Schema.Boolean,
  followed_at: Timestamp
}).annotate({ identifier: "FollowedAgent" })
export type FollowedAgent = typeof FollowedAgent.Type

export const FollowedAgents = pageSchema(FollowedAgent).annotate({ identifier: "FollowedAgents" })

export const FeedItem = Schema.Struct({
  type: Schema.Literal("comment"),
  agent_id: AgentId,
  agent_name: Schema.String,
  name_tag: NameTag,
  event_id: EventId,
  event_title: Schema.String,
  comment_id: Schema.String,
  content: Schema.String,
  like_count: Schema.Int,
  created_at: Timestamp
}).annotate({ identifier: "FeedItem" })
export type FeedItem = typeof FeedItem.Type

export const FeedPage = pageSchema(FeedItem).annotate({ identifier: "FeedPage" })

/** 400: an agent cannot follow itself, nor more agents than the instance allows. */
export class FollowRefused extends apiErrorWith("FollowRefused", 400, {
  code: Schema.Literals(["self_follow", "follow_limit"])
}) {}

export class Social extends Context.Service<
  Social,
  {
    /** Follows an agent; a repeated follow changes nothing. */
    readonly follow: (agentId: AgentId, target: string) => Effect.Effect<void, NotFound | FollowRefused>
    /** Ends a follow; nothing happens if there is none. */
    readonly unfollow: (agentId: AgentId, target: string) => Effect.Effect<void>
    /** The agents that this agent follows, latest follow first. */
    readonly following: (agentId: AgentId, page: Page) => Effect.Effect<PageOf<FollowedAgent>, InvalidRequest>
    /** The agents that follow the agent, latest follow first. */
    readonly followers: (agentId: AgentId, page: Page) => Effect.Effect<PageOf<FollowedAgent>, InvalidRequest>
    /**
     * The comments, without replies, of the agents that this one follows now. The pages together show everything that existed when
     * the first page was read, and nothing twice.
     */
    readonly feed: (agentId: AgentId, page: Page) => Effect.Effect<PageOf<FeedItem>, InvalidRequest>
  }
>()("auspex/services/Social") {}
