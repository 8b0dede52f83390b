/**
 * A database that is still there falls silent, takes no writes, has a full disk, or waits for a standby. Requests are
 * answered in time, `/health/ready` says so, and everything works again by itself.
 */
import { spawnSync } from "node:child_process"
import { mkdirSync, rmSync, statfsSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import * as NodeFileSystem from "@effect/platform-node/NodeFileSystem"
import * as NodeServices from "@effect/platform-node/NodeServices"
import { assert, describe, it } from "@effect/vitest"
import { Clock, Console, Duration, Effect, Layer, Option, Schedule } from "effect"
import { SqlClient } from "effect/sql"
import * as EmbeddedPostgres from "../../src/layers/embedded/EmbeddedPostgres.ts"
import * as Database from "../../src/layers/postgres/Database.ts"
import { onboard } from "../support/agents.ts"
import { emptyDatabase } from "../support/database.ts"
import { makeQuery } from "../support/faults/database.ts"
import { unsettled } from "../support/faults/invariants.ts"
import { makeChallenge, makePrices } from "../support/faults/population.ts"
import { room } from "../support/faults/oneMachine.ts"
import { logSigner } from "../support/logSigner.ts"
import { mailbox } from "../support/mailbox.ts"
import {
  embeddedUrl,
  readyAuspex,
  replicaEnvironment,
  stopped,
  temporaryData,
  temporaryDirectory,
  timed,
  to,
  until
} from "../support/process.ts"
import type { Auspex } from "../support/process.ts"
import { gatewayOf, services } from "../support/services.ts"
import { get, member, post, testServer } from "../support/server.ts"
import { settings } from "../support/settings.ts"
import { makeTcpProxy } from "../support/tcpProxy.ts"

interface NotedAnswer {
  readonly began: number
  readonly took: number
  readonly status: number
}

const limit = 10_000

/** Notes the answer; status 0 is no answer at all. */
const noteAnswer = Effect.fnUntraced(function* (url: string, init: RequestInit, all: Array<NotedAnswer>) {
  const began = yield* Clock.currentTimeMillis
  const status = yield* Effect.tryPromise(async (signal) => {
    const response = await fetch(url, { ...init, signal })
    await response.arrayBuffer()
    return response.status
  }).pipe(Effect.orElseSucceed(() => 0))
  all.push({ began, status, took: (yield* Clock.currentTimeMillis) - began })
})

/** Reads and writes at an even pace until the scope ends, also while they fail. */
const startLoad = Effect.fnUntraced(function* (auspex: Auspex) {
  const { url } = auspex
  const { token } = yield* to(auspex)(onboard())
  const all: Array<NotedAnswer> = []
  const json = { "content-type": "application/json" }
  const both = [
    noteAnswer(`${url}/api/v1/agent/profile/self`, { headers: { authorization: `Bearer ${token}` } }, all),
    noteAnswer(
      `${url}/api/v1/agent/registry/register`,
      { method: "POST", headers: json, body: `{"name":"newcomer"}` },
      all
    )
  ]
  yield* Effect.forEach(both, (each) => Effect.forkScoped(each)).pipe(
    Effect.repeat(Schedule.spaced("50 millis")),
    Effect.forkScoped
  )
  return all
})

const isFine = ({ status }: NotedAnswer) => status === 200 || status === 201

/** A server and a runner of jobs, each with a network of its own; both fall silent for this span. */
const silence = Effect.fnUntraced(function* (span: Duration.Duration) {
  const database = yield* emptyDatabase
  const query = makeQuery(Effect.succeed(database))
  const [near, far] = [yield* makeTcpProxy(database), yield* makeTcpProxy(database)]
  const replica = (proxy: typeof near, roles: string) =>
    readyAuspex({ environment: replicaEnvironment(proxy.url, { ...room, AUSPEX_ROLES: roles }) })
  const api = yield* replica(near, "api")
  yield* replica(far, "api,jobs")
  yield* query(makePrices(Duration.minutes(5)))
  const due = query(makeChallenge(Duration.seconds(1)))
  const all = yield* startLoad(api)
  const ready: Array<NotedAnswer> = []
  yield* noteAnswer(`${api.url}/health/ready`, {}, ready).pipe(
    Effect.repeat(Schedule.spaced("250 millis")),
    Effect.forkScoped
  )
  yield* due
  yield* Effect.sleep("3 seconds")

  const began = yield* Clock.currentTimeMillis
  yield* near.whileSilent(far.whileSilent(Effect.andThen(due, Effect.sleep(span))))
  const ended = yield* Clock.currentTimeMillis
  yield* until(
    "what fell due meanwhile is settled",
    Effect.map(query(unsettled), (left) => left.length === 0)
  )
  const settled = yield* Clock.currentTimeMillis
  yield* Effect.sleep(Math.max(0, ended + limit + 2000 - settled))

  const failed = all.filter((each) => !isFine(each))
  const lastFailed = Math.max(...failed.map((each) => each.began))
  yield* Console.log(
    `silent for ${ended - began} ms: ${all.length} requests, ${failed.length} failed, the longest took ${Math.max(...all.map((each) => each.took))} ms; works ${lastFailed - ended} ms after the end, settled after ${settled - ended} ms`
  )
  assert.deepStrictEqual(
    failed.filter(({ status }) => status !== 503),
    []
  )
  assert.deepStrictEqual(
    [...all, ...ready].filter(({ took }) => took > limit),
    []
  )
  assert.isBelow(lastFailed - ended, limit)
  assert.isAbove(all.filter((each) => each.began > ended + limit && isFine(each)).length, 20)
  assert.strictEqual(ready.at(-1)?.status, 200)
  return ready.filter((each) => each.began > began && each.began < ended).map(({ status }) => status)
})

describe("Connections that fall silent", () => {
  it.live("Connections that are silent for 3 s fail for a while, and everything works within 10 s", () =>
    Effect.gen(function* () {
      assert.include(yield* silence(Duration.seconds(3)), 503)
    }).pipe(Effect.provide(NodeServices.layer))
  )

  it.live("Connections that are silent for long fail all the while, and the instance is not ready", () =>
    Effect.gen(function* () {
      const statuses = yield* silence(Duration.seconds(30))
      const first = statuses.indexOf(503)
      assert.isAtMost(first, 4)
      assert.deepStrictEqual([...new Set(statuses.slice(first))], [503])
    }).pipe(Effect.provide(NodeServices.layer))
  )

  it.live("Connections that are silent hold up the end of an instance no longer than its requests", () =>
    Effect.gen(function* () {
      const proxy = yield* makeTcpProxy(yield* emptyDatabase)
      const api = yield* readyAuspex({
        environment: replicaEnvironment(proxy.url, room)
      })
      const [millis, end] = yield* Effect.scoped(
        Effect.gen(function* () {
          yield* startLoad(api)
          yield* Effect.sleep("1 second")
          return yield* proxy.whileSilent(Effect.andThen(Effect.sleep("1 second"), timed(stopped(api))))
        })
      )
      yield* Console.log(`asked to stop while silent: ended after ${millis} ms`)
      assert.deepStrictEqual(end, { code: 0, signal: null })
      assert.isBelow(millis, 20_000)
    }).pipe(Effect.provide(NodeServices.layer))
  )
})

/** A disk of its own, which can be full; only where root may mount one. */
const smallDisk = Effect.gen(function* () {
  const path = join(yield* temporaryDirectory, "disk")
  yield* Effect.sync(() => mkdirSync(path))
  return yield* Effect.acquireRelease(
    Effect.sync(() => {
      const mounted = spawnSync("mount", ["-t", "tmpfs", "-o", "size=400m,mode=755", "tmpfs", path])
      return mounted.status === 0 ? Option.some(path) : Option.none()
    }),
    (disk) => Effect.sync(() => Option.isSome(disk) && spawnSync("umount", ["-l", path]))
  )
})

/** The API of this process on a PostgreSQL of its own, whose superuser makes its troubles. */
const troubled = Effect.gen(function* () {
  const disk = yield* smallDisk
  const dataDir = Option.isSome(disk) ? join(disk.value, "data") : yield* temporaryData
  const postgres = yield* EmbeddedPostgres.start({
    dataDir,
    settings: { max_wal_size: "64MB", min_wal_size: "32MB" }
  })
  const superuser = makeQuery(Effect.provide(embeddedUrl(dataDir), NodeFileSystem.layer))
  const change = (statement: string) =>
    superuser(
      Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        yield* sql.unsafe(statement)
        yield* sql`select pg_reload_conf()`
      })
    )
  const server = yield* Layer.build(
    testServer({
      services: gatewayOf().pipe(
        Layer.provideMerge(services),
        Layer.provideMerge(
          Layer.mergeAll(
            Layer.orDie(
              Database.layer({
                url: postgres.url,
                ownerUrl: Option.some(postgres.ownerUrl),
                site: "global",
                migrates: true
              })
            ),
            settings(),
            mailbox,
            logSigner()
          )
        )
      )
    })
  )
  return { disk, change, server }
})

