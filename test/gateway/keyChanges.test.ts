/** Changes of a live gateway key, and its bearer's reads and calls. */
import { assert, layer } from "@effect/vitest"
import { DateTime, Effect } from "effect"
import { TestClock } from "effect/testing"
import { chat, enabled, gatewayServer, message, Providers, spender } from "../support/gateway.ts"
import { onboard } from "../support/agents.ts"
import { GatewayKeys } from "../../src/services/GatewayKeys.ts"
import { get, member, post, send, wrongFields } from "../support/server.ts"
import { testAdminToken } from "../support/settings.ts"

const north = (model: string) => [{ provider: "north" as const, model }]
const models = [
  { name: "one", routes: north("plain") },
  { name: "two", routes: north("plain:1:two") },
  { name: "failing", routes: north("status=401"), more: "fallback: [two]" }
]
const keysPath = "/api/v1/llm/keys"

/** A key of an agent with a token, made with these settings. */
const keyWith = Effect.fnUntraced(function* (json: object) {
  const agent = yield* enabled
  const made = yield* post(keysPath, { token: agent.token, json })
  assert.strictEqual(made.status, 201, made.text)
  const path = `${keysPath}/${String(made.json["key_id"])}`
  return { ...agent, made: made.json, key: String(made.json["api_key"]), path }
})

layer(gatewayServer(models, {}, "usual"))("A change of a key", (it) => {
  it.effect("A change of a key sets the named fields, and leaves the others as they were", () =>
    Effect.gen(function* () {
      const first = { name: "laptop", credit_limit: 9, daily_limit: 3, allowed_models: ["one"] }
      const { path, token } = yield* keyWith(first)
      const before = yield* get(path, { token })
      const expires_at = DateTime.formatIso(DateTime.add(yield* DateTime.now, { days: 3 }))
      const changes = { name: "desk", expires_at, weekly_limit: 5.5, daily_limit: null, allowed_models: null }
      const changed = yield* send("PATCH", path, { token, json: changes })
      assert.strictEqual(changed.status, 200, changed.text)
      const { left: _, ...shown } = before.json
      assert.deepStrictEqual(changed.json, {
        ...shown,
        ...changes,
        limits: [
          { period: "total", limit: 9, spent: 0, reserved: 0, left: 9, resets_at: null },
          {
            period: "week",
            limit: 5.5,
            spent: 0,
            reserved: 0,
            left: 5.5,
            resets_at: "1970-01-05T00:00:00.000Z"
          }
        ]
      })
      const listed = yield* get(keysPath, { token })
      assert.deepStrictEqual(member(listed.json, "items", 0), changed.json)
      const nothing = yield* send("PATCH", path, { token, json: {} })
      assert.deepStrictEqual([nothing.status, nothing.json], [200, changed.json])
    })
  )

  it.effect("A change with an unknown or wrong field is 400 and changes nothing", () =>
    Effect.gen(function* () {
      const { path, token } = yield* keyWith({ credit_limit: 9 })
      const refused = (json: object) => send("PATCH", path, { token, json })
      const unknown = yield* refused({ day_limit: 1, name: "x" })
      assert.deepStrictEqual([unknown.status, wrongFields(unknown)], [400, ["day_limit"]])
      assert.include(unknown.text, "day_limit: Unknown field (did you mean daily_limit?)")
      const wrong = yield* refused({ name: "", monthly_limit: 0, expires_at: "soon", allowed_models: [] })
      assert.deepStrictEqual(
        [wrong.status, wrongFields(wrong)],
        [400, ["allowed_models", "expires_at", "monthly_limit", "name"]]
      )
      assert.strictEqual((yield* refused({ expires_at: "1970-01-01T00:00:00Z" })).status, 400)
      const key = yield* get(path, { token })
      assert.deepInclude(key.json, { name: "default", credit_limit: 9, monthly_limit: null })
    })
  )

  it.effect("A change with a number that no double holds ends no limit, also beside a null", () =>
    Effect.gen(function* () {
      const { path, token } = yield* keyWith({ credit_limit: 9 })
      for (const body of ['{"credit_limit":1e999,"name":null}', '{"credit_limit":1e999}']) {
        const answer = yield* send("PATCH", path, {
          token,
          body,
          headers: { "content-type": "application/json" }
        })
        assert.deepStrictEqual([answer.status, wrongFields(answer)], [400, ["credit_limit"]], body)
      }
      assert.deepInclude((yield* get(path, { token })).json, { credit_limit: 9 })
    })
  )

  it.effect("A change needs a caller who may make keys, and a live key of its own", () =>
    Effect.gen(function* () {
      const { agentId, path, token } = yield* keyWith({})
      const change = (by: string, at = path) => send("PATCH", at, { token: by, json: { name: "mine" } })
      const other = yield* enabled
      const codes = [
        yield* get(path, { token: other.token }),
        yield* change(other.token),
        yield* change((yield* onboard({ requested_scopes: ["challenge:read", "webhook:write"] })).token),
        yield* change(token, `${keysPath}/nobody`)
      ].map(({ status }) => status)
      assert.deepStrictEqual(codes, [404, 404, 403, 404])
      yield* send("DELETE", path, { token })
      const ended = yield* change(token)
      assert.deepStrictEqual([ended.status, ended.json["code"]], [409, "gateway_key_ended"])
      const second = yield* post(keysPath, { token, json: {} })
      yield* post(`/api/v1/admin/agents/${agentId}/rotate-secret?gateway_keys=keep`, {
        token: testAdminToken
      })
      const late = yield* change(token, `${keysPath}/${String(second.json["key_id"])}`)
      assert.deepStrictEqual([late.status, late.json["code"]], [401, "invalid_token"])
    })
  )
})

