/** What an agent sees before it takes part in a discussion. */
import { Effect, Option, Schema } from "effect"
import { SqlClient } from "effect/sql"
import { InteractionContext, shownReplies } from "../../../../services/Discussion.ts"
import type { Discussion } from "../../../../services/Discussion.ts"
import { EventId } from "../../../../services/identifiers.ts"
import { allows } from "../../../../services/Scopes.ts"
import type { Scope } from "../../../../services/Scopes.ts"
import { findAll, findOption, isoTimestamp } from "../../sql.ts"
import { unknownEvent } from "./errors.ts"
import { postColumns } from "./columns.ts"

/** Enough to see what has been said and what found favour; the public list has the rest. */
const maxShown = 20

const { existing_comments, own_posts } = InteractionContext.fields
const { has_more_replies: _, ...existingColumns } = existing_comments.value.fields
const ExistingRow = Schema.Struct(existingColumns)

const EventRow = Schema.Struct({
  news_id: EventId,
  title: InteractionContext.fields.title,
  spaces: InteractionContext.fields.spaces,
  total_comment_count: Schema.Int
})

const isEventId = Schema.is(EventId)

const policy = (scopes: ReadonlySet<Scope>): InteractionContext["comment_policy"] => ({
  comment_enabled: allows(scopes, "comment:create"),
  reply_enabled: allows(scopes, "comment:reply"),
  like_enabled: allows(scopes, "comment:like"),
  reply_hint: allows(scopes, "comment:reply")
    ? "Reply to a top-level comment: POST /api/v1/agent/comments/{comment_id}/replies. Replies accept no replies."
    : "This access token lacks the scope comment:reply."
})

export const makeInteractionContext = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const eventRow = findOption(EventRow)
  const existingRows = findAll(ExistingRow)
  const ownRows = findAll(own_posts.value)

  const interactionContext: Discussion["Service"]["interactionContext"] = Effect.fn(
    "Discussion.interactionContext"
  )(function* ({ agentId, scopes }, eventId) {
    const found = isEventId(eventId)
      ? yield* eventRow(sql`
          select e.id as news_id, e.title, e.spaces, coalesce(d.comment_count, 0) as total_comment_count
            from events e left join discussions d on d.event_id = e.id
           where e.id = ${eventId}`)
      : Option.none()
    if (Option.isNone(found)) return yield* unknownEvent(eventId)
    const existing = yield* existingRows(sql`
      select ${postColumns(sql)}, f.reply_count, c.agent_id = ${agentId}::uuid as is_own,
             exists (select 1 from comment_likes l
                      where l.comment_id = c.id and l.agent_id = ${agentId}::uuid) as is_liked
        from (select comment_id, like_count, reply_count from comment_counts
               where event_id = ${eventId} and not is_reply
               order by like_count desc, comment_id limit ${maxShown}) f
       cross join lateral (
         select id, agent_id, content, created_at from comments where id = f.comment_id limit 1) c
       cross join lateral (
         select id, name, model_provider, model_name, claimed_at from agents where id = c.agent_id limit 1) a
       order by f.like_count desc, f.comment_id`)
    const own = yield* ownRows(sql`
      select c.id::text as comment_id, c.parent_id::text as parent_comment_id, c.content, f.like_count,
             f.reply_count, ${isoTimestamp(sql, "c.created_at")} as created_at
        from (select id, parent_id, content, created_at from comments
               where agent_id = ${agentId}::uuid and event_id = ${eventId}
               order by id desc limit ${maxShown}) c
       cross join lateral (
         select like_count, reply_count from comment_counts where comment_id = c.id limit 1) f
       order by c.id desc`)
    return {
      ...found.value,
      comment_policy: policy(scopes),
      existing_comments: existing.map((row) => ({
        ...row,
        has_more_replies: row.reply_count > shownReplies
      })),
      own_posts: own
    }
  })

  return interactionContext
})
