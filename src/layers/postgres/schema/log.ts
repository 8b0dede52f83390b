import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import { appendOnly, kept } from "./guards.ts"

/** The public log of the track record: the outbox, entries, tree, checkpoints, and triggers that write the entries of agents. */
export const log = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient

  // Every checkpoint carries this name, which the first start fixes: a later setting does not change it.
  yield* sql`
    create table log_identity (
      singleton boolean primary key default true constraint log_identity_one check (singleton),
      origin text not null,
      created_at timestamptz not null
    )`
  yield* sql`
    create trigger log_identity_kept before update or delete or truncate on log_identity
      for each statement execute function reject_change()`

  // The keys that have signed, in order; the newest one signs.
  yield* sql`
    create table log_keys (
      number integer primary key constraint log_keys_number check (number >= 1),
      verifier_key text not null unique,
      added_at timestamptz not null
    )`
  yield* appendOnly("log_keys")

  // The size of the log, and the reason that it is not signed any more, if there is one.
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
  yield* kept("log_state")

  // The outbox: an entry is inserted in the transaction of its cause, and the sequencer moves it to log_entries. A close has no bytes
  // yet, because it counts the commits that have an index before it. The constraints on an entry's content are those of log_entries:
  // here every prediction would pay for them. Rows leave as fast as they come, so vacuum must keep up whatever the size of the table.
  yield* sql`
    create table log_pending (
      id bigint generated always as identity primary key,
      type text not null,
      challenge_id uuid,
      version integer,
      commit bytea,
      commit_index bigint,
      closed_at timestamptz,
      entry bytea
    ) with (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 5000, autovacuum_vacuum_cost_delay = 0)`
  // A holder of a receipt asks by its commit. Random keys are cheaper to hash than to order.
  yield* sql`create index log_pending_commit on log_pending using hash (commit) where commit is not null`
  yield* sql`
    create trigger log_pending_kept before update or truncate on log_pending
      for each statement execute function reject_change()`

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
  // Nothing is recorded twice: a commit, its reveal, a challenge's creation, close, end, and each version of its settlement.
  yield* sql`create unique index log_entries_commit on log_entries (commit) where type = 'prediction.commit'`
  yield* sql`create unique index log_entries_reveal on log_entries (commit_index) where commit_index is not null`
  yield* sql`
    create unique index log_entries_of_challenge on log_entries (challenge_id, type, version) where version is not null`
  yield* appendOnly("log_entries")
  // An entry leaves the outbox only for the log: the rows that a statement deletes are the end of the log, byte for byte. (A close
  // gets its bytes on the way.)
  yield* sql`
    create function log_pending_sequenced() returns trigger language plpgsql as $$
    begin
      if exists (
        select type, challenge_id, version, commit, commit_index,
               case when type <> 'challenge.close' then entry end
          from gone
        except all
        select type, challenge_id, version, commit, commit_index,
               case when type <> 'challenge.close' then entry end
          from log_entries
         where index >= (select size from log_state) - (select count(*) from gone)
           and index < (select size from log_state)
      ) then
        raise exception 'entries leave the outbox into the log only' using errcode = 'restrict_violation';
      end if;
      return null;
    end
    $$`
  yield* sql`
    create trigger log_pending_sequenced after delete on log_pending referencing old table as gone
      for each statement execute function log_pending_sequenced()`

  // The bytes of a prediction's entry. The function is stable, not immutable, so that it is inlined.
  yield* sql`
    create function log_commit_entry(challenge_id uuid, commit bytea) returns bytea language sql stable as $$
      select convert_to('{"c":"' || encode(commit, 'hex') || '","challenge_id":"' || challenge_id
                        || '","type":"prediction.commit"}', 'UTF8')
    $$`

  // Predictions that wait for their reveal: a row from the close of a challenge to its last reveal.
  yield* sql`
    create table log_reveals (
      challenge_id uuid primary key constraint log_reveals_challenge references challenges (id),
      due_at timestamptz not null,
      -- Predictions are revealed in the order of their key, which needs no further index on predictions: those up to this one are
      -- revealed, or their reveals are pending.
      last_agent_id uuid,
      last_revision integer,
      constraint log_reveals_last check ((last_agent_id is null) = (last_revision is null))
    )`
  yield* sql`create index log_reveals_due on log_reveals (due_at)`

  // The hash of every full tile: node n of level L is the root of the leaves [n * 256^L, (n + 1) * 256^L), L >= 1.
  yield* sql`
    create table log_nodes (
      level smallint not null constraint log_nodes_level check (level >= 1),
      n bigint not null constraint log_nodes_n check (n >= 0),
      hash bytea not null constraint log_nodes_hash check (length(hash) = 32),
      primary key (level, n)
    )`
  yield* appendOnly("log_nodes")
  // RFC 6962 root over leaf hashes that stand one after the other, 32 bytes each. A lone last node rises unchanged, which gives the
  // same tree as splitting at the largest power of two.
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

  // Signed tree heads; old ones are thinned out, because their users have their own copies.
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
  // The receivers of checkpoints: each witness, and the time stamp authority.
  yield* sql`
    create table log_witnesses (
      witness text primary key,
      -- The largest tree that it has attested.
      size bigint not null,
      -- It is not asked before this time: a request is in flight, failed, or gave a recent enough answer.
      due_at timestamptz not null,
      failures integer not null,
      -- The reason that its last answer attested nothing.
      failure text,
      constraint log_witnesses_failure check ((failures = 0) = (failure is null))
    )`

  // SHA-256 of texts with a zero byte between them. No text holds a zero byte, and entries are written the same way.
  yield* sql`
    create function log_hash(variadic parts text[]) returns text language sql stable as $$
      select encode(sha256(string_agg(convert_to(part, 'UTF8'), '\\x00'::bytea order by n)), 'hex')
        from unnest(parts) with ordinality as p (part, n)
    $$`
  yield* sql`
    create function log_moment(at timestamptz) returns text language sql stable as $$
      select to_char(at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')
    $$`
  // Agents of both methods have this, because a secret renews claim links by either.
  yield* sql`
    create function agent_key_hash(a agents) returns text language sql stable as $$
      select log_hash('auspex/agent-key/v1', a.id::text, a.auth_method, encode(a.secret_hash, 'hex'),
                      coalesce(a.public_key, ''), coalesce(a.jwks_url, ''))
    $$`
  // The bytes of entries, which begin with the agent's id.
  yield* sql`
    create function agent_register_entry(a agents) returns bytea language sql stable as $$
      select convert_to(
        '{"agent_id":"' || a.id || '","auth_method":"' || a.auth_method || '","key_sha256":"' || agent_key_hash(a)
        || '","name_sha256":"' || log_hash('auspex/agent-name/v1', a.name)
        || '","registered_at":"' || log_moment(a.created_at) || '","type":"agent.register"}', 'UTF8')
    $$`
  yield* sql`
    create function agent_claim_entry(a agents) returns bytea language sql stable as $$
      select convert_to(
        '{"agent_id":"' || a.id || '","claimed_at":"' || log_moment(a.claimed_at)
        || '","owner_sha256":"' || log_hash('auspex/agent-owner/v1', a.id::text, a.owner_id::text)
        || '","type":"agent.claim"}', 'UTF8')
    $$`
  yield* sql`
    create function agent_key_entry(a agents) returns bytea language sql stable as $$
      select convert_to(
        '{"agent_id":"' || a.id || '","at":' || coalesce('"' || log_moment(a.key_set_at) || '"', 'null')
        || ',"key_sha256":"' || agent_key_hash(a) || '","type":"agent.key"}', 'UTF8')
    $$`
  // The id that an agent's entry begins with, whatever bytes it has.
  yield* sql`
    create function log_entry_agent(entry bytea) returns text language sql immutable strict parallel safe as $$
      select encode(substr(entry, 14, 36), 'escape')
    $$`
  // An agent registers once and is claimed once; the audit also finds its entries here. Each has its own index, so that the planner
  // knows without statistics that there is one.
  yield* sql`
    create unique index log_entries_registered on log_entries (log_entry_agent(entry)) where type = 'agent.register'`
  yield* sql`
    create unique index log_entries_claimed on log_entries (log_entry_agent(entry)) where type = 'agent.claim'`
  yield* sql`
    create index log_entries_agent_keys on log_entries (log_entry_agent(entry), index) where type = 'agent.key'`
  yield* sql`
    create index log_pending_of_agent on log_pending (log_entry_agent(entry), id)
      where type in ('agent.register', 'agent.claim', 'agent.key')`

  // Triggers write the entries of agents, so that no statement that changes one can forget to.
  yield* sql`
    create function agents_recorded() returns trigger language plpgsql as $$
    begin
      if tg_op = 'INSERT' then
        insert into log_pending (type, entry) values ('agent.register', agent_register_entry(new));
      elsif (new.secret_hash, new.public_key, new.jwks_url)
            is distinct from (old.secret_hash, old.public_key, old.jwks_url) then
        insert into log_pending (type, entry) values ('agent.key', agent_key_entry(new));
      end if;
      if new.claimed_at is not null and (tg_op = 'INSERT' or old.claimed_at is null) then
        insert into log_pending (type, entry) values ('agent.claim', agent_claim_entry(new));
      end if;
      return null;
    end
    $$`
  yield* sql`
    create trigger agents_registered after insert on agents for each row execute function agents_recorded()`
  yield* sql`
    create trigger agents_changed after update of secret_hash, public_key, jwks_url, claimed_at on agents for each row
      when ((new.secret_hash, new.public_key, new.jwks_url, new.claimed_at)
            is distinct from (old.secret_hash, old.public_key, old.jwks_url, old.claimed_at))
      execute function agents_recorded()`
})
