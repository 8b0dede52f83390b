/** Credit through HTTP: an agent's own, and grants of administrators. */
import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { onboard, someOperator } from "../support/agents.ts"
import { get, member, post, testServer, wrongFields } from "../support/server.ts"
import { testAdminToken } from "../support/settings.ts"

const admin = { token: testAdminToken }
const prize = { amount: 25, reason: "a prize", idempotency_key: "prize-1" }

const grant = (agentId: string, fields: Readonly<Record<string, unknown>> = {}) =>
  post(`/api/v1/admin/agents/${agentId}/credits`, { ...admin, json: { ...prize, ...fields } })

layer(testServer())("Credit", (it) => {
  it.effect("An agent's credit and transactions are in credits, for the agent alone", () =>
    Effect.gen(function* () {
      const [ada, ben] = [yield* onboard(), yield* onboard()]
      const balance = Effect.map(get("/api/v1/agent/credits/balance", ada), ({ json }) => json)
      const transactions = (query: string, of = ada) =>
        get(`/api/v1/agent/credits/transactions${query}`, { token: of.token })
      const nothing = { available_balance: 0, frozen_balance: 0, currency: "CREDITS" }
      assert.deepStrictEqual(yield* balance, nothing)
      yield* grant(ada.agentId, { amount: 0.1 })
      yield* grant(ada.agentId, { amount: 0.2, idempotency_key: "prize-2" })
      const listed = yield* transactions("?limit=1")
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
      const next = yield* transactions(`?cursor=${String(listed.json["next_cursor"])}`)
      assert.strictEqual(member(next.json, "items", 0, "amount"), 0.1)
      assert.isNull(next.json["next_cursor"])
      // The sum is not 0.30000000000000004.
      assert.deepStrictEqual(yield* balance, { ...nothing, available_balance: 0.3 })
      assert.deepStrictEqual((yield* transactions("", ben)).json, { items: [], next_cursor: null })
      const foreign = yield* transactions("?cursor=x")
      assert.deepStrictEqual([foreign.status, wrongFields(foreign)], [400, ["cursor"]])
    })
  )

  it.effect("A grant answers 201 with the record, the same when it is sent again, and 409 when changed", () =>
    Effect.gen(function* () {
      const { agentId } = yield* onboard()
      const first = yield* grant(agentId)
      assert.strictEqual(first.status, 201)
      assert.deepInclude(first.json, { account: `agent:${agentId}`, amount: 25, reason: "a prize" })
      assert.isString(first.json["id"])
      const again = yield* grant(agentId)
      assert.deepStrictEqual([again.status, again.json], [201, first.json])
      const other = yield* grant(agentId, { amount: 26 })
      assert.deepStrictEqual([other.status, other.json["code"]], [409, "idempotency_key_reused"])
      const owner = yield* someOperator
      const ofOwner = yield* post(`/api/v1/admin/owners/${owner}/credits`, { ...admin, json: prize })
      assert.deepStrictEqual([ofOwner.status, ofOwner.json["account"]], [201, `owner:${owner}`])
      assert.strictEqual((yield* grant(owner)).status, 404)
      const wrong = yield* grant(agentId, { amount: 0, reason: "", idempotency_key: "two words" })
      assert.deepStrictEqual(
        [wrong.status, wrongFields(wrong)],
        [400, ["amount", "idempotency_key", "reason"]]
      )
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
