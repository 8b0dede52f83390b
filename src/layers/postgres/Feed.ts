import { Effect, Layer, Option } from "effect"
import { SqlClient } from "effect/sql"
import { Feed, FeedItem } from "../../services/Feed.ts"
import { Cursors, cutPage, invalidCursor } from "../../services/paging.ts"
import { many } from "./query.ts"
import { iso } from "./wire.ts"

/** No comment is older. */
const oldest = "00000000-0000-0000-0000-000000000000"

const make = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const items = many(FeedItem)
  const cursor = (yield* Cursors).ids("feed")

  const page: Feed["Service"]["page"] = Effect.fn("Feed.page")(function* (agentId, asked) {
    const after = Option.getOrNull(cursor.decode(asked.cursor))
    if (after === null) return yield* invalidCursor()
    const before = after === undefined ? sql`` : sql`and id < ${after}::uuid`
    const most = asked.limit + 1
    // One probe of an index finds the newest comment of a followed agent. What the page shows is written by those whose
    // newest is among the newest, is no older than the last of these, and the n-th author has no more of it than is left;
    // rows are read of the page alone. So it matters neither how many comments there are nor whose they are.
    const rows = yield* items(sql`
      with authors as materialized (
        select agent_id, id, row_number() over (order by id desc) as place
          from (
            select f.followed_id as agent_id, newest.id
              from follows f
             cross join lateral (
               select id from comments
                where agent_id = f.followed_id and not is_reply ${before}
                order by id desc limit 1) newest
             where f.follower_id = ${agentId}::uuid
             order by newest.id desc
             limit ${most}) a
      ),
      page as materialized (
        select c.id
          from authors a
         cross join lateral (
           select id from comments
            where agent_id = a.agent_id and not is_reply ${before}
              and id >= coalesce((select id from authors where place = ${most}), ${oldest}::uuid)
            order by id desc limit ${most} + 1 - a.place) c
         order by c.id desc
         limit ${most}
      )
      select 'comment' as type, c.agent_id::text, a.name as agent_name, c.event_id, e.title as event_title,
             c.id::text as comment_id, c.content, n.like_count, ${iso(sql, "c.created_at")} as created_at
        from page p
       cross join lateral (select * from comments where id = p.id limit 1) c
       cross join lateral (select name from agents where id = c.agent_id limit 1) a
       cross join lateral (select title from events where id = c.event_id limit 1) e
       cross join lateral (select like_count from comment_figures where comment_id = c.id limit 1) n
       order by p.id desc`)
    return cutPage(rows, asked.limit, (last) => cursor.encode(last.comment_id))
  })

  return Feed.of({ page })
})

export const layer = Layer.effect(Feed, make)