layer(gatewayServer(models, {}, "usual"))("The models of a key", (it) => {
  it.effect("A key lists and calls only its own models: another is 403 in the endpoint's style", () =>
    Effect.gen(function* () {
      const { key } = yield* spender(100, { allowed_models: ["one"] })
      const listed = yield* get("/api/v1/llm/v1/models", { token: key })
      assert.deepStrictEqual(
        [member(listed.json, "data", 0, "id"), member(listed.json, "data", 1)],
        ["one", undefined]
      )
      assert.strictEqual((yield* get("/api/v1/llm/v1/models/two", { token: key })).status, 404)
      assert.strictEqual((yield* chat(key, { model: "one" })).status, 200)
      assert.strictEqual((yield* chat(key, { model: "north/plain" })).status, 200)
      const { north: provider } = yield* Providers
      const before = provider.received.length
      for (const model of ["two", "north/plain:1:two"]) {
        const refused = yield* chat(key, { model })
        assert.deepStrictEqual([refused.status, refused.json["code"]], [403, "model_not_allowed"])
        assert.deepInclude(member(refused.json, "error"), {
          type: "permission_error",
          code: "model_not_allowed",
          param: "model"
        })
        const styled = yield* message(key, { model })
        assert.strictEqual(styled.status, 403)
        assert.strictEqual(member(styled.json, "error", "type"), "permission_error")
      }
      const counted = yield* post("/api/v1/llm/v1/messages/count_tokens", {
        token: key,
        json: { model: "two", messages: [{ role: "user", content: "Hello" }] }
      })
      assert.strictEqual(counted.status, 403)
      assert.strictEqual((yield* chat(key, { model: "none" })).json["code"], "unknown_model")
      assert.strictEqual(provider.received.length, before)
    })
  )

  it.effect("The models of a key also bound the models that stand in for a failing one", () =>
    Effect.gen(function* () {
      const { key } = yield* spender(100, { allowed_models: ["failing"] })
      const { north: provider } = yield* Providers
      const before = provider.received.filter(({ text }) => text.includes("plain:1:two")).length
      const failed = yield* chat(key, { model: "failing" })
      assert.strictEqual(failed.status, 502)
      assert.strictEqual(provider.received.filter(({ text }) => text.includes("plain:1:two")).length, before)
      const all = yield* spender()
      assert.strictEqual((yield* chat(all.key, { model: "failing" })).status, 200)
    })
  )

  it.effect("A key's models must exist: an unknown one is 400 by its place in the list", () =>
    Effect.gen(function* () {
      const { path, token } = yield* keyWith({})
      const json = { allowed_models: ["one", "twoo", "none"] }
      for (const refused of [
        yield* post(keysPath, { token, json }),
        yield* send("PATCH", path, { token, json })
      ]) {
        assert.deepStrictEqual(
          [refused.status, wrongFields(refused)],
          [400, ["allowed_models.1", "allowed_models.2"]]
        )
        assert.include(refused.text, 'There is no model \\"twoo\\" (did you mean two?)')
      }
    })
  )

  it.effect("A change of a key's models reaches every instance within a second", () =>
    Effect.gen(function* () {
      const { agentId, key, keyId } = yield* spender()
      const by = { kind: "agent", id: agentId } as const
      assert.strictEqual((yield* chat(key, { model: "two" })).status, 200)
      const keys = yield* GatewayKeys
      yield* keys.update(by, keyId, { allowed_models: ["one"] })
      assert.strictEqual((yield* chat(key, { model: "two" })).status, 403)
      yield* keys.update(by, keyId, { allowed_models: null })
      yield* TestClock.adjust("600 millis")
      assert.strictEqual((yield* chat(key, { model: "two" })).status, 200)
    })
  )
})

