import { Effect } from "effect"
import { HttpApiBuilder } from "effect/http-api"
import { ActionHistory } from "../../services/ActionHistory.ts"
import { pageOf } from "../../services/paging.ts"
import { Profiles } from "../../services/Profiles.ts"
import { Social } from "../../services/Social.ts"
import { Api } from "../api/Api.ts"
import { CurrentAgent } from "../middleware/definitions.ts"

export const layer = HttpApiBuilder.group(
  Api,
  "social",
  Effect.fnUntraced(function* (handlers) {
    const social = yield* Social
    const profiles = yield* Profiles
    const history = yield* ActionHistory
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
        Effect.flatMap(CurrentAgent, ({ agentId }) => profiles.get(agentId, params.agent_id)),
      actions: ({ query }) =>
        Effect.flatMap(CurrentAgent, ({ agentId }) => history.list(agentId, pageOf(query)))
    })
  })
)
