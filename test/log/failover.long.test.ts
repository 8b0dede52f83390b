/**
 * The public log through failovers and restores of the database, by processes as they run in production, over servers
 * that stream to one another: no two heads of one size and one name are ever shown, and every loss is found.
 */
import { join } from "node:path"
import * as NodeServices from "@effect/platform-node/NodeServices"
import { assert, describe, it } from "@effect/vitest"
import { DateTime, Effect, FileSystem, Fiber, Option, Redacted, Schedule, Schema } from "effect"
import { SqlClient } from "effect/sql"
import { parseCheckpoint } from "../../src/layers/crypto/signedNote.ts"
import * as Database from "../../src/layers/postgres/Database.ts"
import { findAll, findOne } from "../../src/layers/postgres/sql.ts"
import { logState } from "../support/logbook.ts"
import {
  replicaEnvironment,
  startAuspex,
  stopped,
  temporaryDirectory,
  to,
  until,
  whenReady
} from "../support/process.ts"
import type { Auspex } from "../support/process.ts"
import { killed } from "../support/crash.ts"
import { get, member, post } from "../support/server.ts"
import { testAdminToken } from "../support/settings.ts"
import { newDisk, promote } from "../support/streaming.ts"
import type { Server } from "../support/streaming.ts"
import { makeTcpProxy } from "../support/tcpProxy.ts"

const token = testAdminToken
/** A challenge whose making was acknowledged; none where the database was away. */
const challenge = Effect.gen(function* () {
  const at = DateTime.formatIso(DateTime.add(yield* DateTime.now, { hours: 1 }))
  const { json, status } = yield* post("/api/v1/admin/challenges", {
    token,
    json: { asset: "GC", deadline: at, resolve_at: at, open_price: 2000 }
  })
  return status === 201 ? Option.some(String(json["id"])) : Option.none()
})

const made = (count: number) => Effect.replicateEffect(Effect.flatMap(challenge, Effect.fromOption), count)

/** The checkpoint that /log/checkpoint shows. */
const shown = Effect.map(get("/log/checkpoint"), ({ status, text }) =>
  status === 200 ? parseCheckpoint(text) : Option.none()
)

const shownSize = Effect.map(shown, Option.match({ onNone: () => 0, onSome: ({ size }) => size }))

const showsAll = (server: Server) =>
  until(
    "all that was made is in the log and signed",
    Effect.gen(function* () {
      const { pending, size } = yield* logState.pipe(Effect.provide(Database.client(server.url)))
      return pending === 0 && (yield* shownSize) === size
    })
  )

const reason = Effect.map(get("/health/ready"), ({ json }) => {
  const checks = json["checks"]
  const log = Array.isArray(checks) ? checks.find((check) => member(check, "name") === "log") : undefined
  return String(member(log, "reason"))
})

const says = (why: RegExp) =>
  until(
    `the log stands: ${why}`,
    Effect.map(reason, (text) => why.test(text))
  )

const resume = (json: Readonly<Record<string, string>>) => post("/api/v1/admin/log/continue", { token, json })

const audit = Effect.map(get("/api/v1/admin/log/audit", { token }), ({ json }) => json["differences"])

/** Watches without a pause what this instance shows; answers the heads by name and size. */
const watching = (auspex: Auspex) =>
  Effect.gen(function* () {
    const heads = new Map<string, Set<string>>()
    yield* Effect.forkScoped(
      Effect.repeat(
        Effect.map(Effect.exit(shown), (exit) => {
          if (exit._tag === "Failure" || Option.isNone(exit.value)) return
          const { origin, root, size } = exit.value.value
          const name = `${origin} ${size}`
          heads.set(name, (heads.get(name) ?? new Set()).add(Buffer.from(root).toString("hex")))
        }),
        Schedule.spaced("20 millis")
      ).pipe(to(auspex))
    )
    return heads
  })

const Kept = Schema.Struct({ note: Schema.String })

/** No two heads that were shown or that servers keep have one name and size. */
const oneHeadEach = Effect.fnUntraced(function* (
  heads: Map<string, Set<string>>,
  servers: ReadonlyArray<Server>
) {
  const kept = yield* Effect.forEach(servers, (server) =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      return yield* findAll(Kept)(sql`select note from log_checkpoints`)
    }).pipe(Effect.provide(Database.client(server.url)))
  )
  for (const { note } of kept.flat()) {
    const { origin, root, size } = Option.getOrThrow(parseCheckpoint(note))
    const name = `${origin} ${size}`
    heads.set(name, (heads.get(name) ?? new Set()).add(Buffer.from(root).toString("hex")))
  }
  const forked = [...heads].filter(([, roots]) => roots.size > 1).map(([name]) => name)
  assert.deepStrictEqual(forked, [])
  assert.isAbove(heads.size, 1)
})

