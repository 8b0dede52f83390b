/** Keys of targets in requests: in any case, and as filters of lists. */
import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { onboard } from "../support/agents.ts"
import { freshWeek, newChallenge } from "../support/challenges.ts"
import { get, member, post, send, testServer, wrongFields } from "../support/server.ts"
import { testAdminToken } from "../support/settings.ts"

const token = testAdminToken

layer(testServer())("The key of a target", (it) => {
  it.effect("A target's key in any case subscribes and unsubscribes an agent", () =>
    Effect.gen(function* () {
      const agent = yield* onboard()
      const options = { token: agent.token }
      const subscribed = Effect.map(
        get("/api/v1/agent/prediction-scope", options),
        ({ json }) => json["scopes"]
      )
      assert.strictEqual((yield* post("/api/v1/agent/prediction-scope/gc", options)).status, 204)
      assert.strictEqual((yield* post("/api/v1/agent/prediction-scope/Gc", options)).status, 204)
      assert.deepStrictEqual<unknown>(yield* subscribed, ["GC"])
      assert.strictEqual((yield* send("DELETE", "/api/v1/agent/prediction-scope/gC", options)).status, 204)
      assert.deepStrictEqual<unknown>(yield* subscribed, [])
      assert.strictEqual((yield* post("/api/v1/agent/prediction-scope/gold", options)).status, 404)
    })
  )

  it.effect("A target's key in any case filters challenges and events", () =>
    Effect.gen(function* () {
      const { id } = yield* newChallenge()
      const listed = yield* get("/api/v1/eval/challenges?asset=gc&limit=1")
      assert.strictEqual(member(listed.json, "items", 0, "id"), id)
      const event = { title: "A mine closes", assets: ["gc", "Hg"] }
      const imported = yield* post("/api/v1/admin/events", { token, json: { events: [event] } })
      assert.deepStrictEqual<unknown>(member(imported.json, "events", 0, "assets"), ["GC", "HG"])
      for (const path of ["/api/v1/events", "/api/v1/events/today"]) {
        const found = yield* get(`${path}?asset=hg`)
        assert.strictEqual(member(found.json, "items", 0, "title"), event.title, path)
      }
    })
  )

  it.effect("A target's key in any case serves administrators, in all their requests", () =>
    Effect.gen(function* () {
      yield* freshWeek
      const deadline = "2099-01-02T00:00:00Z"
      const scale = { reference_scale: 0.12 }
      const made = [
        ["challenges", { asset: "gc", open_price: 100, deadline, resolve_at: deadline }, "GC"],
        [
          "macro/challenges",
          { asset: "cpi", period: "2098-12", deadline, bin_edges: [3, 3.1], reward_pool: 0, ...scale },
          "CPI"
        ],
        [
          "price-events/challenges",
          { kind: "threshold", asset: "eth", level: 100, deadline, resolve_at: deadline },
          "ETH"
        ]
      ] as const
      for (const [path, json, asset] of made) {
        const answer = yield* post(`/api/v1/admin/${path}`, { token, json })
        assert.deepStrictEqual([answer.status, answer.json["asset"]], [201, asset], answer.text)
      }
      const quotes = [{ time: "2026-01-05T00:00:00Z", price: 100 }]
      assert.strictEqual(
        (yield* post("/api/v1/admin/prices", { token, json: { asset: "cl", quotes } })).status,
        201
      )
      const target = yield* send("PATCH", "/api/v1/admin/targets/cl", { token, json: { paused: true } })
      assert.deepStrictEqual([target.json["key"], target.json["paused"]], ["CL", true])
    })
  )
})

layer(testServer())("A filter", (it) => {
  it.effect("A filter by an unknown target is refused, with the known ones and the one that was meant", () =>
    Effect.gen(function* () {
      const keys = "GC, ES, CL, ZN, HG, NG, BTC, ZS, DXY, ETH"
      const refused = yield* get("/api/v1/eval/challenges?asset=gold")
      assert.deepStrictEqual([refused.status, wrongFields(refused)], [400, ["asset"]])
      assert.strictEqual(
        member(refused.json, "errors", 0, "message"),
        `Expected one of ${keys} (did you mean GC?)`
      )
      // Macro series have lists of their own.
      assert.strictEqual((yield* get("/api/v1/eval/challenges?asset=CPI")).status, 400)
      assert.strictEqual((yield* get("/api/v1/events?asset=CPI")).status, 200)
      assert.strictEqual((yield* get("/api/v1/events?asset=XYZ")).status, 400)
      assert.strictEqual((yield* get("/api/v1/events/today?asset=XYZ")).status, 400)
    })
  )

  it.effect.each([
    ["/api/v1/eval/challenges?status=foo", "status", "open"],
    ["/api/v1/eval/macro/challenges?status=foo", "status", "void"],
    ["/api/v1/eval/price-events/challenges?status=foo", "status", "all"],
    ["/api/v1/eval/leaderboard?category=foo", "category", "crypto"],
    ["/api/v1/events?space=foo", "space", "finance"]
  ] as const)("A filter as in %s is refused with the allowed values", ([path, name, allowed]) =>
    Effect.gen(function* () {
      const refused = yield* get(path)
      assert.deepStrictEqual([refused.status, wrongFields(refused)], [400, [name]])
      assert.include(String(refused.json["detail"]), `"${allowed}"`)
    })
  )
})
