import { request } from "node:http"
import { connect, createServer } from "node:net"
import { join } from "node:path"
import * as NodeServices from "@effect/platform-node/NodeServices"
import { assert, describe, it } from "@effect/vitest"
import {
  Clock,
  Context,
  DateTime,
  Deferred,
  Effect,
  Fiber,
  FileSystem,
  Layer,
  Redacted,
  Schema
} from "effect"
import { SqlClient } from "effect/sql"
import { lock } from "../../src/layers/node/directoryLock.ts"
import * as Database from "../../src/layers/postgres/Database.ts"
import { findAll } from "../../src/layers/postgres/sql.ts"
import { isFull, oneIn } from "../support/breadth.ts"
import { askForToken, onboard } from "../support/agents.ts"
import { emptyDatabase, freshDatabase, poolOn, runnersUrl } from "../support/database.ts"
import {
  freePort,
  isAlive,
  postmasterOf,
  readyAuspex,
  replicaEnvironment,
  startAuspex,
  statusOf,
  stopped,
  temporaryData,
  temporaryDirectory,
  to,
  until,
  usedBy,
  whenReady,
  whenStarted
} from "../support/process.ts"
import type { Auspex } from "../support/process.ts"
import { get, member, post, send } from "../support/server.ts"
import type { TestServer } from "../support/server.ts"
import { testAdminToken, testTokenSecret } from "../support/settings.ts"

const isoIn = (millis: number) =>
  Effect.map(DateTime.now, (now) => DateTime.formatIso(DateTime.add(now, { milliseconds: millis })))

const lines = (text: string) => text.split("\n").filter((line) => line !== "")

/** An open challenge on gold at 2000. */
const challenge = Effect.fnUntraced(function* (token: string, deadlineIn: number) {
  const deadline = yield* isoIn(deadlineIn)
  const { json } = yield* post("/api/v1/admin/challenges", {
    token,
    json: { asset: "GC", deadline, resolve_at: deadline, open_price: 2000 }
  })
  return String(json["id"])
})

const predictPath = (id: string) => `/api/v1/eval/challenges/${id}/predict`

const predict = (id: string, token: string) =>
  post(predictPath(id), { token, json: { direction: "bullish", confidence: 0.8 } })

/** A challenge that is due soon, and was predicted in time: a slow machine gets more time. */
const predictedChallenge = (
  adminToken: string,
  token: string,
  deadlineIn: number
): Effect.Effect<string, never, TestServer> =>
  Effect.gen(function* () {
    const id = yield* challenge(adminToken, deadlineIn)
    const { json, status } = yield* predict(id, token)
    if (status === 201) return id
    assert.include(["challenge_closed", "not_recorded_in_time"], json["code"])
    return yield* predictedChallenge(adminToken, token, 2 * deadlineIn)
  })

/** Gold for two minutes from now on, so that any close has a price. */
const gold = Effect.fnUntraced(function* (token: string) {
  const now = yield* Clock.currentTimeMillis
  const quotes = Array.from({ length: 1200 }, (_, index) => ({
    time: DateTime.formatIso(DateTime.makeUnsafe(now + index * 100)),
    price: 2100
  }))
  const { status } = yield* post("/api/v1/admin/prices", { token, json: { asset: "GC", quotes } })
  assert.strictEqual(status, 201)
})

const isResolved = (id: string) =>
  Effect.map(get(`/api/v1/eval/challenges/${id}/results`), ({ json }) => json["status"] === "resolved")

/** The public reads about an agent, and its own reads. */
const recordOf = Effect.fnUntraced(function* (agentId: string, token: string) {
  const own = yield* get("/api/v1/agent/predictions", { token })
  const scorecard = yield* get(`/api/v1/eval/agents/${agentId}/scorecard`)
  assert.deepStrictEqual([own.status, scorecard.status], [200, 200])
  return { own: own.json, scorecard: scorecard.json }
})

const itemsOf = (page: unknown): ReadonlyArray<unknown> => {
  const items = member(page, "items")
  return Array.isArray(items) ? items : []
}

/** True where the log has all of the agent's predictions. */
const isLogged = (token: string) =>
  Effect.map(get("/api/v1/agent/predictions", { token }), ({ json }) =>
    itemsOf(json).every((item) => typeof member(member(item, "receipt"), "leaf_index") === "number")
  )

