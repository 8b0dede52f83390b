import { Effect } from "effect"
import { SqlClient } from "effect/sql"

/**
 * Administrators' calls, and how they ended, are links of one chain of hashes, so that none can be changed, taken out or put
 * in unnoticed once its head is in the public log. The database itself adds the links, for every program that writes.
 */
export const auditChain = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient

  yield* sql`
    create table audit_chain (
      number bigint primary key constraint audit_chain_number check (number >= 1),
      kind text not null constraint audit_chain_kind check (kind in ('call', 'outcome')),
      -- The call's; its outcome has the same.
      entry_id uuid not null,
      hash bytea not null constraint audit_chain_hash check (length(hash) = 32),
      constraint audit_chain_once unique (kind, entry_id)
    )`
  yield* sql`
    create trigger audit_chain_append_only before update or delete or truncate on audit_chain
      for each statement execute function refuse_change()`

  // The last link, which whoever adds one locks; and how many links the newest head has that went to the public log.
  yield* sql`
    create table audit_head (
      singleton boolean primary key default true constraint audit_head_one check (singleton),
      count bigint not null,
      hash bytea not null constraint audit_head_hash check (length(hash) = 32),
      logged bigint not null default 0,
      constraint audit_head_logged check (logged between 0 and count)
    )`
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
  yield* sql`
    create trigger audit_head_kept before delete or truncate on audit_head
      for each statement execute function refuse_change()`

  // SHA-256 of a prefix, the hash before, and each field as its length in bytes, a colon and itself; a null is "-".
  yield* sql`
    create function audit_hash(previous bytea, fields text[]) returns bytea language sql stable as $$
      select sha256(
        convert_to('auspex/audit/v1', 'UTF8') || '\\x00'::bytea || previous
        || convert_to(string_agg(coalesce(octet_length(convert_to(field, 'UTF8')) || ':' || field, '-'), '' order by place), 'UTF8'))
        from unnest(fields) with ordinality as f (field, place)
    $$`

  // src/layers/postgres/logAudit/adminAudit.ts reads the same fields.
  const fields = {
    call: (row: string) => `
      array['call', ${row}.id::text, (extract(epoch from ${row}.at) * 1000000)::bigint::text, ${row}.action, ${row}.path,
            ${row}.request_id, ${row}.body, ${row}.status::text]`,
    outcome: (row: string) => `array['outcome', ${row}.entry_id::text, ${row}.status::text]`
  }
  const links = [
    { table: "audit_log", kind: "call", key: "id" },
    { table: "audit_outcomes", kind: "outcome", key: "entry_id" }
  ] as const

  for (const { key, kind, table } of links) {
    yield* sql`
      create function ${sql(`${table}_chained`)}() returns trigger language plpgsql as $$
      begin
        with head as (
          update audit_head set count = count + 1, hash = audit_hash(hash, ${sql.literal(fields[kind]("new"))})
          returning count, hash
        )
        insert into audit_chain (number, kind, entry_id, hash)
        select count, ${sql.literal(`'${kind}'`)}, new.${sql(key)}, hash from head;
        return null;
      end
      $$`
    // Waits for calls that are being recorded, and has those that come wait for the links of those that were before.
    yield* sql`
      create trigger ${sql(`${table}_chained`)} after insert on ${sql(table)}
        for each row execute function ${sql(`${table}_chained`)}()`
  }

  // What was recorded before, in the order of calls, which is that of time.
  yield* sql`
    do $$
    declare
      link record;
      links bigint := 0;
      head bytea := decode(repeat('00', 32), 'hex');
    begin
      for link in
        select 'call' as kind, id as entry_id, ${sql.literal(fields.call("audit_log"))} as fields from audit_log
        union all
        select 'outcome', entry_id, ${sql.literal(fields.outcome("audit_outcomes"))} from audit_outcomes
        order by 2, 1
      loop
        links := links + 1;
        head := audit_hash(head, link.fields);
        insert into audit_chain (number, kind, entry_id, hash) values (links, link.kind, link.entry_id, head);
      end loop;
      insert into audit_head (count, hash) values (links, head);
    end
    $$`
})