/** An instance whose memory is its directory of data. */
const start = (url: Redacted.Redacted, roles: string, dataDir: string) =>
  startAuspex({ environment: replicaEnvironment(url, { AUSPEX_ROLES: roles, AUSPEX_DATA_DIR: dataDir }) })

const ready = (url: Redacted.Redacted, roles: string, dataDir: string) =>
  Effect.flatMap(start(url, roles, dataDir), (auspex) => whenReady(auspex))

/** A primary, its standby, which streams by a way of its own, and an instance for requests that finds the leading one. */
const fleet = Effect.fnUntraced(function* (options: Readonly<Record<string, string>>) {
  const disk = yield* newDisk
  const spare = yield* disk.copy
  const primary = yield* disk.start(options)
  const stream = yield* makeTcpProxy(primary.url)
  yield* spare.follow(Number(new URL(Redacted.value(stream.url)).port), "spare")
  const standby = yield* spare.start()
  const way = yield* makeTcpProxy(primary.url)
  const directory = yield* temporaryDirectory
  const api = yield* ready(way.url, "api", join(directory, "api"))
  const failover = Effect.gen(function* () {
    yield* primary.kill
    yield* promote(standby)
    yield* way.lead(standby.url)
  })
  return {
    api,
    failover,
    jobs: (name: string) => start(way.url, "jobs", join(directory, name)),
    primary,
    standby,
    stream
  }
})

/** Sessions that wait for a standby, by what they do. */
const waiting = (server: Server, query: string) =>
  server.run(
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const rows = yield* findAll(Schema.Struct({ pid: Schema.Int }))(sql`
        select pid from pg_stat_activity where wait_event = 'SyncRep' and query ilike ${`%${query}%`}`)
      return rows.map(({ pid }) => pid)
    })
  )

describe("An asynchronous failover", () => {
  it.live("A failover that loses signed entries stops the log, which goes on under another name only", () =>
    Effect.gen(function* () {
      const { api, failover, jobs, primary, standby, stream } = yield* fleet({})
      yield* Effect.gen(function* () {
        // One instance stops early, and remembers less than was signed later.
        const early = yield* jobs("early")
        yield* made(3)
        yield* showsAll(primary)
        const heads = yield* watching(api)
        yield* stopped(early)
        const late = yield* jobs("late")
        yield* until(
          "the new one says why it does nothing",
          Effect.sync(() => late.stdout().includes("had a memory of it"))
        )
        assert.strictEqual((yield* resume({ reason: "another machine" })).status, 201)
        yield* made(2)
        yield* showsAll(primary)
        const size = yield* Effect.scoped(
          Effect.gen(function* () {
            yield* Effect.forkScoped(stream.whileCut(Effect.never), { startImmediately: true })
            yield* made(4)
            yield* showsAll(primary)
            const lost = yield* shownSize
            yield* Effect.all([killed(late), failover], { concurrency: "unbounded" })
            return lost
          })
        )

        // The instances that sign remember nothing of it; the one that only serves does.
        yield* jobs("early")
        yield* says(new RegExp(`but ${size} were signed`))
        assert.strictEqual(yield* shownSize, size)
        const refused = yield* resume({ reason: "go" })
        assert.deepStrictEqual([refused.status, refused.json["code"]], [409, "log_lost"])
        yield* made(1)
        const differences = yield* audit
        assert.include(JSON.stringify(differences), `checkpoint of size ${size}, which was seen`)
        const { pending, size: left } = yield* logState.pipe(Effect.provide(Database.client(standby.url)))
        assert.isBelow(left, size)
        assert.isAbove(pending, 0)

        const origin = "arena.example/log/second"
        const { json, status } = yield* resume({ reason: "the disk of db1 is gone", origin })
        assert.deepStrictEqual([status, json["lost_size"]], [201, size])
        assert.deepStrictEqual(yield* audit, [])
        yield* showsAll(standby)
        assert.strictEqual(Option.getOrThrow(yield* shown).origin, origin)
        assert.deepStrictEqual(yield* audit, [])
        yield* oneHeadEach(heads, [standby])
      }).pipe(to(api))
    }).pipe(Effect.provide(NodeServices.layer))
  )

  it.live("A failover that loses nothing makes the log wait for an administrator, and grow by nothing", () =>
    Effect.gen(function* () {
      const { api, failover, jobs, primary, standby } = yield* fleet({})
      yield* Effect.gen(function* () {
        yield* jobs("one")
        yield* made(3)
        yield* showsAll(primary)
        const heads = yield* watching(api)
        const size = yield* shownSize
        yield* failover
        yield* until("predictions go on", Effect.map(challenge, Option.isSome), "10 seconds")
        yield* says(/on another server than before, or on one that was promoted/)
        const { pending, size: left } = yield* logState.pipe(Effect.provide(Database.client(standby.url)))
        assert.strictEqual(left, size)
        assert.isAbove(pending, 0)
        assert.strictEqual((yield* resume({ reason: "db1 was taken out" })).status, 201)
        yield* showsAll(standby)
        yield* says(/^null$/)
        assert.deepStrictEqual(yield* audit, [])
        yield* oneHeadEach(heads, [standby])
      }).pipe(to(api))
    }).pipe(Effect.provide(NodeServices.layer))
  )
})

