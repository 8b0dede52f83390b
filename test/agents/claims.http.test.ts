/** Claims as agents and administrators see them over HTTP; the operators' pages have tests of their own. */
import { assert, layer } from "@effect/vitest"
import { Effect, Layer, Schema } from "effect"
import { TestClock } from "effect/testing"
import { ClaimLink } from "../../src/services/Claims.ts"
import {
  askForToken,
  issue,
  onboard,
  pass,
  register,
  anOperator,
  claimWithCode,
  newMails,
  tokenOf
} from "../support/agents.ts"
import { ecPair, onboardWithKey } from "../support/assertions.ts"
import { TelemetryRecorder, telemetryRecorder, spanText } from "../support/telemetryRecorder.ts"
import { get, member, post, send, testServer, wrongFields } from "../support/server.ts"
import { testAdminToken } from "../support/settings.ts"

const path = "/api/v1/agent/registry/claim-link/refresh"

const refresh = (agentId: string, secret: string, headers: Readonly<Record<string, string>> = {}) =>
  post(path, { headers, json: { agent_id: agentId, client_secret: secret } })

const profileOf = (token: string) => get("/api/v1/agent/profile/self", { token })

/** Claims by the newest link of an agent, as its operator would. */
const claimBy = Effect.fnUntraced(function* (agentId: string, secret: string) {
  const { json } = yield* refresh(agentId, secret)
  const link = yield* Effect.orDie(Schema.decodeUnknownEffect(ClaimLink)(json))
  const operator = yield* anOperator
  yield* claimWithCode(tokenOf(link.claim_url), link.pairing_code, operator)
  return operator
})

layer(testServer())("POST claim-link/refresh", (it) => {
  it.effect("A refreshed link answers the four claim fields, as passing does, and may not be cached", () =>
    Effect.gen(function* () {
      const registered = yield* register()
      const passed = yield* pass(registered)
      const answer = yield* refresh(registered.agent_id, registered.client_secret)
      assert.strictEqual(answer.status, 200)
      assert.deepStrictEqual(Object.keys(answer.json).sort(), [
        "claim_url",
        "pairing_code",
        "provisional_prediction_limit",
        "provisional_until"
      ])
      assert.strictEqual(answer.headers.get("cache-control"), "no-store")
      assert.match(String(answer.json["claim_url"]), /^http:\/\/127\.0\.0\.1:8080\/claim\/aus_cl_[\w-]{43}$/)
      assert.match(String(answer.json["pairing_code"]), /^[2-9A-HJKMNP-TV-Z]{3}-[2-9A-HJKMNP-TV-Z]{3}$/)
      assert.strictEqual(answer.json["provisional_until"], member(passed, "provisional_until"))
    })
  )

  it.effect("A private_key_jwt agent refreshes its link by its secret, which is good for nothing else", () =>
    Effect.gen(function* () {
      const { agentId, secret } = yield* onboardWithKey(ecPair())
      assert.strictEqual((yield* refresh(agentId, secret)).status, 200)
      assert.strictEqual((yield* askForToken(agentId, secret)).status, 401)
    })
  )

  it.effect("A refresh works while token issuance is paused, and extends nothing", () =>
    Effect.gen(function* () {
      const { agentId, secret } = yield* onboard()
      yield* TestClock.adjust("8 days")
      assert.strictEqual((yield* askForToken(agentId, secret)).json["code"], "issuance_paused")
      assert.strictEqual((yield* refresh(agentId, secret)).status, 200)
      assert.strictEqual((yield* askForToken(agentId, secret)).json["code"], "issuance_paused")
    })
  )

  it.effect("A refresh of an unknown agent and one with a wrong secret are the same 401", () =>
    Effect.gen(function* () {
      const { agentId, secret } = yield* onboard()
      const answers = yield* Effect.all([
        refresh(agentId, `${secret}x`),
        refresh(agentId, "guess"),
        refresh("0190f000-0000-7000-8000-000000000000", secret),
        refresh("nobody", secret)
      ])
      for (const answer of answers) {
        assert.strictEqual(answer.status, 401)
        assert.deepStrictEqual(answer.json, answers[0]?.json)
      }
      assert.strictEqual(answers[0]?.json["error"], "invalid_client")
    })
  )

  it.effect("A refresh before the challenge is passed, and one after the claim, are 400", () =>
    Effect.gen(function* () {
      const waiting = yield* register()
      const early = yield* refresh(waiting.agent_id, waiting.client_secret)
      assert.deepStrictEqual([early.status, early.json["code"]], [400, "challenge_pending"])
      const { agentId, secret } = yield* onboard()
      yield* claimBy(agentId, secret)
      const late = yield* refresh(agentId, secret)
      assert.deepStrictEqual([late.status, late.json["code"]], [400, "already_claimed"])
      assert.include(late.json["detail"], "already claimed")
    })
  )

  it.effect("A refresh names the fields that are wrong", () =>
    Effect.gen(function* () {
      for (const [json, fields] of [
        [{}, ["agent_id", "client_secret"]],
        [{ agent_id: "x" }, ["client_secret"]],
        [{ agent_id: 1, client_secret: "x" }, ["agent_id"]],
        [{ agent_id: "x", client_secret: "" }, ["client_secret"]],
        [{ agent_id: "x", client_secret: "a\u0000b" }, ["client_secret"]]
      ] as const) {
        const answer = yield* post(path, { json })
        assert.strictEqual(answer.status, 400)
        assert.deepStrictEqual(wrongFields(answer), fields)
      }
    })
  )
})

