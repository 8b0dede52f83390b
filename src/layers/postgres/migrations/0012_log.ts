import { Effect } from "effect"
import { SqlClient } from "effect/sql"

/** The public log of the track record, and what was recorded before there was one. */
export const log = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient

  // What a settlement was decided by, as its entry says. Earlier settlements did not keep it.
  yield* sql`alter table settlements add column fetched_at timestamptz`
  yield* sql`
    alter table settlements add column raw_sha256 bytea
      constraint settlements_raw_sha256 check (length(raw_sha256) = 32)`

  // The name that every checkpoint carries: fixed at the first start, whatever a setting says later.
  yield* sql`
    create table log_identity (
      singleton boolean primary key default true constraint log_identity_one check (singleton),
      origin text not null,
      created_at timestamptz not null
    )`
  yield* sql`
    create trigger log_identity_kept before update or delete or truncate on log_identity
      for each statement execute function refuse_change()`

  // The keys that have signed, in order; the newest signs.
  yield* sql`
    create table log_keys (
      number integer primary key constraint log_keys_number check (number >= 1),
      verifier_key text not null unique,
      added_at timestamptz not null
    )`
  yield* sql`
    create trigger log_keys_append_only before update or delete or truncate on log_keys
      for each statement execute function refuse_change()`

  // How far the log has grown, and why it is not signed any more, if so.
  yield* sql`
    create table log_state (
      singleton boolean primary key default true constraint log_state_one check (singleton),
      size bigint not null constraint log_state_size check (size >= 0),
      root bytea not null constraint log_state_root check (length(root) = 32),
      fault text
    )`
  yield* sql`insert into log_state (size, root) values (0, sha256(''))`
  yield* sql`
    create function log_only_grows() returns trigger language plpgsql as $$
    begin
      if new.size < old.size or (new.size = old.size and new.root is distinct from old.root) then
        raise exception 'the log only grows' using errcode = 'restrict_violation';
      end if;
      return new;
    end
    $$`
  yield* sql`
    create trigger log_state_grows before update on log_state for each row execute function log_only_grows()`
  yield* sql`
    create trigger log_state_kept before delete or truncate on log_state
      for each statement execute function refuse_change()`

  // A queue: written in the transaction of what it records, emptied by the sequencer. An entry without bytes is
  // composed when it gets its index: a close counts the commits before it, and what is imported is read from its rows.
  // No checks: PostgreSQL prepares them anew for every statement that predicts, 15 us of 400. log_entries has them.
  yield* sql`
    create table log_pending (
      id bigint generated always as identity primary key,
      type text not null,
      challenge_id uuid,
      version integer,
      commit bytea,
      commit_index bigint,
      closed_at timestamptz,
      imported boolean not null default false,
      entry bytea
    ) with (autovacuum_vacuum_scale_factor = 0.01, autovacuum_vacuum_cost_delay = 0)`

  // `type` is what is recorded, also of an imported entry.
  yield* sql`
    create table log_entries (
      index bigint primary key constraint log_entries_index check (index >= 0),
      type text not null,
      challenge_id uuid,
      version integer,
      commit bytea,
      commit_index bigint,
      entry bytea not null constraint log_entries_entry check (octet_length(entry) between 2 and 65535)
    )`
  // Nothing is recorded twice: a commit, its reveal, a challenge's making, close, end, and each version of its settlement.
  yield* sql`create unique index log_entries_commit on log_entries (commit) where type = 'prediction.commit'`
  yield* sql`create unique index log_entries_reveal on log_entries (commit_index) where commit_index is not null`
  yield* sql`
    create unique index log_entries_of_challenge on log_entries (challenge_id, type, version) where version is not null`
  yield* sql`create index log_entries_commits on log_entries (challenge_id, index) where type = 'prediction.commit'`
  yield* sql`
    create trigger log_entries_append_only before update or delete or truncate on log_entries
      for each statement execute function refuse_change()`

  // The hash of every full tile: node n of level L is the root of the leaves [n * 256^L, (n + 1) * 256^L), L >= 1.
  yield* sql`
    create table log_nodes (
      level smallint not null constraint log_nodes_level check (level >= 1),
      n bigint not null constraint log_nodes_n check (n >= 0),
      hash bytea not null constraint log_nodes_hash check (length(hash) = 32),
      primary key (level, n)
    )`
  yield* sql`
    create trigger log_nodes_append_only before update or delete or truncate on log_nodes
      for each statement execute function refuse_change()`

  // Signed tree heads; old ones are thinned out, for whoever relies on one has it.
  yield* sql`
    create table log_checkpoints (
      size bigint primary key,
      root bytea not null constraint log_checkpoints_root check (length(root) = 32),
      note text not null,
      signed_at timestamptz not null,
      -- RFC 3161 time stamp of the note's text.
      time_stamp bytea
    )`
  yield* sql`create index log_checkpoints_time_stamped on log_checkpoints (size) where time_stamp is not null`
  yield* sql`
    create table log_cosignatures (
      size bigint not null
        constraint log_cosignatures_checkpoint references log_checkpoints (size) on delete cascade,
      witness text not null,
      line text not null,
      cosigned_at timestamptz not null,
      primary key (size, witness)
    )`

  // Whom checkpoints are taken to: each witness, and the time stamp authority.
  yield* sql`
    create table log_attestors (
      attestor text primary key,
      -- The largest tree that it has attested.
      size bigint not null,
      -- It is left alone until then: it is being asked, it failed, or what it gave is recent enough.
      due_at timestamptz not null,
      failures integer not null,
      -- Why it attested nothing when it was asked last.
      failure text,
      constraint log_attestors_failure check ((failures = 0) = (failure is null))
    )`

  // Which predictions are still to be revealed: a row from the close of a challenge to its last reveal.
  yield* sql`
    create table log_reveals (
      challenge_id uuid primary key constraint log_reveals_challenge references challenges (id),
      due_at timestamptz not null,
      -- Predictions are revealed in the order of their key, which needs no index that predicting would have to keep:
      -- those up to this one are revealed, or in the queue.
      last_agent_id uuid,
      last_revision integer,
      constraint log_reveals_last check ((last_agent_id is null) = (last_revision is null))
    )`
  yield* sql`create index log_reveals_due on log_reveals (due_at)`

  // RFC 6962 root over leaf hashes that stand one after the other, 32 bytes each. A lone last node rises unchanged,
  // which gives the same tree as splitting at the largest power of two.
  yield* sql`
    create function merkle_root(leaves bytea) returns bytea language plpgsql immutable strict parallel safe as $$
    declare
      nodes bytea := leaves;
      count integer := length(leaves) / 32;
    begin
      if length(leaves) % 32 <> 0 then
        raise exception 'leaf hashes are 32 bytes each' using errcode = 'invalid_parameter_value';
      end if;
      if count = 0 then
        return sha256('');
      end if;
      while count > 1 loop
        select string_agg(
                 case when 2 * i + 1 < count then sha256('\\x01'::bytea || substr(nodes, 64 * i + 1, 64))
                      else substr(nodes, 64 * i + 1, 32) end,
                 ''::bytea order by i)
          into nodes from generate_series(0, (count - 1) / 2) i;
        count := (count + 1) / 2;
      end loop;
      return nodes;
    end
    $$`

  // In the order of time. What follows from another thing stands after it also where the clocks of replicas, or a
  // cancellation that had to wait for predictions, gave it an earlier stamp.
  yield* sql`
    insert into log_pending (type, challenge_id, version, commit, closed_at, imported, entry)
    with predicted as (
      select challenge_id, max(received_at) as last_at from predictions group by challenge_id
    ),
    challenge as (
      select c.id, c.created_at, c.cancelled_at, coalesce(c.closed_at, c.cancelled_at) as closed_at,
             greatest(c.created_at, coalesce(c.closed_at, c.cancelled_at), p.last_at) as after_commits
        from challenges c left join predicted p on p.challenge_id = c.id
    )
    select type, challenge_id, version, commit, closed_at, true, entry
      from (
        select created_at as at, 0 as step, 'challenge.create' as type, id as challenge_id, 1 as version,
               null::bytea as commit, null::timestamptz as closed_at, null::bytea as entry, null::uuid as tie
          from challenge
        union all
        select greatest(p.received_at, c.created_at), 1, 'prediction.commit', c.id, null, p.commit, null,
               convert_to('{"c":"' || encode(p.commit, 'hex') || '","challenge_id":"' || c.id
                          || '","of":"prediction.commit","type":"import"}', 'UTF8'),
               p.id
          from predictions p join challenge c on c.id = p.challenge_id
        union all
        select after_commits, 2, 'challenge.close', id, 1, null, closed_at, null, null
          from challenge where closed_at is not null
        union all
        select greatest(s.settled_at, c.after_commits), 3, 'settlement', c.id, s.version, null, null, null, null
          from settlements s join challenge c on c.id = s.challenge_id
        union all
        select greatest(cancelled_at, after_commits), 4, 'void', id, 1, null, null, null, null
          from challenge where cancelled_at is not null
      ) recorded
     order by at, step, challenge_id, version, tie`
})
