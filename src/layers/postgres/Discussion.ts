/** Posts, replies and likes, each written with the counts that it moves by one statement. */
import { DateTime, Effect, Layer } from "effect"
import { SecureRandom } from "effect/crypto"
import { SqlClient } from "effect/sql"
import { Discussion } from "../../services/Discussion.ts"
import type { LikeOf, NewPost } from "../../services/Discussion.ts"
import { CommentId, EventId, isUuid } from "../../services/identifiers.ts"
import type { AgentId } from "../../services/identifiers.ts"
import { redactSecrets } from "../../services/ownSecrets.ts"
import { Settings } from "../../services/Settings.ts"
import { hotSpan } from "../hotSpan.ts"
import { tokenHeaders } from "../tokenKeys.ts"
import { makeInteractionContext } from "./discussion/context.ts"
import { giveLikes, LikeOutcome, takeLikes } from "./discussion/likes.ts"
import { PostOutcome, recordPosts } from "./discussion/posts.ts"
import { makeReads } from "./discussion/reads.ts"
import {
  ownPost,
  parentOfOtherEvent,
  replyToReply,
  unknownEvent,
  unknownPost
} from "./discussion/refusals.ts"
import { one, run } from "./query.ts"

interface Draft extends Omit<NewPost, "news_id"> {
  readonly agentId: AgentId
  /** `null`: that of the parent. */
  readonly news_id: EventId | null
}

const make = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const random = yield* SecureRandom.SecureRandom
  const settings = yield* Settings
  const headers = tokenHeaders(settings)
  const postOutcome = one(PostOutcome)
  const likeOutcome = one(LikeOutcome)

  const publish = Effect.fnUntraced(function* (draft: Draft) {
    const parentId = draft.parent_comment_id ?? null
    if (parentId !== null && !isUuid(parentId)) return yield* unknownPost("comment", parentId)
    const createdAt = yield* DateTime.now
    const id = CommentId.make(yield* random.uuidV7())
    const content = redactSecrets(draft.content, headers)
    const space = draft.space_id ?? null
    const { event_id, outcome } = yield* postOutcome(
      recordPosts(sql, [
        {
          id,
          agentId: draft.agentId,
          eventId: draft.news_id,
          parentId,
          space,
          content,
          createdAt
        }
      ])
    )
    const parent = parentId === null ? null : CommentId.make(parentId.toLowerCase())
    yield* Effect.annotateCurrentSpan({ "post.outcome": outcome })
    if (outcome === "unknown_event") return yield* unknownEvent(draft.news_id ?? "")
    if (outcome === "unknown_parent" || event_id === null) return yield* unknownPost("comment", parent ?? "")
    if (outcome === "reply_to_reply") return yield* replyToReply(parent ?? "")
    if (outcome === "other_event") return yield* parentOfOtherEvent(parent ?? "", draft.news_id ?? "")
    return {
      comment_id: id,
      reply_id: parent === null ? null : id,
      parent_comment_id: parent,
      news_id: event_id,
      space_id: space,
      agent_id: draft.agentId,
      content,
      redacted: content !== draft.content,
      like_count: 0,
      reply_count: 0,
      created_at: DateTime.formatIso(createdAt)
    }
  })

  const post: Discussion["Service"]["post"] = (agentId, sent) =>
    hotSpan("Discussion.post")(publish({ ...sent, agentId }))

  const reply: Discussion["Service"]["reply"] = (agentId, commentId, { content }) =>
    publish({ agentId, news_id: null, parent_comment_id: commentId, content }).pipe(
      // Without an event of its own a reply cannot be of another one than its parent.
      Effect.catchTag("ParentOfOtherEvent", Effect.die),
      hotSpan("Discussion.reply")
    )

  const itemOf = Effect.fnUntraced(function* ({ agentId, id, kind }: LikeOf) {
    const createdAt = yield* DateTime.now
    return { id: yield* random.uuidV7(), agentId, kind, commentId: id, createdAt }
  })

  const like: Discussion["Service"]["like"] = Effect.fnUntraced(function* (wanted) {
    if (!isUuid(wanted.id)) return yield* unknownPost(wanted.kind, wanted.id)
    const { outcome } = yield* likeOutcome(giveLikes(sql, [yield* itemOf(wanted)]))
    if (outcome === "unknown") return yield* unknownPost(wanted.kind, wanted.id)
    if (outcome === "own_post") return yield* ownPost()
  }, hotSpan("Discussion.like"))

  const unlike: Discussion["Service"]["unlike"] = Effect.fnUntraced(function* (wanted) {
    if (isUuid(wanted.id)) yield* run(takeLikes(sql, [yield* itemOf(wanted)]))
  }, hotSpan("Discussion.unlike"))

  return Discussion.of({
    ...(yield* makeReads),
    post,
    reply,
    like,
    unlike,
    interactionContext: yield* makeInteractionContext
  })
})

export const layer = Layer.effect(Discussion, make)
