import { spawn } from "node:child_process"
import type { ChildProcess } from "node:child_process"
import { once } from "node:events"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import * as NodeServices from "@effect/platform-node/NodeServices"
import { PgClient } from "@effect/sql-pg"
import { assert, describe, it } from "@effect/vitest"
import { Effect, FileSystem, Redacted, Schedule } from "effect"
import type { PlatformError, Scope } from "effect"
import { inject } from "vitest"
import { start } from "../../src/layers/embedded/EmbeddedPostgres.ts"
import type { RunningPostgres } from "../../src/layers/embedded/EmbeddedPostgres.ts"
import { isFull } from "../support/breadth.ts"
import { TelemetryRecorder, telemetryRecorder, spanText } from "../support/telemetryRecorder.ts"

const isRoot = process.getuid?.() === 0

const settings = { fsync: "off" }

const soon = Schedule.spaced("10 millis")

const temporary = Effect.gen(function* () {
  const fs = yield* FileSystem.FileSystem
  const directory = yield* fs.makeTempDirectoryScoped({ directory: inject("scratch"), prefix: "embedded-" })
  // Where the test runs as root, PostgreSQL runs as an account that must be able to enter.
  yield* fs.chmod(directory, 0o755)
  return directory
})

const query = (postgres: Pick<RunningPostgres, "ownerUrl">, statement: string) =>
  Effect.gen(function* () {
    const sql = yield* PgClient.PgClient
    return yield* sql.unsafe(statement).values
  }).pipe(Effect.provide(PgClient.layer({ url: postgres.ownerUrl, maxConnections: 1 }), { local: true }))

/** One start for one statement. */
const visit = (dataDir: string, statement: string) =>
  start({ dataDir, settings }).pipe(
    Effect.flatMap((postgres) => query(postgres, statement)),
    Effect.scoped
  )

const refusal = (dataDir: string) =>
  start({ dataDir, settings }).pipe(
    Effect.scoped,
    Effect.flip,
    Effect.map((error) => error.message)
  )

const holder = fileURLToPath(new URL("../support/holdCluster.ts", import.meta.url))

/** Another program that starts the same cluster. */
const program = (dataDir: string) =>
  Effect.acquireRelease(
    Effect.sync(() => spawn(process.execPath, [holder, dataDir], { stdio: ["ignore", "pipe", "inherit"] })),
    (child) => Effect.sync(() => child.kill("SIGKILL"))
  )

const untilReady = ({ stdout }: ChildProcess) =>
  Effect.promise(async () => (stdout === null ? undefined : once(stdout, "data")))

const killed = (child: ChildProcess) =>
  Effect.promise(async () => {
    const exit = once(child, "exit")
    child.kill("SIGKILL")
    await exit
  })

type Check<E> = Effect.Effect<void, E | PlatformError.PlatformError, FileSystem.FileSystem | Scope.Scope>

const rule = <E>(name: string, check: Check<E>) =>
  it.live(name, () => Effect.provide(check, NodeServices.layer))

/** Cases that few machines ever see run in full only: each makes a cluster of its own. */
const rarely = <E>(name: string, check: Check<E>) =>
  it.live.runIf(isFull)(name, () => Effect.provide(check, NodeServices.layer))