describe("A synchronous failover", () => {
  it.live("A failover under load loses nothing acknowledged, and a continuation lets the log go on", () =>
    Effect.gen(function* () {
      const { api, failover, jobs, primary, standby } = yield* fleet({ synchronous_standby_names: "spare" })
      yield* Effect.gen(function* () {
        yield* jobs("one")
        yield* made(3)
        yield* showsAll(primary)
        const heads = yield* watching(api)
        const acknowledged: Array<string> = []
        const load = yield* Effect.forkChild(
          Effect.forever(
            Effect.map(challenge, Option.match({ onNone: () => 0, onSome: (id) => acknowledged.push(id) }))
          )
        )
        yield* until(
          "there is a load",
          Effect.sync(() => acknowledged.length > 20)
        )
        yield* failover
        const before = acknowledged.length
        // Requests find the new primary by themselves, within 10 s.
        yield* until(
          "it goes on",
          Effect.sync(() => acknowledged.length > before),
          "10 seconds"
        )
        yield* until(
          "there is a load again",
          Effect.sync(() => acknowledged.length > before + 20)
        )
        yield* Fiber.interrupt(load)
        yield* says(/on another server than before/)
        assert.strictEqual((yield* resume({ reason: "switched over" })).status, 201)
        yield* showsAll(standby)
        assert.deepStrictEqual(yield* audit, [])
        const { count } = yield* Effect.gen(function* () {
          const sql = yield* SqlClient.SqlClient
          return yield* findOne(Schema.Struct({ count: Schema.Int }))(sql`
            select count(*)::int as count from log_entries
             where type = 'challenge.create' and challenge_id = any(${acknowledged}::uuid[])`)
        }).pipe(Effect.provide(Database.client(standby.url)))
        assert.strictEqual(count, acknowledged.length)
        yield* oneHeadEach(heads, [standby])
      }).pipe(to(api))
    }).pipe(Effect.provide(NodeServices.layer))
  )

  it.live("A failover keeps every signed tree, also where the role does not wait or a wait broke off", () =>
    Effect.gen(function* () {
      const { api, failover, jobs, primary, standby, stream } = yield* fleet({
        synchronous_standby_names: "spare",
        synchronous_commit: "local"
      })
      yield* Effect.gen(function* () {
        yield* jobs("one")
        yield* made(3)
        yield* showsAll(primary)
        const heads = yield* watching(api)
        const size = yield* shownSize
        yield* Effect.scoped(
          Effect.gen(function* () {
            yield* Effect.forkScoped(stream.whileCut(Effect.never), { startImmediately: true })
            // The challenge's making waits for no standby; its place in the log does.
            yield* made(1)
            const sequencing = yield* Effect.repeat(waiting(primary, "with grown as"), {
              until: (pids) => pids.length > 0,
              schedule: Schedule.spaced("50 millis")
            })
            yield* primary.run(
              Effect.gen(function* () {
                const sql = yield* SqlClient.SqlClient
                yield* sql`select pg_cancel_backend(pid) from unnest(${sequencing}::int[]) pid`
              })
            )
            // The entries are to be seen, and only here: signing waits.
            yield* until(
              "signing waits for the standby",
              Effect.map(waiting(primary, "commit"), (pids) => pids.length > 0)
            )
            const state = yield* logState.pipe(Effect.provide(Database.client(primary.url)))
            assert.isAbove(state.size, size)
            assert.strictEqual(yield* shownSize, size)
            yield* failover
          })
        )
        yield* says(/on another server than before/)
        assert.strictEqual(yield* shownSize, size)
        assert.strictEqual((yield* resume({ reason: "switched over" })).status, 201)
        yield* made(1)
        yield* showsAll(standby)
        assert.deepStrictEqual(yield* audit, [])
        yield* oneHeadEach(heads, [standby])
      }).pipe(to(api))
    }).pipe(Effect.provide(NodeServices.layer))
  )
})

