import { assert, layer } from "@effect/vitest"
import { Effect, Schema } from "effect"
import { TestClock } from "effect/testing"
import { decodeJwt, decodeProtectedHeader } from "jose"
import { IssuedToken } from "../../src/services/Tokens.ts"
import { askForToken, claim, issue, onboard, pass, register } from "../support/agents.ts"
import { breadth } from "../support/breadth.ts"
import { get, member, post, send, testServer, wrongFields } from "../support/server.ts"
import { testAdminToken } from "../support/settings.ts"

const endpoint = "/api/v1/agent/auth/token"
const resend = (agentId: string, challengeId: string) =>
  post("/api/v1/agent/registry/resend-secret", { json: { agent_id: agentId, challenge_id: challengeId } })
const selfOf = (token: string) => get("/api/v1/agent/profile/self", { token })
const adminOf = (agentId: string) => `/api/v1/admin/agents/${agentId}`

layer(testServer())("The token endpoint", (it) => {
  it.effect("The token endpoint answers a bearer token with lifetime, effective scopes and status", () =>
    Effect.gen(function* () {
      const registered = yield* register()
      yield* pass(registered)
      const answer = yield* askForToken(registered.agent_id, registered.client_secret)
      assert.strictEqual(answer.status, 200)
      assert.strictEqual(answer.headers.get("cache-control"), "no-store")
      const {
        access_token: _,
        claim_note,
        ...rest
      } = yield* Schema.decodeUnknownEffect(IssuedToken)(answer.json)
      assert.deepStrictEqual(rest, {
        token_type: "Bearer",
        expires_in: 3600,
        scope:
          "prediction:submit prediction:write challenge:read comment:create comment:reply comment:read:context follow:delete:self follow:read space:read profile:read:self profile:read:public llm:keys",
        agent_status: "active_provisional",
        claim_pending: true
      })
      assert.include(claim_note, "operator")
    })
  )

  it.effect("A token's claims say who, where, how far trusted, for what and how long", () =>
    Effect.gen(function* () {
      yield* TestClock.adjust("90 minutes")
      const registered = yield* register({ requested_scopes: ["follow:create", "challenge:read"] })
      yield* pass(registered)
      const first = yield* issue(registered.agent_id, registered.client_secret)
      const { epoch: _, jti, ...claims } = decodeJwt(first.access_token)
      assert.deepStrictEqual(claims, {
        iss: "auspex",
        sub: registered.agent_id,
        site: "global",
        trust_level: "provisional",
        scope: "challenge:read llm:keys",
        iat: 5400,
        exp: 9000
      })
      const header = decodeProtectedHeader(first.access_token)
      assert.strictEqual(header.alg, "HS256")
      assert.isString(header.kid)
      const second = yield* issue(registered.agent_id, registered.client_secret)
      assert.notStrictEqual(decodeJwt(second.access_token).jti, jti)
    })
  )

  it.effect("A claimed agent's answer has its trust level and withheld scopes, and no claim_note", () =>
    Effect.gen(function* () {
      const { agentId, secret, token } = yield* onboard({
        requested_scopes: ["follow:create", "profile:read:self"]
      })
      yield* claim(agentId)
      const issued = yield* issue(agentId, secret)
      assert.notProperty(issued, "claim_note")
      assert.strictEqual(issued.agent_status, "active")
      assert.isFalse(issued.claim_pending)
      assert.strictEqual(issued.scope, "follow:create profile:read:self llm:keys webhook:write")
      assert.strictEqual(decodeJwt(issued.access_token)["trust_level"], "claimed")
      // A held token gains nothing, and does not end either.
      assert.strictEqual(decodeJwt(token)["scope"], "profile:read:self llm:keys")
      assert.strictEqual((yield* selfOf(token)).status, 200)
    })
  )

  it.effect("A token is valid for 60 minutes by the clock, to the second", () =>
    Effect.gen(function* () {
      const { token } = yield* onboard()
      yield* TestClock.adjust("59 minutes")
      yield* TestClock.adjust("59 seconds")
      assert.strictEqual((yield* selfOf(token)).status, 200)
      yield* TestClock.adjust("1 second")
      const expired = yield* selfOf(token)
      assert.strictEqual(expired.status, 401)
      assert.strictEqual(expired.headers.get("www-authenticate"), 'Bearer error="invalid_token"')
    })
  )

  it.effect("An unknown agent, a malformed agent_id and a bad secret are the same 401", () =>
    Effect.gen(function* () {
      const { agentId, secret } = yield* onboard()
      const other = yield* onboard()
      const answers = [
        yield* askForToken("0190f000-0000-7000-8000-000000000000", secret),
        yield* askForToken("nobody", secret),
        yield* askForToken(agentId, "aus_cs_wrong"),
        yield* askForToken(agentId, other.secret),
        yield* askForToken(agentId, `${secret} `)
      ]
      for (const answer of answers) {
        assert.strictEqual(answer.status, 401)
        assert.deepStrictEqual(answer.json, answers[0]?.json)
        assert.strictEqual(answer.json["code"], "invalid_client")
        assert.strictEqual(answer.json["error"], "invalid_client")
        assert.strictEqual(answer.json["error_description"], answer.json["detail"])
        assert.strictEqual(answer.headers.get("cache-control"), "no-store")
        // The header is for HTTP Basic only: anything else confuses standard clients.
        assert.isNull(answer.headers.get("www-authenticate"))
      }
    })
  )

  it.effect("A token request before the challenge is 403 challenge_pending, with a wrong secret 401", () =>
    Effect.gen(function* () {
      const { agent_id, client_secret } = yield* register()
      const answer = yield* askForToken(agent_id, client_secret)
      assert.strictEqual(answer.status, 403)
      assert.strictEqual(answer.json["code"], "challenge_pending")
      assert.strictEqual(answer.json["error"], "unauthorized_client")
      assert.strictEqual((yield* askForToken(agent_id, "wrong")).status, 401)
    })
  )

  it.effect("A token request after the grace window is 403 issuance_paused; a held token stays valid", () =>
    Effect.gen(function* () {
      const { agentId, secret } = yield* onboard()
      yield* TestClock.adjust("7 days")
      yield* TestClock.adjust("-1 second")
      const { access_token } = yield* issue(agentId, secret)
      yield* TestClock.adjust("1 second")
      const paused = yield* askForToken(agentId, secret)
      assert.strictEqual(paused.status, 403)
      assert.strictEqual(paused.json["code"], "issuance_paused")
      yield* TestClock.adjust("59 minutes")
      const held = yield* selfOf(access_token)
      assert.strictEqual(held.status, 200)
      assert.strictEqual(held.json["status"], "issuance_paused")
      yield* TestClock.adjust("1 minute")
      assert.strictEqual((yield* selfOf(access_token)).status, 401)
      // Issuance decides: the claim restores it at once.
      yield* claim(agentId)
      assert.strictEqual((yield* issue(agentId, secret)).agent_status, "active")
    })
  )

  it.effect("The token endpoint takes the OAuth form encoding as well as JSON", () =>
    Effect.gen(function* () {
      const { agentId, secret } = yield* onboard()
      const form = { grant_type: "client_credentials", agent_id: agentId, client_secret: secret }
      const answer = yield* post(endpoint, { body: new URLSearchParams(form) })
      assert.strictEqual(answer.status, 200)
      assert.strictEqual(answer.headers.get("content-type"), "application/json; charset=utf-8")
      assert.strictEqual((yield* selfOf(String(answer.json["access_token"]))).status, 200)
      const wrong = yield* post(endpoint, { body: new URLSearchParams({ ...form, client_secret: "wrong" }) })
      assert.strictEqual(wrong.status, 401)
      const incomplete = yield* post(endpoint, { body: new URLSearchParams({ agent_id: agentId }) })
      assert.deepStrictEqual(wrongFields(incomplete), ["client_secret", "grant_type"])
    })
  )

  it.effect("A parameter sent twice is 400 (RFC 6749 3.2), as a form and as JSON", () =>
    Effect.gen(function* () {
      const { agentId, secret } = yield* onboard()
      const once = `grant_type=client_credentials&agent_id=${agentId}&client_secret=${secret}`
      const json = `{"grant_type":"client_credentials","agent_id":"${agentId}","client_secret":"x","client_secret":"${secret}"}`
      const form = { "content-type": "application/x-www-form-urlencoded" }
      const answers = [
        yield* post(endpoint, { body: `${once}&agent_id=${agentId}`, headers: form }),
        yield* post(endpoint, { body: `${once}&client_secret=x`, headers: form }),
        yield* post(endpoint, { body: json, headers: { "content-type": "application/json" } })
      ]
      for (const answer of answers) assert.strictEqual(answer.status, 400)
    })
  )

  it.effect("Other grants, missing and ill-typed parameters are 400 with every wrong field", () =>
    Effect.gen(function* () {
      const answer = yield* post(endpoint, { json: { grant_type: "password", agent_id: 5 } })
      assert.strictEqual(answer.status, 400)
      assert.deepStrictEqual(wrongFields(answer), ["agent_id", "client_secret", "grant_type"])
      assert.strictEqual(answer.headers.get("cache-control"), "no-store")
    })
  )

  it.effect("A body of another type is 415", () =>
    Effect.gen(function* () {
      const answer = yield* post(endpoint, { body: "grant_type=client_credentials" })
      assert.strictEqual(answer.status, 415)
    })
  )
})