/** A prediction whose body waits for `more`: the server has taken it up once `taken` is there. */
const slowPrediction = (auspex: Auspex, id: string, token: string, more: Effect.Effect<void>) =>
  Effect.callback<number>((resume) => {
    const body = JSON.stringify({ direction: "bearish", confidence: 0.6 })
    const sending = request(`${auspex.url}${predictPath(id)}`, {
      method: "POST",
      headers: {
        authorization: `Bearer ${token}`,
        "content-type": "application/json",
        "content-length": Buffer.byteLength(body),
        expect: "100-continue"
      }
    })
    sending.on("continue", () => {
      sending.write(body.slice(0, 5))
      Effect.runFork(
        Effect.andThen(
          more,
          Effect.sync(() => sending.end(body.slice(5)))
        )
      )
    })
    sending.on("response", (response) => {
      response.resume()
      resume(Effect.succeed(response.statusCode ?? 0))
    })
    sending.on("error", () => resume(Effect.succeed(0)))
    return Effect.sync(() => sending.destroy())
  })

/** A connection that sends this and then nothing more. */
const stalled = (auspex: Auspex, bytes: string) =>
  Effect.acquireRelease(
    Effect.callback<ReturnType<typeof connect>>((resume) => {
      const socket = connect(auspex.port, "127.0.0.1", () =>
        socket.write(bytes, () => resume(Effect.succeed(socket)))
      )
      socket.on("error", () => {})
    }),
    (socket) => Effect.sync(() => socket.destroy())
  )

const isGone = (auspex: Auspex) => Effect.map(statusOf(`${auspex.url}/health/live`), (status) => status === 0)

/** In `npm run test:long` the processor time of a start stays below so many milliseconds. */
const startsWithin = Effect.fnUntraced(function* (auspex: Auspex, millis: number) {
  if (!isFull || process.platform !== "linux") return
  const { ticks } = yield* usedBy(auspex)
  assert.isBelow(ticks * 10, millis)
})

describe("The command start", () => {
  it.live(
    "A start serves an empty or a known data directory, finishes its work at SIGTERM, and leaves nothing",
    () =>
      Effect.gen(function* () {
        const fs = yield* FileSystem.FileSystem
        const dataDir = yield* temporaryData
        const environment = { AUSPEX_DATA_DIR: dataDir, AUSPEX_JOB_INTERVAL: "200 millis" }
        const first = yield* readyAuspex({ environment: { ...environment, AUSPEX_LOG_FORMAT: "pretty" } })
        yield* until(
          "the banner",
          Effect.sync(() => first.stdout().includes("Ctrl-C"))
        )
        yield* startsWithin(first, 20_000)

        const banner = first.stdout()
        const postmaster = yield* Effect.fromOption(yield* postmasterOf(dataDir))
        assert.include(banner, `at ${first.url}\n`)
        assert.match(banner, new RegExp(`^Data +${join(dataDir, "postgres")} `, "m"))
        assert.match(banner, new RegExp(`^Admin token +${join(dataDir, "admin-token")}$`, "m"))
        assert.lengthOf(banner.slice(banner.indexOf("Try:\n")).match(/^ {2}\S.*$/gm) ?? [], 3)
        assert.strictEqual(first.stderr(), "")
        for (const name of ["admin-token", "token-secret", "postgres-password"]) {
          const { mode } = yield* fs.stat(join(dataDir, name))
          assert.strictEqual(mode & 0o777, 0o600, name)
        }

        const adminToken = (yield* fs.readFileString(join(dataDir, "admin-token"))).trim()
        const { agentId, token, before, late } = yield* Effect.gen(function* () {
          const agent = yield* onboard({ name: "Ada" })
          yield* gold(adminToken)
          const soon = yield* predictedChallenge(adminToken, agent.token, 500)
          const early = yield* challenge(adminToken, 3_600_000)
          const late = yield* challenge(adminToken, 3_600_000)
          assert.strictEqual((yield* predict(early, agent.token)).status, 201)
          yield* until("the first challenge is settled", isResolved(soon))
          yield* until("its predictions are in the log", isLogged(agent.token))
          const before = yield* recordOf(agent.agentId, agent.token)
          return { ...agent, before, late }
        }).pipe(to(first))

        // The server stops while the body is on its way, and the rest comes only once nobody else is let in.
        const refusing = until(
          "no new requests are taken",
          Effect.map(statusOf(`${first.url}/api/v1/public/prediction-scopes`), (status) => status !== 200)
        )
        const answer = yield* slowPrediction(
          first,
          late,
          token,
          Effect.andThen(first.signal("SIGTERM"), Effect.orDie(refusing))
        )
        assert.strictEqual(answer, 201)
        assert.deepStrictEqual(yield* first.ended, { code: 0, signal: null })
        assert.isFalse(yield* isAlive(postmaster.pid))
        assert.match(first.stdout(), /the instance shuts down[^]*the instance has stopped/)

        const second = yield* readyAuspex({ environment })
        yield* startsWithin(second, 5000)
        yield* Effect.gen(function* () {
          const after = yield* recordOf(agentId, token)
          assert.deepStrictEqual(after.scorecard, before.scorecard)
          const [newest, ...older] = itemsOf(after.own)
          assert.strictEqual(member(newest, "challenge_id"), late)
          assert.deepStrictEqual(older, itemsOf(before.own))
          const check = yield* get("/api/v1/admin/figures/check", { token: adminToken })
          assert.deepStrictEqual(check.json, { agents: 1, differences: [] })
          const audited = yield* get("/api/v1/admin/log/audit", { token: adminToken })
          assert.deepStrictEqual(audited.json["differences"], [])
        }).pipe(to(second))

        const { port, pid } = yield* Effect.fromOption(yield* postmasterOf(dataDir))
        yield* stalled(second, "")
        yield* stalled(second, "GET /health/live HTTP/1.1\r\nHost: auspex\r\n")
        // The open connections ask for nothing.
        assert.deepStrictEqual(yield* stopped(second, "SIGINT"), { code: 0, signal: null })
        assert.isFalse(yield* isAlive(pid))
        assert.strictEqual(yield* statusOf(`http://127.0.0.1:${port}`), 0)
        assert.isTrue(yield* isGone(second))
      }).pipe(Effect.provide(NodeServices.layer))
  )
})

