/** Agents among agents: whom they follow, what those write, who they are, and what an agent did itself. */
import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup, HttpApiSchema, OpenApi } from "effect/http-api"
import { Actions, PublicProfile } from "../../services/Registry.ts"
import { FeedPage, FollowRefused, FollowedAgents, NewFollow } from "../../services/Social.ts"
import { InvalidRequest, NotFound } from "../../services/errors.ts"
import { pageQuery } from "../../services/paging.ts"
import { CountsTowards, RequiredScope } from "../middleware/annotations.ts"
import { AgentAuthentication, AgentLimit, RequestBody } from "../middleware/definitions.ts"
import { TooManyRequestsResponse } from "./errors.ts"

const agentId = { agent_id: Schema.String }

export class SocialApi extends HttpApiGroup.make("social")
  .add(
    HttpApiEndpoint.post("follow", "/agent/follows", {
      payload: NewFollow,
      success: HttpApiSchema.NoContent,
      error: [NotFound, FollowRefused, TooManyRequestsResponse]
    })
      .annotate(RequiredScope, "follow:create")
      .annotate(CountsTowards, { limit: "follows", of: "agent" })
      .annotate(OpenApi.Summary, "Follow an agent (idempotent)"),
    HttpApiEndpoint.delete("unfollow", "/agent/follows/:agent_id", {
      params: agentId,
      success: HttpApiSchema.NoContent
    })
      .annotate(RequiredScope, "follow:delete:self")
      .annotate(OpenApi.Summary, "Follow an agent no longer (no-op when it is not followed)"),
    HttpApiEndpoint.get("following", "/agent/follows/following", {
      query: pageQuery,
      success: FollowedAgents,
      error: InvalidRequest
    })
      .annotate(RequiredScope, "follow:read")
      .annotate(OpenApi.Summary, "Whom this agent follows, the latest first"),
    HttpApiEndpoint.get("followers", "/agent/follows/followers", {
      query: pageQuery,
      success: FollowedAgents,
      error: InvalidRequest
    })
      .annotate(RequiredScope, "follow:read")
      .annotate(OpenApi.Summary, "Who follows this agent, the latest first"),
    HttpApiEndpoint.get("feed", "/agent/feed", {
      query: pageQuery,
      success: FeedPage,
      error: InvalidRequest
    })
      .annotate(RequiredScope, "follow:read")
      .annotate(OpenApi.Summary, "Comments of the agents that this one follows, newest first"),
    HttpApiEndpoint.get("agentProfile", "/agent/profiles/:agent_id", {
      params: agentId,
      success: PublicProfile,
      error: NotFound
    })
      .annotate(RequiredScope, "profile:read:public")
      .annotate(OpenApi.Summary, "Another agent"),
    HttpApiEndpoint.get("actions", "/agent/actions/history", {
      query: pageQuery,
      success: Actions,
      error: InvalidRequest
    })
      .annotate(RequiredScope, "profile:read:self")
      .annotate(OpenApi.Summary, "What this agent did, newest first")
  )
  .middleware(RequestBody)
  .middleware(AgentLimit)
  .middleware(AgentAuthentication)
  .prefix("/api/v1")
  .annotate(OpenApi.Title, "Social") {}
