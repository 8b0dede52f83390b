/** Two minutes of one anonymous client that tries to stop the service, beside fifty agents who work as always. */
import { spawn, spawnSync } from "node:child_process"
import { writeFileSync } from "node:fs"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import * as NodeServices from "@effect/platform-node/NodeServices"
import { assert, describe, it } from "@effect/vitest"
import { Clock, Console, DateTime, Effect, Layer, Random, Schema } from "effect"
import { claimedAgents } from "../support/agents.ts"
import { newChallenge, plus, predict } from "../support/challenges.ts"
import { freshDatabase, poolOn } from "../support/database.ts"
import { makeAgents, secret } from "../support/faults/population.ts"
import { canary, gatewayYaml, spender } from "../support/gateway.ts"
import { logSigner } from "../support/logSigner.ts"
import { mailbox } from "../support/mailbox.ts"
import { readyAuspex, replicaEnvironment, temporaryDirectory } from "../support/process.ts"
import type { Auspex } from "../support/process.ts"
import { services } from "../support/services.ts"
import { settings } from "../support/settings.ts"
import { upstream } from "../support/upstream.ts"

const agents = 50
const aloneSeconds = 40
const hostileSeconds = 120
/** The pause between two requests of an agent. */
const pauseMillis = 600

interface Ordinary {
  readonly token: string
  readonly address: string
}

const sendTo = (auspex: Auspex, agent: Partial<Ordinary>, path: string, json?: unknown) =>
  Effect.promise(async (signal) => {
    const response = await fetch(`${auspex.url}${path}`, {
      method: json === undefined ? "GET" : "POST",
      signal,
      headers: {
        "x-forwarded-for": agent.address ?? "10.1.0.1",
        ...(agent.token !== undefined && { authorization: `Bearer ${agent.token}` }),
        ...(json !== undefined && { "content-type": "application/json" })
      },
      ...(json !== undefined && { body: JSON.stringify(json) })
    })
    return { status: response.status, text: await response.text() }
  })

const Token = Schema.fromJsonString(Schema.Struct({ access_token: Schema.String }))

const ordinary = Effect.fnUntraced(function* (auspex: Auspex, agentId: string, index: number) {
  const address = `10.1.${index}.1`
  const { text } = yield* sendTo(auspex, { address }, "/api/v1/agent/auth/token", {
    grant_type: "client_credentials",
    agent_id: agentId,
    client_secret: secret
  })
  const { access_token } = yield* Effect.orDie(Schema.decodeEffect(Token)(text))
  return { token: access_token, address }
})

interface Measured {
  readonly millis: ReadonlyArray<number>
  readonly statuses: ReadonlyMap<number, number>
}

/** The waiting times of every agent's requests, one after the other, until the time is over. */
const work = Effect.fnUntraced(function* (
  auspex: Auspex,
  crowd: ReadonlyArray<Ordinary>,
  challengeId: string,
  seconds: number
) {
  const until = (yield* Clock.currentTimeMillis) + seconds * 1000
  const millis: Array<number> = []
  const statuses = new Map<number, number>()
  const doings = [
    (agent: Ordinary) =>
      sendTo(auspex, agent, `/api/v1/eval/challenges/${challengeId}/predict`, {
        direction: "bullish",
        confidence: 0.6,
        is_revision: true
      }),
    (agent: Ordinary) => sendTo(auspex, agent, "/api/v1/eval/challenges/active"),
    (agent: Ordinary) => sendTo(auspex, agent, "/api/v1/eval/leaderboard"),
    (agent: Ordinary) => sendTo(auspex, agent, "/api/v1/agent/profile/self")
  ]
  const each = Effect.fnUntraced(function* (agent: Ordinary) {
    yield* Effect.sleep(yield* Random.nextIntBetween(0, pauseMillis))
    while ((yield* Clock.currentTimeMillis) < until) {
      const doing = yield* Random.choice(doings)
      const started = performance.now()
      const { status } = yield* doing(agent)
      millis.push(performance.now() - started)
      statuses.set(status, (statuses.get(status) ?? 0) + 1)
      yield* Effect.sleep(pauseMillis)
    }
  })
  yield* Effect.forEach(crowd, each, { concurrency: "unbounded", discard: true })
  const measured: Measured = { millis: millis.toSorted((a, b) => a - b), statuses }
  return measured
})

const quantile = ({ millis }: Measured, share: number): number =>
  millis[Math.ceil(millis.length * share) - 1] ?? Number.NaN

const serverErrors = ({ statuses }: Measured) => [...statuses].filter(([status]) => status >= 500)

const residentMiB = (pid: number): number =>
  Number(spawnSync("ps", ["-o", "rss=", "-p", String(pid)]).stdout.toString()) / 1024

/** The memory of the process, second by second, until the scope ends. */
const watchedMemory = Effect.fnUntraced(function* (pid: number) {
  const seen: Array<number> = []
  yield* Effect.sync(() => seen.push(residentMiB(pid))).pipe(
    Effect.andThen(Effect.sleep("1 second")),
    Effect.forever,
    Effect.forkScoped
  )
  return seen
})

const median = (values: ReadonlyArray<number>): number =>
  values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? Number.NaN

const Report = Schema.fromJsonString(
  Schema.Record(
    Schema.String,
    Schema.Struct({ times: Schema.Int, statuses: Schema.Record(Schema.String, Schema.Int) })
  )
)

