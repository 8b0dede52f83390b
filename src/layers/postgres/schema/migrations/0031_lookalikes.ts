import { readFileSync } from "node:fs"
import { Effect } from "effect"
import { SqlClient } from "effect/sql"

const file = new URL("../data/confusables.txt", import.meta.url)

const text = (codes: string): string =>
  String.fromCodePoint(...codes.split(" ").map((code) => Number.parseInt(code, 16)))

/** The prototype of each letter that looks like another one (UTS #39, confusables.txt). */
const prototypes = (): Readonly<Record<string, string>> => {
  const lines = readFileSync(file, "utf8").split("\n")
  const pairs = lines.flatMap((line) => {
    const [, source, target] = /^([0-9A-F]+) ; ([0-9A-F ]+)$/.exec(line) ?? []
    return source === undefined || target === undefined ? [] : [[text(source), text(target)] as const]
  })
  return Object.fromEntries(pairs)
}

const isIgnorable = (code: number): boolean =>
  // A lone surrogate is no character.
  (code < 0xd800 || code > 0xdfff) && /\p{Default_Ignorable_Code_Point}/u.test(String.fromCodePoint(code))

/** What shows nothing (Default_Ignorable_Code_Point of Unicode), as a bracket expression of PostgreSQL. */
const ignorable = (): string => {
  const codes = Array.from({ length: 0x11_0000 }, (_, code) => code).filter(isIgnorable)
  const first = codes.filter((code, index) => codes[index - 1] !== code - 1)
  const last = codes.filter((code, index) => codes[index + 1] !== code + 1)
  const escaped = (code = 0) => `\\U${code.toString(16).padStart(8, "0")}`
  return `[${first.map((code, index) => `${escaped(code)}-${escaped(last[index])}`).join("")}]`
}

/**
 * Names that look alike by the whole table of UTS #39, in place of some letters of three alphabets. A claimed agent holds
 * a name that no other one holds in any case, nor one that looks like it.
 */
export const lookalikes = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const literal = (value: string) => sql.literal(`'${value.replaceAll("'", "''")}'`)

  // The skeleton of UTS #39, 4.
  yield* sql`
    create function skeleton(name text) returns text language plpgsql immutable strict parallel safe as $body$
    declare
      prototypes constant jsonb := ${literal(JSON.stringify(prototypes()))};
    begin
      return coalesce((
        select normalize(string_agg(coalesce(prototypes ->> letter, letter), '' order by place), NFD)
          from string_to_table(
            regexp_replace(normalize(name, NFD), ${literal(ignorable())}, '', 'g'), null)
            with ordinality as letters(letter, place)), '');
    end
    $body$`
  // The same of names that differ in case, width or spaces.
  yield* sql`
    create function name_fold(name text) returns text language sql immutable strict parallel safe as $$
      select casefold(normalize(regexp_replace(btrim(name), '\\s+', ' ', 'g'), NFKC) collate pg_unicode_fast)
    $$`
  // The same of names that look alike, in capitals too.
  yield* sql`
    create or replace function name_key(name text) returns text language sql immutable strict parallel safe as $$
      select skeleton(name_fold(skeleton(normalize(regexp_replace(btrim(name), '\\s+', ' ', 'g'), NFKC))))
    $$`
  yield* sql`
    create or replace function agents_hold_name() returns trigger language plpgsql as $$
    declare
      key constant text := name_key(new.name);
    begin
      -- Claims take turns, so that none fails by the unique index: by one lock, since a statement may claim many agents.
      perform pg_advisory_xact_lock(hashtext('agents.held_name'), 0);
      if not exists (select 1 from agents where held_name = key)
         and not exists (select 1 from agents where held_name is not null and name_fold(name) = name_fold(new.name)) then
        new.held_name := key;
      end if;
      return new;
    end
    $$`
  yield* sql`update agents set held_name = null where held_name is not null`
  yield* sql`
    update agents a set held_name = k.key
      from (select id, name_key(name) as key,
                   row_number() over (partition by name_key(name) order by claimed_at, id) as of_key,
                   row_number() over (partition by name_fold(name) order by claimed_at, id) as of_fold
              from agents where claimed_at is not null) k
     where a.id = k.id and k.of_key = 1 and k.of_fold = 1`
  yield* sql`create index agents_name_fold on agents (name_fold(name)) where held_name is not null`
})