describe("The embedded PostgreSQL", () => {
  rarely(
    "The embedded PostgreSQL says its password in no trace and no log",
    Effect.gen(function* () {
      const { lines, spans } = yield* TelemetryRecorder
      const { ownerUrl, url } = yield* start({ dataDir: join(yield* temporary, "data"), settings })
      assert.isAbove(spans.length, 0)
      for (const { password } of [url, ownerUrl].map((each) => new URL(Redacted.value(each)))) {
        assert.isAbove(password.length, 20)
        for (const text of [...lines, ...spans.map(spanText)]) assert.notInclude(text, password)
      }
    }).pipe(Effect.scoped, Effect.provide(telemetryRecorder))
  )

  rule(
    "The first start makes a safe cluster on 127.0.0.1 alone, and the second start has its rows",
    Effect.gen(function* () {
      const dataDir = join(yield* temporary, "data")
      const pid = yield* Effect.gen(function* () {
        const postgres = yield* start({ dataDir })
        const shown = yield* query(
          postgres,
          `select current_setting('listen_addresses'), current_setting('data_checksums'), current_setting('fsync'),
                  current_setting('timezone'), current_setting('server_encoding'), current_setting('is_superuser'),
                  current_database()`
        )
        assert.deepStrictEqual(shown, [["127.0.0.1", "on", "on", "UTC", "UTF8", "off", "auspex"]])
        // One program, too, has one PostgreSQL for a data directory.
        assert.include(yield* refusal(dataDir), `(process ${process.pid})`)
        yield* query(postgres, "create table kept as select 42 as answer")
        return postgres.pid
      }).pipe(Effect.scoped)
      assert.throws(() => process.kill(pid, 0), /ESRCH/)
      assert.deepStrictEqual(yield* visit(dataDir, "select answer from kept"), [[42]])
    })
  )

  rarely(
    "The embedded PostgreSQL has a role that runs and owns nothing, also in an older cluster",
    Effect.gen(function* () {
      const fs = yield* FileSystem.FileSystem
      const dataDir = join(yield* temporary, "data")
      const password = join(dataDir, "postgres-password")
      const asBefore = Effect.gen(function* () {
        const postgres = yield* start({ dataDir, settings })
        yield* query(postgres, "create table kept as select 42 as answer")
        const superuser = new URL(Redacted.value(postgres.ownerUrl))
        superuser.username = "postgres"
        yield* query({ ownerUrl: Redacted.make(superuser.href) }, "drop role auspex_run")
      })
      yield* Effect.scoped(asBefore)
      const before = yield* fs.readFileString(password)
      yield* Effect.gen(function* () {
        const postgres = yield* start({ dataDir, settings })
        assert.deepStrictEqual(yield* query(postgres, "select answer, current_user::text from kept"), [
          [42, "auspex"]
        ])
        const running = { ownerUrl: postgres.url }
        assert.deepStrictEqual(yield* query(running, "select current_user::text"), [["auspex_run"]])
        const refused = yield* Effect.flip(query(running, "select answer from kept"))
        assert.include(String(refused.reason.cause), "permission denied for table kept")
        assert.notStrictEqual(
          new URL(Redacted.value(postgres.url)).password,
          new URL(Redacted.value(postgres.ownerUrl)).password
        )
      }).pipe(Effect.scoped)
      assert.strictEqual(yield* fs.readFileString(password), before)
    })
  )

  rarely(
    "The embedded PostgreSQL works at a path of any name, and replaces a lost password",
    Effect.gen(function* () {
      const fs = yield* FileSystem.FileSystem
      const long = "long ".repeat(40)
      const dataDir = join(yield* temporary, `it's a "data" $dir #1 100% \`né\` 数据 \\`, long)
      yield* visit(dataDir, "create table kept as select 42 as answer")
      const password = join(dataDir, "postgres-password")
      assert.strictEqual((yield* fs.stat(password)).mode & 0o777, 0o600)
      yield* fs.remove(password)
      assert.deepStrictEqual(yield* visit(dataDir, "select answer from kept"), [[42]])
    })
  )

  rarely(
    "The embedded PostgreSQL refuses a second program, and takes over when the first was killed",
    Effect.gen(function* () {
      const dataDir = join(yield* temporary, "data")
      const first = yield* program(dataDir)
      yield* untilReady(first)
      assert.include(yield* refusal(dataDir), `already runs in ${dataDir} (process ${first.pid})`)
      assert.isNull(first.exitCode)
      yield* killed(first)
      assert.deepStrictEqual(yield* visit(dataDir, "select 42"), [[42]])
    })
  )

  rule(
    "The embedded PostgreSQL heals when its postmaster is killed under load, and keeps every commit",
    Effect.gen(function* () {
      const postgres = yield* start({ dataDir: join(yield* temporary, "data") })
      const before = postgres.pid
      yield* query(postgres, "create table written (n int primary key)")
      // The statement would run for hours, and does not notice by itself that its postmaster is gone.
      yield* query(
        postgres,
        "select count(*) from (select generate_series(1, 1000000000000)) as endless"
      ).pipe(Effect.ignore, Effect.forkScoped)
      yield* query(postgres, "select count(*)::int from pg_stat_activity where state = 'active'").pipe(
        Effect.repeat({ until: (rows) => Number(rows[0]?.[0]) > 1, schedule: soon })
      )
      yield* query(postgres, "insert into written select generate_series(1, 1000)")
      process.kill(before, "SIGKILL")
      yield* Effect.sync(() => postgres.pid).pipe(
        Effect.repeat({ until: (pid) => pid !== before, schedule: soon })
      )
      const rows = yield* query(postgres, "select count(*)::int from written").pipe(Effect.retry(soon))
      assert.deepStrictEqual(rows, [[1000]])
    })
  )

  rarely(
    "The embedded PostgreSQL starts anew when its first start was killed half way",
    Effect.gen(function* () {
      const fs = yield* FileSystem.FileSystem
      const dataDir = join(yield* temporary, "data")
      const unfinished = fs.readDirectory(dataDir).pipe(
        Effect.orElseSucceed((): Array<string> => []),
        Effect.map((names) => names.filter((name) => name.startsWith("postgres.new-")))
      )
      const first = yield* program(dataDir)
      yield* Effect.repeat(unfinished, { until: (names) => names.length > 0, schedule: soon })
      yield* killed(first)
      assert.isFalse(yield* fs.exists(join(dataDir, "postgres")))
      assert.deepStrictEqual(yield* visit(dataDir, "select 42"), [[42]])
      // The initdb of the killed program may take a moment to end; the next start after that tidies up.
      yield* visit(dataDir, "select 42").pipe(
        Effect.andThen(unfinished),
        Effect.repeat({ until: (names) => names.length === 0 })
      )
    })
  )

  rarely(
    "The embedded PostgreSQL is not misled by a reused pid, and tells why it cannot start",
    Effect.gen(function* () {
      const fs = yield* FileSystem.FileSystem
      const dataDir = join(yield* temporary, "data")
      yield* visit(dataDir, "select 42")
      const cluster = join(dataDir, "postgres")
      // This process has the pid of the postmaster now, and must survive.
      yield* fs.writeFileString(join(cluster, "postmaster.pid"), `${process.pid}\n${cluster}\n`)
      assert.deepStrictEqual(yield* visit(dataDir, "select 42"), [[42]])
      const error = yield* start({ dataDir, settings: { nonsense: "1" } }).pipe(Effect.scoped, Effect.flip)
      assert.include(error.message, 'unrecognized configuration parameter "nonsense"')
      yield* fs.writeFileString(join(cluster, "PG_VERSION"), "17\n")
      assert.include(yield* refusal(dataDir), `${cluster} was made by PostgreSQL 17`)
    })
  )

  it.effect.runIf(isFull)("The embedded PostgreSQL starts in real time beside a stopped test clock", () =>
    Effect.gen(function* () {
      const postgres = yield* start({ dataDir: join(yield* temporary, "data"), settings })
      assert.isAbove(postgres.pid, 0)
    }).pipe(Effect.provide(NodeServices.layer))
  )
})

