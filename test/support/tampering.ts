/**
 * Changes of records without any guard: triggers are switched off, and constraints dropped, in a database that is discarded
 * afterwards.
 */
import { Effect, Schema } from "effect"
import { SqlClient } from "effect/sql"
import type { Statement } from "effect/sql"
import { findAll, findOne } from "../../src/layers/postgres/sql.ts"
import { Audit } from "../../src/services/Audit.ts"
import { asOwner } from "./database.ts"

const Column = Schema.Struct({ table: Schema.String, column: Schema.String, type: Schema.String })
export type Column = typeof Column.Type

const Names = Schema.Struct({ table: Schema.String, name: Schema.String })

/** Runs work as the tables' owner. Within work of the owner it joins that transaction, since another one would wait for its locks. */
const asTheirOwner = <A, E, R>(work: Effect.Effect<A, E, R>) =>
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    const { owns } = yield* findOne(Schema.Struct({ owns: Schema.Boolean }))(
      sql`select relowner = current_user::regrole as owns from pg_class where oid = 'agents'::regclass`
    )
    return yield* owns ? work : asOwner(work)
  })

/** Removes all constraints but keys from these tables; `restored` brings back their present content. */
export const unconstrained = Effect.fnUntraced(function* (tables: ReadonlyArray<string>) {
  const sql = yield* SqlClient.SqlClient
  const constraints = yield* findAll(Names)(sql`
    select conrelid::regclass::text as table, conname as name from pg_constraint
     where (conrelid::regclass::text in ${sql.in(tables)} and contype in ('c', 'f', 'x'))
        or (confrelid::regclass::text in ${sql.in(tables)} and contype = 'f')`)
  for (const { name, table } of constraints)
    yield* sql`alter table ${sql(table)} drop constraint ${sql(name)}`
  for (const table of tables) yield* sql`create table ${sql(`saved_${table}`)} as table ${sql(table)}`
}, asTheirOwner)

/** Removes all guards of these tables; `restored` brings back their present content. */
export const unguarded = Effect.fnUntraced(function* (tables: ReadonlyArray<string>) {
  const sql = yield* SqlClient.SqlClient
  for (const table of tables) yield* sql`alter table ${sql(table)} disable trigger user`
  yield* unconstrained(tables)
}, asTheirOwner)

/** Runs a change as the owner of the tables, in one transaction: the triggers are off for it, and on again afterwards. */
export const withoutTriggers = <A, E, R>(tables: ReadonlyArray<string>, change: Effect.Effect<A, E, R>) =>
  Effect.flatMap(SqlClient.SqlClient, (sql) => {
    const all = (state: "disable" | "enable") =>
      Effect.forEach(tables, (table) => sql`alter table ${sql(table)} ${sql.literal(state)} trigger user`)
    return asTheirOwner(all("disable").pipe(Effect.andThen(change), Effect.tap(all("enable"))))
  })

/** The differences that the check of stats finds after a change of a score that triggers reject; the change is rolled back. */
export const differencesAfter = Effect.fnUntraced(function* (
  tamper: (sql: SqlClient.SqlClient) => Statement.Statement<object>
) {
  const sql = yield* SqlClient.SqlClient
  return yield* Effect.gen(function* () {
    yield* Effect.orDie(sql`alter table prediction_scores disable trigger user`)
    yield* Effect.orDie(tamper(sql))
    const { differences } = yield* Audit.use(({ verifyStats }) => verifyStats)
    return yield* Effect.fail(differences)
  }).pipe(asOwner, Effect.catchTag("SqlError", Effect.die), Effect.flip)
})

/** Every column of these tables. */
export const columnsOf = Effect.fnUntraced(function* (tables: ReadonlyArray<string>) {
  const sql = yield* SqlClient.SqlClient
  return yield* findAll(Column)(sql`
    select c.table_name::text as table, c.column_name::text as column, c.udt_name::text as type
      from information_schema.columns c
     where c.table_schema = 'public' and c.table_name in ${sql.in(tables)}
     order by c.table_name, c.ordinal_position`)
})

