/** `Idempotency-Key`, mostly at the endpoint for stakes: a repeated request does nothing again. */
import { assert, layer } from "@effect/vitest"
import { DateTime, Effect } from "effect"
import { SqlClient } from "effect/sql"
import { TestClock } from "effect/testing"
import { AgentId } from "../../src/services/domain/ids.ts"
import { Idempotency } from "../../src/services/Idempotency.ts"
import { claim, onboard } from "../support/agents.ts"
import { forecast, newMacro } from "../support/challenges.ts"
import { fund } from "../support/credit.ts"
import { times } from "../support/concurrently.ts"
import { newEvent } from "../support/discussion.ts"
import { get, member, post, testServer, wrongFields } from "../support/server.ts"
import { testAdminToken } from "../support/settings.ts"

/** An agent that may stake, and has credit, on a challenge that it has forecast. */
const staker = Effect.gen(function* () {
  const { id } = yield* newMacro()
  const agent = yield* onboard({
    requested_scopes: ["prediction:submit", "profile:read:self", "credits:stake"]
  })
  yield* claim(agent.agentId)
  yield* fund(`agent:${agent.agentId}`, 500)
  yield* forecast(AgentId.make(agent.agentId), { id })
  const stake = (key: string, amount = 100) =>
    post(`/api/v1/eval/macro/challenges/${id}/stake`, {
      token: agent.token,
      headers: { "idempotency-key": key },
      json: { predicted_value: 3.1, amount }
    })
  const frozen = Effect.map(
    get("/api/v1/agent/credits/balance", { token: agent.token }),
    (answer) => answer.json["frozen_balance"]
  )
  return { ...agent, id, stake, frozen }
})

const environment = { AUSPEX_LIMIT_STAKES: "100/minute" }

