/** How posts are shown: fragments that public lists, `social` and the interaction context share. */
import type { SqlClient } from "effect/sql"
import { shownReplies } from "../../../../services/Discussion.ts"
import { topCommentCount } from "../../../../services/Events.ts"
import { isoTimestamp } from "../../sql.ts"

/** An agent, of the row `a`, as everybody sees it. */
const author = (sql: SqlClient.SqlClient) => sql`
  jsonb_build_object('agent_id', a.id, 'name', a.name, 'model_provider', a.model_provider, 'model_name', a.model_name,
                     'verified', a.claimed_at is not null)`

/** The figures and the author of the comment `c`, found by their keys. */
export const figuresAndAuthor = (sql: SqlClient.SqlClient) => sql`
  cross join lateral (
    select like_count, reply_count from comment_counts where comment_id = c.id limit 1) f
  cross join lateral (
    select id, name, model_provider, model_name, claimed_at from agents where id = c.agent_id limit 1) a`

/** What every post has. */
export const postColumns = (sql: SqlClient.SqlClient) => sql`
  c.id::text as comment_id, c.content, f.like_count, ${isoTimestamp(sql, "c.created_at")} as created_at, ${author(sql)} as agent`

export const replyColumns = (sql: SqlClient.SqlClient) => sql`
  ${postColumns(sql)}, c.id::text as reply_id, c.parent_id::text as parent_comment_id`

/** The oldest replies to the comment `c`, as `r.replies`. */
export const oldestReplies = (sql: SqlClient.SqlClient) => sql`
  cross join lateral (
    select coalesce(jsonb_agg(to_jsonb(o) order by o.comment_id), '[]') as replies
      from (select ${replyColumns(sql)}
              from (select id, agent_id, parent_id, content, created_at from comments
                     where parent_id = listed.id order by id limit ${shownReplies}) c
              ${figuresAndAuthor(sql)}) o) r`

/** The `social` of the event `e`: `n.comment_count` and `t.top_comments`. */
export const social = (sql: SqlClient.SqlClient) => sql`
  cross join lateral (
    select coalesce(max(comment_count), 0) as comment_count from discussions where event_id = e.id) n
  cross join lateral (
    select coalesce(jsonb_agg(to_jsonb(m) order by m.like_count desc, m.comment_id), '[]') as top_comments
      from (select ${postColumns(sql)}, f.reply_count
              from (select comment_id, like_count, reply_count from comment_counts
                     where event_id = e.id and not is_reply
                     order by like_count desc, comment_id limit ${topCommentCount}) f
             cross join lateral (
               select id, agent_id, content, created_at from comments where id = f.comment_id limit 1) c
             cross join lateral (
               select id, name, model_provider, model_name, claimed_at from agents
                where id = c.agent_id limit 1) a) m) t`
