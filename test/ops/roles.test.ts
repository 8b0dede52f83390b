/** The role that runs owns nothing, and may do with each table what the code needs and no more. */
import { assert, describe, it, layer } from "@effect/vitest"
import { Effect, Layer, Option, Redacted, Schema } from "effect"
import { SqlClient } from "effect/sql"
import * as Database from "../../src/layers/postgres/Database.ts"
import { findAll } from "../../src/layers/postgres/sql.ts"
import { migrations } from "../../src/layers/postgres/schema/index.ts"
import { privileges } from "../../src/layers/postgres/schema/privileges.ts"
import { oneIn } from "../support/breadth.ts"
import {
  asOwner,
  database,
  databaseIn,
  databaseOfCharacters,
  emptyDatabase,
  freshDatabase,
  ownersUrl,
  realTime,
  runnersUrl
} from "../support/database.ts"
import { metrics } from "../support/server.ts"
import { TelemetryRecorder, telemetryRecorder } from "../support/telemetryRecorder.ts"

const Names = Schema.Struct({ name: Schema.String })

/** Records that nobody may change: their own trigger refuses it. */
const records = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const rows = yield* findAll(Names)(sql`
    select distinct c.relname::text as name
      from pg_trigger t
      join pg_class c on c.oid = t.tgrelid
      join pg_proc p on p.oid = t.tgfoid
     where p.proname = 'reject_change' and pg_get_triggerdef(t.oid) like '%BEFORE DELETE OR UPDATE OR TRUNCATE%'
     order by 1`)
  return rows.map(({ name }) => name)
})

/** PostgreSQL's reason to refuse the statement. */
const refusal = (statement: string) =>
  SqlClient.SqlClient.use((sql) => Effect.flip(sql.unsafe(statement))).pipe(
    Effect.map(({ reason }) => (reason.cause instanceof Error ? reason.cause.message : String(reason.cause)))
  )

