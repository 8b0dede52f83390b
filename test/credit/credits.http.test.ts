/** Credit through HTTP: an agent's own, and grants of administrators. */
import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { claim, onboard, someOperator } from "../support/agents.ts"
import { payClaimGrants } from "../support/credit.ts"
import { get, member, post, testServer, wrongFields } from "../support/server.ts"
import { testAdminToken } from "../support/settings.ts"

const admin = { token: testAdminToken }
const prize = { amount: 25, reason: "a prize", idempotency_key: "prize-1" }

const grant = (agentId: string, fields: Readonly<Record<string, unknown>> = {}) =>
  post(`/api/v1/admin/agents/${agentId}/credits`, { ...admin, json: { ...prize, ...fields } })

const balance = (token: string) =>
  Effect.map(get("/api/v1/agent/credits/balance", { token }), ({ json }) => json)

layer(testServer())("Credit", (it) => {
  it.effect("An agent's credit is available or frozen, in credits", () =>
    Effect.gen(function* () {
      const { agentId, token } = yield* onboard()
      const nothing = { available_balance: 0, frozen_balance: 0, currency: "CREDITS" }
      assert.deepStrictEqual(yield* balance(token), nothing)
      yield* claim(agentId)
      yield* payClaimGrants
      assert.deepStrictEqual(yield* balance(token), { ...nothing, available_balance: 500 })
    })
  )

  it.effect.each(["balance", "transactions"])("The endpoint %s needs profile:read:self", (what) =>
    Effect.gen(function* () {
      const { token } = yield* onboard({ requested_scopes: ["challenge:read"] })
      const answer = yield* get(`/api/v1/agent/credits/${what}`, { token })
      assert.strictEqual(answer.status, 403)
      assert.strictEqual(answer.json["detail"], "Missing required scope: profile:read:self")
    })
  )

  it.effect("An agent's transactions list each movement of its credit, for the agent alone", () =>
    Effect.gen(function* () {
      const ada = yield* onboard()
      const ben = yield* onboard()
      yield* grant(ada.agentId, { amount: 0.1 })
      yield* grant(ada.agentId, { amount: 0.2, idempotency_key: "prize-2" })
      const listed = yield* get("/api/v1/agent/credits/transactions?limit=1", { token: ada.token })
      const item = member(listed.json, "items", 0)
      assert.deepStrictEqual(item, {
        transaction_id: `grant:admin:agent:${ada.agentId}:prize-2`,
        kind: "post",
        amount: 0.2,
        available_change: 0.2,
        frozen_change: 0,
        reason: "a prize",
        created_at: member(item, "created_at")
      })
      const cursor = String(listed.json["next_cursor"])
      const next = yield* get(`/api/v1/agent/credits/transactions?cursor=${cursor}`, { token: ada.token })
      assert.strictEqual(member(next.json, "items", 0, "amount"), 0.1)
      assert.isNull(next.json["next_cursor"])
      // The sum is not 0.30000000000000004.
      assert.strictEqual((yield* balance(ada.token))["available_balance"], 0.3)
      const none = yield* get("/api/v1/agent/credits/transactions", { token: ben.token })
      assert.deepStrictEqual(none.json, { items: [], next_cursor: null })
      const foreign = yield* get("/api/v1/agent/credits/transactions?cursor=x", { token: ada.token })
      assert.strictEqual(foreign.status, 400)
      assert.deepStrictEqual(wrongFields(foreign), ["cursor"])
    })
  )
})

