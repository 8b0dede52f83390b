/** Discussions after this many comments, and the reads of them. */
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import { Discussion } from "../../../src/services/Discussion.ts"
import { Events } from "../../../src/services/Events.ts"
import { AgentId } from "../../../src/services/domain/ids.ts"
import { defaultScopes } from "../../../src/services/Scopes.ts"
import type { Page } from "../../../src/services/domain/paging.ts"
import { agentId, agentPrefix, uuidText } from "./identifiers.ts"
import { fromTheEnd } from "./pages.ts"
import type { Add, Deep } from "./reads.ts"
import type { Size } from "./seed.ts"

const commentPrefix = "0190f000"
const replyPrefix = "0190f800"
const likePrefix = "0190fa00"
const hotEvent = "event-7"
const hotComment = `${commentPrefix}-0000-7000-8000-000000000000`

/**
 * The number of comments and replies equals that of predictions, a third of them replies: one in ten comments on one event, one in
 * ten replies to one comment, one in ten of everything by one agent. There are half as many likes, one in ten of them of that
 * comment.
 */
export const discussions = Effect.fnUntraced(function* (size: Size) {
  const sql = yield* SqlClient.SqlClient
  const comments = Math.floor((size.predictions * 2) / 3)
  const others = size.agents - 1
  const id = (prefix: string, number: string) => sql.literal(uuidText(prefix, number))
  const author = id(agentPrefix, `case when n % 10 = 1 then 0 else 1 + n % ${others} end`)
  yield* sql`
    insert into comments (id, agent_id, event_id, content, created_at)
    select ${id(commentPrefix, "n")}::uuid, ${author}::uuid,
           case when n % 10 = 0 then ${hotEvent} else 'event-' || n % ${size.events}::int end,
           repeat('What a comment says. ', 10), now()
      from generate_series(0, ${comments - 1}::int) as n`
  yield* sql`
    insert into comments (id, agent_id, event_id, parent_id, content, created_at)
    select ${id(replyPrefix, "n")}::uuid, ${author}::uuid, c.event_id, c.id, repeat('What a reply says. ', 5), now()
      from generate_series(0, ${size.predictions - comments - 1}::int) as n
     cross join lateral (
       select ${id(commentPrefix, `case when n % 10 = 0 then 0 else n * 7 % ${comments} end`)}::uuid as parent) p
      join comments c on c.id = p.parent`
  yield* sql`
    insert into comment_likes (comment_id, agent_id, author_id, id, created_at)
    select c.id, l.liker, c.agent_id, ${id(likePrefix, "n")}::uuid, now()
      from generate_series(0, ${Math.floor(size.predictions / 2) - 1}::int) as n
     cross join lateral (
       select ${id(commentPrefix, `case when n % 10 = 0 then 0 else n * 13 % ${comments} end`)}::uuid as comment,
              ${id(agentPrefix, `1 + (n / 10) % ${others}`)}::uuid as liker) l
      join comments c on c.id = l.comment and c.agent_id <> l.liker
        on conflict do nothing`
})

/** The hot event and a quiet one, the hot comment, the busiest agent and an ordinary one. */
export const discussionReads = Effect.fnUntraced(function* (size: Size, add: Add) {
  const ordinary = AgentId.make(agentId(Math.floor(size.agents / 2)))
  const item = (list: string, which: string, condition: string, order: string): Deep => ({
    page: "last",
    list,
    which,
    key: `select to_json(id::text) from (select id from comments where ${condition}
           order by ${order} offset ${fromTheEnd} limit 1) as k`
  })
  const comments = (event: string) => (page: Page) =>
    Discussion.use((discussion) => discussion.comments(event, page))
  yield* add(
    "/public/comments/:news_id",
    "one in ten is on it",
    comments(hotEvent),
    item("comments", hotEvent, `event_id = '${hotEvent}' and parent_id is null`, "id")
  )
  yield* add("/public/comments/:news_id", "an ordinary event", comments("event-8"))
  yield* add(
    "/public/comments/:news_id/:comment_id/replies",
    "one in ten is to it",
    (page) => Discussion.use((discussion) => discussion.replies(hotEvent, hotComment, page)),
    item("replies", hotComment, `parent_id = '${hotComment}'`, "id desc")
  )
  yield* add("/events/:event_id", "", () => Events.use((events) => events.get(hotEvent)))
  for (const [variant, agent] of [
    ["the busiest agent", AgentId.make(agentId(0))],
    ["an ordinary agent", ordinary]
  ] as const) {
    yield* add("/agent/news/:news_id/interaction-context", variant, () =>
      Discussion.use((discussion) =>
        discussion.interactionContext({ agentId: agent, scopes: new Set(defaultScopes) }, hotEvent)
      )
    )
  }
})
