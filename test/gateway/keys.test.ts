/** Gateway keys: created, listed, revoked, and rejected when they must be. */
import { assert, layer } from "@effect/vitest"
import { Context, DateTime, Effect, Layer, Option } from "effect"
import { SqlClient } from "effect/sql"
import { TestClock } from "effect/testing"
import { SignJWT, decodeJwt } from "jose"
import * as Keys from "../../src/layers/postgres/gateway/GatewayKeys.ts"
import { GatewayKeys } from "../../src/services/GatewayKeys.ts"
import { onboard } from "../support/agents.ts"
import { chat, chatPath, enabled, gatewayServer, messagesPath, spender } from "../support/gateway.ts"
import { get, member, post, send, wrongFields } from "../support/server.ts"
import { testAdminToken, testTokenSecret } from "../support/settings.ts"

const models = [{ name: "meta/plain", routes: [{ provider: "north" as const, model: "plain" }] }]
const keysPath = "/api/v1/llm/keys"
const call = { json: { model: "meta/plain", messages: [{ role: "user", content: "Hello" }], max_tokens: 5 } }

layer(gatewayServer(models, { AUSPEX_LIMIT_GATEWAY_CALLS: "5/minute" }, "usual"))("A gateway key", (it) => {
  it.effect("A gateway key is shown once, listed by its beginning, and stored as a hash", () =>
    Effect.gen(function* () {
      const { agentId, token } = yield* enabled
      const json = { name: "laptop", expires_at: "1970-12-05T00:00:00Z", credit_limit: 1.5 }
      const made = yield* post(keysPath, { token, json })
      assert.strictEqual(made.status, 201, made.text)
      assert.strictEqual(made.headers.get("cache-control"), "no-store")
      const key = String(made.json["api_key"])
      assert.match(key, /^aus_gw_[0-9A-Za-z]{8}_[\w-]{49}$/)
      const listed = yield* get(keysPath, { token })
      assert.deepStrictEqual(member(listed.json, "items", 0), {
        key_id: made.json["key_id"],
        prefix: key.slice(0, 15),
        name: "laptop",
        agent_id: agentId,
        status: "active",
        expires_at: "1970-12-05T00:00:00.000Z",
        revoked_at: null,
        credit_limit: 1.5,
        daily_limit: null,
        weekly_limit: null,
        monthly_limit: null,
        allowed_models: null,
        limits: [{ period: "total", limit: 1.5, spent: 0, reserved: 0, left: 1.5, resets_at: null }],
        spent: 0,
        last_used_at: null,
        created_at: made.json["created_at"]
      })
      assert.notInclude(listed.text, key)
      const sql = yield* SqlClient.SqlClient
      const stored = yield* sql`select k::text from gateway_keys k`.values
      assert.notInclude(stored.join(), key)
    })
  )

  it.effect("A request for a key names every wrong field in its error", () =>
    Effect.gen(function* () {
      const { token } = yield* enabled
      const wrong = yield* post(keysPath, { token, json: { name: "", expires_at: "soon", credit_limit: -1 } })
      assert.strictEqual(wrong.status, 400)
      assert.deepStrictEqual(wrongFields(wrong), ["credit_limit", "expires_at", "name"])
      const number = yield* post(keysPath, { token, json: { expires_at: 5 } })
      assert.strictEqual(
        number.json["detail"],
        "expires_at: Expected an ISO 8601 date-time with its offset, for example 2026-01-31T12:00:00Z or null, got 5"
      )
    })
  )

  it.effect("A request for a key with an unknown field, maybe meant as a limit, makes none", () =>
    Effect.gen(function* () {
      const { token } = yield* enabled
      const refused = yield* post(keysPath, { token, json: { credit_limits: 1, max_budget: 1 } })
      assert.strictEqual(refused.status, 400)
      assert.deepStrictEqual(wrongFields(refused), ["credit_limits", "max_budget"])
      assert.include(
        refused.text,
        "credit_limits: Unknown field (did you mean credit_limit?): expected one of name, "
      )
      assert.include(refused.text, "max_budget: Unknown field: expected one of name, ")
      assert.deepStrictEqual((yield* get(keysPath, { token })).json["items"], [])
    })
  )

  it.effect("A request for a key that would have expired already makes none", () =>
    Effect.gen(function* () {
      const { agentId, owner, token } = yield* enabled
      const now = yield* DateTime.now
      for (const expires_at of ["1970-01-01T00:00:00Z", DateTime.formatIso(now)]) {
        const refused = yield* post(keysPath, { token, json: { expires_at } })
        assert.strictEqual(refused.status, 400, refused.text)
        assert.deepStrictEqual(wrongFields(refused), ["expires_at"])
        assert.include(refused.text, "expires_at: Expected a time in the future")
      }
      const keys = yield* GatewayKeys
      const byOwner = keys.create({ kind: "owner", id: owner }, agentId, { expires_at: now })
      assert.strictEqual((yield* Effect.flip(byOwner))._tag, "InvalidRequest")
      assert.deepStrictEqual((yield* get(keysPath, { token })).json["items"], [])
      const next = DateTime.formatIso(DateTime.add(now, { seconds: 1 }))
      assert.strictEqual((yield* post(keysPath, { token, json: { expires_at: next } })).status, 201)
    })
  )

  it.effect("A gateway key lives for 90 days by default, and for a year at most", () =>
    Effect.gen(function* () {
      const { token } = yield* enabled
      const now = yield* DateTime.now
      const ahead = (days: number) => DateTime.formatIso(DateTime.add(now, { days }))
      for (const json of [{}, { expires_at: null }]) {
        assert.strictEqual((yield* post(keysPath, { token, json })).json["expires_at"], ahead(90))
      }
      const longest = yield* post(keysPath, { token, json: { expires_at: ahead(366) } })
      assert.strictEqual(longest.json["expires_at"], ahead(366))
      for (const expires_at of [
        DateTime.formatIso(DateTime.add(now, { days: 366, seconds: 1 })),
        "9899-12-31T23:59:59Z"
      ]) {
        const refused = yield* post(keysPath, { token, json: { expires_at } })
        assert.strictEqual(refused.status, 400, refused.text)
        assert.deepStrictEqual(wrongFields(refused), ["expires_at"])
        assert.include(refused.text, `Expected ${ahead(366)} at the latest`)
      }
    })
  )

  it.effect("A gateway key that was made without an expiry keeps none, and is listed so", () =>
    Effect.gen(function* () {
      const { token } = yield* enabled
      const sql = yield* SqlClient.SqlClient
      const { json } = yield* post(keysPath, { token, json: {} })
      yield* sql`update gateway_keys set expires_at = null where id = ${String(json["key_id"])}::uuid`
      const listed = yield* get(keysPath, { token })
      assert.deepStrictEqual(
        [member(listed.json, "items", 0, "status"), member(listed.json, "items", 0, "expires_at")],
        ["active", null]
      )
      yield* TestClock.adjust("400 days")
      const usage = yield* get("/api/v1/llm/usage", { token: String(json["api_key"]) })
      assert.strictEqual(usage.status, 200)
    })
  )

  it.effect("An agent has at most 20 live keys, even if 30 are requested at once", () =>
    Effect.gen(function* () {
      const ada = yield* enabled
      const { token } = ada
      const soon = DateTime.formatIso(DateTime.add(yield* DateTime.now, { minutes: 1 }))
      const make = post(keysPath, { token, json: { expires_at: soon } })
      const made = yield* Effect.replicateEffect(make, 30, { concurrency: "unbounded" })
      const refused = made.filter(({ status }) => status === 400)
      assert.strictEqual(made.filter(({ status }) => status === 201).length, 20)
      assert.strictEqual(refused.length, 10)
      assert.strictEqual(refused[0]?.json["code"], "gateway_key_limit")
      assert.include(refused[0]?.text, "20 live gateway keys at most")
      const keys = yield* GatewayKeys
      const byOwner = keys.create({ kind: "owner", id: ada.owner }, ada.agentId, {})
      assert.strictEqual((yield* Effect.flip(byOwner))._tag, "GatewayKeyLimitReached")
      // Keys of other agents do not count.
      assert.strictEqual((yield* post(keysPath, { token: (yield* enabled).token, json: {} })).status, 201)
      const one = made.find(({ status }) => status === 201)
      yield* send("DELETE", `${keysPath}/${String(one?.json["key_id"])}`, { token })
      assert.strictEqual((yield* make).status, 201)
      assert.strictEqual((yield* make).status, 400)
      // Expired keys no longer count.
      yield* TestClock.adjust("1 minute")
      assert.strictEqual((yield* post(keysPath, { token, json: {} })).status, 201)
    })
  )

  it.effect("An agent makes at most 200 keys in 24 hours, however many of them it has revoked", () =>
    Effect.gen(function* () {
      const { agentId, owner, token } = yield* enabled
      const sql = yield* SqlClient.SqlClient
      const keys = yield* GatewayKeys
      const by = { kind: "owner", id: owner } as const
      const makeAndRevoke = Effect.gen(function* () {
        const { key_id } = yield* keys.create(by, agentId, {})
        yield* keys.revoke(by, key_id)
      })
      yield* Effect.replicateEffect(makeAndRevoke, 100)
      yield* TestClock.adjust("1 minute")
      yield* Effect.replicateEffect(makeAndRevoke, 95)
      const made = yield* Effect.replicateEffect(post(keysPath, { token, json: {} }), 12, {
        concurrency: "unbounded"
      })
      const refused = made.filter(({ status }) => status !== 201)
      assert.deepStrictEqual([made.length - refused.length, refused.length], [5, 7])
      for (const { json, status } of refused) {
        assert.deepStrictEqual([status, json["code"]], [400, "gateway_key_limit"])
        assert.include(String(json["detail"]), "200 gateway keys in 24 hours at most, revoked ones included")
      }
      for (const each of made) {
        if (each.status === 201)
          yield* send("DELETE", `${keysPath}/${String(each.json["key_id"])}`, { token })
      }
      assert.strictEqual((yield* post(keysPath, { token, json: { name: "loop" } })).status, 400)
      assert.strictEqual((yield* Effect.flip(makeAndRevoke))._tag, "GatewayKeyLimitReached")
      const rows = sql`select count(*)::int from gateway_keys where agent_id = ${agentId}::uuid`.values
      assert.deepStrictEqual(yield* rows, [[200]])
      // Keys of other agents do not count.
      assert.strictEqual((yield* post(keysPath, { token: (yield* enabled).token, json: {} })).status, 201)
      yield* TestClock.adjust("86339999 millis")
      assert.strictEqual((yield* Effect.flip(makeAndRevoke))._tag, "GatewayKeyLimitReached")
      yield* TestClock.adjust("1 millis")
      yield* makeAndRevoke
      assert.deepStrictEqual(yield* rows, [[201]])
    })
  )

  it.effect("A gateway key ends with the agent's secret when an administrator rotates it, unless kept", () =>
    Effect.gen(function* () {
      const { agentId, token } = yield* enabled
      const stranger = yield* enabled
      const made = yield* Effect.replicateEffect(post(keysPath, { token, json: {} }), 2)
      const other = String((yield* post(keysPath, { token: stranger.token, json: {} })).json["api_key"])
      const elsewhere = Context.get(yield* Layer.build(Layer.fresh(Keys.layer)), GatewayKeys)
      const keys = made.map(({ json }) => String(json["api_key"]))
      const rotate = (query: string) =>
        post(`/api/v1/admin/agents/${agentId}/rotate-secret${query}`, { token: testAdminToken })
      const tried = Effect.forEach([...keys, other], (key) => Effect.option(elsewhere.authenticate(key)))
      const live = Effect.map(tried, (found) => found.map(Option.isSome))
      assert.strictEqual((yield* rotate("?gateway_keys=keep")).json["revoked_gateway_keys"], 0)
      yield* TestClock.adjust("500 millis")
      assert.deepStrictEqual(yield* live, [true, true, true])
      assert.strictEqual((yield* rotate("")).json["revoked_gateway_keys"], 2)
      yield* TestClock.adjust("500 millis")
      assert.deepStrictEqual(yield* live, [false, false, true])
      assert.deepStrictEqual(wrongFields(yield* rotate("?gateway_keys=end")), ["gateway_keys"])
    })
  )

  it.effect("A token that has just been ended makes no gateway key", () =>
    Effect.gen(function* () {
      const { agentId, token } = yield* enabled
      assert.strictEqual((yield* get(keysPath, { token })).status, 200)
      yield* post(`/api/v1/admin/agents/${agentId}/rotate-secret`, { token: testAdminToken })
      // The token may still allow reads for some seconds.
      assert.strictEqual((yield* get(keysPath, { token })).status, 200)
      const refused = yield* post(keysPath, { token, json: {} })
      assert.deepStrictEqual([refused.status, refused.json["code"]], [401, "invalid_token"])
      assert.strictEqual(refused.headers.get("www-authenticate"), 'Bearer error="invalid_token"')
    })
  )

  it.effect("A gateway key is revoked at once, and on another replica within a second", () =>
    Effect.gen(function* () {
      const { token } = yield* enabled
      const { json } = yield* post(keysPath, { token, json: {} })
      const [key, path] = [String(json["api_key"]), `${keysPath}/${String(json["key_id"])}`]
      const elsewhere = Context.get(yield* Layer.build(Layer.fresh(Keys.layer)), GatewayKeys)
      assert.strictEqual((yield* elsewhere.authenticate(key)).keyId, json["key_id"])
      assert.strictEqual((yield* get("/api/v1/llm/v1/models", { token: key })).status, 200)
      const stranger = yield* enabled
      assert.strictEqual((yield* send("DELETE", path, { token: stranger.token })).status, 404)
      assert.strictEqual((yield* send("DELETE", path, { token })).status, 204)
      assert.strictEqual((yield* send("DELETE", path, { token })).status, 204)
      assert.strictEqual((yield* get("/api/v1/llm/v1/models", { token: key })).status, 401)
      for (const read of ["/api/v1/llm/v1/models", "/api/v1/llm/usage"]) {
        const unknown = yield* get(read, { token: "sk-of-another-service" })
        assert.strictEqual(unknown.status, 401)
        assert.include(unknown.text, "Expected a gateway key (aus_gw_...) or an access token.", read)
      }
      yield* TestClock.adjust("600 millis")
      assert.strictEqual((yield* Effect.flip(elsewhere.authenticate(key)))._tag, "InvalidGatewayKey")
      const listed = yield* get(keysPath, { token })
      assert.strictEqual(member(listed.json, "items", 0, "status"), "revoked")
    })
  )

  it.effect("A gateway key ends when it expires", () =>
    Effect.gen(function* () {
      const { token } = yield* enabled
      const soon = DateTime.formatIso(DateTime.add(yield* DateTime.now, { hours: 1 }))
      const { json } = yield* post(keysPath, { token, json: { expires_at: soon } })
      const key = String(json["api_key"])
      assert.strictEqual((yield* get("/api/v1/llm/usage", { token: key })).status, 200)
      yield* TestClock.adjust("2 hours")
      assert.strictEqual((yield* get("/api/v1/llm/usage", { token: key })).status, 401)
    })
  )

  it.effect.each([
    ["is not enabled", "update agents set credit_arena_enabled = false"],
    ["is suspended", "update agents set suspended_at = created_at"],
    ["has an owner on the free plan", "update operators set plan = 'free'"]
  ] as const)("A gateway key is 403 gateway_disabled while its agent %s", ([, change]) =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const { key } = yield* spender()
      assert.strictEqual((yield* chat(key, { model: "meta/plain" })).status, 200)
      yield* sql`${sql.literal(change)}`
      // The cache keeps a look-up for half a second.
      yield* TestClock.adjust("600 millis")
      const refused = yield* chat(key, { model: "meta/plain" })
      assert.strictEqual(refused.status, 403)
      assert.strictEqual(refused.json["code"], "gateway_disabled")
      assert.isString(member(refused.json, "error", "message"))
      const message = yield* post(messagesPath, { ...call, headers: { "x-api-key": key } })
      assert.strictEqual(message.json["type"], "error")
      assert.isString(message.json["detail"])
    })
  )

  it.effect("An agent that nobody has claimed gets no gateway key", () =>
    Effect.gen(function* () {
      const { token } = yield* onboard()
      const refused = yield* post(keysPath, { token, json: {} })
      assert.strictEqual(refused.status, 403)
      assert.strictEqual(refused.json["code"], "gateway_disabled")
    })
  )

  it.effect("A gateway key is read from either header, and two different ones are 401", () =>
    Effect.gen(function* () {
      const [one, other] = [yield* spender(), yield* spender()]
      const with_ = (headers: Readonly<Record<string, string>>) =>
        Effect.map(post(chatPath, { ...call, headers }), ({ status }) => status)
      assert.strictEqual(yield* with_({ authorization: `Bearer ${one.key}` }), 200)
      assert.strictEqual(yield* with_({ "x-api-key": one.key }), 200)
      assert.strictEqual(yield* with_({ authorization: `Bearer ${one.key}`, "x-api-key": one.key }), 200)
      assert.strictEqual(yield* with_({ authorization: `Bearer ${one.key}`, "x-api-key": other.key }), 401)
      assert.strictEqual(yield* with_({}), 401)
      assert.strictEqual(yield* with_({ authorization: `Bearer ${one.key.slice(0, -1)}` }), 401)
    })
  )

  it.effect("A gateway key has a limit of calls, with Retry-After", () =>
    Effect.gen(function* () {
      const { key } = yield* spender()
      for (let times = 0; times < 5; times++) {
        // Rejected calls count, too.
        assert.strictEqual((yield* chat(key, { model: "none" })).status, 400)
      }
      const limited = yield* chat(key, { model: "meta/plain" })
      assert.strictEqual(limited.status, 429)
      assert.strictEqual(limited.json["code"], "rate_limited")
      assert.match(limited.headers.get("retry-after") ?? "", /^\d+$/)
    })
  )

  it.effect("A key or token reads only its own agent's usage and models, and a token only at its site", () =>
    Effect.gen(function* () {
      const { key } = yield* spender()
      const { token } = yield* enabled
      const stranger = yield* onboard()
      const claims = { ...decodeJwt(token), site: "cn" }
      const foreign = yield* Effect.promise(() =>
        new SignJWT(claims)
          .setProtectedHeader({ alg: "HS256" })
          .sign(new TextEncoder().encode(testTokenSecret))
      )
      for (const path of ["/api/v1/llm/v1/models", "/api/v1/llm/v1/models/meta/plain", "/api/v1/llm/usage"]) {
        assert.strictEqual((yield* get(path, { token })).status, 200)
        const elsewhere = yield* get(path, { token: foreign })
        assert.deepStrictEqual([elsewhere.status, elsewhere.json["code"]], [403, "wrong_site"], path)
        for (const credential of [key, token]) {
          const headers = { "x-agent-id": stranger.agentId }
          const other = yield* get(path, { token: credential, headers })
          assert.deepStrictEqual([other.status, other.json["code"]], [403, "agent_mismatch"], path)
        }
      }
      const headers = { "anthropic-version": "2023-06-01" }
      const styled = yield* get("/api/v1/llm/v1/models", { token: foreign, headers })
      assert.strictEqual(member(styled.json, "error", "type"), "permission_error")
    })
  )

  it.effect("A gateway key reads the models, whose names may have slashes, encoded or not", () =>
    Effect.gen(function* () {
      const { key } = yield* spender()
      const { json } = yield* get("/api/v1/llm/v1/models", { token: key })
      assert.strictEqual(json["object"], "list")
      assert.deepInclude(member(json, "data", 0), {
        id: "meta/plain",
        object: "model",
        type: "model",
        pricing: { input: 0.0002, output: 0.0008, unit: "credits per token" }
      })
      for (const path of ["meta/plain", "meta%2Fplain"]) {
        const one = yield* get(`/api/v1/llm/v1/models/${path}`, { token: key })
        assert.strictEqual(one.json["id"], "meta/plain")
      }
      const none = yield* get("/api/v1/llm/v1/models/none", { token: key })
      assert.strictEqual(none.status, 404)
      assert.strictEqual(member(none.json, "error", "code"), "unknown_model")
    })
  )
})