const register = Effect.map(
  post("/api/v1/agent/registry/register", { json: { name: "newcomer" } }),
  ({ status }) => status
)

const whyNotReady = Effect.map(get("/health/ready"), ({ json, status }) =>
  status === 200 ? null : member(json, "checks", 0, "reason")
)

const says = (reason: string | null) =>
  until(
    `it says: ${reason}`,
    Effect.map(whyNotReady, (why) => why === reason)
  )

describe("A PostgreSQL", () => {
  it.live(
    "A PostgreSQL that takes no writes, waits for a standby, or has a full disk is reported, and used again",
    () =>
      Effect.gen(function* () {
        const { change, disk, server } = yield* troubled
        yield* Effect.gen(function* () {
          const { token } = yield* onboard()
          const profile = Effect.map(get("/api/v1/agent/profile/self", { token }), ({ status }) => status)
          const works = Effect.gen(function* () {
            yield* says(null)
            assert.deepStrictEqual([yield* profile, yield* register], [200, 201])
          })
          yield* works

          yield* change("alter system set default_transaction_read_only = on")
          yield* says("the server takes no writes: it is a standby, or was made read-only")
          assert.deepStrictEqual([yield* profile, yield* register], [503, 503])
          yield* change("alter system reset default_transaction_read_only")
          yield* works

          yield* change("alter system set synchronous_standby_names = 'nobody'")
          const [millis, status] = yield* timed(register)
          assert.strictEqual(status, 503)
          assert.isBelow(millis, limit)
          yield* says("commits wait for a synchronous standby")
          yield* change("alter system reset synchronous_standby_names")
          yield* works

          if (Option.isNone(disk)) {
            yield* Console.log("no disk can be mounted here: a full one is not tried")
            return
          }
          const filler = join(disk.value, "filler")
          const { bavail, bsize } = statfsSync(disk.value)
          writeFileSync(filler, Buffer.alloc(bavail * bsize))
          yield* says("its disk is full")
          const answers = yield* Effect.replicateEffect(register, 200)
          assert.deepStrictEqual([...new Set(answers)].toSorted(), [201, 503])
          rmSync(filler)
          yield* works
        }).pipe(Effect.provide(server))
      }).pipe(Effect.provide(NodeServices.layer))
  )
})