layer(testServer({ environment }))("Idempotency-Key", (it) => {
  it.effect("A request that repeats its key does nothing and is answered as it was", () =>
    Effect.gen(function* () {
      const { frozen, stake } = yield* staker
      const first = yield* stake('"a7"')
      const again = yield* stake("a7")
      assert.strictEqual(first.status, 201)
      assert.deepStrictEqual([again.status, again.text], [201, first.text])
      assert.strictEqual(first.headers.get("idempotency-replayed"), null)
      assert.strictEqual(again.headers.get("idempotency-replayed"), "true")
      assert.strictEqual(again.headers.get("content-type"), first.headers.get("content-type"))
      assert.strictEqual(yield* frozen, 100)
    })
  )

  it.effect("An Idempotency-Key with another body is a mistake (422), another agent's is another key", () =>
    Effect.gen(function* () {
      const [one, other] = [yield* staker, yield* staker]
      yield* one.stake("key")
      const mistaken = yield* one.stake("key", 101)
      assert.deepStrictEqual([mistaken.status, mistaken.json["code"]], [422, "idempotency_key_mismatch"])
      assert.strictEqual((yield* other.stake("key")).status, 201)
    })
  )

  it.effect("A refused request did nothing, and may be tried again with the same key", () =>
    Effect.gen(function* () {
      const { stake } = yield* staker
      assert.strictEqual((yield* stake("retry", 5000)).json["code"], "insufficient_credit")
      assert.strictEqual((yield* stake("retry", 50)).status, 201)
    })
  )

  it.effect("An Idempotency-Key is 1 to 255 visible ASCII characters", () =>
    Effect.gen(function* () {
      const { stake } = yield* staker
      for (const key of ["a b", '"', "a\\b", "x".repeat(256), '""']) {
        const refused = yield* stake(key)
        assert.deepStrictEqual([refused.status, wrongFields(refused)], [400, ["Idempotency-Key"]])
      }
      assert.strictEqual((yield* stake("x".repeat(255))).status, 201)
    })
  )

  it.effect("One of twenty requests at once is carried out; the others are that one or have to wait", () =>
    Effect.gen(function* () {
      const { frozen, stake } = yield* staker
      const answers = yield* Effect.all(
        times(20, () => stake("same")),
        { concurrency: 20 }
      )
      const made = answers.filter((answer) => answer.status === 201)
      assert.strictEqual(new Set(made.map(({ text }) => text)).size, 1)
      assert.strictEqual(made.filter(({ headers }) => !headers.has("idempotency-replayed")).length, 1)
      for (const answer of answers.filter(({ status }) => status !== 201)) {
        assert.deepStrictEqual([answer.status, answer.json["code"]], [409, "idempotency_key_in_use"])
      }
      assert.strictEqual(yield* frozen, 100)
    })
  )

  it.effect("Repeated requests make one comment, one reply and one gateway key, which is shown again", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const event = yield* newEvent()
      const { agentId, token } = yield* onboard()
      yield* claim(agentId)
      yield* sql`update agents set credit_arena_enabled = true where id = ${agentId}::uuid`
      yield* sql`update operators set plan = 'pro'`
      const twice = Effect.fnUntraced(function* (path: string, json: object) {
        const options = { token, headers: { "idempotency-key": path }, json }
        const [first, again] = [yield* post(path, options), yield* post(path, options)]
        assert.deepStrictEqual([first.status, again.status, again.text], [201, 201, first.text])
        return first.json
      })
      const comment = yield* twice("/api/v1/agent/comments", { news_id: event.event_id, content: "Once." })
      yield* twice(`/api/v1/agent/comments/${String(comment["comment_id"])}/replies`, {
        content: "Once, too."
      })
      yield* twice("/api/v1/llm/keys", { name: "once" })
      const comments = yield* get(`/api/v1/public/comments/${event.event_id}`)
      assert.strictEqual(comments.json["total_count"], 2)
      assert.strictEqual((yield* sql`select 1 from gateway_keys`).length, 1)
    })
  )

  it.effect("An administrator's Idempotency-Key makes one challenge; each request is recorded", () =>
    Effect.gen(function* () {
      const now = yield* DateTime.now
      const deadline = DateTime.formatIso(DateTime.add(now, { hours: 1 }))
      const midnight = DateTime.formatIso(DateTime.add(DateTime.startOf(now, "day"), { days: 2 }))
      const made = [
        ["challenges", { asset: "GC", open_price: 100, dead_zone_pct: 1, deadline, resolve_at: deadline }],
        [
          "macro/challenges",
          {
            asset: "CPI",
            period: "2026-03",
            deadline,
            bin_edges: [3, 3.1, 3.2],
            reference_scale: 0.12,
            reward_pool: 0
          }
        ],
        [
          "price-events/challenges",
          { kind: "threshold", asset: "ETH", level: 100, deadline, resolve_at: midnight }
        ]
      ] as const
      for (const [path, json] of made) {
        const create = (body: object, token = testAdminToken) =>
          post(`/api/v1/admin/${path}`, {
            token,
            headers: { "idempotency-key": `make-${path}` },
            json: body
          })
        const first = yield* create(json)
        const again = yield* create(json)
        assert.strictEqual(first.status, 201, first.text)
        assert.deepStrictEqual([again.status, again.text], [201, first.text])
        assert.strictEqual(again.headers.get("idempotency-replayed"), "true")
        assert.strictEqual((yield* create({ ...json, question: "Another one?" })).status, 422)
        assert.strictEqual((yield* create(json, "a stranger's")).status, 401)
      }
      const { json } = yield* get("/api/v1/admin/audit?limit=9", { token: testAdminToken })
      assert.deepStrictEqual(
        times(9, (index) => member(json, "items", index, "status")),
        [422, 201, 201, 422, 201, 201, 422, 201, 201]
      )
    })
  )

  it.effect("An Idempotency-Key is kept for 24 hours, its answer unreadable in the database", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const idempotency = yield* Idempotency
      const { agentId, stake } = yield* staker
      const first = yield* stake("day")
      const kept = sql`
        select encode(answer, 'escape') as answer from idempotency_keys where agent_id = ${agentId}::uuid`
      const [row] = yield* kept
      assert.notInclude(String(row?.["answer"]), String(first.json["stake_id"]))
      yield* idempotency.trim
      assert.strictEqual((yield* kept).length, 1)
      yield* TestClock.adjust("24 hours")
      yield* idempotency.trim
      assert.strictEqual((yield* kept).length, 0)
    })
  )
})
