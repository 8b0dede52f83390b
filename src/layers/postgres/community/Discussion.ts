/**
 * Posts, replies and likes. What their statements look at (events, and comments) is never deleted or moved, so nothing has to
 * be locked.
 */
import { DateTime, Effect, Layer, Schema } from "effect"
import { SecureRandom } from "effect/crypto"
import { SqlClient } from "effect/sql"
import { Discussion } from "../../../services/Discussion.ts"
import type { NewPost } from "../../../services/Discussion.ts"
import { CommentId, EventId, isUuid, secretPrefix } from "../../../services/identifiers.ts"
import type { AgentId } from "../../../services/identifiers.ts"
import { Settings } from "../../../services/Settings.ts"
import { cheapSpan } from "../../cheapSpan.ts"
import { tokenHeaders } from "../../crypto/accessTokens.ts"
import { makeInteractionContext } from "./discussion/context.ts"
import { makeReads } from "./discussion/queries.ts"
import { ownPost, parentOfOtherEvent, replyToReply, unknownEvent, unknownPost } from "./discussion/errors.ts"
import { execute, findOne, timestamp } from "../sql.ts"

interface Draft extends Omit<NewPost, "news_id"> {
  readonly agentId: AgentId
  /** `null`: that of the parent. */
  readonly news_id: EventId | null
}

const PostOutcome = Schema.Struct({
  outcome: Schema.Literals(["posted", "unknown_event", "unknown_parent", "reply_to_reply", "other_event"]),
  /** The event that it is of, where that is known. */
  event_id: Schema.NullOr(EventId)
})

const LikeOutcome = Schema.Struct({ outcome: Schema.Literals(["liked", "unknown", "own_post"]) })

/** A secret is longer than what stands for it, so that a text never gains length. */
const ownSecrets = new RegExp(`${secretPrefix}[\\w\\\\-]{10,}`, "g")

/** Without the secrets of this service, and without the access tokens whose headers are these. */
const redactSecrets = (text: string, tokenHeaders: ReadonlyArray<string>): string =>
  tokenHeaders.reduce(
    (rest, header) =>
      rest.replaceAll(new RegExp(`${header}\\.[\\w-]+(\\.[\\w-]*)?`, "g"), "<redacted access token>"),
    text.replaceAll(ownSecrets, "aus_$1_<redacted>")
  )

const make = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const random = yield* SecureRandom.SecureRandom
  const settings = yield* Settings
  const headers = tokenHeaders(settings)
  const postOutcome = findOne(PostOutcome)
  const likeOutcome = findOne(LikeOutcome)

  const publish = Effect.fnUntraced(function* (draft: Draft) {
    const parentId = draft.parent_comment_id ?? null
    if (parentId !== null && !isUuid(parentId)) return yield* unknownPost("comment", parentId)
    const createdAt = yield* DateTime.now
    const id = CommentId.make(yield* random.uuidV7())
    const content = redactSecrets(draft.content, headers)
    const space = draft.space_id ?? null
    const { event_id, outcome } = yield* postOutcome(sql`
      with item as (
        select ${id}::uuid as id, ${draft.agentId}::uuid as agent_id, ${draft.news_id}::text as event_id,
               ${parentId}::uuid as parent_id
      ),
      decided as (
        select i.id, i.agent_id, coalesce(i.event_id, p.event_id) as event_id, i.parent_id,
               case
                 when i.event_id is not null and e.id is null then 'unknown_event'
                 when i.parent_id is null then 'posted'
                 when p.event_id is null then 'unknown_parent'
                 when p.is_reply then 'reply_to_reply'
                 when p.event_id <> i.event_id then 'other_event'
                 else 'posted'
               end as outcome
          from item i
          left join events e on e.id = i.event_id
          left join comments p on p.id = i.parent_id
      ),
      written as (
        insert into comments (id, agent_id, event_id, parent_id, space, content, created_at)
        select id, agent_id, event_id, parent_id, ${space}, ${content}, ${timestamp(createdAt)}
          from decided where outcome = 'posted'
      )
      select outcome, event_id from decided`)
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
    cheapSpan("Discussion.post")(publish({ ...sent, agentId }))

  const reply: Discussion["Service"]["reply"] = (agentId, commentId, { content }) =>
    publish({ agentId, news_id: null, parent_comment_id: commentId, content }).pipe(
      // Without an event of its own a reply cannot be of another one than its parent.
      Effect.catchTag("ParentOfOtherEvent", Effect.die),
      cheapSpan("Discussion.reply")
    )

  const like: Discussion["Service"]["like"] = Effect.fnUntraced(function* ({ agentId, id, kind }) {
    if (!isUuid(id)) return yield* unknownPost(kind, id)
    const likedAt = yield* DateTime.now
    const { outcome } = yield* likeOutcome(sql`
      with item as (
        select ${yield* random.uuidV7()}::uuid as id, ${id}::uuid as comment_id, ${agentId}::uuid as agent_id,
               ${kind === "reply"}::boolean as is_reply
      ),
      decided as (
        select i.id, i.comment_id, i.agent_id, c.agent_id as author_id,
               case
                 when c.agent_id is null then 'unknown'
                 when c.agent_id = i.agent_id then 'own_post'
                 else 'liked'
               end as outcome
          from item i
          left join comments c on c.id = i.comment_id and c.is_reply = i.is_reply
      ),
      given as (
        insert into comment_likes (comment_id, agent_id, author_id, id, created_at)
        select comment_id, agent_id, author_id, id, ${timestamp(likedAt)} from decided where outcome = 'liked'
        on conflict on constraint comment_likes_once do nothing
      )
      select outcome from decided`)
    if (outcome === "unknown") return yield* unknownPost(kind, id)
    if (outcome === "own_post") return yield* ownPost()
  }, cheapSpan("Discussion.like"))

  const unlike: Discussion["Service"]["unlike"] = Effect.fnUntraced(function* ({ agentId, id, kind }) {
    if (!isUuid(id)) return
    yield* execute(sql`
      delete from comment_likes l
       using comments c
       where l.comment_id = ${id}::uuid and l.agent_id = ${agentId}::uuid
         and c.id = l.comment_id and c.is_reply = ${kind === "reply"}`)
  }, cheapSpan("Discussion.unlike"))

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
