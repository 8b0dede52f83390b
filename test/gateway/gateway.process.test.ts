/** Real processes that call models: killed at a step of a call, and signalled to read their file again. */
import * as NodeServices from "@effect/platform-node/NodeServices"
import { writeFileSync } from "node:fs"
import { join } from "node:path"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Fiber } from "effect"
import type { Redacted } from "effect"
import { SqlClient } from "effect/sql"
import { Audit } from "../../src/services/Audit.ts"
import { GatewayBilling } from "../../src/services/GatewayBilling.ts"
import { isFull } from "../support/breadth.ts"
import { payClaimGrants, stateOf } from "../support/credit.ts"
import { heldUpAt, killed } from "../support/crash.ts"
import { freshDatabase, countOf } from "../support/database.ts"
import { canary, chat, chatPath, gatewayYaml, spender } from "../support/gateway.ts"
import type { TestModel } from "../support/gateway.ts"
import {
  readyAuspex,
  replicaEnvironment,
  temporaryDirectory,
  ticksOfEach,
  to,
  until,
  usedBy
} from "../support/process.ts"
import type { Auspex } from "../support/process.ts"
import { get, member, post } from "../support/server.ts"
import { servicesOn } from "../support/services.ts"
import { testAdminToken } from "../support/settings.ts"
import { upstream } from "../support/upstream.ts"

/** Processes on one database with one file of the gateway, which `write` replaces. */
const gatewayProcesses = Effect.fnUntraced(function* (url: Redacted.Redacted) {
  const north = yield* upstream
  const file = join(yield* temporaryDirectory, "gateway.yaml")
  const ports = { north: north.port, west: north.port, south: north.port }
  const write = (models: ReadonlyArray<TestModel>) => writeFileSync(file, gatewayYaml(ports, models, "usual"))
  const start = (roles: string, more: Readonly<Record<string, string>> = {}) =>
    readyAuspex({
      environment: replicaEnvironment(url, {
        ...more,
        AUSPEX_ROLES: roles,
        AUSPEX_GATEWAY_CONFIG: file,
        NORTH_KEY: canary,
        WEST_KEY: canary,
        SOUTH_KEY: canary,
        NOBODY_KEY: canary
      })
    })
  return { file, north, start, write }
})

/** The test's own services run beside the processes, on one database. */
const withProcesses = <A, E, R>(
  use: (processes: Effect.Success<ReturnType<typeof gatewayProcesses>>) => Effect.Effect<A, E, R>
) =>
  Effect.gen(function* () {
    const url = yield* freshDatabase
    return yield* Effect.flatMap(gatewayProcesses(url), use).pipe(Effect.provide(servicesOn(url)))
  })

const reservations = countOf((sql) => sql`select count(*)::int as count from gateway_reservations`)

/** An agent with its claim grant. */
const funded = Effect.fnUntraced(function* () {
  const who = yield* spender()
  yield* payClaimGrants
  return { ...who, all: (yield* stateOf(`agent:${who.agentId}`)).posted }
})

