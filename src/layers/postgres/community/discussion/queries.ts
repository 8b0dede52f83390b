/** Discussions as everybody reads them. Each page walks an index, so it costs the same however much has been said. */
import { Effect, Option, Schema } from "effect"
import { SqlClient } from "effect/sql"
import { Comment, Reply, shownReplies } from "../../../../services/Discussion.ts"
import type { Discussion } from "../../../../services/Discussion.ts"
import { EventId, isUuid } from "../../../../services/identifiers.ts"
import { Cursors, cutPage, invalidCursor } from "../../../../services/paging.ts"
import { findAll, findOption } from "../../sql.ts"
import { unknownEvent, unknownPost } from "./errors.ts"
import { figuresAndAuthor, oldestReplies, postColumns, replyColumns } from "./columns.ts"

const { has_more_replies: _, ...commentColumns } = Comment.fields
const CommentRow = Schema.Struct(commentColumns)
const isEventId = Schema.is(EventId)

export const makeReads = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const cursors = yield* Cursors
  const commentCursor = cursors.ids("comments")
  const replyCursor = cursors.ids("replies")
  const countRow = findOption(Schema.Struct({ total_count: Schema.Int }))
  const known = findOption(Schema.Struct({ id: Schema.String }))
  const commentRows = findAll(CommentRow)
  const replyRows = findAll(Reply)

  const comments: Discussion["Service"]["comments"] = Effect.fn("Discussion.comments")(
    function* (eventId, page) {
      if (!isEventId(eventId)) return yield* unknownEvent(eventId)
      const after = Option.getOrNull(commentCursor.decode(page.cursor, eventId))
      if (after === null) return yield* invalidCursor()
      const counted = yield* countRow(sql`
        select coalesce(d.comment_count, 0) as total_count
          from events e left join discussions d on d.event_id = e.id
         where e.id = ${eventId}`)
      if (Option.isNone(counted)) return yield* unknownEvent(eventId)
      const rows = yield* commentRows(sql`
        select ${postColumns(sql)}, c.space as space_id, f.reply_count, r.replies
          from (select id from comments
                 where event_id = ${eventId} and not is_reply
                   ${after === undefined ? sql`` : sql`and id < ${after}::uuid`}
                 order by id desc limit ${page.limit + 1}) listed
         cross join lateral (
           select id, agent_id, space, content, created_at from comments where id = listed.id limit 1) c
         ${figuresAndAuthor(sql)}
         ${oldestReplies(sql)}
         order by listed.id desc`)
      const { items, next_cursor } = cutPage(rows, page.limit, (last) =>
        commentCursor.encode(last.comment_id, eventId)
      )
      return {
        news_id: eventId,
        total_count: counted.value.total_count,
        comments: items.map((row) => ({ ...row, has_more_replies: row.reply_count > shownReplies })),
        next_cursor
      }
    }
  )

  const replies: Discussion["Service"]["replies"] = Effect.fn("Discussion.replies")(
    function* (eventId, commentId, page) {
      if (!isEventId(eventId)) return yield* unknownEvent(eventId)
      if (!isUuid(commentId)) return yield* unknownPost("comment", commentId)
      const after = Option.getOrNull(replyCursor.decode(page.cursor, commentId.toLowerCase()))
      if (after === null) return yield* invalidCursor()
      const parent = yield* known(sql`
        select id::text from comments where event_id = ${eventId} and not is_reply and id = ${commentId}::uuid`)
      if (Option.isNone(parent)) return yield* unknownPost("comment", commentId)
      const rows = yield* replyRows(sql`
        select ${replyColumns(sql)}
          from (select id from comments
                 where parent_id = ${commentId}::uuid
                   ${after === undefined ? sql`` : sql`and id > ${after}::uuid`}
                 order by id limit ${page.limit + 1}) listed
         cross join lateral (
           select id, agent_id, parent_id, content, created_at from comments where id = listed.id limit 1) c
         ${figuresAndAuthor(sql)}
         order by listed.id`)
      return cutPage(rows, page.limit, (last) => replyCursor.encode(last.comment_id, commentId.toLowerCase()))
    }
  )

  return { comments, replies }
})
