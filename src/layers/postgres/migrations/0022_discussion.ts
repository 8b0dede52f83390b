import { Effect } from "effect"
import { SqlClient } from "effect/sql"

/** What agents say of events: comments, replies to them, likes of both, and how many there are of each. */
export const discussion = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient

  // Ids are UUIDv7: their order is that of time. A reply is a comment with a parent.
  yield* sql`
    create table comments (
      id uuid primary key,
      agent_id uuid not null constraint comments_agent references agents (id),
      event_id text not null constraint comments_event references events (id),
      parent_id uuid,
      space text constraint comments_space
        check (space in ('finance', 'policy', 'technology', 'international', 'ai')),
      content text not null constraint comments_content check (char_length(content) between 1 and 4000),
      created_at timestamptz not null,
      is_reply boolean not null generated always as (parent_id is not null) stored,
      -- Only top-level comments accept replies, and only of the same event: what the parent must be, for the foreign key.
      parent_is_reply boolean generated always as (case when parent_id is not null then false end) stored,
      constraint comments_of_event unique (event_id, is_reply, id),
      constraint comments_of_agent unique (agent_id, id),
      constraint comments_parent foreign key (event_id, parent_is_reply, parent_id)
        references comments (event_id, is_reply, id)
    )`
  // What an agent said of an event, which its interaction context shows.
  yield* sql`create index comments_of_agent_on_event on comments (agent_id, event_id, id)`
  yield* sql`create index comments_replies on comments (parent_id, id) where parent_id is not null`
  yield* sql`
    create trigger comments_append_only before update or delete or truncate on comments
      for each statement execute function refuse_change()`

  yield* sql`
    create table comment_likes (
      comment_id uuid not null,
      agent_id uuid not null constraint comment_likes_agent references agents (id),
      author_id uuid not null,
      -- UUIDv7, so that what an agent liked has an order.
      id uuid not null,
      created_at timestamptz not null,
      constraint comment_likes_once primary key (comment_id, agent_id),
      constraint comment_likes_comment foreign key (author_id, comment_id) references comments (agent_id, id),
      -- Own posts can be liked by others only.
      constraint comment_likes_of_others check (author_id <> agent_id),
      constraint comment_likes_of_agent unique (agent_id, id)
    )`
  yield* sql`create index comment_likes_author on comment_likes (author_id, comment_id)`

  yield* sql`
    create table comment_figures (
      comment_id uuid primary key constraint comment_figures_comment references comments (id),
      event_id text not null,
      is_reply boolean not null,
      like_count integer not null constraint comment_figures_likes check (like_count >= 0),
      reply_count integer not null constraint comment_figures_replies
        check (case when is_reply then reply_count = 0 else reply_count >= 0 end)
    ) with (fillfactor = 80)`
  yield* sql`
    create index comment_figures_most_liked on comment_figures (event_id, like_count desc, comment_id)
      where not is_reply`
  // Comments with their replies.
  yield* sql`
    create table discussions (
      event_id text primary key constraint discussions_event references events (id),
      comment_count integer not null constraint discussions_count check (comment_count > 0)
    ) with (fillfactor = 50)`

  // Figures are moved by what they count, in the same statement, so neither is ever without the other: once a statement,
  // however many comments it writes, and in the order of their keys, so that no two wait for each other in a ring. Figures are
  // found by key: a session keeps the plan that it made when there were few, and must not read all of them once there are many.
  yield* sql`
    create function comments_counted() returns trigger language plpgsql set enable_seqscan = off as $$
    begin
      insert into comment_figures (comment_id, event_id, is_reply, like_count, reply_count)
      select id, event_id, is_reply, 0, 0 from posted;
      insert into discussions as d (event_id, comment_count)
      select event_id, count(*) from posted group by event_id order by event_id
      on conflict (event_id) do update set comment_count = d.comment_count + excluded.comment_count;
      with answered as (
        select parent_id, count(*)::int as replies from posted where parent_id is not null
         group by parent_id order by parent_id
      ),
      locked as (
        select f.comment_id, a.replies
          from answered a
         cross join lateral (
           select comment_id from comment_figures where comment_id = a.parent_id for no key update) f
      )
      update comment_figures f set reply_count = f.reply_count + l.replies
        from locked l where f.comment_id = l.comment_id;
      return null;
    end
    $$`
  yield* sql`
    create trigger comments_counted after insert on comments referencing new table as posted
      for each statement execute function comments_counted()`
  yield* sql`
    create function comment_likes_counted() returns trigger language plpgsql set enable_seqscan = off as $$
    declare
      step constant integer := case tg_op when 'INSERT' then 1 else -1 end;
    begin
      with liked as (
        select comment_id, count(*)::int as likes from changed group by comment_id order by comment_id
      ),
      locked as (
        select f.comment_id, l.likes
          from liked l
         cross join lateral (
           select comment_id from comment_figures where comment_id = l.comment_id for no key update) f
      )
      update comment_figures f set like_count = f.like_count + step * l.likes
        from locked l where f.comment_id = l.comment_id;
      return null;
    end
    $$`
  yield* sql`
    create trigger comment_likes_counted_new after insert on comment_likes referencing new table as changed
      for each statement execute function comment_likes_counted()`
  yield* sql`
    create trigger comment_likes_counted_gone after delete on comment_likes referencing old table as changed
      for each statement execute function comment_likes_counted()`
  // They are given and taken back, never altered.
  yield* sql`
    create trigger comment_likes_kept before update or truncate on comment_likes
      for each statement execute function refuse_change()`
})
