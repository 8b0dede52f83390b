/** The host to which a connection goes, whether by TLS, and the connections that are not kept. */
import { assert, describe, it } from "@effect/vitest"
import { Effect, Exit, Option, Redacted } from "effect"
import { SqlClient } from "effect/sql"
import { inject } from "vitest"
import { connectTo } from "../../src/layers/postgres/connection.ts"
import * as Database from "../../src/layers/postgres/Database.ts"
import { orDie } from "../../src/layers/postgres/sql.ts"
import { rootCause, storeUnavailableIn } from "../../src/services/domain/errors.ts"
import { emptyDatabase, freshDatabase } from "../support/database.ts"
import { freePort } from "../support/process.ts"
import { makeFront, rootFile, strangerFile } from "../support/postgresFront.ts"
import type { Front } from "../support/postgresFront.ts"

/** Says that a connection came about and answers, or why it did not. */
const outcomeOf = (url: Redacted.Redacted) =>
  Effect.gen(function* () {
    const { connect } = yield* connectTo(url, 1)
    const { connection } = yield* connect({})
    yield* connection.query("select 1")
    return "connected"
  }).pipe(
    Effect.scoped,
    Effect.catch((error) => Effect.succeed(rootCause(error).message))
  )

const root = "sslrootcert=ROOT"
const stranger = "sslrootcert=STRANGER"

type Case = readonly [
  query: string,
  behaviour: Partial<Front["behaviour"]>,
  /** The way in which each session was carried, and the outcome. */
  sessions: ReadonlyArray<"TLS" | "plain">,
  outcome: string | RegExp,
  host?: "127.0.0.1"
]

const offered = { tls: "offered" } as const
const connected = "connected"

const cases: ReadonlyArray<Case> = [
  ["", offered, ["TLS"], connected],
  ["", {}, ["plain"], connected],
  ["sslmode=disable", offered, ["plain"], connected],
  ["sslmode=allow", offered, ["plain"], connected],
  ["sslmode=allow", { ...offered, lets: "encrypted" }, ["plain", "TLS"], connected],
  ["sslmode=prefer", { tls: "broken" }, ["plain"], connected],
  ["sslmode=prefer", { ...offered, lets: "plain" }, ["TLS", "plain"], connected],
  [`sslmode=prefer&${stranger}`, offered, ["plain"], connected],
  ["sslmode=require", offered, ["TLS"], connected],
  ["sslmode=require", {}, [], /does not support TLS/],
  ["sslmode=require", { tls: "broken" }, [], /./],
  ["sslmode=require", { ...offered, lets: "plain" }, ["TLS"], /no pg_hba.conf entry/],
  [`sslmode=require&${root}`, offered, ["TLS"], connected],
  [`sslmode=require&${stranger}`, offered, [], /self-signed certificate/],
  [`sslmode=verify-ca&${root}`, offered, ["TLS"], connected, "127.0.0.1"],
  [`sslmode=verify-ca&${stranger}`, offered, [], /self-signed certificate/],
  [`sslmode=verify-full&${root}`, offered, ["TLS"], connected],
  [`sslmode=verify-full&${root}`, offered, [], /IP: 127.0.0.1 is not in the cert's list/, "127.0.0.1"],
  ["sslrootcert=system", offered, [], /self-signed certificate/],
  ["sslrootcert=/nowhere/root.pem", offered, [], /^sslrootcert=\/nowhere\/root\.pem: ENOENT/]
]

describe("A connection", () => {
  it.live.each(cases)("A connection keeps sslmode as libpq does: %s, with a server that is %o", (each) =>
    Effect.gen(function* () {
      const [query, behaviour, sessions, outcome, host = "localhost"] = each
      const front = yield* makeFront(Redacted.make(inject("runningUrl")), behaviour)
      const files = query.replace("ROOT", yield* rootFile).replace("STRANGER", yield* strangerFile)
      assert.match(yield* outcomeOf(front.url(host, files)), new RegExp(outcome))
      assert.deepStrictEqual(
        front.sessions.map(({ isEncrypted }) => (isEncrypted ? "TLS" : "plain")),
        sessions
      )
    })
  )

  it.live("A connection goes to the first of several hosts that takes writes, as does the next one", () =>
    Effect.gen(function* () {
      const database = Redacted.make(inject("runningUrl"))
      const standby = yield* makeFront(database, { isReadOnly: true })
      const primary = yield* makeFront(database)
      const { connect } = yield* connectTo(urlOf([yield* freePort, standby.port, primary.port]), 1)
      const connected = Effect.scoped(connect({}))
      yield* connected
      yield* connected
      assert.deepStrictEqual([standby.sessions.length, primary.sessions.length], [1, 2])
      primary.behaviour.isReadOnly = true
      standby.behaviour.isReadOnly = false
      yield* connected
      assert.deepStrictEqual([standby.sessions.length, primary.sessions.length], [2, 3])
      standby.behaviour.isReadOnly = true
      const { message } = rootCause(yield* Effect.flip(connected))
      assert.match(
        message,
        /^127\.0\.0\.1:\d+: it takes no writes; 127\.0\.0\.1:\d+: it takes no writes; 127\.0\.0\.1:\d+: .*ECONNREFUSED/
      )
    })
  )

  it.live("A connection waits connect_timeout for a host that says nothing, then tries the next", () =>
    Effect.gen(function* () {
      const database = Redacted.make(inject("runningUrl"))
      const mute = yield* makeFront(database, { tls: "silent" })
      const primary = yield* makeFront(database)
      assert.strictEqual(yield* outcomeOf(urlOf([mute.port, primary.port], "?connect_timeout=1")), connected)
      assert.strictEqual(yield* outcomeOf(urlOf([mute.port], "?connect_timeout=1")), "Connection timed out")
      assert.strictEqual(yield* outcomeOf(urlOf([primary.port], "?connect_timeout=0")), connected)
    })
  )
})

const assertUnavailable = (exit: Exit.Exit<unknown>) =>
  assert.lengthOf(Exit.isFailure(exit) ? storeUnavailableIn(exit.cause) : [], 1, String(exit))

const urlOf = (ports: ReadonlyArray<number>, query = "") => {
  const { password, pathname, username } = new URL(inject("runningUrl"))
  const hosts = ports.map((port) => `127.0.0.1:${port}`).join(",")
  return Redacted.make(`postgres://${username}:${password}@${hosts}${pathname}${query}`)
}

describe("A connection that is not kept", () => {
  it.live("A connection is not kept when its server takes no more writes, nor are others to it", () =>
    Effect.gen(function* () {
      const front = yield* makeFront(yield* emptyDatabase)
      yield* Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        const four = <A>(effect: Effect.Effect<A>) =>
          Effect.all([effect, effect, effect, effect], { concurrency: "unbounded" })
        const write = orDie(sql`insert into notes values (1)`)
        yield* sql`create table notes (n int)`
        yield* sql`select pg_terminate_backend(pg_backend_pid())`.pipe(Effect.ignore)
        front.behaviour.isReadOnly = true
        yield* four(orDie(sql`select pg_sleep(0.1)`))
        front.behaviour.isReadOnly = false
        assertUnavailable(yield* Effect.exit(write))
        yield* four(write)
      }).pipe(Effect.provide(Database.client(front.url("127.0.0.1"))))
    })
  )

  it.live.each([
    ["53100", false],
    ["57P03", false],
    ["23505", true]
  ] as const)("A connection after SQLSTATE %s is kept: %s", ([state, isKept]) =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const pid = Effect.map(sql`select pg_backend_pid()`.values, ([row]) => row?.[0])
      const before = yield* pid
      yield* sql`do ${sql.literal(`$$ begin raise sqlstate '${state}'; end $$`)}`.pipe(Effect.flip)
      assert.strictEqual((yield* pid) === before, isKept)
    }).pipe(Effect.provide(Database.client(Redacted.make(inject("runningUrl")))))
  )
})