/** Another value of a type, as close to the old one as possible: one byte, the least amount, the least time. */
const changed = (type: string, column: string): string => {
  switch (type) {
    case "text":
      return `coalesce(overlay(${column} placing case substr(${column}, length(${column}), 1) when 'x' then 'y' else 'x' end
                               from length(${column}) for 1), 'x')`
    case "uuid":
      return `coalesce((overlay(${column}::text placing case right(${column}::text, 1) when 'a' then 'b' else 'a' end
                                from 36 for 1))::uuid, '0190f000-0000-7000-8000-00000000000a')`
    case "bytea":
      return `coalesce(set_byte(${column}, length(${column}) / 2, get_byte(${column}, length(${column}) / 2) # 1), '\\x00')`
    case "numeric":
      return `coalesce(${column} + 0.00000000000000000001, 1)`
    case "_numeric":
      return `coalesce(array_append(${column}, 1e20), array[1]::numeric[])`
    case "_text":
      return `coalesce(array_append(${column}, 'x'), array['x'])`
    case "timestamptz":
      return `coalesce(${column} + interval '1 microsecond', '2026-01-01')`
    case "date":
      return `coalesce(${column} + 1, '2026-01-01')`
    case "bool":
      return `coalesce(not ${column}, true)`
    case "int8multirange":
      return `${column} + '{[1,65536)}'`
    case "int4":
    case "int8":
      // This changes one byte, to a value that no other row has.
      return `coalesce(${column} + 65536, 65536)`
    default:
      return `coalesce(${column} + 1, 1)`
  }
}

const Row = Schema.Struct({ row: Schema.Record(Schema.String, Schema.Unknown) })

/** Changes a column of the first row that meets the condition; returns the old row. */
export const tamper = Effect.fnUntraced(function* ({ column, table, type }: Column, where: string) {
  const sql = yield* SqlClient.SqlClient
  const { row } = yield* findOne(Row)(sql`
    with one as (
      select ctid, to_jsonb(t) as row from ${sql(table)} t where ${sql.literal(where)} order by t::text limit 1
    )
    update ${sql(table)} t set ${sql(column)} = ${sql.literal(changed(type, `t.${column}`))}
      from one where t.ctid = one.ctid
    returning one.row`)
  return row
}, asTheirOwner)

/** Makes a challenge, whose entry is pending, one from the time before rules were frozen. */
export const createdBefore = Effect.fnUntraced(function* (challengeId: string) {
  const sql = yield* SqlClient.SqlClient
  yield* withoutTriggers(
    ["challenges", "log_pending"],
    Effect.andThen(
      sql`update challenges set pool_owner_rule = null, rule_version = null where id = ${challengeId}::uuid`,
      sql`
        update log_pending
           set entry = convert_to(
             regexp_replace(convert_from(entry, 'UTF8'), '"(pool_owner_rule|rule_version)":[^,]*,', ''), 'UTF8')
         where challenge_id = ${challengeId}::uuid and type = 'challenge.create'`
    )
  )
})

/** Makes a price event, whose entry is pending, one of the rules with this number. */
export const underRule = Effect.fnUntraced(function* (challengeId: string, rule: number) {
  const sql = yield* SqlClient.SqlClient
  yield* withoutTriggers(
    ["challenges", "log_pending"],
    Effect.andThen(
      sql`update challenges set rule_version = ${rule}::smallint where id = ${challengeId}::uuid`,
      sql`
        update log_pending
           set entry = convert_to(
             regexp_replace(convert_from(entry, 'UTF8'), '"rule_version":[^,]*', ${`"rule_version":${rule}`}), 'UTF8')
         where challenge_id = ${challengeId}::uuid and type = 'challenge.create'`
    )
  )
})

/** Deletes the first row that meets the condition. */
export const deleteOne = Effect.fnUntraced(function* (table: string, where: string) {
  const sql = yield* SqlClient.SqlClient
  yield* sql`
    delete from ${sql(table)}
     where ctid = (select ctid from ${sql(table)} t where ${sql.literal(where)} order by t::text limit 1)`
}, asTheirOwner)

/** Adds a row like the first one that meets the condition, with other values in some columns. */
export const addAnother = Effect.fnUntraced(function* (
  table: string,
  where: string,
  different: Readonly<Record<string, string>>
) {
  const sql = yield* SqlClient.SqlClient
  const values = Object.entries(different).flatMap(([name, value]) => [`'${name}'`, value])
  yield* sql`
    insert into ${sql(table)} overriding system value
    select (jsonb_populate_record(t, jsonb_build_object(${sql.literal(values.join(", "))}))).*
      from ${sql(table)} t where ${sql.literal(where)} order by t::text limit 1`
}, asTheirOwner)

/** Restores the content from before the guards were removed. */
export const restored = Effect.fnUntraced(function* (table: string) {
  const sql = yield* SqlClient.SqlClient
  // Generated columns are computed again.
  const { columns } = yield* findOne(Schema.Struct({ columns: Schema.String }))(sql`
    select string_agg(quote_ident(column_name), ', ') as columns from information_schema.columns
     where table_schema = 'public' and table_name = ${table} and is_generated = 'NEVER'`)
  yield* sql`delete from ${sql(table)}`
  yield* sql`
    insert into ${sql(table)} (${sql.literal(columns)}) overriding system value
    select ${sql.literal(columns)} from ${sql(`saved_${table}`)}`
}, asTheirOwner)
