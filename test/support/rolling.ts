/** Replicas of the API behind a balancer, under load, and one of jobs, replaced one after the other. */
import { setTimeout } from "node:timers/promises"
import { Clock, Console, Duration, Effect, Fiber, Schema, Scope } from "effect"
import { SqlClient } from "effect/sql"
import * as Database from "../../src/layers/postgres/Database.ts"
import { findAll } from "../../src/layers/postgres/sql.ts"
import { balancer } from "./balancer.ts"
import { Readiness } from "../../src/services/Health.ts"
import { emptyDatabase } from "./database.ts"
import { room } from "./faults/oneMachine.ts"
import { makeAgents, makeChallenge, secret } from "./faults/population.ts"
import {
  freePort,
  replicaEnvironment,
  startAuspex,
  stopped,
  temporaryDirectory,
  until,
  whenReady
} from "./process.ts"
import type { Auspex, Start } from "./process.ts"
import { member } from "./requests.ts"

export interface Rolled {
  /** Requests without an answer, or with a fault. */
  readonly failures: ReadonlyArray<string>
  /** Acknowledged predictions that the database does not have. */
  readonly lost: ReadonlyArray<string>
  /** The problems that replicas report in their health at the end. */
  readonly problems: ReadonlyArray<string>
}

const agents = 8
/** An agent revises its answer to each at most 50 times. */
const challenges = 20

const send = async (url: string, method: string, token?: string, json?: unknown) => {
  const response = await fetch(url, {
    method,
    headers: {
      "content-type": "application/json",
      ...(token !== undefined && { authorization: `Bearer ${token}` })
    },
    ...(json !== undefined && { body: JSON.stringify(json) })
  })
  const text = await response.text()
  const body: unknown = response.status < 500 ? JSON.parse(text) : text
  return { status: response.status, body, text }
}

/** The pause between two requests of an agent. */
const pauseMillis = 100

const reads = ["/api/v1/agent/profile/self", "/api/v1/eval/challenges/active", "/api/v1/eval/leaderboard"]

/** Every fourth call predicts, each time on the next challenge; the others read. */
const callAt = (turn: number, challengeIds: ReadonlyArray<string>) => {
  const turns = reads.length + 1
  const read = reads[turn % turns]
  if (read !== undefined) return { method: "GET", path: read }
  const id = challengeIds[Math.floor(turn / turns) % challengeIds.length]
  const json = { direction: "bullish", confidence: 0.6, is_revision: true }
  return { method: "POST", path: `/api/v1/eval/challenges/${id}/predict`, json }
}

/** Agents predict and read until it is over. */
const load = Effect.fnUntraced(function* (
  url: string,
  ids: ReadonlyArray<string>,
  challengeIds: ReadonlyArray<string>,
  isOver: (sent: number) => boolean
) {
  const failures: Array<string> = []
  const commits: Array<string> = []
  let sent = 0
  const agent = async (id: string) => {
    const credentials = { grant_type: "client_credentials", agent_id: id, client_secret: secret }
    const { body } = await send(`${url}/api/v1/agent/auth/token`, "POST", undefined, credentials)
    const token = String(member(body, "access_token"))
    while (!isOver(sent)) {
      const { json, method, path } = callAt(sent, challengeIds)
      sent += 1
      try {
        const answer = await send(url + path, method, token, json)
        if (answer.status >= 400)
          failures.push(`${method} ${path}: ${answer.status} ${answer.text.slice(0, 200)}`)
        else if (method === "POST") commits.push(String(member(answer.body, "receipt", "commit")))
      } catch (error) {
        failures.push(`${method} ${path}: ${String(error)} ${String(member(error, "cause", "code"))}`)
      }
      await setTimeout(pauseMillis)
    }
  }
  yield* Effect.promise(() => Promise.all(ids.map(agent)))
  return { failures, commits, sent }
})

const decodeReadiness = Schema.decodeUnknownEffect(Schema.fromJsonString(Readiness))

const problemsOf = Effect.fnUntraced(function* (opsPort: number) {
  const text = yield* Effect.promise(() =>
    fetch(`http://127.0.0.1:${opsPort}/health/ready`).then((response) => response.text())
  )
  const { checks } = yield* Effect.orDie(decodeReadiness(text))
  return checks.flatMap(({ name, ok, reason }) => (ok ? [] : [`${name}: ${reason ?? ""}`]))
})

