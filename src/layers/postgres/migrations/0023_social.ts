import { Effect } from "effect"
import { SqlClient } from "effect/sql"

/** Who follows whom, and how many: what stands, not what was. */
export const social = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient

  yield* sql`
    create table follows (
      -- UUIDv7: the order of every list of follows.
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
      for each statement execute function refuse_change()`

  // A row for each side, because whoever follows holds the one of its own before it asks for that of another: locked in
  // this order, no two ever wait for each other in a ring.
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

  // The feed shows comments without replies.
  yield* sql`create index comments_feed on comments (agent_id, id) where not is_reply`

  // What an agent did, newest first, of every kind by an index of its own.
  yield* sql`create unique index stakes_of_agent on stakes (agent_id, id)`
  yield* sql`create unique index paper_signals_by_agent on paper_signals (agent_id, id)`
})
