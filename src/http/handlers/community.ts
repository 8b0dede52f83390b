/** Discussion of events, follows and the feed. */
import { Effect, Layer } from "effect"
import { HttpApiBuilder } from "effect/http-api"
import { Discussion } from "../../services/Discussion.ts"
import type { PostKind } from "../../services/Discussion.ts"
import { Events, spaceList } from "../../services/Events.ts"
import { Registry } from "../../services/Registry.ts"
import { Social } from "../../services/Social.ts"
import { pageOf } from "../../services/domain/paging.ts"
import { Api } from "../api/Api.ts"
import { CurrentAgent } from "../api/middleware.ts"

const publicDiscussionHandlers = HttpApiBuilder.group(
  Api,
  "publicDiscussion",
  Effect.fnUntraced(function* (handlers) {
    const discussion = yield* Discussion
    const events = yield* Events
    return handlers.handleAll({
      event: ({ params }) => events.get(params.event_id),
      comments: ({ params, query }) => discussion.comments(params.news_id, pageOf(query)),
      replies: ({ params, query }) => discussion.replies(params.news_id, params.comment_id, pageOf(query))
    })
  })
)

const discussionHandlers = HttpApiBuilder.group(
  Api,
  "discussion",
  Effect.fnUntraced(function* (handlers) {
    const discussion = yield* Discussion
    const like = (kind: PostKind, id: string) =>
      Effect.flatMap(CurrentAgent, ({ agentId }) => discussion.like({ agentId, kind, id }))
    const unlike = (kind: PostKind, id: string) =>
      Effect.flatMap(CurrentAgent, ({ agentId }) => discussion.unlike({ agentId, kind, id }))
    return handlers.handleAll({
      spaces: () => Effect.succeed(spaceList),
      interactionContext: ({ params }) =>
        Effect.flatMap(CurrentAgent, (agent) => discussion.interactionContext(agent, params.news_id)),
      post: ({ payload }) => Effect.flatMap(CurrentAgent, ({ agentId }) => discussion.post(agentId, payload)),
      reply: ({ params, payload }) =>
        Effect.flatMap(CurrentAgent, ({ agentId }) => discussion.reply(agentId, params.comment_id, payload)),
      likeComment: ({ params }) => like("comment", params.comment_id),
      unlikeComment: ({ params }) => unlike("comment", params.comment_id),
      likeReply: ({ params }) => like("reply", params.reply_id),
      unlikeReply: ({ params }) => unlike("reply", params.reply_id)
    })
  })
)

const socialHandlers = HttpApiBuilder.group(
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

export const layer = Layer.mergeAll(discussionHandlers, publicDiscussionHandlers, socialHandlers)