/** The start must end by itself, with one line on stderr and nothing else. */
const complaint = (environment: Readonly<Record<string, string>>, port?: number) =>
  Effect.gen(function* () {
    const auspex = yield* startAuspex({ environment, ...(port !== undefined && { port }) })
    const { code } = yield* auspex.ended
    assert.strictEqual(code, 1)
    assert.strictEqual(auspex.stdout(), "")
    const written = lines(auspex.stderr())
    assert.lengthOf(written, 1)
    return written.join("")
  }).pipe(Effect.scoped)

/** Listens there until the scope ends; a port that is taken already stays taken. */
const listenAt = (port: number) =>
  Effect.acquireRelease(
    Effect.callback<ReturnType<typeof createServer>>((resume) => {
      const server = createServer()
      server.on("error", () => resume(Effect.succeed(server)))
      server.listen(port, "127.0.0.1", () => resume(Effect.succeed(server)))
    }),
    (server) => Effect.sync(() => server.close())
  )

/** A port that somebody else listens at. */
const takenPort = Effect.gen(function* () {
  const taken = yield* listenAt(0)
  const address = taken.address()
  return typeof address === "object" && address !== null ? address.port : 0
})

const unused = "postgres://nobody@127.0.0.1:1/nothing"

/** Settings that cannot be used, and the text about each in the line. */
const unusable: ReadonlyArray<readonly [name: string, environment: Readonly<Record<string, string>>]> = [
  ["AUSPEX_SITE", { AUSPEX_SITE: "mars" }],
  ["AUSPEX_JOB_INTERVAL", { AUSPEX_JOB_INTERVAL: "soon" }],
  ["AUSPEX_TOKEN_SECRET", { AUSPEX_TOKEN_SECRET: "too short" }],
  ["AUSPEX_ADMIN_TOKEN", { AUSPEX_ADMIN_TOKEN: "too short, with its 31 bytes..." }],
  ["AUSPEX_DISPOSABLE_DOMAINS=/not/there", { AUSPEX_DISPOSABLE_DOMAINS: "/not/there" }],
  [
    "AUSPEX_DISPOSABLE_DOMAINS=.* cannot be used: expected one domain a line",
    { AUSPEX_DISPOSABLE_DOMAINS: import.meta.filename }
  ],
  ["AUSPEX_GATEWAY_CONFIG", { AUSPEX_REGISTRATION_JUDGE_MODEL: "swift-1" }],
  ["DATABASE_URL", { DATABASE_URL: "mysql://localhost" }],
  ["AUSPEX_MIGRATION_URL", { AUSPEX_MIGRATION_URL: unused }],
  ["DATABASE_URL must be set when AUSPEX_MIGRATE is off", { AUSPEX_MIGRATE: "off" }],
  ["AUSPEX_TOKEN_SECRET", { DATABASE_URL: unused, AUSPEX_ADMIN_TOKEN: testAdminToken }],
  ["AUSPEX_ADMIN_TOKEN", { DATABASE_URL: unused, AUSPEX_TOKEN_SECRET: testTokenSecret }]
]

