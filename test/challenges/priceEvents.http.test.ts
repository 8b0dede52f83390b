/** Price events through HTTP: answers, and requests that are refused by the name of the field. */
import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { AgentId } from "../../src/services/domain/ids.ts"
import { Targets } from "../../src/services/Targets.ts"
import { onboard } from "../support/agents.ts"
import { freshWeek, newPriceEvent } from "../support/challenges.ts"
import { get, member, post, testServer } from "../support/server.ts"
import { testAdminToken } from "../support/settings.ts"

const admin = { token: testAdminToken }
const list = "/api/v1/eval/price-events/challenges"
const made = "/api/v1/admin/price-events/challenges"

/** A deadline on a Monday, on which weeks end. */
const subscribed = Effect.gen(function* () {
  yield* freshWeek
  const agent = yield* onboard()
  yield* Targets.use((targets) => targets.subscribe(AgentId.make(agent.agentId), "ETH"))
  return agent
})

layer(testServer())("POST /eval/price-events/challenges/{id}/predict", (it) => {
  it.effect("An answer of either form is recorded (201), and replaced by the next one (200)", () =>
    Effect.gen(function* () {
      const { token } = yield* subscribed
      for (const [kind, json] of [
        ["barrier", { direction: "bearish", confidence: 0.3, reasoning: "Calm.", is_revision: true }],
        ["count_days", { predicted_value: 4, predicted_std: 1.2, reasoning: "Calm." }]
      ] as const) {
        const { id } = yield* newPriceEvent({ kind })
        const first = yield* post(`${list}/${id}/predict`, { token, json })
        const second = yield* post(`${list}/${id}/predict`, { token, json })
        assert.deepStrictEqual([first.status, second.status], [201, 200], first.text)
        assert.deepStrictEqual(
          [member(first.json, "revision_count"), member(second.json, "revision_count")],
          [0, 1]
        )
        const { items } = (yield* get(list)).json
        assert.strictEqual(member(items, 0, "id"), id)
        assert.strictEqual(member(items, 0, "prediction_count"), 1)
      }
    })
  )

  it.effect("An answer needs the asset's scope: it is 403 scope_not_subscribed until then", () =>
    Effect.gen(function* () {
      const { id } = yield* newPriceEvent({ kind: "threshold" })
      const { token } = yield* onboard()
      const send = post(`${list}/${id}/predict`, { token, json: { direction: "bullish", confidence: 1 } })
      const refused = yield* send
      assert.deepStrictEqual([refused.status, member(refused.json, "code")], [403, "scope_not_subscribed"])
      assert.strictEqual((yield* post("/api/v1/agent/prediction-scope/ETH", { token })).status, 204)
      assert.strictEqual((yield* send).status, 201)
      const duplicate = yield* send
      assert.deepStrictEqual(
        [duplicate.status, member(duplicate.json, "code")],
        [400, "duplicate_prediction"]
      )
    })
  )

  it.effect.each([
    ["threshold", {}, "direction"],
    ["threshold", { direction: "neutral", confidence: 0.5 }, "direction"],
    ["threshold", { direction: "bullish" }, "confidence"],
    ["threshold", { direction: "bullish", confidence: 1.01 }, "confidence"],
    ["threshold", { direction: "bullish", confidence: "0.5" }, "confidence"],
    ["numeric_close", { predicted_std: 1 }, "predicted_value"],
    ["numeric_close", { predicted_value: 1, predicted_std: 0 }, "predicted_std"],
    ["numeric_close", { predicted_value: 1, predicted_std: 1.1e13 }, "predicted_std"],
    ["numeric_close", { predicted_value: 1.1e15, predicted_std: 1 }, "predicted_value"],
    ["count_days", { predicted_value: 7.01, predicted_std: 1 }, "predicted_value"],
    ["count_days", { predicted_value: -1, predicted_std: 1 }, "predicted_value"]
  ] as const)("An answer to a %s with %j is refused by the name of the field", ([kind, json, field]) =>
    Effect.gen(function* () {
      const { token } = yield* subscribed
      const { id } = yield* newPriceEvent({ kind })
      const answer = yield* post(`${list}/${id}/predict`, { token, json })
      assert.strictEqual(answer.status, 400)
      assert.strictEqual(member(answer.json, "errors", 0, "path"), field)
    })
  )
})

const terms = {
  kind: "threshold",
  asset: "BTC",
  level: 70000,
  deadline: "2099-01-01T00:00:00Z",
  resolve_at: "2099-01-02T00:00:00Z"
}

layer(testServer())("POST /admin/price-events/challenges", (it) => {
  it.effect.each([
    [{ kind: "digital" }, "kind"],
    [{ asset: "GC" }, "asset"],
    [{ level: 0 }, "level"],
    [{ level: 1e15 }, "level"],
    [{ kind: "numeric_close" }, "level"],
    [{ kind: "barrier", reference_scale: 1 }, "reference_scale"],
    [{ resolve_at: "2099-01-02T00:00:01Z" }, "resolve_at"],
    [{ kind: "barrier", resolve_at: "2099-01-02T00:30:00Z" }, "resolve_at"],
    [{ window_from: "2099-01-01T00:00:00Z" }, "window_from"],
    [{ deadline: "9900-01-01T00:00:00Z" }, "deadline"]
  ] as const)("A price event with %j is refused by the name of the field", ([wrong, field]) =>
    Effect.gen(function* () {
      const answer = yield* post(made, { ...admin, json: { ...terms, ...wrong } })
      assert.strictEqual(answer.status, 400)
      assert.strictEqual(member(answer.json, "errors", 0, "path"), field)
    })
  )

  it.effect("A price event is created (201), listed by its status, and not voided while it is open", () =>
    Effect.gen(function* () {
      const created = yield* post(made, { ...admin, json: terms })
      assert.strictEqual(created.status, 201)
      assert.strictEqual(
        member(created.json, "question"),
        "Will Bitcoin (BTC) close at or above 70000 on 2099-01-01 (UTC)?"
      )
      const id = String(member(created.json, "id"))
      assert.strictEqual(member((yield* get(list)).json, "items", 0, "id"), id)
      assert.deepStrictEqual(member((yield* get(`${list}?status=resolved`)).json, "items"), [])
      assert.strictEqual((yield* get(`${list}?status=cancelled`)).status, 400)
      const early = yield* post(`${made}/${id}/void`, { ...admin, json: { reason: "early" } })
      assert.deepStrictEqual([early.status, member(early.json, "code")], [400, "challenge_state"])
    })
  )
})