describe.runIf(isRoot)("The embedded PostgreSQL of root", () => {
  rule(
    "PostgreSQL runs for root as another account, where that can reach its files",
    Effect.gen(function* () {
      const fs = yield* FileSystem.FileSystem
      const shared = yield* temporary
      const hidden = yield* fs.makeTempDirectoryScoped({ directory: inject("scratch") })
      const options = { dataDir: join(hidden, "data"), settings, sharedParents: [shared] }
      const first = yield* Effect.gen(function* () {
        const postgres = yield* start(options)
        yield* query(postgres, "create table kept as select 42 as answer")
        return postgres
      }).pipe(Effect.scoped)
      assert.isTrue(first.clusterDir.startsWith(join(shared, "auspex")))
      assert.strictEqual(first.relocatedFrom, join(hidden, "data", "postgres"))
      assert.isNotNull(first.runsAs)
      const second = yield* start(options)
      assert.strictEqual(second.clusterDir, first.clusterDir)
      assert.deepStrictEqual(yield* query(second, "select answer from kept"), [[42]])
    })
  )

  rarely(
    "PostgreSQL stays in an empty data directory, whatever its mode was",
    Effect.gen(function* () {
      const fs = yield* FileSystem.FileSystem
      const dataDir = yield* fs.makeTempDirectoryScoped({ directory: inject("scratch") })
      const postgres = yield* start({ dataDir, settings })
      assert.strictEqual(postgres.clusterDir, join(dataDir, "postgres"))
    })
  )

  rule(
    "PostgreSQL trusts no shared directory that somebody else made or can change",
    Effect.gen(function* () {
      const fs = yield* FileSystem.FileSystem
      const shared = yield* temporary
      const hidden = yield* fs.makeTempDirectoryScoped({ directory: inject("scratch") })
      yield* fs.symlink(hidden, join(shared, "auspex"))
      const error = yield* start({ dataDir: join(hidden, "data"), sharedParents: [shared] }).pipe(
        Effect.scoped,
        Effect.flip
      )
      assert.include(error.message, join(shared, "auspex"))
    })
  )
})

describe.skipIf(isRoot)("The embedded PostgreSQL of an ordinary user", () => {
  rule(
    "PostgreSQL runs as the ordinary user that starts it, in the data directory",
    Effect.gen(function* () {
      const dataDir = join(yield* temporary, "data")
      const postgres = yield* start({ dataDir, settings })
      assert.strictEqual(postgres.clusterDir, join(dataDir, "postgres"))
      assert.isNull(postgres.runsAs)
      assert.deepStrictEqual(postgres.remarks, [])
    })
  )
})
