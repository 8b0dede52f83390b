/** Members of a prediction besides its values, through HTTP: its reason, the revision it replaces, a stake, a key. */
import { assert, layer } from "@effect/vitest"
import { DateTime, Effect } from "effect"
import { SqlClient } from "effect/sql"
import { rateLimits } from "../../src/config.ts"
import { AgentId } from "../../src/services/domain/ids.ts"
import { Targets } from "../../src/services/Targets.ts"
import { claim, onboard, onboardClaimed } from "../support/agents.ts"
import { newChallenge, newMacro, newPriceEvent, plus, freshWeek } from "../support/challenges.ts"
import { fund } from "../support/credit.ts"
import { times } from "../support/concurrently.ts"
import { get, member, post, testServer, wrongFields } from "../support/server.ts"

const up = { direction: "bullish", confidence: 0.5, is_revision: true }
const normal = { predicted_value: 3.1, predicted_std: 0.1 }

/** A challenge of each type, with the path and the body of a prediction. */
const eachType = Effect.gen(function* () {
  const directional = yield* newChallenge()
  const macro = yield* newMacro()
  const yesOrNo = yield* newPriceEvent({ kind: "threshold" })
  const numeric = yield* newPriceEvent({ kind: "numeric_close" })
  return [
    { id: directional.id, path: `/api/v1/eval/challenges/${directional.id}/predict`, json: up },
    { id: macro.id, path: `/api/v1/eval/macro/challenges/${macro.id}/predict`, json: normal },
    { id: yesOrNo.id, path: `/api/v1/eval/price-events/challenges/${yesOrNo.id}/predict`, json: up },
    { id: numeric.id, path: `/api/v1/eval/price-events/challenges/${numeric.id}/predict`, json: normal }
  ]
})

/** An agent that is subscribed to every price event above, in a week of its own. */
const predictor = Effect.gen(function* () {
  yield* freshWeek
  const agent = yield* onboardClaimed()
  yield* Targets.use((targets) => targets.subscribe(AgentId.make(agent.agentId), "ETH"))
  return agent
})

/** The reasons of an agent's predictions, newest first. */
const reasonsOf = (token: string) =>
  Effect.map(get("/api/v1/agent/predictions", { token }), ({ json }) =>
    times(4, (index) => member(json, "items", index, "reasoning"))
  )