describe("A setting that cannot be used", () => {
  // Each case starts a process.
  it.live.each(oneIn(unusable.length, unusable))(
    "A wrong setting stops the start: %s",
    ([name, environment]) =>
      Effect.gen(function* () {
        const line = yield* complaint(environment)
        assert.match(line, new RegExp(`^auspex: .*${name}`))
        assert.notInclude(line, "too short")
      })
  )
})

describe("A start that the machine refuses", () => {
  it.live.runIf(isFull)("A port that is taken stops the start before anything is migrated", () =>
    Effect.gen(function* () {
      const port = yield* takenPort
      const owner = yield* emptyDatabase
      const environment = replicaEnvironment(runnersUrl(owner), {
        AUSPEX_MIGRATION_URL: Redacted.value(owner)
      })
      assert.match(
        yield* complaint(environment, port),
        new RegExp(`^auspex: cannot listen at 127\\.0\\.0\\.1:${port} .*AUSPEX_PORT`)
      )
      const tables = SqlClient.SqlClient.use(
        (sql) => sql`select to_regclass('effect_sql_migrations') as made`
      )
      assert.deepStrictEqual(yield* Effect.provide(tables, Database.client(owner)), [{ made: null }])
    })
  )

  it.live.runIf(isFull)(
    "A data directory of another instance stops the start, also with another database",
    () =>
      Effect.gen(function* () {
        const dataDir = join(yield* temporaryDirectory, "data")
        yield* lock(dataDir)
        const line = yield* complaint(replicaEnvironment(Redacted.make(unused), { AUSPEX_DATA_DIR: dataDir }))
        assert.match(
          line,
          new RegExp(`^auspex: Auspex already runs in ${dataDir} \\(process ${process.pid}\\)`)
        )
      }).pipe(Effect.scoped, Effect.provide(NodeServices.layer))
  )

  it.live.runIf(isFull)("A database server that is not there stops the start", () =>
    Effect.gen(function* () {
      const line = yield* complaint(replicaEnvironment(Redacted.make(unused)))
      assert.match(line, /^auspex: .*DATABASE_URL/)
    })
  )

  it.live.runIf(isFull)("A database server for migrations that is not there stops the start", () =>
    Effect.gen(function* () {
      const owner = yield* complaint(
        replicaEnvironment(yield* freshDatabase, { AUSPEX_MIGRATION_URL: unused })
      )
      assert.match(owner, /^auspex: The PostgreSQL of AUSPEX_MIGRATION_URL cannot be used: .+\.$/)
    })
  )

  it.live.runIf(isFull)("A database not owned by its role, and not migrated, stops the start", () =>
    Effect.gen(function* () {
      const line = yield* complaint(replicaEnvironment(runnersUrl(yield* emptyDatabase)))
      assert.match(line, /^auspex: The role "auspex_run" of DATABASE_URL finds no tables/)
    })
  )
})

/** The fields of the line about a finished start. */
const startedFields = (auspex: Auspex): unknown =>
  auspex
    .stdout()
    .split("\n")
    .filter((line) => line.includes('"message":"the instance has started"'))
    .map((line): unknown => JSON.parse(line))[0]

