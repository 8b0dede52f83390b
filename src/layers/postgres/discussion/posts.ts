/**
 * The statement that records comments and replies. It takes any number of them and gives each its own outcome. What it
 * looks at (events, and the comments that are replied to) is never deleted or moved, so nothing has to be locked.
 */
import { Schema } from "effect"
import type { DateTime } from "effect"
import type { SqlClient } from "effect/sql"
import type { AgentId, CommentId } from "../../../services/identifiers.ts"
import { EventId } from "../../../services/identifiers.ts"
import type { Space } from "../../../services/Registry.ts"
import { at, column } from "../query.ts"

export interface PostItem {
  readonly id: CommentId
  readonly agentId: AgentId
  /** `null`: that of the parent. */
  readonly eventId: EventId | null
  readonly parentId: string | null
  readonly space: Space | null
  readonly content: string
  readonly createdAt: DateTime.Utc
}

export const PostOutcome = Schema.Struct({
  outcome: Schema.Literals(["posted", "unknown_event", "unknown_parent", "reply_to_reply", "other_event"]),
  /** The event that it is of, where that is known. */
  event_id: Schema.NullOr(EventId)
})
export type PostOutcome = typeof PostOutcome.Type

/** Answers a row for each item, in their order. */
export const recordPosts = (sql: SqlClient.SqlClient, items: ReadonlyArray<PostItem>) => sql`
  with item as (
    select * from unnest(
      ${column(
        "uuid",
        items.map(({ id }) => id)
      )}, ${column(
        "uuid",
        items.map(({ agentId }) => agentId)
      )},
      ${column(
        "text",
        items.map(({ eventId }) => eventId)
      )}, ${column(
        "uuid",
        items.map(({ parentId }) => parentId)
      )},
      ${column(
        "text",
        items.map(({ space }) => space)
      )}, ${column(
        "text",
        items.map(({ content }) => content)
      )},
      ${column(
        "timestamptz",
        items.map(({ createdAt }) => at(createdAt))
      )}
    ) with ordinality as i (id, agent_id, event_id, parent_id, space, content, created_at, position)
  ),
  decided as (
    select i.id, i.agent_id, i.parent_id, i.space, i.content, i.created_at, i.position,
           coalesce(i.event_id, p.event_id) as event_id,
           case
             when i.event_id is not null and e.id is null then 'unknown_event'
             when i.parent_id is null then 'posted'
             when p.event_id is null then 'unknown_parent'
             when p.is_reply then 'reply_to_reply'
             when p.event_id <> i.event_id then 'other_event'
             else 'posted'
           end as outcome
      from item i
      left join lateral (select id from events where id = i.event_id limit 1) e on true
      left join lateral (select event_id, is_reply from comments where id = i.parent_id limit 1) p on true
  ),
  written as (
    insert into comments (id, agent_id, event_id, parent_id, space, content, created_at)
    select id, agent_id, event_id, parent_id, space, content, created_at
      from decided where outcome = 'posted'
     order by id
  )
  select outcome, event_id from decided order by position`