/** Kills a process at each step of a call, then has another one sweep up. */
const killedInCalls = withProcesses(({ north, start, write }) =>
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    const billing = yield* GatewayBilling
    write([
      { name: "plain", routes: [{ provider: "north", model: "plain" }] },
      { name: "silent", routes: [{ provider: "north", model: "silent" }] }
    ])
    const begun = (victim: Auspex, key: string, model: string) =>
      Effect.forkDetach(Effect.exit(chat(key, { model }).pipe(to(victim))))
    const sent = () => north.received.length

    const early = yield* funded()
    const first = yield* start("api")
    yield* heldUpAt("gateway_reservations", "exclusive", begun(first, early.key, "plain"), killed(first))
    assert.deepStrictEqual(yield* stateOf(`agent:${early.agentId}`), { posted: early.all, held: 0n })
    assert.strictEqual(sent(), 0)

    const middle = yield* funded()
    const second = yield* start("api")
    yield* begun(second, middle.key, "silent")
    yield* until(
      "the provider has the call",
      Effect.sync(() => sent() === 1)
    )
    yield* killed(second)

    const late = yield* funded()
    const third = yield* start("api")
    // By then the settling statement has written the call, and all of that is undone.
    yield* heldUpAt("gateway_days", "exclusive", begun(third, late.key, "plain"), killed(third))

    const over = yield* funded()
    const fourth = yield* start("api")
    assert.strictEqual((yield* chat(over.key, { model: "plain" }).pipe(to(fourth))).status, 200)
    yield* killed(fourth)
    const { held, posted } = yield* stateOf(`agent:${over.agentId}`)
    assert.strictEqual(held, 0n)
    assert.isTrue(posted < over.all)

    for (const { agentId, all } of [middle, late]) {
      const state = yield* stateOf(`agent:${agentId}`)
      assert.strictEqual(state.posted, all)
      assert.isTrue(state.held > 0n)
    }
    assert.strictEqual(yield* reservations, 2)
    assert.deepStrictEqual((yield* Audit.use(({ verifyLedger }) => verifyLedger)).differences, [])

    // Before its ten minutes are over a reservation may belong to a call that is under way elsewhere.
    assert.strictEqual(yield* billing.sweep, 0)
    yield* sql`update gateway_reservations set alive_at = alive_at - interval '11 minutes'`
    const survivor = yield* start("api,jobs")
    yield* until(
      "it has swept",
      Effect.map(reservations, (count) => count === 0),
      "150 seconds"
    )
    for (const { agentId, all, key } of [middle, late]) {
      assert.deepStrictEqual(yield* stateOf(`agent:${agentId}`), { posted: all, held: 0n })
      const { json } = yield* get("/api/v1/llm/usage", { token: key }).pipe(to(survivor))
      assert.deepInclude(member(json, "items", 0), { error: "abandoned", cost: 0 })
      assert.strictEqual(member(json, "totals", "calls"), 1)
      assert.strictEqual((yield* chat(key, { model: "plain" }).pipe(to(survivor))).status, 200)
    }
    assert.strictEqual(yield* billing.sweep, 0)
    const { differences, gateway_revenue } = yield* Audit.use(({ verifyLedger }) => verifyLedger)
    assert.deepStrictEqual(differences, [])
    const told = yield* get("/api/v1/admin/ledger/check", { token: testAdminToken }).pipe(to(survivor))
    assert.strictEqual(told.status, 200)
    assert.deepStrictEqual(told.json["differences"], [])
    // Three calls were answered alike, and paid.
    assert.strictEqual(gateway_revenue, (over.all - posted) * 3n)
  })
)

/** Sends SIGHUP to a process again and again, with good and bad files. */
const hungUpOn = withProcesses(({ file, start, write }) =>
  Effect.gen(function* () {
    const model = (name: string): ReadonlyArray<TestModel> => [
      { name, routes: [{ provider: "north", model: "plain" }] }
    ]
    write(model("first"))
    const { key } = yield* spender()
    const auspex = yield* start("api")
    const lists = (name: string) =>
      Effect.map(
        get("/api/v1/llm/v1/models", { token: key }).pipe(to(auspex)),
        ({ json }) => member(json, "data", 0, "id") === name
      )
    const says = (words: string) =>
      until(
        `it says ${words}`,
        Effect.sync(() => auspex.stdout().includes(words))
      )
    const serves = Effect.fnUntraced(function* (name: string) {
      assert.strictEqual((yield* chat(key, { model: name }).pipe(to(auspex))).status, 200)
    })
    assert.isTrue(yield* lists("first"))

    write(model("second"))
    yield* auspex.signal("SIGHUP")
    yield* until("the good file is in force", lists("second"))
    yield* serves("second")

    writeFileSync(file, "providers: [")
    yield* auspex.signal("SIGHUP")
    yield* says("the gateway's configuration stays as it was")
    yield* says("at line 1")
    write([{ name: "third", routes: [], maxOutputTokens: -1 }])
    yield* auspex.signal("SIGHUP")
    yield* says("models[0].max_output_tokens")
    writeFileSync(file, "providers: *nothing\n")
    yield* auspex.signal("SIGHUP")
    yield* says("Unresolved alias")
    assert.isTrue(yield* lists("second"))
    yield* serves("second")

    write(model("fourth"))
    // An operator's script may send it twice.
    for (let signal = 0; signal < 20; signal++) yield* auspex.signal("SIGHUP")
    yield* until("the good file is in force", lists("fourth"))
    yield* serves("fourth")
    assert.isFalse(yield* auspex.hasEnded)
    assert.notInclude(auspex.stdout() + auspex.stderr(), canary)
  })
)

const tenMebibytes = 10 * 1024 * 1024

