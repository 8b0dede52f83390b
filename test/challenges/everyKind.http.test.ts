/** Questions and answers of every kind through HTTP: statuses, codes, and the names of wrong fields. */
import { assert, layer } from "@effect/vitest"
import { Effect, Fiber } from "effect"
import { SqlClient } from "effect/sql"
import { TestClock } from "effect/testing"
import { AgentId } from "../../src/services/domain/ids.ts"
import { Targets } from "../../src/services/Targets.ts"
import { onboard } from "../support/agents.ts"
import { freshWeek, newMacro, newPriceEvent, plus } from "../support/challenges.ts"
import { askAnew, everyKind } from "../support/kinds.ts"
import { held, meeting } from "../support/locking.ts"
import { get, heartbeat, member, post, testServer } from "../support/server.ts"
import { testAdminToken } from "../support/settings.ts"

const admin = { token: testAdminToken }
const headers = { "content-type": "application/json" }
const api = "/api/v1"
const paths = {
  directional: "challenges",
  macro: "macro/challenges",
  price_event: "price-events/challenges"
}
const listOf = (type: keyof typeof paths) => `${api}/eval/${paths[type]}`
const madeAt = (type: keyof typeof paths) => `${api}/admin/${paths[type]}`

const ahead = { deadline: "2099-01-01T00:00:00Z" }
const terms = {
  macro: {
    ...ahead,
    asset: "CPI",
    period: "2026-03",
    reference_scale: 0.12,
    bin_edges: [3, 3.1],
    reward_pool: 1000
  },
  price_event: { ...ahead, kind: "threshold", asset: "BTC", level: 70000, resolve_at: "2099-01-02T00:00:00Z" }
}

