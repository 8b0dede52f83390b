import { generateKeyPairSync } from "node:crypto"
import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { TestClock } from "effect/testing"
import { SignJWT, UnsecuredJWT, decodeJwt } from "jose"
import type { JWTPayload } from "jose"
import { allScopes } from "../../src/services/Scopes.ts"
import { onboard, onboardClaimed } from "../support/agents.ts"
import { oneIn } from "../support/breadth.ts"
import { openChallenge } from "../support/challenges.ts"
import { agentRoutes, pathOf } from "../support/routes.ts"
import { get, post, send, testServer } from "../support/server.ts"
import { testAdminToken, testTokenSecret } from "../support/settings.ts"

const profile = "/api/v1/agent/profile/self"
const key = new TextEncoder().encode(testTokenSecret)

const sign = (claims: JWTPayload, options: { alg?: string; key?: Uint8Array } = {}) =>
  Effect.promise(() =>
    new SignJWT(claims).setProtectedHeader({ alg: options.alg ?? "HS256" }).sign(options.key ?? key)
  )

/** The claims with changes: `undefined` leaves one out. */
const altered = (claims: JWTPayload, changes: Readonly<Record<string, unknown>>): JWTPayload =>
  Object.fromEntries(Object.entries({ ...claims, ...changes }).filter(([, value]) => value !== undefined))

const scopedRoutes = agentRoutes.filter(({ scope }) => scope !== undefined)

const base64url = (value: unknown) => Buffer.from(JSON.stringify(value)).toString("base64url")