layer(testServer())("A prediction of any type", (it) => {
  it.effect.each(["reasoning", "rationale"])("A prediction of any type takes its reason as %s", (name) =>
    Effect.gen(function* () {
      const { token } = yield* predictor
      for (const { json, path } of yield* eachType) {
        const answer = yield* post(path, { token, json: { ...json, [name]: "Rents." } })
        assert.deepStrictEqual([answer.status, answer.json["ignored_fields"]], [201, undefined], answer.text)
      }
      assert.deepStrictEqual<ReadonlyArray<unknown>>(
        yield* reasonsOf(token),
        times(4, () => "Rents.")
      )
    })
  )

  it.effect("A reason may have both names if they agree; an error names both if they differ", () =>
    Effect.gen(function* () {
      const { token } = yield* predictor
      for (const { json, path } of yield* eachType) {
        const both = { ...json, reasoning: "Rents.", rationale: "Wages." }
        const refused = yield* post(path, { token, json: both })
        assert.deepStrictEqual([refused.status, wrongFields(refused)], [400, ["rationale", "reasoning"]])
        const same = yield* post(path, { token, json: { ...both, rationale: "Rents." } })
        assert.strictEqual(same.status, 201)
      }
    })
  )

  it.effect("A reason has at most 4 000 characters under either name", () =>
    Effect.gen(function* () {
      const { token } = yield* predictor
      for (const { json, path } of yield* eachType) {
        for (const name of ["reasoning", "rationale"]) {
          const long = yield* post(path, { token, json: { ...json, [name]: "x".repeat(4001) } })
          assert.deepStrictEqual([long.status, wrongFields(long)], [400, [name]])
        }
      }
    })
  )

  it.effect("A prediction replaces the revision that it expects, and is 409 with the current otherwise", () =>
    Effect.gen(function* () {
      const { token } = yield* predictor
      for (const { json, path } of yield* eachType) {
        const sent = (expected_revision?: number) =>
          post(path, {
            token,
            json: { ...json, ...(expected_revision !== undefined && { expected_revision }) }
          })
        const none = yield* sent(0)
        assert.deepStrictEqual(
          [none.status, none.json["code"], none.json["current_revision"]],
          [409, "revision_conflict", null]
        )
        assert.strictEqual((yield* sent()).status, 201)
        const second = yield* sent(0)
        assert.deepStrictEqual([second.status, second.json["revision_count"]], [200, 1])
        const late = yield* sent(0)
        assert.deepStrictEqual(
          [late.status, late.json["code"], late.json["current_revision"]],
          [409, "revision_conflict", 1]
        )
        assert.strictEqual((yield* sent(1)).json["revision_count"], 2)
        assert.deepStrictEqual(wrongFields(yield* sent(-1)), ["expected_revision"])
        assert.deepStrictEqual(wrongFields(yield* sent(1.5)), ["expected_revision"])
      }
    })
  )

  it.effect("A prediction sent many times at once with one expected revision is recorded once", () =>
    Effect.gen(function* () {
      const { token } = yield* predictor
      for (const { json, path } of yield* eachType) {
        yield* post(path, { token, json })
        const answers = yield* Effect.all(
          times(10, () => post(path, { token, json: { ...json, expected_revision: 0 } })),
          { concurrency: 10 }
        )
        const statuses = answers.map(({ status }) => status).sort()
        assert.deepStrictEqual(statuses, [200, ...times(9, () => 409)])
      }
    })
  )

  it.effect("A prediction sent again with its Idempotency-Key has the same answer and no revision", () =>
    Effect.gen(function* () {
      const { token } = yield* predictor
      for (const { json, path } of yield* eachType) {
        const sent = { token, headers: { "idempotency-key": path.slice(-60) }, json }
        const first = yield* post(path, sent)
        const again = yield* post(path, sent)
        assert.deepStrictEqual([first.status, again.status, again.text], [201, 201, first.text])
        assert.strictEqual(again.headers.get("idempotency-replayed"), "true")
        assert.strictEqual((yield* post(path, { token, json })).json["revision_count"], 1)
        const other = yield* post(path, { ...sent, json: { ...json, reasoning: "Other." } })
        assert.deepStrictEqual([other.status, other.json["code"]], [422, "idempotency_key_mismatch"])
      }
    })
  )

  it.effect("A prediction sent many times at once with one Idempotency-Key is recorded once", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const { token } = yield* predictor
      for (const { id, json, path } of yield* eachType) {
        const sent = { token, headers: { "idempotency-key": `many-${id}` }, json }
        const answers = yield* Effect.all(
          times(20, () => post(path, sent)),
          { concurrency: 20 }
        )
        const made = answers.filter(({ status }) => status === 201)
        assert.strictEqual(new Set(made.map(({ text }) => text)).size, 1)
        for (const { json: refused, status } of answers.filter((answer) => answer.status !== 201)) {
          assert.deepStrictEqual([status, refused["code"]], [409, "idempotency_key_in_use"])
        }
        const rows = yield* sql`select 1 from predictions where challenge_id = ${id}::uuid`
        assert.strictEqual(rows.length, 1)
        const logged = yield* sql`
          select 1 from log_pending where challenge_id = ${id}::uuid and type = 'prediction.commit'`
        assert.strictEqual(logged.length, 1)
      }
    })
  )

  it.effect("A provisional agent's concurrent predictions with keys are taken up to its cap", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const { agentId, token } = yield* onboard()
      yield* sql`update agents set predictions_used = prediction_limit - 3 where id = ${agentId}::uuid`
      const challenges = yield* Effect.all(times(8, () => newMacro()))
      const answers = yield* Effect.forEach(
        challenges,
        ({ id }) =>
          post(`/api/v1/eval/macro/challenges/${id}/predict`, {
            token,
            headers: { "idempotency-key": id },
            json: normal
          }),
        { concurrency: 8 }
      )
      const statuses = answers.map(({ status }) => status).sort()
      assert.deepStrictEqual(statuses, [201, 201, 201, 403, 403, 403, 403, 403])
    })
  )
})

