/** Macro challenges through HTTP: answers, and requests that are refused at the door. */
import { assert, layer } from "@effect/vitest"
import { Effect, Fiber } from "effect"
import { SqlClient } from "effect/sql"
import { TestClock } from "effect/testing"
import { onboard } from "../support/agents.ts"
import { freshWeek, newMacro, plus } from "../support/challenges.ts"
import { held, meeting } from "../support/locking.ts"
import { get, heartbeat, member, post, testServer } from "../support/server.ts"
import { testAdminToken } from "../support/settings.ts"

const admin = { token: testAdminToken }

/** JSON as text, since a client can send numbers that `JSON.stringify` does not write. */
const sent = (path: string, token: string, body: string) =>
  post(path, { token, body, headers: { "content-type": "application/json" } })

const terms = {
  asset: "CPI",
  period: "2026-03",
  deadline: "2099-01-01T00:00:00Z",
  reference_scale: 0.12,
  bin_edges: [3, 3.1],
  reward_pool: 1000
}

layer(testServer())("POST /eval/macro/challenges/{id}/predict", (it) => {
  it.effect("A forecast is recorded (201), and replaced by the next one (200)", () =>
    Effect.gen(function* () {
      const { id } = yield* newMacro()
      const { token } = yield* onboard()
      const path = `/api/v1/eval/macro/challenges/${id}/predict`
      const json = { predicted_value: 3.1, predicted_std: 0.1, rationale: "Rents." }
      const first = yield* post(path, { token, json })
      const second = yield* post(path, { token, json })
      assert.deepStrictEqual([first.status, second.status], [201, 200])
      assert.deepStrictEqual(
        [member(first.json, "revision_count"), member(second.json, "revision_count")],
        [0, 1]
      )
      assert.isNull(member(second.json, "receipt", "leaf_index"))
      const listed = yield* get("/api/v1/eval/macro/challenges")
      assert.strictEqual(member(listed.json, "challenges", 0, "id"), id)
      assert.strictEqual(member(listed.json, "challenges", 0, "prediction_count"), 1)
    })
  )

  it.effect.each([
    ['{"predicted_value":1e999,"predicted_std":0.1}', "predicted_value"],
    ['{"predicted_value":1.1e15,"predicted_std":0.1}', "predicted_value"],
    ['{"predicted_value":"3.1","predicted_std":0.1}', "predicted_value"],
    ['{"predicted_value":null,"predicted_std":0.1}', "predicted_value"],
    ['{"predicted_std":0.1}', "predicted_value"],
    ['{"predicted_value":3.1,"predicted_std":0}', "predicted_std"],
    ['{"predicted_value":3.1,"predicted_std":-0.1}', "predicted_std"],
    ['{"predicted_value":3.1,"predicted_std":1e-400}', "predicted_std"],
    ['{"predicted_value":3.1,"predicted_std":2e-308}', "predicted_std"],
    ['{"predicted_value":3.1,"predicted_std":1e999}', "predicted_std"],
    ['{"predicted_value":3.1,"predicted_std":1e300}', "predicted_std"],
    ['{"predicted_value":3.1,"predicted_std":"0.1"}', "predicted_std"]
  ] as const)("A forecast of %s is refused by the name of the field", ([body, field]) =>
    Effect.gen(function* () {
      const { id } = yield* newMacro()
      const { token } = yield* onboard()
      const answer = yield* sent(`/api/v1/eval/macro/challenges/${id}/predict`, token, body)
      assert.strictEqual(answer.status, 400)
      assert.strictEqual(member(answer.json, "errors", 0, "path"), field)
    })
  )
})

layer(testServer())("POST /admin/macro/challenges", (it) => {
  it.effect.each([
    [{ bin_edges: [] }, "bin_edges"],
    [{ bin_edges: [3, 3] }, "bin_edges"],
    [{ bin_edges: [3.1, 3] }, "bin_edges"],
    [{ reference_scale: 0 }, "reference_scale"],
    [{ reference_scale: -1 }, "reference_scale"],
    [{ reward_pool: -1 }, "reward_pool"],
    [{ reward_pool: 0.0000001 }, "reward_pool"],
    [{ asset: "GC" }, "asset"],
    [{ deadline: "9900-01-01T00:00:00Z" }, "deadline"],
    [{ release_at: "9999-12-31T23:59:59Z" }, "release_at"],
    [{ period: "" }, "period"]
  ] as const)("A macro challenge with %j is refused by the name of the field", ([wrong, field]) =>
    Effect.gen(function* () {
      const answer = yield* post("/api/v1/admin/macro/challenges", {
        ...admin,
        json: { ...terms, ...wrong }
      })
      assert.strictEqual(answer.status, 400)
      assert.strictEqual(member(answer.json, "errors", 0, "path"), field)
    })
  )

  it.effect("A macro challenge is created (201), and resolving it before the deadline is refused", () =>
    Effect.gen(function* () {
      const made = yield* post("/api/v1/admin/macro/challenges", { ...admin, json: terms })
      assert.strictEqual(made.status, 201)
      assert.strictEqual(member(made.json, "reward_pool"), 1000)
      const path = `/api/v1/admin/macro/challenges/${String(member(made.json, "id"))}/resolve`
      const early = yield* post(path, { ...admin, json: { actual_value: 3 } })
      assert.deepStrictEqual([early.status, member(early.json, "code")], [400, "challenge_state"])
      const huge = yield* sent(path, testAdminToken, '{"actual_value":1e999}')
      assert.strictEqual(member(huge.json, "errors", 0, "path"), "actual_value")
    })
  )
})

layer(testServer())("A settlement that takes longer than clients wait", (it) => {
  it.effect("A slow settlement sends spaces before its JSON, and a quick refusal has its status", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const challenge = yield* newMacro({ deadline: plus(yield* freshWeek, "1 hour") })
      const path = `/api/v1/admin/macro/challenges/${challenge.id}/resolve`
      assert.strictEqual((yield* post(path, { ...admin, json: { actual_value: 3 } })).status, 400)
      yield* TestClock.adjust("2 hours")
      const before = yield* held(
        sql`select 1 from challenges where id = ${challenge.id}::uuid for no key update`
      )
      const audited = Effect.map(get("/api/v1/admin/audit?limit=1", admin), ({ json }) =>
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
