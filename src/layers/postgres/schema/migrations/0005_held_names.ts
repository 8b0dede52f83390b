import { Effect } from "effect"
import { SqlClient } from "effect/sql"

/** Letters that look like Latin ones, after case folding, each with its Latin letter: Cyrillic, Greek, Latin and digits. */
const lookalikes = [
  ["авсԁеһніјкморԛѕтѵԝху", "abcdehhljkmopqstvwxy"],
  ["αβεηικμνορτυχζ", "abehlkmnoptyxz"],
  ["ıi1|0ɑɡ", "lllloag"]
] as const

/**
 * The first claimed agent with a name holds it: no other agent holds a name that reads the same. A name is permanent, and claims
 * never fail because of one: a later agent is shown with a tag.
 */
export const heldNames = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const from = sql.literal(`'${lookalikes.map(([letters]) => letters).join("")}'`)
  const to = sql.literal(`'${lookalikes.map(([, latin]) => latin).join("")}'`)

  // Names that read alike are equal here, whatever their case, their spaces and their alphabet.
  yield* sql`
    create function name_key(name text) returns text language sql immutable strict parallel safe as $$
      select translate(
        casefold(normalize(regexp_replace(btrim(name), '\\s+', ' ', 'g'), NFKC) collate pg_unicode_fast), ${from}, ${to})
    $$`
  yield* sql`alter table agents add column held_name text`
  yield* sql`
    update agents a set held_name = h.key
      from (select distinct on (name_key(name)) id, name_key(name) as key from agents
             where claimed_at is not null order by name_key(name), claimed_at, id) h
     where a.id = h.id`
  yield* sql`create unique index agents_held_name on agents (held_name) where held_name is not null`
  yield* sql`
    create function agents_hold_name() returns trigger language plpgsql as $$
    declare
      key constant text := name_key(new.name);
    begin
      -- Claims take turns, so that none fails by the unique index: they use one lock, since a statement may claim many agents.
      perform pg_advisory_xact_lock(hashtext('agents.held_name'), 0);
      if not exists (select 1 from agents where held_name = key) then
        new.held_name := key;
      end if;
      return new;
    end
    $$`
  yield* sql`
    create trigger agents_hold_name before insert or update of claimed_at on agents for each row
      when (new.claimed_at is not null and new.held_name is null) execute function agents_hold_name()`
})
