import { Effect } from "effect"
import { SqlClient } from "effect/sql"

/** What lets every read cost the same however much there is: an index for each list, and totals that are kept. */
export const reads = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient

  for (const end of ["resolved", "cancelled"]) {
    const condition = sql.literal(`${end}_at is not null`)
    yield* sql`create index ${sql(`challenges_${end}`)} on challenges (id desc) where ${condition}`
    yield* sql`
      create index ${sql(`challenges_target_${end}`)} on challenges (target, id desc) where ${condition}`
  }

  yield* sql`
    create table challenge_counts (
      target text primary key constraint challenge_counts_target references targets (key),
      created bigint not null,
      resolved bigint not null,
      cancelled bigint not null
    )`
  yield* sql`
    create function challenges_counted() returns trigger language plpgsql as $$
    begin
      insert into challenge_counts as n (target, created, resolved, cancelled)
      values (
        new.target,
        (tg_op = 'INSERT')::int,
        (new.resolved_at is not null and (tg_op = 'INSERT' or old.resolved_at is null))::int,
        (new.cancelled_at is not null and (tg_op = 'INSERT' or old.cancelled_at is null))::int
      )
      on conflict (target) do update set
        created = n.created + excluded.created,
        resolved = n.resolved + excluded.resolved,
        cancelled = n.cancelled + excluded.cancelled;
      return null;
    end
    $$`
  // Deferred to the commit: nobody waits for the count of a target while a settlement on it takes its time.
  yield* sql`
    create constraint trigger challenges_counted after insert or update of resolved_at, cancelled_at on challenges
      deferrable initially deferred for each row execute function challenges_counted()`
  yield* sql`
    insert into challenge_counts (target, created, resolved, cancelled)
    select target, count(*), count(resolved_at), count(cancelled_at) from challenges group by target`

  // An event stands once in every list that shows it: of any space or one of its own, of any asset ('') or one of its own.
  yield* sql`
    create table event_lists (
      space text not null,
      asset text not null,
      published_at timestamptz not null,
      event_id text not null constraint event_lists_event references events (id),
      primary key (event_id, space, asset)
    )`
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
    insert into event_lists (space, asset, published_at, event_id)
    select distinct space, asset, published_at, id
      from events cross join unnest(array_append(spaces, '')) as s (space)
       cross join unnest(array_append(assets, '')) as a (asset)`
  yield* sql`create index event_lists_newest on event_lists (space, asset, published_at desc, event_id desc)`
  yield* sql`drop index events_newest`
  yield* sql`drop index events_spaces`
  yield* sql`drop index events_assets`
})