describe("A start", () => {
  it.live.runIf(isFull)(
    "A start that waits for another's migration is live and not ready, and puts all others off",
    () =>
      Effect.gen(function* () {
        const owner = yield* emptyDatabase
        const sql = yield* Effect.map(Layer.build(poolOn(owner)), Context.get(SqlClient.SqlClient))
        const opsPort = yield* freePort
        const migrated = yield* Deferred.make<void>()
        const migrating = yield* Effect.forkScoped(
          sql.withTransaction(
            Effect.andThen(
              sql`select pg_advisory_xact_lock(${Database.migrationLock})`,
              Deferred.await(migrated)
            )
          )
        )
        const auspex = yield* startAuspex({
          environment: replicaEnvironment(runnersUrl(owner), {
            AUSPEX_MIGRATION_URL: Redacted.value(owner),
            AUSPEX_OPS_PORT: String(opsPort)
          })
        })
        const operations = { ...auspex, url: `http://127.0.0.1:${opsPort}`, port: opsPort }
        const readiness = get("/health/ready").pipe(
          Effect.catchDefect(() => Effect.succeed({ status: 0, json: {}, text: "" }))
        )
        const reason = "another instance migrates the database"
        yield* until(
          "it says why it is not ready",
          Effect.map(readiness.pipe(to(auspex)), ({ text }) => text.includes(reason))
        )
        for (const place of [auspex, operations]) {
          const ready = yield* readiness.pipe(to(place))
          assert.deepStrictEqual<unknown>(
            [ready.status, ready.json],
            [503, { status: "not_ready", checks: [{ name: "starting", ok: false, reason }] }]
          )
          assert.strictEqual(yield* statusOf(`${place.url}/health/live`), 200)
        }
        assert.strictEqual(yield* statusOf(`${operations.url}/metrics`), 200)
        const early = yield* post("/api/v1/agent/registry/register", { json: { name: "early" } }).pipe(
          to(auspex)
        )
        assert.deepStrictEqual<unknown>(
          [early.status, early.json["code"], early.headers.get("retry-after")],
          [503, "unavailable", "1"]
        )
        yield* Deferred.succeed(migrated, undefined)
        yield* Fiber.join(migrating)
        yield* whenReady(auspex)
        yield* whenReady({ ...auspex, url: operations.url })
        const { status } = yield* post("/api/v1/agent/registry/register", { json: { name: "early" } }).pipe(
          to(auspex)
        )
        assert.strictEqual(status, 201)
        yield* stopped(auspex)
      }).pipe(Effect.scoped)
  )
})

describe("The command migrate", () => {
  it.live.runIf(isFull)("The command migrate works as the owner although starts do not, and ends", () =>
    Effect.gen(function* () {
      const owner = yield* emptyDatabase
      const environment = replicaEnvironment(runnersUrl(owner), {
        AUSPEX_MIGRATION_URL: Redacted.value(owner),
        AUSPEX_MIGRATE: "off"
      })
      const migrating = yield* startAuspex({ environment, command: ["migrate"] })
      assert.deepStrictEqual(yield* migrating.ended, { code: 0, signal: null })
      assert.strictEqual(migrating.stderr(), "")
      const { latestMigration } = Database
      const announcement = new RegExp(
        `had migration 0, Auspex \\d+\\.\\d+\\.\\d+ knows ${latestMigration}\\. Run now:`
      )
      assert.match(migrating.stdout(), announcement)
      assert.match(migrating.stdout(), /^ {2}0001_baseline +\d/m)
    })
  )
})

describe("The listener for operations", () => {
  it.live.runIf(isFull)(
    "The listener for operations is there in an instance of jobs alone until it has drained",
    () =>
      Effect.gen(function* () {
        const url = yield* freshDatabase
        const auspex = yield* startAuspex({
          environment: replicaEnvironment(url, { AUSPEX_ROLES: "jobs", AUSPEX_OPS_PORT: "0" })
        })
        yield* whenStarted(auspex)
        const started = startedFields(auspex)
        assert.deepInclude(started, { service: "auspex", role: "jobs", pid: auspex.pid })
        const told = member(started, "annotations")
        assert.deepInclude(told, { roles: "jobs", migration: Database.latestMigration })
        const base = /^http:\/\/127\.0\.0\.1:\d+/.exec(String(member(told, "operations")))?.[0]
        for (const path of ["/metrics", "/health/live", "/health/ready"]) {
          assert.strictEqual(yield* statusOf(base + path), 200, path)
        }
        assert.strictEqual(yield* statusOf(`${auspex.url}/health/live`), 0)
        // The listener for operations does not keep the process running.
        assert.deepStrictEqual(yield* stopped(auspex), { code: 0, signal: null })
        // The output is JSON from the first line to the last.
        const messages = lines(auspex.stdout()).map((line) => member(JSON.parse(line), "message"))
        assert.deepStrictEqual(messages.slice(-2), ["the instance shuts down", "the instance has stopped"])
      }).pipe(Effect.scoped, Effect.provide(NodeServices.layer))
  )

  it.live.runIf(isFull)("The listener at a taken port stops the start with a line on its setting", () =>
    Effect.gen(function* () {
      const url = yield* freshDatabase
      const port = yield* takenPort
      const line = yield* complaint(replicaEnvironment(url, { AUSPEX_OPS_PORT: String(port) }))
      assert.match(line, new RegExp(`^auspex: cannot listen at 127\\.0\\.0\\.1:${port} .*AUSPEX_OPS_PORT`))
    }).pipe(Effect.scoped, Effect.provide(NodeServices.layer))
  )

  it.live.runIf(isFull)("The listener at a taken default port listens at a free one, and says which", () =>
    Effect.gen(function* () {
      // Another instance on this machine may have the port already.
      yield* listenAt(9464)
      const auspex = yield* startAuspex({
        environment: replicaEnvironment(yield* freshDatabase, { AUSPEX_OPS_PORT: "" })
      })
      yield* whenStarted(auspex)
      const line = String(member(startedFields(auspex), "annotations", "operations"))
      const [, base, port] = /^(http:\/\/127\.0\.0\.1:(\d+))\/metrics/.exec(line) ?? []
      assert.notStrictEqual(port, "9464")
      assert.include(line, "port 9464 is taken: set AUSPEX_OPS_PORT")
      assert.strictEqual(yield* statusOf(`${base}/health/ready`), 200)
    }).pipe(Effect.scoped, Effect.provide(NodeServices.layer))
  )
})

