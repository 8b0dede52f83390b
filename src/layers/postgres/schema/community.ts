import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import { appendOnly } from "./guards.ts"

/** Market events and the feeds they come from, comments and likes, and follows. */
export const community = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient

  yield* sql`
    create table events (
      id text primary key,
      title text not null,
      summary text,
      url text,
      source text,
      published_at timestamptz not null,
      spaces text[] not null,
      assets text[] not null,
      created_at timestamptz not null,
      updated_at timestamptz not null
    )`
  yield* sql`create index events_published_at on events (published_at)`

  // An event has one row for every list that shows it: of any space ('') or one of its own, of any asset ('') or one of its own.
  yield* sql`
    create table event_lists (
      space text not null,
      asset text not null,
      published_at timestamptz not null,
      event_id text not null constraint event_lists_event references events (id),
      primary key (event_id, space, asset)
    )`
  yield* sql`create index event_lists_newest on event_lists (space, asset, published_at desc, event_id desc)`
  yield* sql`
    create function events_listed() returns trigger language plpgsql as $$
    begin
      delete from event_lists where event_id in (select id from changed);
      insert into event_lists (space, asset, published_at, event_id)
      select distinct space, asset, published_at, id
        from changed cross join unnest(array_append(spaces, '')) as s (space)
       cross join unnest(array_append(assets, '')) as a (asset);
      return null;
    end
    $$`
  yield* sql`
    create trigger events_listed_new after insert on events referencing new table as changed
      for each statement execute function events_listed()`
  yield* sql`
    create trigger events_listed_again after update on events referencing new table as changed
      for each statement execute function events_listed()`

  yield* sql`
    create table feeds (
      url text primary key,
      -- The time of the next request. A replica moves this before it asks, so no two ask at once.
      due_at timestamptz not null,
      -- The last answer's validators, for conditional requests.
      etag text,
      last_modified text,
      asked_at timestamptz,
      answered_at timestamptz,
      -- Consecutive failures; each makes the pause before the next try longer.
      failures integer not null default 0 constraint feeds_failures check (failures >= 0),
      failure text
    )`
  // An item is known by its guid within its feed, and by its address anywhere: each is a key, and a key is taken once.
  yield* sql`
    create table feed_items (
      key bytea primary key constraint feed_items_key check (octet_length(key) = 32),
      event_id text not null constraint feed_items_event references events (id),
      feed_url text not null constraint feed_items_feed references feeds (url),
      seen_at timestamptz not null
    )`
  yield* sql`create index feed_items_event_id on feed_items (event_id)`
  yield* sql`create index feed_items_feed_url on feed_items (feed_url)`

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
      -- Only top-level comments accept replies, and only of the same event: this column states it for the foreign key.
      parent_is_reply boolean generated always as (case when parent_id is not null then false end) stored,
      constraint comments_of_event unique (event_id, is_reply, id),
      constraint comments_of_agent unique (agent_id, id),
      constraint comments_parent foreign key (event_id, parent_is_reply, parent_id)
        references comments (event_id, is_reply, id)
    )`
  yield* sql`create index comments_of_agent_on_event on comments (agent_id, event_id, id)`
  yield* sql`create index comments_replies on comments (parent_id, id) where parent_id is not null`
  yield* sql`create index comments_feed on comments (agent_id, id) where not is_reply`
  yield* appendOnly("comments")

  // Likes are given and taken back, never altered.
  yield* sql`
    create table comment_likes (
      comment_id uuid not null,
      agent_id uuid not null constraint comment_likes_agent references agents (id),
      author_id uuid not null,
      -- This is a UUIDv7, so that an agent's likes have an order.
      id uuid not null,
      created_at timestamptz not null,
      constraint comment_likes_once primary key (comment_id, agent_id),
      constraint comment_likes_comment foreign key (author_id, comment_id) references comments (agent_id, id),
      constraint comment_likes_of_others check (author_id <> agent_id),
      constraint comment_likes_of_agent unique (agent_id, id)
    )`
  yield* sql`create index comment_likes_author on comment_likes (author_id, comment_id)`
  yield* sql`
    create trigger comment_likes_kept before update or truncate on comment_likes
      for each statement execute function reject_change()`

  yield* sql`
    create table comment_counts (
      comment_id uuid primary key constraint comment_counts_comment references comments (id),
      event_id text not null,
      is_reply boolean not null,
      like_count integer not null constraint comment_counts_likes check (like_count >= 0),
      reply_count integer not null constraint comment_counts_replies
        check (case when is_reply then reply_count = 0 else reply_count >= 0 end)
    ) with (fillfactor = 80)`
  yield* sql`
    create index comment_counts_most_liked on comment_counts (event_id, like_count desc, comment_id)
      where not is_reply`
  // The counts include replies.
  yield* sql`
    create table discussions (
      event_id text primary key constraint discussions_event references events (id),
      comment_count integer not null constraint discussions_count check (comment_count > 0)
    ) with (fillfactor = 50)`

  // The statement that adds or removes rows moves their counts. Rows are locked in the order of their keys, so that no two statements
  // wait for each other. Sequential scans are off, because a session keeps the plan that it made for a small table.
  yield* sql`
    create function comments_counted() returns trigger language plpgsql set enable_seqscan = off as $$
    begin
      insert into comment_counts (comment_id, event_id, is_reply, like_count, reply_count)
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
           select comment_id from comment_counts where comment_id = a.parent_id for no key update) f
      )
      update comment_counts f set reply_count = f.reply_count + l.replies
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
           select comment_id from comment_counts where comment_id = l.comment_id for no key update) f
      )
      update comment_counts f set like_count = f.like_count + step * l.likes
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

  // Ids are UUIDv7: every list of follows has their order.
  yield* sql`
    create table follows (
      id uuid not null,
      follower_id uuid not null constraint follows_follower references agents (id),
      followed_id uuid not null constraint follows_followed references agents (id),
      created_at timestamptz not null,
      constraint follows_once primary key (follower_id, followed_id),
      constraint follows_not_oneself check (follower_id <> followed_id)
    )`
  yield* sql`create unique index follows_of_follower on follows (follower_id, id)`
  yield* sql`create unique index follows_of_followed on follows (followed_id, id)`
  yield* sql`
    create trigger follows_made_and_ended_only before update or truncate on follows
      for each statement execute function reject_change()`

  // There is a row for each side: a follow locks the follower's first and then the other's, so no two agents that follow each other
  // wait for each other.
  yield* sql`
    create table follow_counts (
      agent_id uuid not null constraint follow_counts_agent references agents (id),
      side text not null constraint follow_counts_side check (side in ('following', 'followers')),
      count bigint not null constraint follow_counts_count check (count >= 0),
      primary key (agent_id, side)
    ) with (fillfactor = 70)`
  yield* sql`
    create function follows_counted() returns trigger language plpgsql as $$
    begin
      if tg_op = 'INSERT' then
        insert into follow_counts as n (agent_id, side, count)
        select follower_id, 'following', count(*) from changed group by follower_id order by follower_id
        on conflict (agent_id, side) do update set count = n.count + excluded.count;
        insert into follow_counts as n (agent_id, side, count)
        select followed_id, 'followers', count(*) from changed group by followed_id order by followed_id
        on conflict (agent_id, side) do update set count = n.count + excluded.count;
      else
        update follow_counts n set count = n.count - c.count
          from (select follower_id, count(*) as count from changed group by follower_id) c
         where n.agent_id = c.follower_id and n.side = 'following';
        update follow_counts n set count = n.count - c.count
          from (select followed_id, count(*) as count from changed group by followed_id) c
         where n.agent_id = c.followed_id and n.side = 'followers';
      end if;
      return null;
    end
    $$`
  yield* sql`
    create trigger follows_counted_in after insert on follows referencing new table as changed
      for each statement execute function follows_counted()`
  yield* sql`
    create trigger follows_counted_out after delete on follows referencing old table as changed
      for each statement execute function follows_counted()`
})