describe("A connection behind a pooler", () => {
  it.live(
    "Nothing is sent at a session's start behind a pooler; the role has the settings, or the start stops",
    () =>
      Effect.gen(function* () {
        const url = yield* freshDatabase
        // PgBouncer takes these parameters.
        const takes = new Set(["user", "database", "application_name", "client_encoding"])
        const front = yield* makeFront(url, { takes })
        const start = (settingsFrom: "role" | "connection", owner = Option.none<Redacted.Redacted>()) =>
          Effect.void.pipe(
            Effect.provide(
              Database.layer({
                url: Option.isSome(owner) ? url : front.url("127.0.0.1"),
                ownerUrl: owner,
                site: "global",
                migrates: true,
                settingsFrom
              }),
              { local: true }
            )
          )
        assert.match(
          String(yield* Effect.flip(start("connection"))),
          /PostgreSQL of DATABASE_URL cannot be used: unsupported startup parameter: \w+\. .*AUSPEX_DATABASE_SETTINGS=role/
        )
        assert.match(
          String(yield* Effect.flip(start("connection", Option.some(front.url("127.0.0.1"))))),
          /AUSPEX_MIGRATION_URL cannot be used: unsupported startup parameter: \w+\. .*PostgreSQL itself/
        )
        const lacking = String(yield* Effect.flip(start("role")))
        const statements = lacking.match(/alter role "auspex_run" set \w+ = '\w+';/g) ?? []
        assert.include(statements, `alter role "auspex_run" set statement_timeout = '5000';`)
        const inDatabase = ` in database ${new URL(Redacted.value(url)).pathname.slice(1)} set `
        yield* Effect.gen(function* () {
          const sql = yield* SqlClient.SqlClient
          for (const statement of statements) yield* sql.unsafe(statement.replace(" set ", inDatabase))
        }).pipe(Effect.provide(Database.client(url)))
        yield* start("role")
        // `npm run migrate` runs with the settings of such an instance.
        const { ran } = yield* Database.prepare({
          url: front.url("127.0.0.1"),
          ownerUrl: Option.none(),
          site: "global",
          settingsFrom: "role"
        })
        assert.deepStrictEqual(ran, [])
      })
  )
})