layer(testServer())("An answer to a price event", (it) => {
  it.effect("An answer to a price event names the members of the form that the question does not take", () =>
    Effect.gen(function* () {
      const { token } = yield* predictor
      const [, , yesOrNo, numeric] = yield* eachType
      for (const [each, told] of [
        [yesOrNo, ["predicted_value", "predicted_std", "x"]],
        [numeric, ["direction", "confidence", "x"]]
      ] as const) {
        const answer = yield* post(each?.path ?? "", { token, json: { ...up, ...normal, x: 1 } })
        assert.deepStrictEqual<unknown>([answer.status, answer.json["ignored_fields"]], [201, told])
      }
    })
  )
})

layer(testServer())("An amount", (it) => {
  it.effect("An amount is refused where the challenge has no pool", () =>
    Effect.gen(function* () {
      yield* freshWeek
      const agent = yield* onboardClaimed({ requested_scopes: ["prediction:submit", "credits:stake"] })
      yield* Targets.use((targets) => targets.subscribe(AgentId.make(agent.agentId), "ETH"))
      const { token } = agent
      const [directional, , yesOrNo, numeric] = yield* eachType
      for (const each of [directional, yesOrNo, numeric]) {
        const { json, path } = each ?? { json: {}, path: "" }
        const refused = yield* post(path, { token, json: { ...json, amount: 60 } })
        assert.deepStrictEqual([refused.status, wrongFields(refused)], [400, ["amount"]])
        assert.include(refused.text, "this challenge has no pool")
        assert.strictEqual((yield* post(path, { token, json: { ...json, amount: null } })).status, 201)
      }
    })
  )

  /** An agent that may stake, and has this much credit. */
  const gambler = Effect.fnUntraced(function* (credit: number) {
    const agent = yield* onboard({
      requested_scopes: ["prediction:submit", "profile:read:self", "credits:stake"]
    })
    yield* claim(agent.agentId)
    yield* fund(`agent:${agent.agentId}`, credit)
    const balance = Effect.map(get("/api/v1/agent/credits/balance", { token: agent.token }), ({ json }) => [
      json["available_balance"],
      json["frozen_balance"]
    ])
    const recorded = Effect.map(get("/api/v1/agent/predictions", { token: agent.token }), ({ json }) =>
      Array.isArray(json["items"]) ? json["items"].length : -1
    )
    return { ...agent, balance, recorded }
  })

  it.effect("An amount is staked on the bin of the forecast's value, and answered with the forecast", () =>
    Effect.gen(function* () {
      const { id } = yield* newMacro()
      const { balance, token } = yield* gambler(100)
      const path = `/api/v1/eval/macro/challenges/${id}/predict`
      const answer = yield* post(path, { token, json: { ...normal, amount: 60.5 } })
      assert.strictEqual(answer.status, 201, answer.text)
      assert.deepStrictEqual<unknown>(answer.json["stake"], {
        stake_id: member(answer.json, "stake", "stake_id"),
        challenge_id: id,
        bin: 2,
        amount: 60.5,
        available: 39.5,
        frozen: 60.5
      })
      assert.deepStrictEqual<unknown>(yield* balance, [39.5, 60.5])
      const without = yield* post(path, { token, json: normal })
      assert.deepStrictEqual([without.status, without.json["stake"]], [200, null])
    })
  )

  it.effect("An amount that breaks a rule of the pool leaves no forecast behind", () =>
    Effect.gen(function* () {
      const { balance, recorded, token } = yield* gambler(100)
      const { id } = yield* newMacro()
      const path = `/api/v1/eval/macro/challenges/${id}/predict`
      for (const [amount, code] of [
        [49, "stake_too_small"],
        [101, "insufficient_credit"]
      ] as const) {
        const refused = yield* post(path, { token, json: { ...normal, amount } })
        assert.deepStrictEqual([refused.status, refused.json["code"]], [400, code])
      }
      assert.strictEqual(yield* recorded, 0)
      const first = yield* post(path, { token, json: { ...normal, amount: 50 } })
      assert.strictEqual(first.status, 201)
      const again = yield* post(path, { token, json: { ...normal, predicted_value: 9, amount: 50 } })
      assert.deepStrictEqual([again.status, again.json["code"]], [400, "already_staked"])
      const mine = yield* get("/api/v1/agent/predictions", { token })
      assert.strictEqual(member(mine.json, "items", 0, "predicted_value"), 3.1)
      assert.deepStrictEqual<unknown>(yield* balance, [50, 50])
    })
  )

  it.effect("The amount of a refused forecast is not staked", () =>
    Effect.gen(function* () {
      const { balance, token } = yield* gambler(100)
      const { id } = yield* newMacro()
      const path = `/api/v1/eval/macro/challenges/${id}/predict`
      yield* post(path, { token, json: normal })
      const refused = yield* post(path, { token, json: { ...normal, amount: 60, expected_revision: 5 } })
      assert.strictEqual(refused.json["code"], "revision_conflict")
      const closed = yield* newMacro({ deadline: plus(yield* DateTime.now, "-1 second") })
      const late = yield* post(`/api/v1/eval/macro/challenges/${closed.id}/predict`, {
        token,
        json: { ...normal, amount: 60 }
      })
      assert.strictEqual(late.json["code"], "challenge_closed")
      assert.deepStrictEqual<unknown>(yield* balance, [100, 0])
    })
  )

  it.effect("An amount needs the scope credits:stake, also where it is wrong otherwise", () =>
    Effect.gen(function* () {
      const { token } = yield* onboard()
      const { id } = yield* newMacro()
      const path = `/api/v1/eval/macro/challenges/${id}/predict`
      const refused = yield* post(path, { token, json: { ...normal, amount: 60 } })
      assert.deepStrictEqual(
        [refused.status, refused.json["detail"]],
        [403, "Missing required scope: credits:stake"]
      )
      assert.strictEqual((yield* post(path, { token, json: normal })).status, 201)
    })
  )

  it.effect("Concurrent amounts never break the rule of half a bin, nor leave a forecast alone", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const { id } = yield* newMacro()
      const agents = yield* Effect.all(times(8, () => gambler(60)))
      const answers = yield* Effect.forEach(
        agents,
        ({ token }, index) =>
          post(`/api/v1/eval/macro/challenges/${id}/predict`, {
            token,
            ...(index % 2 === 0 && { headers: { "idempotency-key": id } }),
            json: { ...normal, amount: 60 }
          }),
        { concurrency: 8 }
      )
      assert.deepStrictEqual(new Set(answers.map(({ status }) => status)), new Set([201]))
      const [counts] = yield* sql`
        select (select count(*) from stakes where challenge_id = ${id}::uuid)::int as stakes,
               (select count(*) from predictions where challenge_id = ${id}::uuid)::int as predictions`
      assert.deepStrictEqual(counts, { stakes: 8, predictions: 8 })
    })
  )
})

const ofStakes = { AUSPEX_LIMIT_STAKES: rateLimits.stakes.defaultText ?? "" }

layer(testServer({ environment: ofStakes }))("A forecast with an amount", (it) => {
  it.effect("A forecast with an amount counts towards the limit of stakes, and is refused beyond it", () =>
    Effect.gen(function* () {
      const agent = yield* onboard({
        requested_scopes: ["prediction:submit", "profile:read:self", "credits:stake"]
      })
      yield* claim(agent.agentId)
      yield* fund(`agent:${agent.agentId}`, 1000)
      const sent = Effect.fnUntraced(function* (json: object) {
        const { id } = yield* newMacro()
        return yield* post(`/api/v1/eval/macro/challenges/${id}/predict`, { token: agent.token, json })
      })
      for (const _ of times(5, () => 0)) {
        assert.strictEqual((yield* sent({ ...normal, amount: 50 })).status, 201)
      }
      const refused = yield* sent({ ...normal, amount: 50 })
      assert.deepStrictEqual([refused.status, refused.json["code"]], [429, "rate_limited"])
      assert.strictEqual((yield* sent(normal)).status, 201)
    })
  )
})
