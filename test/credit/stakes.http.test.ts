/** Stakes and odds through HTTP: answers, early rejections, and the limits. */
import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { TestClock } from "effect/testing"
import { rateLimits } from "../../src/config.ts"
import { AgentId } from "../../src/services/domain/ids.ts"
import { claim, issue, onboard } from "../support/agents.ts"
import { forecast, instant, newMacro } from "../support/challenges.ts"
import { fund } from "../support/credit.ts"
import { times } from "../support/concurrently.ts"
import { get, member, post, testServer, wrongFields } from "../support/server.ts"
import type { Answer } from "../support/server.ts"

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

const having = (answers: ReadonlyArray<Answer>, status: number) =>
  answers.filter((answer) => answer.status === status).length

layer(testServer())("POST /eval/macro/challenges/{id}/stake", (it) => {
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

  it.effect("A stake needs credits:stake, which is not granted by default and comes with a fresh token", () =>
    Effect.gen(function* () {
      const { id } = yield* newMacro()
      const { agentId, secret, token } = yield* onboard()
      const json = { predicted_value: 3.1, amount: 50 }
      const without = yield* post(pathOf(id), { token, json })
      assert.deepStrictEqual(
        [without.status, without.json["detail"]],
        [403, "Missing required scope: credits:stake"]
      )
      yield* post("/api/v1/agent/scopes", { token, json: { add: ["credits:stake"] } })
      assert.strictEqual((yield* post(pathOf(id), { token, json })).status, 403)
      const { access_token } = yield* issue(agentId, secret)
      const held = yield* post(pathOf(id), { token: access_token, json })
      assert.deepStrictEqual([held.status, held.json["code"]], [400, "no_prediction"])
      assert.strictEqual((yield* post(pathOf(id), { json })).status, 401)
    })
  )

  it.effect("A stake has whole micro-credits and a value within bounds, or the error names them", () =>
    Effect.gen(function* () {
      const { id } = yield* newMacro()
      const { agentId, token } = yield* gambler(1000)
      yield* forecast(agentId, { id })
      const sent = (body: string) =>
        post(pathOf(id), { token, body, headers: { "content-type": "application/json" } })
      const amounts = [
        "-50",
        "0",
        "-0",
        "1e-7",
        "49.9999999",
        "1e999",
        "-1e999",
        '"50"',
        "null",
        "[50]",
        "10000001"
      ]
      for (const amount of amounts) {
        const answer = yield* sent(`{"predicted_value":3.1,"amount":${amount}}`)
        assert.deepStrictEqual([answer.status, wrongFields(answer)], [400, ["amount"]], amount)
      }
      for (const value of ["1e999", "-1.1e15", '"3.1"', "null", "true"]) {
        const answer = yield* sent(`{"predicted_value":${value},"amount":50}`)
        assert.deepStrictEqual([answer.status, wrongFields(answer)], [400, ["predicted_value"]], value)
      }
      assert.deepStrictEqual(wrongFields(yield* sent("{}")), ["amount", "predicted_value"])
      const small = yield* sent('{"predicted_value":3.1,"amount":49.999999}')
      assert.deepStrictEqual([small.status, small.json["code"]], [400, "stake_too_small"])
      const first = yield* sent('{"predicted_value":3.1,"amount":50.000001}')
      assert.deepStrictEqual([first.status, first.json["available"]], [201, 949.999999])
    })
  )
})

layer(testServer())("GET /eval/macro/challenges/{id}/odds", (it) => {
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

  it.effect.each(["nothing", "0190f000-0000-7000-8000-000000000000"])("The odds of %s are 404", (id) =>
    Effect.gen(function* () {
      assert.strictEqual((yield* get(oddsPath(id))).status, 404)
    })
  )
})

layer(testServer({ environment: { AUSPEX_LIMIT_STAKES: rateLimits.stakes.defaultText ?? "" } }))(
  "The limit of 5 stakes a minute and 50 a day",
  (it) => {
    it.effect("Stakes over the limit are 429, rejected stakes use none, and waiting as told is enough", () =>
      Effect.gen(function* () {
        const { agentId, secret } = yield* gambler(10_000)
        const other = yield* gambler(0)
        let { access_token: token } = yield* issue(agentId, secret)
        const pools = yield* Effect.forEach(
          times(60, () => 0),
          () => newMacro({ deadline: instant("2999-01-01T00:00:00Z") })
        )
        yield* Effect.forEach(pools, (pool) => forecast(agentId, pool))
        const unused = pools.values()
        const attempt = (amount = 50) =>
          Effect.suspend(() =>
            post(pathOf(unused.next().value?.id ?? "none"), { token, json: { predicted_value: 3.1, amount } })
          )
        for (const _ of times(3, () => 0)) assert.strictEqual((yield* attempt(1)).status, 400)
        const burst = yield* Effect.forEach(
          times(7, () => 50),
          attempt,
          { concurrency: "unbounded" }
        )
        assert.deepStrictEqual([having(burst, 201), having(burst, 429)], [5, 2])
        const rejected = burst.find(({ status }) => status === 429)
        assert.strictEqual(rejected?.json["retry_after"], 60)
        assert.strictEqual(rejected?.headers.get("retry-after"), "60")
        const elsewhere = yield* post(pathOf(pools[0]?.id ?? "none"), {
          token: other.token,
          json: { predicted_value: 3.1, amount: 50 }
        })
        assert.strictEqual(elsewhere.status, 400)
        yield* TestClock.adjust("59 seconds")
        assert.strictEqual((yield* attempt()).status, 429)
        yield* TestClock.adjust("1 second")
        assert.strictEqual((yield* attempt()).status, 201)

        // All this is within the hour of the token.
        for (const _ of times(44, () => 0)) {
          yield* TestClock.adjust("1 minute")
          assert.strictEqual((yield* attempt()).status, 201)
        }
        yield* TestClock.adjust("1 minute")
        const overDay = yield* attempt()
        assert.strictEqual(overDay.status, 429)
        assert.include(String(overDay.json["detail"]), "at most 50 in 1d")
        const wait = Number(overDay.json["retry_after"])
        assert.strictEqual(wait, 24 * 3600 - 46 * 60)
        yield* TestClock.adjust(`${wait} seconds`)
        token = (yield* issue(agentId, secret)).access_token
        assert.strictEqual((yield* attempt()).status, 201)
      })
    )
  }
)