layer(testServer())("Authentication", (it) => {
  it.effect.each(agentRoutes)(
    "The route $name without a token is 401 with a challenge that names no error",
    (route) =>
      Effect.gen(function* () {
        // The rest of the request does not matter: neither its body nor its ids.
        const answer = yield* send(route.method, pathOf(route), route.takesBody ? { body: "{" } : {})
        assert.strictEqual(answer.status, 401)
        assert.strictEqual(answer.headers.get("www-authenticate"), "Bearer")
        assert.strictEqual(answer.json["code"], "unauthorized")
      })
  )

  it.effect.each(oneIn(4, agentRoutes))(
    "The route $name with X-Agent-Id of another agent is 403 agent_mismatch",
    (route) =>
      Effect.gen(function* () {
        const ada = yield* onboard()
        const bob = yield* onboard()
        const answer = yield* send(route.method, pathOf(route), {
          token: ada.token,
          headers: { "x-agent-id": bob.agentId },
          ...(route.takesBody && { body: "{" })
        })
        assert.strictEqual(answer.status, 403)
        assert.strictEqual(answer.json["code"], "agent_mismatch")
        assert.notInclude(answer.text, bob.agentId)
      })
  )

  it.effect.each(oneIn(4, scopedRoutes))(
    "The route $name without $scope is 403 with exactly the body of the interface, and a hint",
    (route) =>
      Effect.gen(function* () {
        const lacking = new Set([
          route.scope,
          route.scope === "prediction:submit" ? "prediction:write" : route.scope
        ])
        const { token } = yield* onboard({
          requested_scopes: allScopes.filter((scope) => !lacking.has(scope))
        })
        const answer = yield* send(route.method, pathOf(route), {
          token,
          ...(route.takesBody && { body: "{" })
        })
        assert.strictEqual(answer.status, 403)
        const { hint, ...body } = answer.json
        assert.deepStrictEqual(body, {
          detail: `Missing required scope: ${route.scope}`,
          code: "missing_scope"
        })
        assert.typeOf(hint, "string")
      })
  )

  it.effect.each(oneIn(4, scopedRoutes))("The route $name needs $scope and no other scope", (route) =>
    Effect.gen(function* () {
      const { token } = yield* onboardClaimed({ requested_scopes: [route.scope] })
      const answer = yield* send(route.method, pathOf(route), {
        token,
        ...(route.takesBody && { body: "{" })
      })
      assert.notInclude([401, 403], answer.status)
    })
  )

  it.effect("A request needs no X-Agent-Id, and may give the token's agent there in any case", () =>
    Effect.gen(function* () {
      const { agentId, token } = yield* onboard()
      for (const headers of [{}, { "x-agent-id": agentId }, { "x-agent-id": agentId.toUpperCase() }]) {
        assert.strictEqual((yield* get(profile, { token, headers })).status, 200)
      }
      for (const other of ["", "nobody", `${agentId} `, testAdminToken]) {
        const answer = yield* get(profile, { token, headers: { "x-agent-id": other } })
        assert.strictEqual(answer.status, other.trim() === agentId ? 200 : 403, other)
      }
    })
  )

  it.effect("The scheme Bearer is taken in any case, and another scheme is no token", () =>
    Effect.gen(function* () {
      const { token } = yield* onboard()
      const profileWith = (authorization: string) => get(profile, { headers: { authorization } })
      for (const scheme of ["Bearer", "bearer", "BEARER"]) {
        assert.strictEqual((yield* profileWith(`${scheme} ${token}`)).status, 200)
      }
      for (const authorization of ["Bearer", "Bearer ", token, `Token ${token}`, "Basic YTpi"]) {
        const answer = yield* profileWith(authorization)
        assert.strictEqual(answer.status, 401, authorization)
        assert.strictEqual(answer.headers.get("www-authenticate"), "Bearer")
      }
      // A token anywhere else does not count.
      assert.strictEqual((yield* get(`${profile}?access_token=${token}`)).status, 401)
    })
  )

  it.effect("A token that is malformed, expired, forged or not ours is 401 invalid_token", () =>
    Effect.gen(function* () {
      const { agentId, token } = yield* onboard()
      const bob = yield* onboard()
      const claims = decodeJwt(token)
      const [header = "", payload = "", signature = ""] = token.split(".")
      const { privateKey } = generateKeyPairSync("rsa", { modulusLength: 2048 })
      const signedByRsa = Effect.promise(() =>
        new SignJWT(claims).setProtectedHeader({ alg: "RS256" }).sign(privateKey)
      )
      const claimsOfBob = base64url({ ...claims, sub: bob.agentId })
      const unsigned = (alg: string) => `${base64url({ alg, typ: "JWT" })}.${payload}.`
      const hostile: Readonly<Record<string, string>> = {
        garbage: "garbage",
        "two parts": `${header}.${payload}`,
        "empty parts": "..",
        "no signature": `${header}.${payload}.`,
        "a cut signature": token.slice(0, -4),
        "a padded signature": `${token}=`,
        "a tab inside": token.replace(".", ".\t"),
        "a fourth part": `${token}.x`,
        "five parts, as of encryption": `${header}.${payload}.${signature}.${payload}.${signature}`,
        "another's id": `${header}.${claimsOfBob}.${signature}`,
        "alg none by a library": new UnsecuredJWT(claims).encode(),
        "alg none": unsigned("none"),
        "alg None": unsigned("None"),
        "alg nOnE with the signature": `${base64url({ alg: "nOnE" })}.${payload}.${signature}`,
        "no alg": `${base64url({ typ: "JWT" })}.${payload}.${signature}`,
        "a header that is null": `${base64url(null)}.${payload}.${signature}`,
        "a payload that is no object": `${header}.${base64url([])}.${signature}`,
        "another key": yield* sign(claims, {
          key: new TextEncoder().encode("another-key-another-key-another-key")
        }),
        "an empty key": `${header}.${payload}.${Buffer.alloc(32).toString("base64url")}`,
        HS384: yield* sign(claims, { alg: "HS384" }),
        HS512: yield* sign(claims, { alg: "HS512" }),
        "RS256 of another's key": yield* signedByRsa,
        expired: yield* sign({ ...claims, iat: -7200, exp: -3600 }),
        "expiring now": yield* sign({ ...claims, exp: 0 }),
        "not valid yet": yield* sign({ ...claims, nbf: 60 }),
        "an expiry that is text": yield* sign(altered(claims, { exp: "9999999999" })),
        "an agent that is not": yield* sign({ ...claims, sub: "0190f000-0000-7000-8000-000000000000" }),
        "an id that is none": yield* sign({ ...claims, sub: "nobody" }),
        "an epoch to come": yield* sign({ ...claims, epoch: 1 }),
        "a trust level that is none": yield* sign({ ...claims, trust_level: "administrator" }),
        "the administrator's": testAdminToken,
        "an enormous one": `${header}.${base64url({ ...claims, padding: "x".repeat(4000) })}.${signature}`
      }
      for (const name of ["sub", "site", "trust_level", "scope", "epoch", "jti", "iat", "exp"]) {
        const answer = yield* get(profile, { token: yield* sign(altered(claims, { [name]: undefined })) })
        assert.strictEqual(answer.status, 401, `without ${name}`)
      }
      for (const [what, forged] of Object.entries(hostile)) {
        const answer = yield* get(profile, { token: forged })
        assert.strictEqual(answer.status, 401, what)
        assert.strictEqual(answer.headers.get("www-authenticate"), 'Bearer error="invalid_token"', what)
        assert.strictEqual(answer.json["code"], "invalid_token", what)
      }
      // A token signed here like ours is taken: the refusals above are about the claims.
      assert.strictEqual((yield* get(profile, { token: yield* sign(claims) })).json["agent_id"], agentId)
    })
  )

  it.effect("The owner's account checks the token first, and then answers that it is not supported", () =>
    Effect.gen(function* () {
      const [ada, bob] = [yield* onboard(), yield* onboard()]
      const elsewhere = yield* sign({ ...decodeJwt(ada.token), site: "cn" })
      const wrongAgent = { "x-agent-id": bob.agentId }
      const steps = [
        [{}, 401, "unauthorized", "Bearer"],
        [{ token: "garbage", headers: wrongAgent }, 401, "invalid_token", 'Bearer error="invalid_token"'],
        [{ token: elsewhere, headers: wrongAgent }, 403, "wrong_site", null],
        [{ token: ada.token, headers: wrongAgent }, 403, "agent_mismatch", null],
        [{ token: ada.token }, 400, "not_supported", null]
      ] as const
      for (const [sent, ...expected] of steps) {
        const { headers, json, status } = yield* get("/api/v1/agent/owner/balance", sent)
        assert.deepStrictEqual([status, json["code"], headers.get("www-authenticate")], expected)
      }
    })
  )

  it.effect("An authentic token of the other site is 403 wrong_site, whatever its scopes", () =>
    Effect.gen(function* () {
      const { token } = yield* onboard()
      const claims = { ...decodeJwt(token), site: "cn" }
      for (const scope of ["", "profile:read:self"]) {
        const answer = yield* get(profile, { token: yield* sign({ ...claims, scope }) })
        assert.strictEqual(answer.status, 403)
        assert.strictEqual(answer.json["code"], "wrong_site")
      }
      const stranger = { ...claims, sub: "0190f000-0000-7000-8000-000000000000" }
      assert.strictEqual((yield* get(profile, { token: yield* sign(stranger) })).json["code"], "wrong_site")
      const forged = yield* sign(claims, {
        key: new TextEncoder().encode("another-key-another-key-another-key")
      })
      assert.strictEqual((yield* get(profile, { token: forged })).status, 401)
      const expired = yield* get(profile, { token: yield* sign({ ...claims, exp: 0 }) })
      assert.strictEqual(expired.status, 401)
    })
  )

  it.effect("The scope prediction:write counts as prediction:submit, and as nothing else", () =>
    Effect.gen(function* () {
      const { id } = yield* openChallenge()
      const { token } = yield* onboard({ requested_scopes: ["prediction:write"] })
      const predicted = yield* post(`/api/v1/eval/challenges/${id}/predict`, {
        token,
        json: { direction: "bullish", confidence: 0.7 }
      })
      assert.strictEqual(predicted.status, 201)
      assert.strictEqual((yield* get("/api/v1/eval/challenges/active", { token })).status, 403)
    })
  )

  it.effect("An agent's token opens none of the administrators' routes", () =>
    Effect.gen(function* () {
      const { token } = yield* onboard()
      const answer = yield* get("/api/v1/admin/audit", { token })
      assert.strictEqual(answer.status, 401)
    })
  )
})