layer(database)("The role that runs", (it) => {
  it.effect("The privileges have a line for every table, view and sequence, identities' own aside", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const rows = yield* findAll(Names)(sql`
        select relname::text as name from pg_class
         where relnamespace = 'public'::regnamespace and relkind in ('r', 'p', 'v', 'm', 'S')
           and relname not in ('transfers_seq_seq', 'log_pending_id_seq', 'webhook_deliveries_place_seq')
         order by relname collate "C"`)
      assert.deepStrictEqual(
        Object.keys(privileges),
        rows.map(({ name }) => name)
      )
    })
  )

  it.effect("The role that runs owns nothing, is no superuser, and may become nobody else", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const found = yield* sql`
        select (select count(*)::int from pg_class where relowner = current_user::regrole),
               (select count(*)::int from pg_proc where proowner = current_user::regrole),
               (select count(*)::int from pg_auth_members where member = current_user::regrole),
               rolsuper, rolcreaterole, rolcreatedb, rolbypassrls
          from pg_roles where rolname = current_user`.values
      assert.deepStrictEqual(found, [[0, 0, 0, false, false, false, false]])
    })
  )

  it.effect("The role that runs changes and removes no record, whatever stands in its way beside", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const tables = yield* records
      assert.includeMembers(
        [...tables],
        ["predictions", "settlements", "transfers", "log_entries", "audit_log"]
      )
      for (const table of [...tables, "accounts", "agents", "challenges", "log_state"]) {
        const denied = new RegExp(`^(permission denied for|must be owner of) (table|relation) ${table}$`)
        const [column] = yield* sql`
          select attname from pg_attribute where attrelid = ${table}::regclass
             and attnum > 0 and attidentity = '' and attgenerated = '' order by attnum limit 1`.values
        if (table !== "log_state") {
          assert.match(yield* refusal(`update ${table} set ${column} = ${column}`), denied)
        }
        for (const statement of [
          `delete from ${table}`,
          `truncate ${table}`,
          `truncate ${table} cascade`,
          `alter table ${table} disable trigger user`,
          `alter table ${table} disable trigger all`,
          `alter table ${table} owner to current_user`,
          `alter table ${table} drop column ${column}`,
          `alter table ${table} rename to mislaid`,
          `drop table ${table} cascade`,
          `create rule nothing as on insert to ${table} do instead nothing`,
          `create trigger mine before insert on ${table} for each row execute function reject_change()`
        ]) {
          assert.match(yield* refusal(statement), denied, statement)
        }
      }
      const granted = yield* findAll(Schema.Struct({ name: Schema.String, what: Schema.String }))(sql`
        select t.name, p.what
          from unnest(${[...tables]}::text[]) as t (name)
         cross join unnest(array['update', 'delete', 'truncate', 'references', 'trigger', 'maintain']) as p (what)
         where has_table_privilege(t.name, p.what)
            or (p.what in ('update', 'references') and has_any_column_privilege(t.name, p.what))`)
      assert.deepStrictEqual(granted, [])
    })
  )

  it.effect("The role that runs adds no trigger, function or table in the way, and switches none off", () =>
    Effect.gen(function* () {
      for (const [statement, message] of [
        ["set session_replication_role = replica", /permission denied to set parameter/],
        [
          "select set_config('session_replication_role', 'replica', false)",
          /permission denied to set parameter/
        ],
        ["create table mine (n int)", /permission denied for schema/],
        ["create function f() returns int language sql as 'select 1'", /permission denied for schema/],
        [
          "create or replace function reject_change() returns trigger language plpgsql as 'begin return new; end'",
          /permission denied|must be owner/
        ],
        ["drop function reject_change() cascade", /must be owner of function/],
        ["alter function transfers_applied() security invoker", /must be owner of function/],
        ["create schema mine", /permission denied for database/],
        ["set role auspex", /permission denied to set role/],
        [
          "insert into audit_chain (number, kind, entry_id, hash) values (1, 'call', gen_random_uuid(), sha256(''))",
          /permission denied for table audit_chain/
        ],
        ["update audit_head set hash = sha256('')", /permission denied for table audit_head/],
        ["update accounts set posted = posted + 1", /permission denied for table accounts/],
        ["insert into accounts (id, kind) values ('pool:x', 'pool')", /permission denied for table accounts/],
        ["update agents set name = 'another'", /permission denied for table agents/],
        ["update challenges set question = 'another'", /permission denied for table challenges/],
        ["update accounts set kind = kind", /only transfers move credit/]
      ] as const) {
        assert.match(yield* refusal(statement), message, statement)
      }
    })
  )
})

const none = Option.none<Redacted.Redacted>()

/** The result of a start with these connections: the role that runs then, or why there is none. */
const started = (
  url: Redacted.Redacted,
  ownerUrl: Option.Option<Redacted.Redacted>,
  site: "global" | "cn" = "global"
) =>
  SqlClient.SqlClient.use(
    (sql) => sql`select current_user::text, max(migration_id) from effect_sql_migrations`.values
  ).pipe(
    Effect.provide(Database.layer({ url, ownerUrl, site, migrates: true }).pipe(Layer.provide(realTime)), {
      local: true
    }),
    Effect.map((rows) => String(rows[0])),
    Effect.catchTag("DatabaseMismatch", ({ message }) => Effect.succeed(message))
  )

const runs = `auspex_run,${Database.latestMigration}`

