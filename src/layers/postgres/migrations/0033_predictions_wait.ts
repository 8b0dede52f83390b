import { Effect } from "effect"
import { SqlClient } from "effect/sql"

/**
 * Predictions wait for their place in the log where they are recorded, by an id of the same sequence as that of the queue:
 * a row of their own in `log_pending` was four times the cost of the id, and had to be deleted again.
 */
export const predictionsWait = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient

  // Those that were recorded before have none: they are in the log, or in log_pending.
  yield* sql`alter table predictions add column queue_id bigint`
  yield* sql`create unique index predictions_queue_id on predictions (queue_id) where queue_id is not null`

  // Of predictions with ids up to `taken`, only those whose ids are in `late` still wait: when a larger one was taken,
  // their transactions had not ended, or their ids were nobody's.
  yield* sql`
    alter table log_state
      add column taken bigint not null default 0,
      add column late int8multirange not null default '{}',
      add column passes bigint not null default 0`

  // Who does not know that predictions wait elsewhere would close a challenge before all of its commits are in the log.
  yield* sql`
    create or replace function log_only_grows() returns trigger language plpgsql as $$
    begin
      if new.size < old.size or (new.size = old.size and new.root is distinct from old.root) then
        raise exception 'the log only grows' using errcode = 'restrict_violation';
      end if;
      if new.size > old.size and new.passes = old.passes then
        raise exception 'a sequencer of an earlier version is running' using errcode = 'restrict_violation';
      end if;
      return new;
    end
    $$`

  // The bytes of an entry; stable, and not more, so that it is inlined.
  yield* sql`
    create function log_commit_entry(challenge_id uuid, commit bytea) returns bytea language sql stable as $$
      select convert_to('{"c":"' || encode(commit, 'hex') || '","challenge_id":"' || challenge_id
                        || '","type":"prediction.commit"}', 'UTF8')
    $$`

  // The commits of a challenge are found by its predictions.
  yield* sql`drop index log_entries_commits`

  // All that waits, in the order of ids. The state is read by subqueries so that predictions are found by index.
  yield* sql`
    create view log_waiting as
    select id, type, challenge_id, version, commit, commit_index, closed_at, imported, entry from log_pending
    union all
    select queue_id, 'prediction.commit', challenge_id, null, commit, null, null, false,
           log_commit_entry(challenge_id, commit)
      from predictions
     where queue_id > (select taken from log_state)
    union all
    select p.queue_id, 'prediction.commit', p.challenge_id, null, p.commit, null, null, false,
           log_commit_entry(p.challenge_id, p.commit)
      from unnest((select late from log_state)) as late (ids)
      join predictions p on p.queue_id >= lower(late.ids) and p.queue_id < upper(late.ids)`
})
