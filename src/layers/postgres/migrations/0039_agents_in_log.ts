import { Effect } from "effect"
import { SqlClient } from "effect/sql"

/**
 * Agents in the public log: their registration, their claim, and every change of what they authenticate with. Triggers write
 * the entries, so that whoever changes an agent cannot forget to, an instance of the version before included.
 */
export const agentsInLog = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient

  // When what authenticates the agent was last changed; null: at its registration.
  yield* sql`alter table agents add column key_set_at timestamptz`

  // SHA-256 of texts with a zero byte between them, which no text holds, as entries write it.
  yield* sql`
    create function log_hash(variadic parts text[]) returns text language sql stable as $$
      select encode(sha256(string_agg(convert_to(part, 'UTF8'), '\\x00'::bytea order by n)), 'hex')
        from unnest(parts) with ordinality as p (part, n)
    $$`
  yield* sql`
    create function log_moment(at timestamptz) returns text language sql stable as $$
      select to_char(at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')
    $$`
  // Of both methods, for a claim link is renewed with a secret by either.
  yield* sql`
    create function agent_key_hash(a agents) returns text language sql stable as $$
      select log_hash('auspex/agent-key/v1', a.id::text, a.auth_method, encode(a.secret_hash, 'hex'),
                      coalesce(a.public_key, ''), coalesce(a.jwks_url, ''))
    $$`

  // The bytes of entries, which begin with the agent's id.
  yield* sql`
    create function agent_register_entry(a agents, imported boolean) returns bytea language sql stable as $$
      select convert_to(
        '{"agent_id":"' || a.id || '","auth_method":"' || a.auth_method || '","key_sha256":"' || agent_key_hash(a)
        || '","name_sha256":"' || log_hash('auspex/agent-name/v1', a.name)
        || case when imported then '","of":"agent.register' else '' end
        || '","registered_at":"' || log_moment(a.created_at)
        || case when imported then '","type":"import"}' else '","type":"agent.register"}' end, 'UTF8')
    $$`
  yield* sql`
    create function agent_claim_entry(a agents, imported boolean) returns bytea language sql stable as $$
      select convert_to(
        '{"agent_id":"' || a.id || '","claimed_at":"' || log_moment(a.claimed_at)
        || case when imported then '","of":"agent.claim' else '' end
        || '","owner_sha256":"' || log_hash('auspex/agent-owner/v1', a.id::text, a.owner_id::text)
        || case when imported then '","type":"import"}' else '","type":"agent.claim"}' end, 'UTF8')
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

  yield* sql`
    create function agents_recorded() returns trigger language plpgsql as $$
    begin
      if tg_op = 'INSERT' then
        insert into log_pending (type, entry) values ('agent.register', agent_register_entry(new, false));
      elsif (new.secret_hash, new.public_key, new.jwks_url)
            is distinct from (old.secret_hash, old.public_key, old.jwks_url) then
        insert into log_pending (type, entry) values ('agent.key', agent_key_entry(new));
      end if;
      if new.claimed_at is not null and (tg_op = 'INSERT' or old.claimed_at is null) then
        insert into log_pending (type, entry) values ('agent.claim', agent_claim_entry(new, false));
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

  // A record belongs to who it was registered for.
  yield* sql`
    create function agents_stay() returns trigger language plpgsql as $$
    begin
      raise exception 'an agent keeps its id, its name, its auth_method and the time of its registration'
        using errcode = 'restrict_violation';
    end
    $$`
  yield* sql`
    create trigger agents_stay before update of id, name, auth_method, created_at on agents for each row
      when ((new.id, new.name, new.auth_method, new.created_at)
            is distinct from (old.id, old.name, old.auth_method, old.created_at))
      execute function agents_stay()`
  yield* sql`
    create trigger agents_kept before delete or truncate on agents
      for each statement execute function refuse_change()`

  // Those that are there, in the order of time; a claim stands after its registration. From here on the triggers do it.
  yield* sql`
    insert into log_pending (type, imported, entry)
    select type, true, entry
      from (
        select created_at as at, 0 as step, id, 'agent.register' as type, agent_register_entry(a, true) as entry
          from agents a
        union all
        select greatest(claimed_at, created_at), 1, id, 'agent.claim', agent_claim_entry(a, true)
          from agents a where claimed_at is not null
      ) recorded
     order by at, step, id`

  // An agent registers once and is claimed once; and the audit finds its entries. An index each, so that the planner knows
  // without statistics that there is one.
  yield* sql`
    create unique index log_entries_registered on log_entries (log_entry_agent(entry)) where type = 'agent.register'`
  yield* sql`
    create unique index log_entries_claimed on log_entries (log_entry_agent(entry)) where type = 'agent.claim'`
  yield* sql`
    create index log_entries_agent_keys on log_entries (log_entry_agent(entry), index) where type = 'agent.key'`
  yield* sql`
    create index log_pending_of_agent on log_pending (log_entry_agent(entry), id)
      where type in ('agent.register', 'agent.claim', 'agent.key')`
})