/** A body of almost ten mebibytes, which mostly repeats one text. */
const filled = (begin: string, unit: string, end: string) =>
  `${begin}${unit.repeat(Math.floor((tenMebibytes - begin.length - end.length) / unit.length))}${end}`

const begin = '{"model":"plain","messages":[{"role":"user","content":"Hello"}],'
const manyMembers = Array.from({ length: 700_000 }, (_, at) => `"k${at}":1`).join()
const fewerMembers = Array.from({ length: 49_000 }, (_, at) => `"k${at}":1`).join()

/** Bodies that are parsed and then rejected. */
const inVain: Readonly<Record<string, string>> = {
  objects: filled(`${begin}"x":[`, "{},", "{}]}"),
  members: `${begin}${manyMembers}}`,
  "one of 700,000 members twice": `${begin}${manyMembers},"model":"plain"}`,
  "one of 49,000 members twice": `${begin}${fewerMembers},"model":"plain"}`,
  "a member twice, behind white space": filled(begin, " \n", '"model":"plain"}'),
  "a member twice, behind escapes": filled(`${begin}"x":"`, '\\"\\n', '","model":"plain"}'),
  "a prompt that is not paid": filled('{"model":"plain","messages":[{"role":"user","content":"', "a", '"}]}')
}

/** Measures refused bodies of ten mebibytes against the cheapest request. */
const refusedBodies = withProcesses(({ start, write }) =>
  Effect.gen(function* () {
    write([{ name: "plain", routes: [{ provider: "north", model: "plain" }] }])
    const auspex = yield* start("api", {
      AUSPEX_LIMIT_GATEWAY_CALLS: "100000/minute",
      AUSPEX_LIMIT_GATEWAY_AGENT_CALLS: "100000/minute"
    })
    const sent = (key: string, body: string) =>
      post(chatPath, { token: key, headers: { "content-type": "application/json" }, body }).pipe(to(auspex))
    const refused = Effect.fnUntraced(function* (key: string, body: string, status: number) {
      assert.strictEqual((yield* sent(key, body)).status, status)
    })
    const live = get("/health/live").pipe(to(auspex))
    const [poor, rich] = [yield* spender(0), yield* spender(1)]
    yield* ticksOfEach(auspex, 500, live)
    const least = yield* ticksOfEach(auspex, 500, live)

    const objects = inVain["objects"] ?? ""
    yield* refused(poor.key, objects, 402)
    const unread = yield* ticksOfEach(auspex, 20, refused(poor.key, objects, 402))
    assert.isBelow(unread / least, 100, "one that is not read")
    for (const [what, body] of Object.entries(inVain)) {
      const status = what === "a prompt that is not paid" ? 402 : 400
      yield* refused(rich.key, body, status)
      const parsed = yield* ticksOfEach(auspex, 5, refused(rich.key, body, status))
      assert.isBelow(parsed / least, 1500, what)
    }
    const before = yield* usedBy(auspex)
    let answered = 0
    const meanwhile = yield* Effect.forkChild(
      Effect.forever(Effect.tap(live, () => Effect.sync(() => (answered += 1))))
    )
    const started = answered
    yield* Effect.forEach(
      Array.from({ length: 16 }),
      () => refused(rich.key, inVain["one of 700,000 members twice"] ?? "", 400),
      { concurrency: "unbounded" }
    )
    const between = answered - started
    yield* Fiber.interrupt(meanwhile)
    const after = yield* usedBy(auspex)
    assert.isAtLeast(between, 4, "answers to others meanwhile")
    assert.isBelow(after.memory - before.memory, 400 * 1024 * 1024)
  })
)

describe("A kill -9 of the process that calls a model", () => {
  it.live.runIf(isFull)(
    "A kill -9 at any step loses and makes no credit: after the sweep the ledger is as it must be",
    () => killedInCalls.pipe(Effect.provide(NodeServices.layer))
  )
})

describe("A SIGHUP of a process with a gateway", () => {
  it.live(
    "SIGHUP has the process read its file again; a bad one keeps the old one active, and the log says why",
    () => hungUpOn.pipe(Effect.provide(NodeServices.layer))
  )
})

describe("A process with a gateway", () => {
  it.live.runIf(isFull && process.platform === "linux")(
    "A refused body of ten mebibytes costs a bounded number of the smallest requests, and others are answered meanwhile",
    () => refusedBodies.pipe(Effect.provide(NodeServices.layer))
  )
})