layer(testServer({ environment: { AUSPEX_LIMIT_PREDICTIONS: "1/minute", AUSPEX_LIMIT_READS: "12/minute" } }))(
  "The order of checks",
  (it) => {
    it.effect("The checks run in order: authentication, site, agent, scope, limit, body, state", () =>
      Effect.gen(function* () {
        const ada = yield* onboard()
        const bob = yield* onboard({ requested_scopes: ["challenge:read"] })
        const claims = decodeJwt(ada.token)
        const foreign = yield* sign({ ...claims, site: "cn", scope: "" })
        const unscoped = yield* sign({ ...claims, scope: "" })
        const path = "/api/v1/eval/challenges/0190f000-0000-7000-8000-000000000000/predict"
        const good = { direction: "bullish", confidence: 0.5 }
        const bad = { direction: "sideways", confidence: 2 }
        const wrongAgent = { "x-agent-id": bob.agentId }

        // Ada's limit is used up: her requests with a scope are 429 from here on, until the last two.
        const { id } = yield* openChallenge()
        const counted = yield* post(`/api/v1/eval/challenges/${id}/predict`, { token: ada.token, json: good })
        assert.strictEqual(counted.status, 201)
        const steps: ReadonlyArray<readonly [status: number, code: string, token?: string]> = [
          [401, "unauthorized"],
          [401, "invalid_token", "garbage"],
          [403, "wrong_site", foreign],
          [403, "agent_mismatch", unscoped]
        ]
        for (const [status, code, token] of steps) {
          const answer = yield* post(path, {
            ...(token !== undefined && { token }),
            headers: wrongAgent,
            json: bad
          })
          assert.deepStrictEqual([answer.status, answer.json["code"]], [status, code])
        }
        const codeOf = (token: string, json: unknown) =>
          Effect.map(post(path, { token, json }), (answer) => answer.json["code"])
        const codeOfUnread = (token: string) =>
          Effect.map(
            post(path, { token, body: "{", headers: { "content-type": "application/json" } }),
            (answer) => answer.json["code"]
          )
        assert.strictEqual(yield* codeOfUnread(unscoped), "missing_scope")
        assert.strictEqual(yield* codeOfUnread(ada.token), "rate_limited")
        const carol = yield* onboard()
        assert.strictEqual(yield* codeOf(carol.token, bad), "invalid_request")
        const dave = yield* onboard()
        assert.strictEqual(yield* codeOf(dave.token, good), "not_found")
      })
    )

    it.effect("A request refused for its body or its state uses nothing of its limit", () =>
      Effect.gen(function* () {
        const { token } = yield* onboard()
        const { id } = yield* openChallenge()
        const predict = (challenge: string, json: unknown) =>
          Effect.map(
            post(`/api/v1/eval/challenges/${challenge}/predict`, { token, json }),
            ({ status }) => status
          )
        const good = { direction: "bullish", confidence: 0.5 }
        assert.strictEqual(yield* predict(id, { direction: "sideways" }), 400)
        assert.strictEqual(yield* predict("0190f000-0000-7000-8000-000000000000", good), 404)
        assert.strictEqual(yield* predict(id, good), 201)
        assert.strictEqual(yield* predict(id, { ...good, is_revision: true }), 429)
      })
    )

    it.effect("A request without a token or a scope does not count towards a limit", () =>
      Effect.gen(function* () {
        const path = "/api/v1/agent/prediction-scope"
        const ada = yield* onboard({ requested_scopes: ["profile:read:self"] })
        for (let again = 0; again < 15; again++) {
          assert.strictEqual((yield* get(path)).status, 401)
          assert.strictEqual((yield* get(path, { token: ada.token })).status, 403)
        }
        assert.strictEqual((yield* get("/api/v1/public/prediction-scopes")).status, 200)
      })
    )
  }
)