layer(testServer())("POST resend-secret", (it) => {
  it.effect("POST resend-secret rotates the secret while no token was ever issued", () =>
    Effect.gen(function* () {
      const registered = yield* register()
      yield* pass(registered)
      const answer = yield* resend(registered.agent_id, registered.challenge_id)
      assert.strictEqual(answer.status, 200)
      assert.strictEqual(answer.headers.get("cache-control"), "no-store")
      const secret = String(answer.json["client_secret"])
      assert.notStrictEqual(secret, registered.client_secret)
      assert.strictEqual((yield* askForToken(registered.agent_id, registered.client_secret)).status, 401)
      assert.strictEqual((yield* askForToken(registered.agent_id, secret)).status, 200)
    })
  )

  it.effect("POST resend-secret is 403 secret_already_used after a first token, and changes nothing", () =>
    Effect.gen(function* () {
      const { agentId, secret, registered } = yield* onboard()
      const answer = yield* resend(agentId, registered.challenge_id)
      assert.strictEqual(answer.status, 403)
      assert.strictEqual(answer.json["code"], "secret_already_used")
      assert.strictEqual((yield* askForToken(agentId, secret)).status, 200)
    })
  )

  it.effect("POST resend-secret is the same 404 for others' challenges, unknown and malformed ids", () =>
    Effect.gen(function* () {
      const ada = yield* register()
      const bob = yield* register()
      const unknown = "0190f000-0000-7000-8000-000000000000"
      for (const [agentId, challengeId] of [
        [ada.agent_id, bob.challenge_id],
        [ada.agent_id, unknown],
        [unknown, ada.challenge_id],
        ["nobody", "nothing"]
      ] as const) {
        const answer = yield* resend(agentId, challengeId)
        assert.strictEqual(answer.status, 404)
        assert.strictEqual(answer.json["detail"], "There is no agent with this agent_id and challenge_id.")
      }
    })
  )

  it.effect("POST resend-secret beside the first token never leaves the old secret beside the new one", () =>
    Effect.gen(function* () {
      for (let round = 0; round < breadth(4, 15); round++) {
        const registered = yield* register()
        yield* pass(registered)
        const { agent_id, challenge_id, client_secret } = registered
        const [sent, token] = yield* Effect.all(
          [resend(agent_id, challenge_id), askForToken(agent_id, client_secret)],
          { concurrency: "unbounded" }
        )
        const old = yield* askForToken(agent_id, client_secret)
        if (sent.status === 200) {
          assert.strictEqual(token.status, 401)
          assert.strictEqual(old.status, 401)
          assert.strictEqual((yield* askForToken(agent_id, String(sent.json["client_secret"]))).status, 200)
        } else {
          assert.strictEqual(sent.json["code"], "secret_already_used")
          assert.strictEqual(token.status, 200)
          assert.strictEqual(old.status, 200)
          assert.strictEqual((yield* selfOf(String(token.json["access_token"]))).status, 200)
        }
      }
    })
  )

  it.effect("POST resend-secret twice at once makes exactly one of the new secrets work", () =>
    Effect.gen(function* () {
      const registered = yield* register()
      yield* pass(registered)
      const answers = yield* Effect.forEach(
        Array.from({ length: 8 }, () => registered),
        ({ agent_id, challenge_id }) => resend(agent_id, challenge_id),
        { concurrency: "unbounded" }
      )
      const working = yield* Effect.filter(answers, ({ json }) =>
        Effect.map(
          askForToken(registered.agent_id, String(json["client_secret"])),
          ({ status }) => status === 200
        )
      )
      assert.strictEqual(working.length, 1)
    })
  )
})

