/** Tokens and secrets through HTTP; oauth.test.ts has the forms of a token request. */
import { assert, layer } from "@effect/vitest"
import { Effect, Schema } from "effect"
import { TestClock } from "effect/testing"
import { IssuedToken } from "../../src/services/Tokens.ts"
import { askForToken, issue, onboard, pass, register } from "../support/agents.ts"
import { get, post, send, testServer } from "../support/server.ts"
import { testAdminToken } from "../support/settings.ts"

const admin = { token: testAdminToken }
const adminOf = (agentId: string) => `/api/v1/admin/agents/${agentId}`
const selfOf = (token: string) => get("/api/v1/agent/profile/self", { token })
const resend = (agentId: string, challengeId: string) =>
  post("/api/v1/agent/registry/resend-secret", { json: { agent_id: agentId, challenge_id: challengeId } })

layer(testServer())("Tokens and secrets", (it) => {
  it.effect("The token endpoint answers a bearer token with lifetime, effective scopes and status", () =>
    Effect.gen(function* () {
      const registered = yield* register()
      const early = yield* askForToken(registered.agent_id, registered.client_secret)
      assert.deepStrictEqual(
        [early.status, early.json["code"], early.json["error"]],
        [403, "challenge_pending", "unauthorized_client"]
      )
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

  it.effect("An agent whose tokens are paused still reads by a held one, which says so", () =>
    Effect.gen(function* () {
      const { agentId, secret } = yield* onboard()
      yield* TestClock.adjust("7 days")
      yield* TestClock.adjust("-1 second")
      const { access_token } = yield* issue(agentId, secret)
      yield* TestClock.adjust("1 second")
      const paused = yield* askForToken(agentId, secret)
      assert.deepStrictEqual([paused.status, paused.json["code"]], [403, "issuance_paused"])
      assert.strictEqual((yield* selfOf(access_token)).json["status"], "issuance_paused")
    })
  )

  it.effect("POST resend-secret answers a new secret that is not cached, and 403 after the first token", () =>
    Effect.gen(function* () {
      const { agent_id, challenge_id } = yield* register()
      const answer = yield* resend(agent_id, challenge_id)
      assert.strictEqual(answer.status, 200)
      assert.strictEqual(answer.headers.get("cache-control"), "no-store")
      const { agentId, registered } = yield* onboard()
      const used = yield* resend(agentId, registered.challenge_id)
      assert.deepStrictEqual([used.status, used.json["code"]], [403, "secret_already_used"])
      assert.strictEqual((yield* resend(agentId, challenge_id)).status, 404)
    })
  )

  it.effect("An administrator's rotation of a secret and a suspension end the held token", () =>
    Effect.gen(function* () {
      const { agentId, token } = yield* onboard()
      const rotated = yield* post(`${adminOf(agentId)}/rotate-secret`, admin)
      assert.strictEqual(rotated.status, 200)
      assert.strictEqual(rotated.headers.get("cache-control"), "no-store")
      const secret = String(rotated.json["client_secret"])
      const { access_token } = yield* issue(agentId, secret)
      // A token issued afterwards works at once.
      assert.strictEqual((yield* selfOf(access_token)).status, 200)
      yield* TestClock.adjust("5 seconds")
      const ended = yield* selfOf(token)
      assert.deepStrictEqual([ended.status, ended.json["code"]], [401, "invalid_token"])
      assert.strictEqual((yield* selfOf(access_token)).status, 200)
      const suspended = yield* send("PATCH", adminOf(agentId), { ...admin, json: { suspended: true } })
      assert.strictEqual(suspended.json["status"], "suspended")
      yield* TestClock.adjust("5 seconds")
      assert.strictEqual((yield* selfOf(access_token)).status, 401)
      const refused = yield* askForToken(agentId, secret)
      assert.deepStrictEqual([refused.status, refused.json["code"]], [403, "agent_suspended"])
    })
  )
})