describe("A start", () => {
  it.effect("A start with both roles migrates as one and runs as the other, twice at once and again", () =>
    Effect.gen(function* () {
      const owner = yield* emptyDatabase
      const both = started(runnersUrl(owner), Option.some(owner))
      assert.deepStrictEqual(yield* Effect.all([both, both], { concurrency: 2 }), [runs, runs])
      assert.strictEqual(yield* both, runs)
      const denied = yield* refusal("create temporary table accounts (n int)").pipe(
        Effect.provide(Database.client(runnersUrl(owner)))
      )
      assert.match(denied, /permission denied to create temporary tables/)
    })
  )

  it.effect("A start takes over a database of one role, and takes back what was granted too much", () =>
    Effect.gen(function* () {
      const owner = yield* emptyDatabase
      const before = Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        yield* Database.migrate({ url: owner, site: "global" })
        yield* sql`grant all on predictions to auspex_run`
        yield* sql`grant create on schema public to public`
      })
      yield* Effect.provide(before, Database.client(owner))
      assert.strictEqual(yield* started(runnersUrl(owner), Option.some(owner)), runs)
      const denied = yield* refusal("delete from predictions").pipe(
        Effect.provide(Database.client(runnersUrl(owner)))
      )
      assert.strictEqual(denied, "permission denied for table predictions")
      const unmade = yield* refusal("create table mine (n int)").pipe(
        Effect.provide(Database.client(runnersUrl(owner)))
      )
      assert.strictEqual(unmade, "permission denied for schema public")
    })
  )

  it.effect(
    "A start as the role that runs works where the owner has migrated, and says in a line where not",
    () =>
      Effect.gen(function* () {
        const { lines } = yield* TelemetryRecorder
        assert.strictEqual(yield* started(yield* freshDatabase, none), runs)
        assert.deepStrictEqual(
          lines.filter((line) => line.includes("switch off")),
          []
        )
        assert.match(
          yield* started(yield* freshDatabase, none, "cn"),
          /^The database serves the site "global", AUSPEX_SITE is "cn"/
        )
        const empty = yield* emptyDatabase
        assert.match(
          yield* started(runnersUrl(empty), none),
          /^The role "auspex_run" of DATABASE_URL finds no tables/
        )
        yield* Database.migrate({ url: empty, site: "global" })
        assert.match(
          yield* started(runnersUrl(empty), none),
          /^The role "auspex_run" of DATABASE_URL may not use the tables of Auspex: start once with AUSPEX_MIGRATION_URL, by which "auspex" lets it\.$/
        )
        const unmigrated = Effect.gen(function* () {
          const sql = yield* SqlClient.SqlClient
          yield* sql`delete from effect_sql_migrations`
          yield* sql`grant select on effect_sql_migrations to auspex_run`
        })
        yield* Effect.provide(unmigrated, Database.client(empty))
        assert.match(
          yield* started(runnersUrl(empty), none),
          new RegExp(
            `^The database has migration 0, this program needs ${Database.latestMigration}, and the role "auspex_run"`
          )
        )
      }).pipe(Effect.provide(telemetryRecorder))
  )

  it.effect("A start as the owner alone migrates, and warns in a line that its role can do too much", () =>
    Effect.gen(function* () {
      const { lines } = yield* TelemetryRecorder
      const owner = yield* emptyDatabase
      assert.strictEqual(yield* started(owner, none), `auspex,${Database.latestMigration}`)
      assert.strictEqual(
        lines.filter((line) => line.includes("can switch off what guards the records")).length,
        1
      )
      // The same role twice is the same as once: nothing is taken from the role to which everything belongs.
      assert.strictEqual(yield* started(owner, Option.some(owner)), `auspex,${Database.latestMigration}`)
      assert.strictEqual(yield* started(owner, none), `auspex,${Database.latestMigration}`)
    }).pipe(Effect.provide(telemetryRecorder))
  )

  it.effect("A start says in a line that the role for migrations is not the owner, or is not let in", () =>
    Effect.gen(function* () {
      const url = yield* freshDatabase
      assert.match(
        yield* started(url, Option.some(url)),
        /^The tables of the database belong to the role "auspex", and AUSPEX_MIGRATION_URL is of "auspex_run"/
      )
      const wrong = new URL(Redacted.value(ownersUrl(url)))
      wrong.password = "wrong"
      assert.match(
        yield* started(url, Option.some(Redacted.make(wrong.href))),
        /^The PostgreSQL of AUSPEX_MIGRATION_URL cannot be used: .*password/
      )
    })
  )
})

describe("A migration", () => {
  it.effect("A migration tells in one line that tables are made anew, and of one with rows each index", () =>
    Effect.gen(function* () {
      const { lines } = yield* TelemetryRecorder
      const url = yield* emptyDatabase
      const built = () => lines.filter((line) => line.includes("is built, which keeps nobody from")).length
      yield* Database.migrate({ url, site: "global" })
      assert.lengthOf(
        lines.filter((line) => line.includes("the database is empty: its tables are made")),
        1
      )
      assert.strictEqual(built(), 0)
      const more = {
        indexes: [{ name: "events_again", definition: "on events (title)" }],
        run: Effect.void,
        minProgram: 1
      }
      yield* Database.migrate({ url, site: "global", known: { ...migrations, "9999_more": more } })
      assert.strictEqual(built(), 1)
    }).pipe(Effect.provide(telemetryRecorder))
  )
})