/** The replicas in the order of their replacement. */
export const orders = {
  "jobs last": ["api", "api", "api", "jobs"],
  "jobs first": ["jobs", "api", "api", "api"]
} as const

/** Runs the load while each replica of the version before, or else of ours, is replaced by one of ours, and so on. */
export const rolling = Effect.fnUntraced(function* (options: {
  readonly minRequests: number
  readonly order: keyof typeof orders
  readonly before?: Pick<Start, "folder">
}) {
  const scope = yield* Effect.scope
  const database = yield* emptyDatabase
  // The data directory outlives its programs: it holds their record of the log.
  const place = (roles: string) =>
    Effect.all({
      roles: Effect.succeed(roles),
      port: freePort,
      opsPort: freePort,
      dataDir: temporaryDirectory
    })
  const places = yield* Effect.forEach(orders[options.order], place)
  const startAt = Effect.fnUntraced(function* (
    { dataDir, opsPort, port, roles }: (typeof places)[number],
    version: Pick<Start, "folder">
  ) {
    const environment = replicaEnvironment(database, {
      ...room,
      AUSPEX_ROLES: roles,
      AUSPEX_DATA_DIR: dataDir,
      AUSPEX_OPS_PORT: String(opsPort),
      AUSPEX_DRAIN_DELAY: "3 seconds",
      // Rows that instances write by themselves must not exclude the version before.
      AUSPEX_REFERENCES: "on",
      AUSPEX_JOB_INTERVAL: "1 second",
      AUSPEX_TRUSTED_PROXIES: "127.0.0.1"
    })
    const auspex = yield* startAuspex({ environment, port, ...version }).pipe(Scope.provide(scope))
    yield* whenReady({ ...auspex, url: `http://127.0.0.1:${opsPort}` }, "4 minutes")
    return auspex
  })
  const running: Array<Auspex> = []
  for (const each of places) running.push(yield* startAt(each, options.before ?? {}))

  const prepared = Effect.gen(function* () {
    const ids = yield* makeAgents("agent", agents)
    const open = yield* Effect.replicateEffect(makeChallenge(Duration.hours(1)), challenges)
    return { ids, challengeIds: open.map(({ id }) => id) }
  })
  const { challengeIds, ids } = yield* Effect.provide(prepared, Database.client(database))
  const served = places.filter(({ roles }) => roles === "api")
  const url = `http://127.0.0.1:${yield* balancer(served)}`
  yield* until(
    "the balancer has found the replicas",
    Effect.promise(() =>
      fetch(`${url}/health/live`).then(
        ({ status }) => status === 200,
        () => false
      )
    )
  )
  const began = yield* Clock.currentTimeMillis
  let replaced = 0
  const isOver = (sent: number) => sent >= options.minRequests && replaced >= places.length
  const loading = yield* Effect.forkScoped(load(url, ids, challengeIds, isOver))
  while (replaced < places.length || loading.pollUnsafe() === undefined) {
    const index = replaced % places.length
    const [old, at] = [running[index], places[index]]
    if (old === undefined || at === undefined) break
    const { code } = yield* stopped(old)
    if (code !== 0) return yield* Effect.die(new Error(`a replica ended with ${code}: ${old.stderr()}`))
    running[index] = yield* startAt(at, {})
    replaced += 1
    // The balancer needs a while to find it.
    yield* Effect.sleep("2 seconds")
  }
  const { commits, failures, sent } = yield* Fiber.join(loading)
  const problems = yield* Effect.forEach(places, ({ opsPort }) => problemsOf(opsPort))
  const Stored = Schema.Struct({ commit: Schema.String })
  const stored = yield* SqlClient.SqlClient.use((sql) =>
    findAll(Stored)(sql`select encode(commit, 'hex') as commit from predictions`)
  ).pipe(Effect.provide(Database.client(database)))
  const known = new Set(stored.map(({ commit }) => commit))
  const rolled: Rolled = {
    failures,
    lost: commits.filter((commit) => !known.has(commit)),
    problems: problems.flat()
  }
  yield* Console.log(
    `${options.order}: ${sent} requests in ${((yield* Clock.currentTimeMillis) - began) / 1000} s, ${failures.length} failed, ` +
      `${commits.length} predictions acknowledged, ${rolled.lost.length} lost, ${replaced} replaced`
  )
  return rolled
})