layer(testServer())("A grant", (it) => {
  it.effect("A grant answers 201 with the record, and the same when it is sent again", () =>
    Effect.gen(function* () {
      const { agentId, token } = yield* onboard()
      const first = yield* grant(agentId)
      assert.strictEqual(first.status, 201)
      assert.deepInclude(first.json, { account: `agent:${agentId}`, amount: 25, reason: "a prize" })
      assert.isString(first.json["id"])
      const again = yield* grant(agentId)
      assert.deepStrictEqual([again.status, again.json], [201, first.json])
      assert.strictEqual((yield* balance(token))["available_balance"], 25)
      const other = yield* grant(agentId, { amount: 26 })
      assert.deepStrictEqual([other.status, other.json["code"]], [409, "idempotency_key_reused"])
    })
  )

  it.effect("A grant to an owner is the owner's, and one to nobody is 404", () =>
    Effect.gen(function* () {
      const owner = yield* someOperator
      const answer = yield* post(`/api/v1/admin/owners/${owner}/credits`, { ...admin, json: prize })
      assert.deepStrictEqual([answer.status, answer.json["account"]], [201, `owner:${owner}`])
      assert.strictEqual((yield* grant(owner)).status, 404)
      assert.strictEqual((yield* grant("x")).status, 404)
    })
  )

  it.effect("A grant has a possible amount: above 0, in whole micro-credits, within the countable", () =>
    Effect.gen(function* () {
      const { agentId, token } = yield* onboard()
      const hostile = [
        -1,
        0,
        -0,
        -0.000001,
        1e-7,
        5e-324,
        49.9999999,
        1.0000001,
        10_000_000.000001,
        1_000_000_001,
        1e15,
        2 ** 53,
        1e308,
        -1e308,
        "50",
        "",
        "1e3",
        null,
        true,
        [50],
        { credits: 50 }
      ]
      for (const amount of hostile) {
        const answer = yield* grant(agentId, { amount })
        assert.strictEqual(answer.status, 400, JSON.stringify(amount))
        assert.deepStrictEqual(wrongFields(answer), ["amount"], JSON.stringify(amount))
        assert.match(String(answer.json["detail"]), /^amount: /)
      }
      for (const written of ["1e999", "-1e999", "NaN", "0x10", "1_000", "+5", "5."]) {
        const answer = yield* post(`/api/v1/admin/agents/${agentId}/credits`, {
          ...admin,
          headers: { "content-type": "application/json" },
          body: `{"amount": ${written}, "reason": "why", "idempotency_key": "k"}`
        })
        assert.strictEqual(answer.status, 400, written)
      }
      assert.strictEqual((yield* balance(token))["available_balance"], 0)
      for (const [index, amount] of [0.000001, 49.999999, 9_999_949.999999].entries()) {
        const answer = yield* grant(agentId, { amount, idempotency_key: `exact-${index}` })
        assert.deepStrictEqual([answer.status, answer.json["amount"]], [201, amount])
      }
      assert.strictEqual((yield* balance(token))["available_balance"], 9_999_999.999999)
    })
  )

  it.effect("A grant names every other field that is wrong", () =>
    Effect.gen(function* () {
      const { agentId } = yield* onboard()
      for (const idempotency_key of ["", "two words", "x".repeat(129), "é", 7, null, "a/b"]) {
        assert.deepStrictEqual(wrongFields(yield* grant(agentId, { idempotency_key })), ["idempotency_key"])
      }
      for (const reason of ["", "x".repeat(1001), "\u0000", 7, null]) {
        assert.deepStrictEqual(wrongFields(yield* grant(agentId, { reason })), ["reason"])
      }
      const nothing = yield* post(`/api/v1/admin/agents/${agentId}/credits`, { ...admin, json: {} })
      assert.deepStrictEqual(wrongFields(nothing), ["amount", "idempotency_key", "reason"])
    })
  )
})

layer(testServer())("The ledger's check", (it) => {
  it.effect("The ledger's check is for administrators, with figures in credits", () =>
    Effect.gen(function* () {
      const { agentId } = yield* onboard()
      yield* grant(agentId, { amount: 12.5 })
      const answer = yield* get("/api/v1/admin/ledger/check", admin)
      assert.deepInclude(answer.json, { issued: 12.5, with_agents: 12.5, frozen: 0, transfers: 1 })
      assert.deepStrictEqual(answer.json["differences"], [])
    })
  )
})
