import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import { appendOnly, asOwner, kept } from "./guards.ts"

/** The rank of a mail's kind by urgency; an index uses it. */
export const mailUrgency =
  "(case when kind in ('sign_in', 'claim') then 0 when kind = 'digest' then 2 else 1 end)"

/** The instance, limits, idempotency keys, scheduled runs, mails, and the record of administrators' calls. */
export const operations = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const asTablesOwner = yield* asOwner

  // One database serves one site permanently.
  yield* sql`
    create table instance (
      singleton boolean primary key default true constraint instance_is_one check (singleton),
      site text not null constraint instance_site check (site in ('global', 'cn')),
      created_at timestamptz not null
    )`

  // Unlogged: after a crash of the database the windows start anew, which costs nothing worth a disk write each.
  yield* sql`
    create unlogged table rate_limits (
      key text primary key,
      window_ms bigint not null,
      max_uses integer not null,
      bucket bigint not null,
      current integer not null,
      previous integer not null,
      expires_at timestamptz not null
    ) with (fillfactor = 50)`
  yield* sql`create index rate_limits_expires_at on rate_limits (expires_at)`

  // The answers to requests with an Idempotency-Key. Keys of administrators belong to no agent.
  yield* sql`
    create table idempotency_keys (
      agent_id uuid constraint idempotency_keys_agent references agents (id),
      key text not null constraint idempotency_keys_key check (length(key) between 1 and 255),
      fingerprint bytea not null constraint idempotency_keys_fingerprint check (length(fingerprint) = 32),
      status smallint not null constraint idempotency_keys_status check (status between 200 and 299),
      -- The answer is encrypted: it may hold a secret that is shown once.
      answer bytea not null,
      expires_at timestamptz not null,
      constraint idempotency_keys_once unique nulls not distinct (agent_id, key)
    )`
  yield* sql`create index idempotency_keys_expired on idempotency_keys (expires_at)`

  // The replica that inserts the row of a tick runs the job of that tick.
  yield* sql`
    create table job_runs (
      job text not null,
      at timestamptz not null,
      primary key (job, at)
    )`

  // A mail holds secret links, so it is encrypted, and deleted once it was sent or given up.
  yield* sql`
    create table mails (
      id uuid primary key,
      kind text not null constraint mails_kind
        check (kind in ('sign_in', 'claim', 'grace_reminder', 'issuance_paused')),
      recipient text not null,
      encrypted bytea,
      created_at timestamptz not null,
      expires_at timestamptz not null,
      attempts integer not null default 0,
      due_at timestamptz not null,
      sent_at timestamptz,
      failed_at timestamptz,
      last_error text,
      constraint mails_one_end check (sent_at is null or failed_at is null),
      constraint mails_encrypted_until_ended check ((encrypted is null) = (sent_at is not null or failed_at is not null))
    )`
  yield* sql`create index mails_due_at on mails (due_at, id) where sent_at is null and failed_at is null`
  yield* sql`create index mails_ended on mails (created_at) where sent_at is not null or failed_at is not null`

  // An administrator's call is recorded before it begins, and its outcome by a row of its own.
  yield* sql`
    create table audit_log (
      id uuid primary key,
      at timestamptz not null,
      action text not null,
      path text not null,
      request_id text not null,
      body text not null
    )`
  yield* appendOnly("audit_log")
  yield* sql`
    create table audit_outcomes (
      entry_id uuid primary key references audit_log (id),
      status integer not null
    )`
  yield* appendOnly("audit_outcomes")

  // Calls and outcomes are links of one chain of hashes, so that none can be changed, removed or inserted unnoticed once its head is
  // in the public log. Triggers add the links, whichever program writes.
  yield* sql`
    create table audit_chain (
      number bigint primary key constraint audit_chain_number check (number >= 1),
      kind text not null constraint audit_chain_kind check (kind in ('call', 'outcome')),
      -- The id of the call; its outcome has the same.
      entry_id uuid not null,
      hash bytea not null constraint audit_chain_hash check (length(hash) = 32),
      constraint audit_chain_once unique (kind, entry_id)
    )`
  yield* appendOnly("audit_chain")
  // The last link, which every addition locks; and the number of links under the newest head in the public log.
  yield* sql`
    create table audit_head (
      singleton boolean primary key default true constraint audit_head_one check (singleton),
      count bigint not null,
      hash bytea not null constraint audit_head_hash check (length(hash) = 32),
      logged bigint not null default 0,
      constraint audit_head_logged check (logged between 0 and count)
    )`
  yield* sql`insert into audit_head (count, hash) values (0, decode(repeat('00', 32), 'hex'))`
  yield* sql`
    create function audit_head_grows() returns trigger language plpgsql as $$
    begin
      if new.count < old.count or (new.count = old.count and new.hash <> old.hash) or new.logged < old.logged then
        raise exception 'the chain of the audit log only grows' using errcode = 'restrict_violation';
      end if;
      return new;
    end
    $$`
  yield* sql`
    create trigger audit_head_grows before update on audit_head for each row execute function audit_head_grows()`
  yield* kept("audit_head")

  // SHA-256 of a prefix, the hash before, and each field as its length in bytes, a colon and itself; a null is "-".
  // checks/log/adminAudit.ts reads the same fields.
  yield* sql`
    create function audit_hash(previous bytea, fields text[]) returns bytea language sql stable as $$
      select sha256(
        convert_to('auspex/audit/v1', 'UTF8') || '\\x00'::bytea || previous
        || convert_to(string_agg(coalesce(octet_length(convert_to(field, 'UTF8')) || ':' || field, '-'), '' order by place), 'UTF8'))
        from unnest(fields) with ordinality as f (field, place)
    $$`
  yield* sql`
    create function audit_log_chained() returns trigger language plpgsql ${asTablesOwner} as $$
    begin
      with head as (
        update audit_head set count = count + 1, hash = audit_hash(hash,
          array['call', new.id::text, (extract(epoch from new.at) * 1000000)::bigint::text, new.action, new.path,
                new.request_id, new.body])
        returning count, hash
      )
      insert into audit_chain (number, kind, entry_id, hash)
      select count, 'call', new.id, hash from head;
      return null;
    end
    $$`
  yield* sql`
    create trigger audit_log_chained after insert on audit_log
      for each row execute function audit_log_chained()`
  yield* sql`
    create function audit_outcomes_chained() returns trigger language plpgsql ${asTablesOwner} as $$
    begin
      with head as (
        update audit_head
           set count = count + 1, hash = audit_hash(hash, array['outcome', new.entry_id::text, new.status::text])
        returning count, hash
      )
      insert into audit_chain (number, kind, entry_id, hash)
      select count, 'outcome', new.entry_id, hash from head;
      return null;
    end
    $$`
  yield* sql`
    create trigger audit_outcomes_chained after insert on audit_outcomes
      for each row execute function audit_outcomes_chained()`
})
