import { readFileSync } from "node:fs"
import { Effect } from "effect"
import { SqlClient } from "effect/sql"

const file = new URL("../data/confusables.txt", import.meta.url)

const text = (codes: string): string =>
  String.fromCodePoint(...codes.split(" ").map((code) => Number.parseInt(code, 16)))

/** Letters that look like others, each with its prototype (UTS #39, confusables.txt). */
const confusables = (): ReadonlyArray<readonly [letter: string, prototype: string]> =>
  readFileSync(file, "utf8")
    .split("\n")
    .flatMap((line) => {
      const [, source, target] = /^([0-9A-F]+) ; ([0-9A-F ]+)$/.exec(line) ?? []
      return source === undefined || target === undefined ? [] : [[text(source), text(target)] as const]
    })

const isIgnorable = (code: number): boolean =>
  // A lone surrogate is no character.
  (code < 0xd800 || code > 0xdfff) && /\p{Default_Ignorable_Code_Point}/u.test(String.fromCodePoint(code))

/** Characters that are invisible (Default_Ignorable_Code_Point of Unicode). */
const ignorables = (): ReadonlyArray<string> =>
  Array.from({ length: 0x11_0000 }, (_, code) => code)
    .filter(isIgnorable)
    .map((code) => String.fromCodePoint(code))

/**
 * Names that look alike by the whole table of UTS #39, which replaces some letters of three alphabets. A claimed agent holds a name
 * that no other agent holds in any case, nor one that looks like it. `0034_held_anew` fills the columns, since every reader of agents
 * would wait for that here.
 */
export const lookalikes = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  yield* sql`create table confusables (letter text primary key, prototype text not null)`
  const hidden = ignorables()
  const letters = [
    ...confusables().filter(([letter]) => !hidden.includes(letter)),
    ...hidden.map((letter) => [letter, ""] as const)
  ]
  yield* sql`
    insert into confusables (letter, prototype)
    select * from unnest(${letters.map(([letter]) => letter)}::text[], ${letters.map(([, prototype]) => prototype)}::text[])`
  yield* sql`analyze confusables`
  // The skeleton of UTS #39, 4.
  yield* sql`
    create function skeleton(name text) returns text language plpgsql stable strict parallel safe as $body$
    begin
      return coalesce((
        select normalize(string_agg(
                 coalesce((select c.prototype from confusables c where c.letter = l.letter), l.letter), ''
                 order by l.place), NFD)
          from string_to_table(normalize(name, NFD), null) with ordinality as l(letter, place)), '');
    end
    $body$`
  // Names that differ only in case, width or spaces are equal here.
  yield* sql`
    create function name_fold(name text) returns text language sql immutable strict parallel safe as $$
      select casefold(normalize(regexp_replace(btrim(name), '\\s+', ' ', 'g'), NFKC) collate pg_unicode_fast)
    $$`
  // Names that look alike are equal here, in capitals too.
  yield* sql`
    create or replace function name_key(name text) returns text language sql stable strict parallel safe as $$
      select skeleton(name_fold(skeleton(normalize(regexp_replace(btrim(name), '\\s+', ' ', 'g'), NFKC))))
    $$`
  yield* sql`alter table agents add column held_fold text`
  yield* sql`
    create or replace function agents_hold_name() returns trigger language plpgsql as $$
    declare
      key constant text := name_key(new.name);
      fold constant text := name_fold(new.name);
    begin
      -- Claims take turns, so that none fails by the unique indexes: they use one lock, since a statement may claim many agents.
      perform pg_advisory_xact_lock(hashtext('agents.held_name'), 0);
      if not exists (select 1 from agents where held_name = key or held_fold = fold) then
        new.held_name := key;
        new.held_fold := fold;
      end if;
      return new;
    end
    $$`
  yield* sql`create unique index agents_held_fold on agents (held_fold) where held_fold is not null`
})