layer(gatewayServer(models, {}, "usual"))("A key that asks for itself", (it) => {
  it.effect("A key reads its own name, models, expiry and limits, and its remaining credit", () =>
    Effect.gen(function* () {
      const limits = {
        name: "sub",
        credit_limit: 9_000_000n,
        daily_limit: 500_000n,
        allowed_models: ["one"]
      }
      const { agentId, key, keyId } = yield* spender(100, limits)
      yield* chat(key, { model: "one" })
      const self = yield* get(`${keysPath}/self`, { token: key })
      assert.strictEqual(self.status, 200)
      const { created_at: _created, expires_at: _expires, last_used_at: _used, ...shown } = self.json
      assert.deepStrictEqual(shown, {
        key_id: keyId,
        prefix: key.slice(0, 15),
        name: "sub",
        agent_id: agentId,
        status: "active",
        revoked_at: null,
        credit_limit: 9,
        daily_limit: 0.5,
        weekly_limit: null,
        monthly_limit: null,
        allowed_models: ["one"],
        limits: [
          { period: "total", limit: 9, spent: 0.0122, reserved: 0, left: 8.9878, resets_at: null },
          {
            period: "day",
            limit: 0.5,
            spent: 0.0122,
            reserved: 0,
            left: 0.4878,
            resets_at: "1970-01-02T00:00:00.000Z"
          }
        ],
        spent: 0.0122,
        left: 0.4878
      })
      const header = yield* get(`${keysPath}/${keyId}`, { headers: { "x-api-key": key } })
      assert.deepStrictEqual(header.json, self.json)
    })
  )

  it.effect("A key reads no other key, and a token reads each key of its agent but none as self", () =>
    Effect.gen(function* () {
      const { key, path, token } = yield* keyWith({})
      const other = yield* post(keysPath, { token, json: { name: "other" } })
      const otherPath = `${keysPath}/${String(other.json["key_id"])}`
      assert.strictEqual((yield* get(otherPath, { token: key })).status, 404)
      assert.strictEqual((yield* get(otherPath, { token })).json["name"], "other")
      assert.strictEqual((yield* get(`${keysPath}/self`, { token })).status, 404)
      const stranger = yield* enabled
      assert.strictEqual((yield* get(path, { token: stranger.token })).status, 404)
      yield* send("DELETE", path, { token })
      assert.strictEqual((yield* get(`${keysPath}/self`, { token: key })).status, 401)
    })
  )
})
