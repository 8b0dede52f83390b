import { Effect } from "effect"
import { SqlClient } from "effect/sql"

/**
 * The entries of predictions stay where they were recorded, and the log keeps only which of them follow each other: a row
 * of the log for each, with an index of commits, which are random, was most of what the log costs.
 */
export const logRuns = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient

  // Those that were recorded before have none, nor have those that an instance of the version before still records:
  // `log_commit_entry` gives the same bytes.
  yield* sql`alter table predictions add column entry bytea`

  // Whoever has a receipt asks by its commit. Random keys are cheaper to hash than to order.
  yield* sql`create index predictions_commit on predictions using hash (commit)`

  // Predictions that stand in the log one after the other, in the order of their ids in the queue: the first of them at the
  // index `first`. No run goes beyond a tile. Ids that appeared late, and so lie within the bounds of another run, are not
  // in runs, but in log_entries: which run an id could be in is found by one look.
  yield* sql`
    create function run_length(ids int8multirange) returns bigint language sql immutable strict parallel safe as $$
      select coalesce(sum(upper(part) - lower(part)), 0)::bigint from unnest(ids) as part
    $$`
  yield* sql`
    create table log_runs (
      first bigint primary key constraint log_runs_first check (first >= 0),
      ids int8multirange not null
        constraint log_runs_ids check (not (isempty(ids) or lower_inf(ids) or upper_inf(ids))),
      constraint log_runs_within_tile check (first % 256 + run_length(ids) <= 256),
      constraint log_runs_once exclude using gist (int8range(lower(ids), upper(ids)) with &&)
    )`
  yield* sql`create index log_runs_from on log_runs (lower(ids))`
  yield* sql`
    create trigger log_runs_append_only before update or delete or truncate on log_runs
      for each statement execute function refuse_change()`

  // The entries from one index to before another; stable, and not more, so that it is inlined. What is between two ids of a
  // run is read in their order: the limit, which is the width of a tile, tells the planner how few they are.
  yield* sql`
    create function log_recorded(from_index bigint, past_index bigint)
    returns table (index bigint, type text, challenge_id uuid, version integer, commit bytea, commit_index bigint,
                   entry bytea)
    language sql stable as $$
      select e.index, e.type, e.challenge_id, e.version, e.commit, e.commit_index, e.entry
        from log_entries e
       where e.index >= from_index and e.index < past_index
      union all
      select p.queue_id - i.shift, 'prediction.commit', p.challenge_id, null, p.commit, null,
             coalesce(p.entry, log_commit_entry(p.challenge_id, p.commit))
        from log_runs r
       cross join lateral (
         select lower(part) as from_id, upper(part) as past_id,
                upper(part) - r.first - sum(upper(part) - lower(part)) over (order by part)::bigint as shift
           from unnest(r.ids) as part) i
       cross join lateral (
         select queue_id, challenge_id, commit, entry from predictions
          where queue_id >= greatest(i.from_id, from_index + i.shift)
            and queue_id < least(i.past_id, past_index + i.shift)
          order by queue_id limit 256) p
       where r.first > from_index - 256 and r.first < past_index
    $$`

  yield* sql`
    create or replace view log_waiting as
    select id, type, challenge_id, version, commit, commit_index, closed_at, imported, entry from log_pending
    union all
    select queue_id, 'prediction.commit', challenge_id, null, commit, null, null, false,
           coalesce(entry, log_commit_entry(challenge_id, commit))
      from predictions
     where queue_id > (select taken from log_state)
    union all
    select p.queue_id, 'prediction.commit', p.challenge_id, null, p.commit, null, null, false,
           coalesce(p.entry, log_commit_entry(p.challenge_id, p.commit))
      from unnest((select late from log_state)) as late (ids)
      join predictions p on p.queue_id >= lower(late.ids) and p.queue_id < upper(late.ids)`

  // Who looks for all entries in one table finds the log broken, and would say so.
  yield* sql`
    create or replace function log_only_grows() returns trigger language plpgsql as $$
    begin
      if new.size < old.size or (new.size = old.size and new.root is distinct from old.root) then
        raise exception 'the log only grows' using errcode = 'restrict_violation';
      end if;
      if (new.size > old.size or new.fault is distinct from old.fault) and new.passes = old.passes then
        raise exception 'an instance of an earlier version is running' using errcode = 'restrict_violation';
      end if;
      return new;
    end
    $$`
})
