/** Stakes and odds through HTTP: answers, and the limit. */
import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { AgentId } from "../../src/services/domain/ids.ts"
import { claim, onboard } from "../support/agents.ts"
import { forecast, newMacro } from "../support/challenges.ts"
import { fund } from "../support/credit.ts"
import { get, member, post, testServer } from "../support/server.ts"

const pathOf = (id: string) => `/api/v1/eval/macro/challenges/${id}/stake`
const oddsPath = (id: string) => `/api/v1/eval/macro/challenges/${id}/odds`

/** An agent with the scope to stake. */
const gambler = Effect.fnUntraced(function* (amount: number) {
  const agent = yield* onboard({
    requested_scopes: ["prediction:submit", "profile:read:self", "credits:stake"]
  })
  yield* claim(agent.agentId)
  if (amount > 0) yield* fund(`agent:${agent.agentId}`, amount)
  return { ...agent, agentId: AgentId.make(agent.agentId) }
})

layer(testServer({ environment: { AUSPEX_LIMIT_STAKES: "2/minute" } }))("Stakes and odds", (it) => {
  it.effect("A stake answers 201 with the stake and the rest of the credit", () =>
    Effect.gen(function* () {
      const { id } = yield* newMacro()
      const { agentId, token } = yield* gambler(101)
      yield* forecast(agentId, { id })
      const answer = yield* post(pathOf(id), { token, json: { predicted_value: 3.1, amount: 50.25 } })
      assert.strictEqual(answer.status, 201)
      assert.deepStrictEqual<unknown>(answer.json, {
        stake_id: member(answer.json, "stake_id"),
        challenge_id: id,
        bin: 2,
        amount: 50.25,
        available: 50.75,
        frozen: 50.25
      })
      const balance = yield* get("/api/v1/agent/credits/balance", { token })
      assert.deepInclude(balance.json, { available_balance: 50.75, frozen_balance: 50.25 })
      const again = yield* post(pathOf(id), { token, json: { predicted_value: 3.1, amount: 50.25 } })
      assert.deepStrictEqual([again.status, again.json["code"]], [400, "already_staked"])
    })
  )

  it.effect("An accepted stake counts towards the limit, and one too many is 429 with Retry-After", () =>
    Effect.gen(function* () {
      const { agentId, token } = yield* gambler(150)
      const statuses: Array<unknown> = []
      for (const amount of [1, 50, 50, 50]) {
        const { id } = yield* newMacro()
        yield* forecast(agentId, { id })
        const answer = yield* post(pathOf(id), { token, json: { predicted_value: 3.1, amount } })
        statuses.push([answer.status, answer.headers.get("retry-after")])
      }
      assert.deepStrictEqual(statuses, [
        [400, null],
        [201, null],
        [201, null],
        [429, "60"]
      ])
    })
  )

  it.effect("Anybody may read the odds, with an ETag that a stake changes", () =>
    Effect.gen(function* () {
      const { id } = yield* newMacro()
      const before = yield* get(oddsPath(id))
      assert.strictEqual(before.status, 200)
      assert.deepInclude(before.json, { challenge_id: id, total: 0, stakers: 0 })
      const etag = before.headers.get("etag") ?? ""
      const same = yield* get(oddsPath(id), { headers: { "if-none-match": etag } })
      assert.deepStrictEqual([same.status, same.text], [304, ""])
      const { agentId, token } = yield* gambler(50)
      yield* forecast(agentId, { id })
      yield* post(pathOf(id), { token, json: { predicted_value: 3.1, amount: 50 } })
      const after = yield* get(oddsPath(id), { headers: { "if-none-match": etag } })
      assert.deepStrictEqual(member(after.json, "bins", 2), {
        index: 2,
        low: 3.1,
        high: 3.2,
        share: 1,
        staked: 50,
        stakers: 1
      })
      assert.notInclude(after.text, agentId)
    })
  )
})