describe("A server that is put back to an older state of its disk", () => {
  it.live("A server with an older disk is found by a memory of more, or waits for a continuation", () =>
    Effect.gen(function* () {
      const disk = yield* newDisk
      const directory = yield* temporaryDirectory
      const first = yield* disk.start()
      const way = yield* makeTcpProxy(first.url)
      const both = (name: string) => ready(way.url, "api,jobs", join(directory, name))
      const before = yield* both("one")
      yield* made(3).pipe(to(before))
      yield* showsAll(first).pipe(to(before))
      yield* first.stop
      const [backup, other] = [yield* disk.copy, yield* disk.copy]
      const again = yield* disk.start()
      yield* way.lead(again.url)
      // The same server after a restart needs no continuation.
      yield* until("requests are served", Effect.map(challenge, Option.isSome)).pipe(to(before))
      yield* showsAll(again).pipe(to(before))
      const size = yield* shownSize.pipe(to(before))
      yield* stopped(before)
      yield* again.kill

      const restored = yield* backup.start()
      yield* way.lead(restored.url)
      const remembering = yield* both("one")
      yield* says(new RegExp(`but ${size} were signed`)).pipe(to(remembering))
      assert.strictEqual((yield* resume({ reason: "go" }).pipe(to(remembering))).status, 409)
      yield* stopped(remembering)
      yield* restored.kill

      // Everything but the backup is gone.
      const alone = yield* other.start()
      yield* way.lead(alone.url)
      const fresh = yield* both("two")
      yield* Effect.gen(function* () {
        yield* made(1)
        yield* says(/had a memory of it/)
        assert.isBelow(yield* shownSize, size)
        const name = "arena.example/log/restored"
        assert.strictEqual((yield* resume({ reason: "restored", origin: name })).status, 201)
        assert.deepStrictEqual(yield* audit, [])
        yield* showsAll(alone)
        assert.strictEqual(Option.getOrThrow(yield* shown).origin, name)
      }).pipe(to(fresh))
    }).pipe(Effect.provide(NodeServices.layer))
  )
})

describe("A restore from an archive", () => {
  it.live("A continuation lets a restored log go on; an instance that remembers more finds a loss", () =>
    Effect.gen(function* () {
      const fs = yield* FileSystem.FileSystem
      const disk = yield* newDisk
      const [whole, part] = [yield* disk.copy, yield* disk.copy]
      const directory = yield* temporaryDirectory
      const archive = join(directory, "archive")
      yield* fs.makeDirectory(archive)
      yield* fs.chmod(archive, 0o777)
      const first = yield* disk.start({
        archive_mode: "on",
        archive_command: `test ! -f ${archive}/%f && cp %p ${archive}/%f`
      })
      const way = yield* makeTcpProxy(first.url)
      const both = (name: string) => ready(way.url, "api,jobs", join(directory, name))
      const before = yield* both("one")
      yield* made(3).pipe(to(before))
      yield* showsAll(first).pipe(to(before))
      const moment = yield* first.run(
        SqlClient.SqlClient.use((sql) => sql`select pg_current_wal_insert_lsn()::text`.values)
      )
      yield* made(2).pipe(to(before))
      yield* showsAll(first).pipe(to(before))
      const heads = yield* watching(before)
      const size = yield* shownSize.pipe(to(before))
      yield* stopped(before)
      yield* fs.copy(join(directory, "one"), join(directory, "two"))
      // A server that ends in good order archives the rest.
      yield* first.stop

      const restored = yield* whole.restore(archive)
      yield* way.lead(restored.url)
      const remembering = yield* both("one")
      yield* Effect.gen(function* () {
        yield* says(/on another server than before, or on one that was promoted, restored/)
        assert.strictEqual(yield* shownSize, size)
        assert.strictEqual((yield* resume({ reason: "all of it was restored" })).status, 201)
        yield* made(1)
        yield* showsAll(restored)
        assert.deepStrictEqual(yield* audit, [])
      }).pipe(to(remembering))
      yield* stopped(remembering)
      yield* oneHeadEach(heads, [restored])

      const earlier = yield* part.restore(archive, { recovery_target_lsn: String(moment[0]?.[0]) })
      yield* way.lead(earlier.url)
      const again = yield* both("two")
      yield* Effect.gen(function* () {
        yield* says(new RegExp(`but ${size} were signed`))
        assert.strictEqual((yield* resume({ reason: "go" })).json["code"], "log_lost")
        const origin = "arena.example/log/earlier"
        assert.strictEqual((yield* resume({ reason: "restored", origin })).status, 201)
        assert.deepStrictEqual(yield* audit, [])
        // The log may happen to be as large until then.
        yield* until(
          "it has the other name",
          Effect.map(
            shown,
            Option.exists((head) => head.origin === origin)
          )
        )
        yield* showsAll(earlier)
      }).pipe(to(again))
    }).pipe(Effect.provide(NodeServices.layer))
  )
})
