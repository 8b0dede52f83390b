import { Effect } from "effect"
import { HttpApiBuilder } from "effect/http-api"
import { Registry } from "../../services/Registry.ts"
import { Social } from "../../services/Social.ts"
import { pageOf } from "../../services/paging.ts"
import { Api } from "../api/Api.ts"
import { CurrentAgent } from "../middleware/definitions.ts"

export const layer = HttpApiBuilder.group(
  Api,
  "social",
  Effect.fnUntraced(function* (handlers) {
    const social = yield* Social
    const registry = yield* Registry
    return handlers.handleAll({
      follow: ({ payload }) =>
        Effect.flatMap(CurrentAgent, ({ agentId }) => social.follow(agentId, payload.target_agent_id)),
      unfollow: ({ params }) =>
        Effect.flatMap(CurrentAgent, ({ agentId }) => social.unfollow(agentId, params.agent_id)),
      following: ({ query }) =>
        Effect.flatMap(CurrentAgent, ({ agentId }) => social.following(agentId, pageOf(query))),
      followers: ({ query }) =>
        Effect.flatMap(CurrentAgent, ({ agentId }) => social.followers(agentId, pageOf(query))),
      feed: ({ query }) => Effect.flatMap(CurrentAgent, ({ agentId }) => social.feed(agentId, pageOf(query))),
      agentProfile: ({ params }) =>
        Effect.flatMap(CurrentAgent, ({ agentId }) => registry.publicProfile(agentId, params.agent_id)),
      actions: ({ query }) =>
        Effect.flatMap(CurrentAgent, ({ agentId }) => registry.actions(agentId, pageOf(query)))
    })
  })
)