layer(testServer())("Questions of every kind through HTTP", (it) => {
  it.effect.each(everyKind)(
    "An answer is recorded (201), then replaced (200), and counted once: %s",
    ([, kind]) =>
      Effect.gen(function* () {
        const { id } = yield* askAnew(kind)
        const { agentId, token } = yield* onboard()
        yield* Targets.use((targets) => targets.subscribe(AgentId.make(agentId), "ETH"))
        // The endpoint of macro challenges takes numbers alone.
        const taker = kind.answers[0].probabilities === undefined ? kind.type : "directional"
        const json = { ...kind.answers[0], reasoning: "Calm.", is_revision: true }
        for (const [revision, status] of [201, 200].entries()) {
          const answer = yield* post(`${listOf(taker)}/${id}/predict`, { token, json })
          assert.deepStrictEqual<unknown>(
            [answer.status, answer.json["revision_count"], member(answer.json, "receipt", "leaf_index")],
            [status, revision, null],
            answer.text
          )
        }
        const { challenges, items = challenges } = (yield* get(listOf(kind.type))).json
        assert.deepStrictEqual([member(items, 0, "id"), member(items, 0, "prediction_count")], [id, 1])
      })
  )

  it.effect("An answer without the asset's scope is 403, and a duplicate is 400", () =>
    Effect.gen(function* () {
      const { id } = yield* newPriceEvent({ kind: "threshold" })
      const { token } = yield* onboard()
      const json = { direction: "bullish", confidence: 1 }
      const sent = Effect.map(post(`${listOf("price_event")}/${id}/predict`, { token, json }), (answer) => [
        answer.status,
        answer.json["code"]
      ])
      assert.deepStrictEqual(yield* sent, [403, "scope_not_subscribed"])
      assert.strictEqual((yield* post(`${api}/agent/prediction-scope/ETH`, { token })).status, 204)
      assert.deepStrictEqual(yield* sent, [201, undefined])
      assert.deepStrictEqual(yield* sent, [400, "duplicate_prediction"])
    })
  )

  it.effect("A wrong answer is 400 and names the field", () =>
    Effect.gen(function* () {
      yield* freshWeek
      const { agentId, token } = yield* onboard()
      yield* Targets.use((targets) => targets.subscribe(AgentId.make(agentId), "ETH"))
      const figure = `${listOf("macro")}/${(yield* newMacro()).id}/predict`
      const event = `${listOf("price_event")}/${(yield* newPriceEvent({ kind: "threshold" })).id}/predict`
      // The texts have numbers that no JSON.stringify writes.
      for (const [path, body, field] of [
        [figure, '{"predicted_value":1e999,"predicted_std":0.1}', "predicted_value"],
        [figure, '{"predicted_value":"3.1","predicted_std":0.1}', "predicted_value"],
        [figure, '{"predicted_value":null,"predicted_std":0.1}', "predicted_value"],
        [figure, '{"predicted_std":0.1}', "predicted_value"],
        [figure, '{"predicted_value":3.1,"predicted_std":-0.1}', "predicted_std"],
        [figure, '{"predicted_value":3.1,"predicted_std":1e-400}', "predicted_std"],
        [figure, '{"predicted_value":3.1,"predicted_std":1e999}', "predicted_std"],
        [figure, '{"predicted_value":3.1,"predicted_std":"0.1"}', "predicted_std"],
        [event, "{}", "direction"],
        [event, '{"direction":"neutral","confidence":0.5}', "direction"],
        [event, '{"direction":"bullish"}', "confidence"],
        [event, '{"direction":"bullish","confidence":"0.5"}', "confidence"]
      ] as const) {
        const refused = yield* post(path, { token, body, headers })
        assert.deepStrictEqual(
          [refused.status, member(refused.json, "errors", 0, "path")],
          [400, field],
          body
        )
      }
    })
  )

  it.effect("Wrong terms of a new challenge are 400 and name the field", () =>
    Effect.gen(function* () {
      for (const [type, wrong, field] of [
        ["macro", { bin_edges: [] }, "bin_edges"],
        ["macro", { bin_edges: [3, 3] }, "bin_edges"],
        ["macro", { bin_edges: [3.1, 3] }, "bin_edges"],
        ["macro", { reference_scale: 0 }, "reference_scale"],
        ["macro", { reference_scale: -1 }, "reference_scale"],
        ["macro", { reward_pool: -1 }, "reward_pool"],
        ["macro", { reward_pool: 0.0000001 }, "reward_pool"],
        ["macro", { asset: "GC" }, "asset"],
        ["macro", { deadline: "9900-01-01T00:00:00Z" }, "deadline"],
        ["macro", { release_at: "9999-12-31T23:59:59Z" }, "release_at"],
        ["macro", { period: "" }, "period"],
        ["price_event", { kind: "digital" }, "kind"],
        ["price_event", { asset: "GC" }, "asset"],
        ["price_event", { level: 0 }, "level"],
        ["price_event", { level: 1e15 }, "level"],
        ["price_event", { kind: "barrier", reference_scale: 1 }, "reference_scale"],
        ["price_event", { resolve_at: "2099-01-02T00:00:01Z" }, "resolve_at"],
        ["price_event", { kind: "barrier", resolve_at: "2099-01-02T00:30:00Z" }, "resolve_at"],
        ["price_event", { deadline: "9900-01-01T00:00:00Z" }, "deadline"]
      ] as const) {
        const refused = yield* post(madeAt(type), { ...admin, json: { ...terms[type], ...wrong } })
        assert.deepStrictEqual(
          [refused.status, member(refused.json, "errors", 0, "path")],
          [400, field],
          JSON.stringify(wrong)
        )
      }
    })
  )

  it.effect(
    "A challenge is created (201), listed by its status, and not ended before its deadline (400)",
    () =>
      Effect.gen(function* () {
        for (const [type, ending, value] of [
          ["macro", "resolve", { actual_value: 3 }],
          ["price_event", "void", { reason: "early" }]
        ] as const) {
          const made = yield* post(madeAt(type), { ...admin, json: terms[type] })
          assert.strictEqual(made.status, 201)
          assert.deepInclude(made.json, type === "macro" ? { reward_pool: 1000 } : { level: 70000 })
          const listed = (query: string) =>
            Effect.map(
              get(`${listOf(type)}?${query}`),
              ({ json: { challenges, items = challenges } }) => items
            )
          assert.strictEqual(member(yield* listed(""), 0, "id"), made.json["id"])
          assert.deepStrictEqual(yield* listed("status=resolved"), [])
          assert.strictEqual((yield* get(`${listOf(type)}?status=cancelled`)).status, 400)
          const early = yield* post(`${madeAt(type)}/${String(made.json["id"])}/${ending}`, {
            ...admin,
            json: value
          })
          assert.deepStrictEqual([early.status, early.json["code"]], [400, "challenge_state"])
        }
      })
  )
})

layer(testServer())("A settlement that takes longer than clients wait", (it) => {
  it.effect("A slow settlement sends spaces before its JSON, and a quick refusal has its status", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const challenge = yield* newMacro({ deadline: plus(yield* freshWeek, "1 hour") })
      const path = `${madeAt("macro")}/${challenge.id}/resolve`
      const huge = yield* post(path, { ...admin, body: '{"actual_value":1e999}', headers })
      assert.deepStrictEqual([huge.status, member(huge.json, "errors", 0, "path")], [400, "actual_value"])
      assert.strictEqual((yield* post(path, { ...admin, json: { actual_value: 3 } })).status, 400)
      yield* TestClock.adjust("2 hours")
      const before = yield* held(
        sql`select 1 from challenges where id = ${challenge.id}::uuid for no key update`
      )
      const audited = Effect.map(get(`${api}/admin/audit?limit=1`, admin), ({ json }) =>
        member(json, "items", 0, "status")
      )
      const { onText, until } = heartbeat()
      const request = yield* meeting(post(path, { ...admin, json: { actual_value: 3 }, onText }))
      yield* until(1)
      assert.isNull(yield* audited)
      yield* before.commit
      const answer = yield* Fiber.join(request)
      assert.strictEqual(answer.status, 200)
      assert.strictEqual(yield* audited, 200)
      assert.match(answer.text, /^ +\{/)
      assert.strictEqual(member(answer.json, "status"), "resolved")
    })
  )
})