describe("A server before PostgreSQL 18", () => {
  it.effect("A server before PostgreSQL 18 is refused in a line", () =>
    Effect.gen(function* () {
      const owner = yield* databaseIn("UTF8")
      // The server tells its version as an older one would.
      const older = SqlClient.SqlClient.use((sql) =>
        Effect.andThen(
          sql`create function public.current_setting(text) returns text language sql as $$
                select case $1 when 'server_version_num' then '170009' when 'server_version' then '17.9'
                       else pg_catalog.current_setting($1) end $$`,
          sql`do $$ begin
                execute format('alter database %I set search_path = public, pg_catalog', current_database());
              end $$`
        )
      )
      yield* Effect.provide(older, Database.client(owner))
      assert.strictEqual(
        yield* started(owner, none),
        "The database server is PostgreSQL 17.9: Auspex needs 18 or later."
      )
    })
  )
})

describe("A database in another encoding than UTF-8", () => {
  it.effect.each(oneIn(3, ["LATIN1", "SQL_ASCII", "EUC_CN"]))(
    "A database not in UTF-8 is refused in a line: %s",
    (encoding) =>
      Effect.gen(function* () {
        const owner = yield* databaseIn(encoding)
        assert.strictEqual(
          yield* started(owner, none),
          `The database is encoded in ${encoding}: make one with encoding 'UTF8'.`
        )
      })
  )
})

/** Values of LC_CTYPE, and whether each knows letters. */
const localesAndLetters: ReadonlyArray<readonly [characters: string, knows: 0 | 1]> = [
  ["C", 0],
  ["C.UTF-8", 1]
]

describe("A database whose LC_CTYPE knows ASCII alone", () => {
  it.effect.each(oneIn(2, localesAndLetters))(
    "A database with LC_CTYPE %s is reported at the start and as a metric",
    ([characters, knows]) =>
      Effect.gen(function* () {
        const { lines } = yield* TelemetryRecorder
        const owner = ownersUrl(yield* databaseOfCharacters(characters))
        assert.strictEqual(yield* started(owner, none), `auspex,${Database.latestMigration}`)
        const warnings = lines.filter((line) => line.includes("forgives mistakes in ASCII words only"))
        assert.lengthOf(warnings, 1 - knows)
        assert.match(yield* metrics, new RegExp(`^auspex_database_knows_letters ${knows}$`, "m"))
      }).pipe(Effect.provide(telemetryRecorder))
  )
})

describe("A database with a schema from before the first release", () => {
  it.effect("A schema from before the first release is refused, to the owner and to the role that runs", () =>
    Effect.gen(function* () {
      const running = yield* freshDatabase
      const owner = ownersUrl(running)
      const left = SqlClient.SqlClient.use((sql) =>
        Effect.andThen(
          sql`update effect_sql_migrations set name = 'agents'`,
          sql`insert into effect_sql_migrations (migration_id, name) values (43, 'running_role')`
        )
      )
      yield* Effect.provide(left, Database.client(owner))
      const refused =
        /^The database has a schema from before the first release, .*: start with an empty database\.$/
      assert.match(yield* started(owner, none), refused)
      assert.match(yield* started(running, Option.some(owner)), refused)
      assert.match(yield* started(running, none), refused)
    })
  )
})

describe("A table that a migration of another role made", () => {
  it.effect("A table of another role's migration does not stop the role that runs from starting", () =>
    Effect.gen(function* () {
      const url = yield* freshDatabase
      yield* Effect.provide(
        SqlClient.SqlClient.use((sql) => asOwner(sql`create table newer (n int)`)),
        Database.client(url)
      )
      assert.strictEqual(yield* started(url, none), runs)
    })
  )
})
