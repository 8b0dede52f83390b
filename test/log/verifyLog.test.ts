/** The audit as an operator runs it: what it says, what the server does from then on, and how a long one is answered. */
import { assert, layer } from "@effect/vitest"
import { Deferred, Effect, Fiber, Layer } from "effect"
import { SqlClient } from "effect/sql"
import { TestClock } from "effect/testing"
import { admin } from "../../cli/admin/command.ts"
import { Audit } from "../../src/services/Audit.ts"
import type { LogAuditReport } from "../../src/services/Audit.ts"
import { LogSequencer } from "../../src/services/LogSequencer.ts"
import { newChallenge } from "../support/challenges.ts"
import { runCommand } from "../support/commands.ts"
import { loggedFixture } from "../support/loggedFixture.ts"
import { TestServer, get, heartbeat, member, metrics, testServer } from "../support/server.ts"
import { testAdminToken } from "../support/settings.ts"
import { asOwner, countOf } from "../support/database.ts"

const run = Effect.fnUntraced(function* (...args: ReadonlyArray<string>) {
  const { url } = yield* TestServer
  return yield* runCommand(admin, args, { AUSPEX_BASE_URL: url, AUSPEX_ADMIN_TOKEN: testAdminToken })
})

const path = "/api/v1/admin/log/audit"

/** The log's state as /health/ready tells it. */
const logCheck = Effect.map(
  Effect.andThen(TestClock.adjust("1 second"), get("/health/ready")),
  ({ json }) => {
    const checks = json["checks"]
    return Array.isArray(checks) ? checks.find((check) => member(check, "name") === "log") : undefined
  }
)

const checkpoints = countOf((sql) => sql`select count(*)::int as count from log_checkpoints`)

layer(testServer())("The command log audit", (it) => {
  it.effect("The command log audit names a change; nothing is signed until an audit finds nothing", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const sequencer = yield* LogSequencer
      const { agents, settled } = yield* loggedFixture
      const clean = yield* run("log", "audit")
      assert.isTrue(clean.ok, clean.err)
      assert.match(clean.out, /^challenges +12$/m)
      assert.match(clean.out, /^differences +0$/m)
      assert.deepStrictEqual(member(yield* logCheck, "ok"), true)

      const [agent] = agents
      assert(agent !== undefined)
      const change = (confidence: number) => sql`
        update predictions set confidence = ${String(confidence)}::numeric
         where challenge_id = ${settled.id}::uuid and agent_id = ${agent}::uuid and revision = 21`
      yield* asOwner(sql`alter table predictions disable trigger user`)
      yield* asOwner(change(0.22))
      const found = yield* run("log", "audit")
      assert.isFalse(found.ok)
      const line = `prediction of agent ${agent} on challenge ${settled.id}, revision 21: confidence is not what its sealed body says`
      assert.include(found.out, line)
      assert.include(found.err, "is not signed any more")

      yield* newChallenge()
      const before = yield* checkpoints
      yield* sequencer.sequence
      yield* sequencer.publish
      assert.strictEqual(yield* checkpoints, before)
      const check = yield* logCheck
      assert.strictEqual(member(check, "ok"), false)
      assert.include(String(member(check, "reason")), line)

      yield* asOwner(change(0.21))
      const again = yield* get(path, { token: testAdminToken })
      assert.deepStrictEqual(again.json["differences"], [])
      yield* sequencer.sequence
      yield* sequencer.publish
      assert.strictEqual(member(yield* logCheck, "ok"), true)
      assert.strictEqual(yield* checkpoints, before + 1)
    })
  )
})

layer(testServer())("A fault of the log", (it) => {
  it.effect("A fault of the log is a gauge of its own, also while nothing waits for its place", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const sequencer = yield* LogSequencer
      const audit = Audit.use(({ verifyLog }) => verifyLog)
      const gauge = Effect.fnUntraced(function* (name: string) {
        yield* sequencer.measure
        return new RegExp(`^auspex_${name} (.*)$`, "m").exec(yield* metrics)?.[1]
      })
      yield* newChallenge()
      yield* sequencer.sequence
      yield* sequencer.publish
      assert.deepStrictEqual((yield* audit).differences, [])
      assert.strictEqual(yield* gauge("log_fault"), "0")

      yield* asOwner(sql`alter table challenges disable trigger user`)
      yield* asOwner(sql`update challenges set question = question || '?'`)
      assert.isAbove((yield* audit).difference_count, 0)
      assert.strictEqual(yield* gauge("log_fault"), "1")
      assert.strictEqual(yield* gauge("log_pending_entries"), "0")
      assert.strictEqual(yield* gauge("log_standstill_seconds"), "0")

      yield* asOwner(sql`update challenges set question = left(question, -1)`)
      assert.deepStrictEqual((yield* audit).differences, [])
      assert.strictEqual(yield* gauge("log_fault"), "0")
    })
  )
})

const report: LogAuditReport = {
  entries: 1,
  waiting: 0,
  checkpoints: 0,
  challenges: 0,
  predictions: 0,
  settlements: 0,
  scores: 0,
  pools: 0,
  agents: 0,
  seconds: 61,
  difference_count: 0,
  differences: []
}

const slow = { begun: Deferred.makeUnsafe<void>(), end: Deferred.makeUnsafe<LogAuditReport>() }

const slowAudit = Layer.succeed(
  Audit,
  Audit.of({
    verifyLog: Effect.andThen(Deferred.succeed(slow.begun, undefined), Deferred.await(slow.end)),
    verifyStats: Effect.never,
    verifyLedger: Effect.never
  })
)

layer(testServer({ swap: slowAudit }))("A long audit", (it) => {
  it.effect("A long audit sends spaces before its JSON, so that nobody takes the silence for an end", () =>
    Effect.gen(function* () {
      const { onText, until } = heartbeat()
      const request = yield* Effect.forkChild(get(path, { token: testAdminToken, onText }))
      yield* Deferred.await(slow.begun)
      yield* until(2)
      yield* Deferred.succeed(slow.end, report)
      const answer = yield* Fiber.join(request)
      assert.strictEqual(answer.status, 200)
      assert.match(answer.headers.get("content-type") ?? "", /^application\/json/)
      assert.match(answer.text, /^ {2,}\{/)
      assert.deepStrictEqual(JSON.parse(answer.text), report)
    })
  )
})