layer(testServer())("Two agents", (it) => {
  it.effect("Two agents cannot read each other's predictions, subscriptions or profiles", () =>
    Effect.gen(function* () {
      const ada = yield* onboard({
        name: "Ada",
        bio: "ada-secret-bio",
        operator_contact: "ada-contact@example.org"
      })
      const bob = yield* onboard({ name: "Bob" })
      const { id } = yield* openChallenge()
      yield* post("/api/v1/admin/events", {
        token: testAdminToken,
        json: { events: [{ event_id: "opec", title: "OPEC meets" }] }
      })
      const predicted = yield* post(`/api/v1/eval/challenges/${id}/predict`, {
        token: ada.token,
        json: { direction: "bearish", confidence: 0.87, reasoning: "ada-secret-reasoning" }
      })
      assert.strictEqual(predicted.status, 201)
      const closing = yield* openChallenge({
        deadline: "1970-01-01T00:10:00Z",
        resolve_at: "1970-01-02T00:00:00Z"
      })
      yield* TestClock.adjust("15 minutes")
      const signal = yield* post(`/api/v1/eval/challenges/${closing.id}/predict`, {
        token: ada.token,
        json: { direction: "bearish", confidence: 0.87, reasoning: "ada-secret-reasoning" }
      })
      assert.strictEqual(signal.json["counts_for_score"], false)
      yield* post("/api/v1/agent/prediction-scope/GC", { token: ada.token })
      const ownWords = ["ada-secret-bio", "ada-contact", "ada-secret-reasoning", "0.87", ada.agentId]

      /** Everybody who may read profiles reads a profile, which names its agent. */
      const told: Readonly<Record<string, ReadonlyArray<string>>> = {
        "GET /api/v1/agent/profiles/:agent_id": ["ada-secret-bio", ada.agentId]
      }
      /** Another agent's key or webhook is 404, as its own tests prove. */
      const ofOthers = new Set([
        "GET /api/v1/llm/keys/:key_id",
        "GET /api/v1/agent/webhooks/:webhook_id/deliveries"
      ])
      const readable = agentRoutes.filter(({ method, name }) => method === "GET" && !ofOthers.has(name))
      for (const route of readable) {
        for (const challenge_id of [id, closing.id]) {
          const path = pathOf(route, {
            challenge_id,
            agent_id: ada.agentId,
            scope_key: "GC",
            news_id: "opec"
          })
          const answer = yield* get(path, { token: bob.token })
          assert.strictEqual(answer.status, 200, route.name)
          for (const word of ownWords.filter((each) => !told[route.name]?.includes(each))) {
            assert.notInclude(answer.text, word, route.name)
          }
        }
      }
      const results = yield* get(`/api/v1/eval/challenges/${id}/results`)
      assert.deepStrictEqual(results.json["predictions"], [])
      for (const word of ownWords) assert.notInclude(results.text, word)
      // The agent itself sees what it sent.
      const signals = yield* get(`/api/v1/eval/challenges/${closing.id}/paper-signals`, { token: ada.token })
      assert.include(signals.text, "ada-secret-reasoning")
      const own = yield* get("/api/v1/agent/predictions", { token: ada.token })
      assert.include(own.text, "ada-secret-reasoning")
      const scopes = yield* get("/api/v1/agent/prediction-scope", { token: ada.token })
      assert.deepStrictEqual(scopes.json, { scopes: ["GC"] })
    })
  )

  it.effect("Two agents cannot change each other's predictions, subscriptions and profiles", () =>
    Effect.gen(function* () {
      const ada = yield* onboard()
      const bob = yield* onboard()
      yield* post("/api/v1/agent/prediction-scope/GC", { token: ada.token })
      yield* send("DELETE", "/api/v1/agent/prediction-scope/GC", { token: bob.token })
      const scopes = yield* get("/api/v1/agent/prediction-scope", { token: ada.token })
      assert.deepStrictEqual(scopes.json, { scopes: ["GC"] })
      const { id } = yield* openChallenge()
      const predict = (token: string, is_revision: boolean) =>
        post(`/api/v1/eval/challenges/${id}/predict`, {
          token,
          json: { direction: "bullish", confidence: 0.5, is_revision }
        })
      assert.strictEqual((yield* predict(ada.token, false)).status, 201)
      // A revision without an earlier prediction of the agent is a first one.
      assert.strictEqual((yield* predict(bob.token, true)).status, 201)
      const own = yield* get("/api/v1/agent/predictions", { token: ada.token })
      assert.include(own.text, '"revision_count":0')
    })
  )
})