layer(testServer())("A claimed agent", (it) => {
  it.effect("A claimed agent gets its withheld scopes with the next token, not with its present one", () =>
    Effect.gen(function* () {
      const { agentId, secret, token } = yield* onboard()
      const before = yield* issue(agentId, secret)
      assert.isTrue(before.claim_pending)
      assert.isString(before.claim_note)
      const operator = yield* claimBy(agentId, secret)
      const after = yield* issue(agentId, secret)
      assert.strictEqual(after.agent_status, "active")
      assert.isFalse(after.claim_pending)
      assert.notProperty(after, "claim_note")
      const gained = after.scope.split(" ").filter((scope) => !before.scope.split(" ").includes(scope))
      assert.deepStrictEqual(gained.sort(), ["comment:like", "follow:create", "reply:like", "webhook:write"])
      const { json } = yield* profileOf(token)
      assert.strictEqual(json["status"], "active")
      assert.strictEqual(json["verification_status"], "verified")
      assert.deepStrictEqual(json["owner"], { owner_id: operator, plan: "free" })
      assert.isNull(json["provisional_prediction_limit"])
    })
  )

  it.effect("A paused agent is issued tokens again once it is claimed", () =>
    Effect.gen(function* () {
      const { agentId, secret } = yield* onboard()
      yield* TestClock.adjust("30 days")
      assert.strictEqual((yield* askForToken(agentId, secret)).status, 403)
      yield* claimBy(agentId, secret)
      assert.strictEqual((yield* issue(agentId, secret)).agent_status, "active")
    })
  )

  it.effect("A claimed agent has its plan from its owner, which administrators set and see", () =>
    Effect.gen(function* () {
      const { agentId, secret, token } = yield* onboard({ name: "Ada" })
      const owner = `/api/v1/admin/owners/${yield* claimBy(agentId, secret)}`
      const shown = yield* get(owner, { token: testAdminToken })
      assert.strictEqual(shown.status, 200)
      assert.deepStrictEqual(Object.keys(shown.json).sort(), [
        "agents",
        "created_at",
        "email",
        "owner_id",
        "plan"
      ])
      assert.strictEqual(shown.json["plan"], "free")
      assert.deepInclude(member(shown.json, "agents", 0), {
        agent_id: agentId,
        name: "Ada",
        status: "active"
      })
      const changed = yield* send("PATCH", owner, { token: testAdminToken, json: { plan: "pro" } })
      assert.deepStrictEqual([changed.status, changed.json["plan"]], [200, "pro"])
      assert.strictEqual(member((yield* profileOf(token)).json, "owner", "plan"), "pro")
      const wrong = yield* send("PATCH", owner, { token: testAdminToken, json: { plan: "gold" } })
      assert.deepStrictEqual([wrong.status, wrongFields(wrong)], [400, ["plan"]])
      const nothing = yield* send("PATCH", owner, { token: testAdminToken, json: {} })
      assert.deepStrictEqual([nothing.status, wrongFields(nothing)], [400, ["plan"]])
      const unknown = yield* get("/api/v1/admin/owners/nobody", { token: testAdminToken })
      assert.strictEqual(unknown.status, 404)
      for (const bearer of [token, ""]) {
        assert.strictEqual((yield* get(owner, { token: bearer })).status, 401)
      }
    })
  )
})

layer(
  testServer({
    environment: { AUSPEX_LIMIT_CLAIM_REFRESH: "5/hour,20/day", AUSPEX_LIMIT_TOKEN_FAILURES: "10/minute" }
  })
)("Limits of claim-link/refresh", (it) => {
  it.effect("An agent may refresh 5 times an hour, with Retry-After, and later refusals count, too", () =>
    Effect.gen(function* () {
      const registered = yield* register()
      const attempt = refresh(registered.agent_id, registered.client_secret)
      assert.strictEqual((yield* attempt).status, 400)
      yield* pass(registered)
      const burst = yield* Effect.all(
        Array.from({ length: 10 }, () => attempt),
        { concurrency: "unbounded" }
      )
      assert.strictEqual(burst.filter(({ status }) => status === 200).length, 4)
      const refused = burst.filter(({ status }) => status === 429)
      assert.strictEqual(refused.length, 6)
      assert.isAtLeast(Number(refused[0]?.headers.get("retry-after")), 1)
    })
  )

  it.effect("Wrong secrets count as at the token endpoint, so that they cannot be guessed here", () =>
    Effect.gen(function* () {
      yield* TestClock.adjust("1 day")
      const { agentId, secret } = yield* onboard()
      for (let guess = 0; guess < 5; guess += 1) {
        assert.strictEqual((yield* refresh(agentId, "guess")).status, 401)
        assert.strictEqual((yield* askForToken(agentId, "guess")).status, 401)
      }
      assert.strictEqual((yield* refresh(agentId, secret)).status, 429)
      assert.strictEqual((yield* askForToken(agentId, secret)).status, 429)
    })
  )
})

layer(testServer().pipe(Layer.provideMerge(telemetryRecorder)))("Claims and logs", (it) => {
  it.effect("No link, code, secret or address of a claim is logged or traced", () =>
    Effect.gen(function* () {
      const { lines, spans } = yield* TelemetryRecorder
      const { agentId, secret } = yield* onboard({ operator_contact: "quiet@example.org" })
      const [mail] = yield* newMails
      const answer = yield* refresh(agentId, secret)
      yield* claimBy(agentId, secret)
      const code = String(answer.json["pairing_code"])
      const said = [...lines, ...spans.map(spanText)].join("\n")
      assert.isNotEmpty(said)
      for (const hidden of [secret, code, "quiet@example.org", String(mail?.text)]) {
        assert.notInclude(said, hidden)
      }
      assert.notMatch(said, /aus_(cl|mc|si|ss|cs)_[\w-]{43}/)
    })
  )
})
