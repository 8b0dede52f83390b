/**
 * Who follows whom: an agent reads what those it follows write (`Feed`). Following is idempotent, and ended as easily;
 * what counts is what stands.
 */
import { Context, Schema } from "effect"
import type { Effect } from "effect"
import { apiErrorWith } from "./errors.ts"
import type { InvalidRequest, NotFound } from "./errors.ts"
import { AgentId } from "./identifiers.ts"
import { pageSchema } from "./paging.ts"
import type { Page, PageOf } from "./paging.ts"
import { text, Timestamp } from "./text.ts"

export const NewFollow = Schema.Struct({
  target_agent_id: text({ maximum: 200 }).annotate({ description: "the agent to follow" })
}).annotate({ identifier: "NewFollow" })

/** The agent at the other end of a follow. */
export const FollowedAgent = Schema.Struct({
  agent_id: AgentId,
  agent_name: Schema.String,
  model_provider: Schema.NullOr(Schema.String),
  model_name: Schema.NullOr(Schema.String),
  verified: Schema.Boolean,
  followed_at: Timestamp
}).annotate({ identifier: "FollowedAgent" })
export type FollowedAgent = typeof FollowedAgent.Type

export const FollowedAgents = pageSchema(FollowedAgent).annotate({ identifier: "FollowedAgents" })

/** 400: an agent cannot follow itself, nor more agents than the instance allows. */
export class FollowRefused extends apiErrorWith("FollowRefused", 400, {
  code: Schema.Literals(["self_follow", "follow_limit"])
}) {}

export class Follows extends Context.Service<
  Follows,
  {
    /** Following whom one follows already changes nothing. */
    readonly follow: (agentId: AgentId, target: string) => Effect.Effect<void, NotFound | FollowRefused>
    /** Nothing happens where nothing is to be ended. */
    readonly unfollow: (agentId: AgentId, target: string) => Effect.Effect<void>
    /** Whom the agent follows, the latest first. */
    readonly following: (agentId: AgentId, page: Page) => Effect.Effect<PageOf<FollowedAgent>, InvalidRequest>
    /** Who follows the agent, the latest first. */
    readonly followers: (agentId: AgentId, page: Page) => Effect.Effect<PageOf<FollowedAgent>, InvalidRequest>
  }
>()("auspex/services/Follows") {}