describe.runIf(isFull)("Two replicas on one database", () => {
  const Settled = Schema.Struct({ settlements: Schema.Int, scores: Schema.Int })

  it.live("Two replicas start at once on an empty database, serve the same agents, and settle once", () =>
    Effect.gen(function* () {
      const url = yield* emptyDatabase
      const environment = replicaEnvironment(runnersUrl(url), {
        AUSPEX_MIGRATION_URL: Redacted.value(url),
        AUSPEX_JOB_INTERVAL: "200 millis"
      })
      const starting = yield* Effect.all([startAuspex({ environment }), startAuspex({ environment })])
      const [one, other] = yield* Effect.all([whenReady(starting[0]), whenReady(starting[1])], {
        concurrency: "unbounded"
      })

      const agent = yield* onboard({ name: "Ada" }).pipe(to(one))
      const profile = get("/api/v1/agent/profile/self", { token: agent.token }).pipe(to(other))
      assert.strictEqual((yield* profile).status, 200)

      yield* gold(testAdminToken).pipe(to(one))
      const settledBy = Effect.fnUntraced(function* (working: Auspex, paused: Auspex) {
        const id = yield* predictedChallenge(testAdminToken, agent.token, 500).pipe(to(working))
        yield* paused.signal("SIGSTOP")
        yield* until("one replica settles alone", isResolved(id).pipe(to(working)))
        yield* paused.signal("SIGCONT")
        return id
      })
      const alone = [yield* settledBy(one, other), yield* settledBy(other, one)]

      // Both jobs and both administrators' calls go for the same challenge.
      const contested = yield* predictedChallenge(testAdminToken, agent.token, 300).pipe(to(one))
      // The same submission is refused at either replica.
      const again = yield* predict(contested, agent.token).pipe(to(other))
      assert.notStrictEqual(again.json["counts_for_score"], true)
      yield* until(
        "the contested challenge is settled",
        Effect.gen(function* () {
          yield* Effect.forEach(
            [one, other, one, other],
            (each) => post("/api/v1/admin/settle", { token: testAdminToken }).pipe(to(each)),
            { concurrency: "unbounded" }
          )
          return yield* isResolved(contested).pipe(to(other))
        })
      )
      const counts = yield* Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        return yield* findAll(Settled)(sql`
          select (select count(*)::int from settlements s where s.challenge_id = c.id) as settlements,
                 (select count(*)::int from prediction_scores s where s.challenge_id = c.id) as scores
            from challenges c where c.id = any(${[...alone, contested]}::uuid[])`)
      }).pipe(Effect.provide(Database.client(url)))
      assert.deepStrictEqual(counts, [
        { settlements: 1, scores: 1 },
        { settlements: 1, scores: 1 },
        { settlements: 1, scores: 1 }
      ])

      const suspended = send("PATCH", `/api/v1/admin/agents/${agent.agentId}`, {
        token: testAdminToken,
        json: { suspended: true }
      })
      assert.strictEqual((yield* suspended.pipe(to(one))).status, 200)
      yield* until(
        "the token is ended at the other replica",
        Effect.map(profile, ({ status }) => status === 401)
      )
      assert.strictEqual((yield* askForToken(agent.agentId, agent.secret).pipe(to(other))).status, 403)

      const ends = yield* Effect.all([stopped(one), stopped(other)], { concurrency: "unbounded" })
      assert.deepStrictEqual(ends, [
        { code: 0, signal: null },
        { code: 0, signal: null }
      ])
    }).pipe(Effect.provide(NodeServices.layer))
  )
})