layer(testServer())("An administrator", (it) => {
  it.effect("An administrator's rotation of a secret ends the held tokens, within 5 s by the clock", () =>
    Effect.gen(function* () {
      const { agentId, secret, token } = yield* onboard()
      assert.strictEqual((yield* selfOf(token)).status, 200)
      const rotated = yield* post(`${adminOf(agentId)}/rotate-secret`, { token: testAdminToken })
      assert.strictEqual(rotated.status, 200)
      assert.strictEqual(rotated.headers.get("cache-control"), "no-store")
      assert.strictEqual((yield* askForToken(agentId, secret)).status, 401)
      const { access_token } = yield* issue(agentId, String(rotated.json["client_secret"]))
      // A token issued afterwards works at once.
      assert.strictEqual((yield* selfOf(access_token)).status, 200)
      yield* TestClock.adjust("5 seconds")
      const ended = yield* selfOf(token)
      assert.strictEqual(ended.status, 401)
      assert.strictEqual(ended.json["code"], "invalid_token")
      assert.strictEqual((yield* selfOf(access_token)).status, 200)
    })
  )

  it.effect("A suspension ends the agent's tokens within 5 s, and no more are issued until its end", () =>
    Effect.gen(function* () {
      const { agentId, secret, token } = yield* onboard()
      assert.strictEqual((yield* selfOf(token)).status, 200)
      const suspended = yield* send("PATCH", adminOf(agentId), {
        token: testAdminToken,
        json: { suspended: true }
      })
      assert.strictEqual(member(suspended.json, "status"), "suspended")
      yield* TestClock.adjust("5 seconds")
      assert.strictEqual((yield* selfOf(token)).status, 401)
      const refused = yield* askForToken(agentId, secret)
      assert.strictEqual(refused.status, 403)
      assert.strictEqual(refused.json["code"], "agent_suspended")
      yield* send("PATCH", adminOf(agentId), { token: testAdminToken, json: { suspended: false } })
      const { access_token } = yield* issue(agentId, secret)
      assert.strictEqual((yield* selfOf(access_token)).status, 200)
      // An ended token stays ended.
      assert.strictEqual((yield* selfOf(token)).status, 401)
    })
  )

  it.effect("An administrator can rotate the secret of an agent whose resend-secret is used up", () =>
    Effect.gen(function* () {
      const { agentId, registered } = yield* onboard()
      const rotated = yield* post(`${adminOf(agentId)}/rotate-secret`, { token: testAdminToken })
      assert.strictEqual((yield* askForToken(agentId, String(rotated.json["client_secret"]))).status, 200)
      assert.strictEqual((yield* resend(agentId, registered.challenge_id)).status, 403)
    })
  )
})
