import { Effect, Layer, Option, Schema } from "effect"
import { SqlClient } from "effect/sql"
import { Action, ActionHistory } from "../../services/ActionHistory.ts"
import { Cursors, cutPage, invalidCursor } from "../../services/paging.ts"
import { many } from "./query.ts"
import { iso } from "./wire.ts"

const make = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const actionRows = many(Schema.Struct({ action: Action }))
  const cursor = (yield* Cursors).ids("actions")

  const list: ActionHistory["Service"]["list"] = Effect.fn("ActionHistory.list")(function* (agentId, page) {
    const after = Option.getOrNull(cursor.decode(page.cursor))
    if (after === null) return yield* invalidCursor()
    const agent = sql`${agentId}::uuid`
    const newest = sql`${after === undefined ? sql`` : sql`and id < ${after}::uuid`} order by id desc limit ${page.limit + 1}`
    // Everything has a UUIDv7, so one order holds for all kinds. Of each no more is read than the page shows, by an index
    // of its own, and the rest of a row only of what is shown.
    const rows = yield* actionRows(sql`
      with newest as materialized (
        (select id, 'prediction' as kind from predictions where agent_id = ${agent} ${newest})
        union all
        (select id, 'paper_signal' from paper_signals where agent_id = ${agent} ${newest})
        union all
        (select id, 'stake' from stakes where agent_id = ${agent} ${newest})
        union all
        (select id, 'comment' from comments where agent_id = ${agent} ${newest})
        union all
        (select id, 'like' from comment_likes where agent_id = ${agent} ${newest})
        union all
        (select id, 'follow' from follows where follower_id = ${agent} ${newest})
         order by id desc
         limit ${page.limit + 1}
      )
      select jsonb_build_object('type', kind, 'action_id', id) || case kind
               when 'prediction' then (
                 select jsonb_build_object(
                          'created_at', ${iso(sql, "received_at")}, 'challenge_id', challenge_id, 'revision', revision,
                          'direction', direction, 'confidence', confidence, 'predicted_value', predicted_value,
                          'predicted_std', predicted_std)
                   from predictions where agent_id = ${agent} and id = n.id)
               when 'paper_signal' then (
                 select jsonb_build_object('created_at', ${iso(sql, "received_at")}, 'challenge_id', challenge_id,
                          'direction', direction, 'confidence', confidence)
                   from paper_signals where id = n.id)
               when 'stake' then (
                 select jsonb_build_object('created_at', ${iso(sql, "received_at")}, 'challenge_id', challenge_id, 'bin', bin,
                          'amount', amount / 1000000.0)
                   from stakes where id = n.id)
               when 'comment' then (
                 select jsonb_build_object('created_at', ${iso(sql, "created_at")}, 'comment_id', id,
                          'event_id', event_id, 'content', content)
                        || case when is_reply then jsonb_build_object('type', 'reply', 'parent_comment_id', parent_id)
                                else '{}' end
                   from comments where id = n.id)
               when 'like' then (
                 select jsonb_build_object('created_at', ${iso(sql, "created_at")}, 'comment_id', comment_id,
                          'author_id', author_id)
                   from comment_likes where agent_id = ${agent} and id = n.id)
               else (
                 select jsonb_build_object('created_at', ${iso(sql, "created_at")}, 'target_agent_id', followed_id)
                   from follows where follower_id = ${agent} and id = n.id)
             end as action
        from newest n
       order by n.id desc`)
    return cutPage(
      rows.map((row) => row.action),
      page.limit,
      (last) => cursor.encode(last.action_id)
    )
  })

  return ActionHistory.of({ list })
})

export const layer = Layer.effect(ActionHistory, make)