const perAgent = { AUSPEX_LIMIT_GATEWAY_CALLS: "4/minute", AUSPEX_LIMIT_GATEWAY_AGENT_CALLS: "6/minute" }

layer(gatewayServer(models, perAgent, "usual"))("All keys of an agent", (it) => {
  it.effect("All keys of an agent share a limit of calls, which other agents do not share", () =>
    Effect.gen(function* () {
      const { agentId, key } = yield* spender()
      const other = yield* GatewayKeys.use((keys) => keys.create({ kind: "agent", id: agentId }, agentId, {}))
      const statuses = (sent: string, times: number) =>
        Effect.map(
          Effect.forEach(Array.from({ length: times }), () => chat(sent, { model: "meta/plain" })),
          (answers) => answers.map(({ status }) => status)
        )
      // Calls that the key's limit rejects do not count towards the agent's limit.
      assert.deepStrictEqual(yield* statuses(key, 7), [200, 200, 200, 200, 429, 429, 429])
      assert.deepStrictEqual(yield* statuses(other.api_key, 3), [200, 200, 429])
      const limited = yield* chat(other.api_key, { model: "meta/plain" })
      assert.match(String(limited.json["detail"]), /^Too many calls of this agent: at most 6 in 1m/)
      assert.match(limited.headers.get("retry-after") ?? "", /^\d+$/)
      const stranger = yield* spender()
      assert.deepStrictEqual(yield* statuses(stranger.key, 1), [200])
    })
  )
})