/** The hostile program, until it has printed what it did. */
const hostile = (auspex: Auspex, challengeId: string, key: string) =>
  Effect.callback<string>((resume) => {
    const program = fileURLToPath(new URL("../support/hostileClient.ts", import.meta.url))
    const child = spawn(process.execPath, [program, auspex.url, String(hostileSeconds), challengeId, key], {
      stdio: ["ignore", "pipe", "inherit"]
    })
    let text = ""
    child.stdout.on("data", (chunk: Buffer) => (text += chunk.toString()))
    child.on("close", () => resume(Effect.succeed(text)))
    return Effect.sync(() => child.kill())
  }).pipe(Effect.flatMap(Schema.decodeEffect(Report)), Effect.orDie)

/** A question past its deadline whose results are long. */
const longResults = Effect.gen(function* () {
  const challenge = yield* newChallenge({ deadline: plus(yield* DateTime.now, "8 seconds") })
  yield* Effect.forEach(yield* claimedAgents(100), (agentId) =>
    predict(agentId, challenge, { reasoning: "Supply is short. ".repeat(230) })
  )
  return challenge
})

describe("An anonymous client that wants to stop the service", () => {
  it.live("A hostile client gets no server error, slows nobody five times, and leaves no memory behind", () =>
    Effect.gen(function* () {
      const url = yield* freshDatabase
      const north = yield* upstream
      const file = join(yield* temporaryDirectory, "gateway.yaml")
      const models = [{ name: "plain", routes: [{ provider: "north" as const, model: "plain" }] }]
      const ports = { north: north.port, west: north.port, south: north.port }
      writeFileSync(file, gatewayYaml(ports, models, "usual"))
      const ours = services.pipe(
        Layer.provideMerge(Layer.mergeAll(poolOn(url), settings(), mailbox, logSigner()))
      )
      const made = yield* Effect.gen(function* () {
        const long = yield* longResults
        const open = yield* newChallenge({ deadline: plus(yield* DateTime.now, "1 hour") })
        const { key } = yield* spender(0)
        return { long, open, key, ids: yield* makeAgents("ordinary", agents) }
      }).pipe(Effect.provide(ours))

      const auspex = yield* readyAuspex({
        environment: replicaEnvironment(url, {
          AUSPEX_GATEWAY_CONFIG: file,
          NORTH_KEY: canary,
          WEST_KEY: canary,
          SOUTH_KEY: canary,
          NOBODY_KEY: canary,
          // The ordinary agents come by a proxy, each with an address of its own.
          AUSPEX_TRUSTED_PROXIES: "127.0.0.1",
          AUSPEX_LIMIT_UNIDENTIFIED: "600/minute"
        })
      })
      const crowd = yield* Effect.forEach(made.ids, (id, index) => ordinary(auspex, id, index))
      yield* work(auspex, crowd, made.open.id, 10)
      const alone = yield* work(auspex, crowd, made.open.id, aloneSeconds)

      const memory = yield* watchedMemory(auspex.pid)
      const [report, beside] = yield* Effect.all(
        [hostile(auspex, made.long.id, made.key), work(auspex, crowd, made.open.id, hostileSeconds)],
        { concurrency: "unbounded" }
      )
      // Other tests may have begun or ended meanwhile: the usual time is the slower of two times alone.
      const after = yield* work(auspex, crowd, made.open.id, aloneSeconds)
      const usual = Math.max(quantile(alone, 0.95), quantile(after, 0.95))
      const [early, late] = [median(memory.slice(10, 40)), median(memory.slice(-30))]
      yield* Console.log(
        `alone p50 ${quantile(alone, 0.5).toFixed(1)} p95 ${quantile(alone, 0.95).toFixed(1)} ms of ${alone.millis.length}; ` +
          `beside p50 ${quantile(beside, 0.5).toFixed(1)} p95 ${quantile(beside, 0.95).toFixed(1)} ms of ${beside.millis.length}; ` +
          `after p50 ${quantile(after, 0.5).toFixed(1)} p95 ${quantile(after, 0.95).toFixed(1)} ms; ` +
          `resident ${early.toFixed(0)} MiB early, ${late.toFixed(0)} late, ${Math.max(...memory).toFixed(0)} at most\n` +
          JSON.stringify(report)
      )

      for (const [kind, { statuses, times }] of Object.entries(report)) {
        assert.isAtLeast(times, 10, kind)
        assert.deepStrictEqual(
          Object.keys(statuses).filter((status) => Number(status) >= 500 && Number(status) !== 501),
          [],
          kind
        )
      }
      assert.strictEqual(Object.keys(report).length, 10)
      for (const kind of ["unknown paths", "bad tokens", "combining marks", "arrays"]) {
        assert.isAtLeast(report[kind]?.statuses["429"] ?? 0, 10, kind)
      }
      for (const measured of [alone, beside, after]) {
        assert.deepStrictEqual(serverErrors(measured), [])
        assert.isAtLeast(measured.millis.length, agents * 20)
        assert.isUndefined(measured.statuses.get(401))
      }
      assert.isAtMost(quantile(beside, 0.95), 5 * usual)
      assert.isAtMost(late, 1.5 * early)
      assert.isFalse(yield* auspex.hasEnded)
    }).pipe(Effect.provide(NodeServices.layer))
  )
})
