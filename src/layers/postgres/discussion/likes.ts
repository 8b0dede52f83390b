/**
 * The statements that give likes and take them back, any number at once. Rows are written in the order of their keys, and
 * the figures after them (by the trigger), so two statements never wait for each other in a ring.
 */
import { Schema } from "effect"
import type { DateTime } from "effect"
import type { SqlClient } from "effect/sql"
import type { PostKind } from "../../../services/Discussion.ts"
import type { AgentId } from "../../../services/identifiers.ts"
import { at, column } from "../query.ts"

export interface LikeItem {
  readonly id: string
  readonly agentId: AgentId
  readonly kind: PostKind
  readonly commentId: string
  readonly createdAt: DateTime.Utc
}

export const LikeOutcome = Schema.Struct({
  outcome: Schema.Literals(["liked", "unknown", "own_post"])
})
export type LikeOutcome = typeof LikeOutcome.Type

const targets = (items: ReadonlyArray<LikeItem>) =>
  [
    column(
      "uuid",
      items.map(({ commentId }) => commentId)
    ),
    column(
      "uuid",
      items.map(({ agentId }) => agentId)
    ),
    column(
      "bool",
      items.map(({ kind }) => kind === "reply")
    )
  ] as const

/** Answers a row for each item, in their order. Comments never change, so nothing has to be locked. */
export const giveLikes = (sql: SqlClient.SqlClient, items: ReadonlyArray<LikeItem>) => {
  const [comments, agents, replies] = targets(items)
  return sql`
    with item as (
      select * from unnest(
        ${comments}, ${agents}, ${replies},
        ${column(
          "uuid",
          items.map(({ id }) => id)
        )}, ${column(
          "timestamptz",
          items.map(({ createdAt }) => at(createdAt))
        )}
      ) with ordinality as i (comment_id, agent_id, is_reply, id, created_at, position)
    ),
    decided as (
      select i.*, c.agent_id as author_id,
             case
               when c.agent_id is null then 'unknown'
               when c.agent_id = i.agent_id then 'own_post'
               else 'liked'
             end as outcome
        from item i
        left join lateral (
          select agent_id from comments where id = i.comment_id and is_reply = i.is_reply limit 1) c on true
    ),
    given as (
      insert into comment_likes (comment_id, agent_id, author_id, id, created_at)
      select comment_id, agent_id, author_id, id, created_at
        from decided where outcome = 'liked'
       order by comment_id, agent_id
      on conflict on constraint comment_likes_once do nothing
    )
    select outcome from decided order by position`
}

export const takeLikes = (sql: SqlClient.SqlClient, items: ReadonlyArray<LikeItem>) => {
  const [comments, agents, replies] = targets(items)
  return sql`
    with item as (
      select distinct * from unnest(${comments}, ${agents}, ${replies}) as i (comment_id, agent_id, is_reply)
       order by comment_id, agent_id
    ),
    held as (
      select l.comment_id, l.agent_id
        from item i
       cross join lateral (
         select comment_id, agent_id from comment_likes
          where comment_id = i.comment_id and agent_id = i.agent_id for update) l
       cross join lateral (
         select 1 from comments where id = i.comment_id and is_reply = i.is_reply limit 1) c
    )
    delete from comment_likes l using held h where l.comment_id = h.comment_id and l.agent_id = h.agent_id`
}
