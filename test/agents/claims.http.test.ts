/** Claims as agents and administrators see them over HTTP; the operators' pages have tests of their own. */
import { assert, layer } from "@effect/vitest"
import { Effect, Layer, Schema } from "effect"
import { ClaimLink } from "../../src/services/Claims.ts"
import { anOperator, claimWithCode, newMails, onboard, register, tokenOf } from "../support/agents.ts"
import { get, member, post, send, testServer } from "../support/server.ts"
import { testAdminToken } from "../support/settings.ts"
import { TelemetryRecorder, telemetryRecorder, spanText } from "../support/telemetryRecorder.ts"

const admin = { token: testAdminToken }

const refresh = (agentId: string, secret: string) =>
  post("/api/v1/agent/registry/claim-link/refresh", { json: { agent_id: agentId, client_secret: secret } })

/** Claims by the newest link of an agent, as its operator would. */
const claimBy = Effect.fnUntraced(function* (agentId: string, secret: string) {
  const { json } = yield* refresh(agentId, secret)
  const link = yield* Effect.orDie(Schema.decodeUnknownEffect(ClaimLink)(json))
  const operator = yield* anOperator
  yield* claimWithCode(tokenOf(link.claim_url), link.pairing_code, operator)
  return operator
})

const server = testServer({ environment: { AUSPEX_LIMIT_CLAIM_REFRESH: "2/hour" } })

layer(server.pipe(Layer.provideMerge(telemetryRecorder)))("Claims", (it) => {
  it.effect("A refreshed link is not cached, and one too many is 429 with Retry-After", () =>
    Effect.gen(function* () {
      const { agentId, secret } = yield* onboard()
      for (const _ of [1, 2]) {
        const answer = yield* refresh(agentId, secret)
        assert.strictEqual(answer.status, 200)
        assert.strictEqual(answer.headers.get("cache-control"), "no-store")
      }
      const refused = yield* refresh(agentId, secret)
      assert.deepStrictEqual([refused.status, refused.headers.get("retry-after")], [429, "3600"])
    })
  )

  it.effect("A refresh with a wrong secret is 401, and one before the challenge or after the claim 400", () =>
    Effect.gen(function* () {
      const { agentId, secret } = yield* onboard()
      const wrong = yield* refresh(agentId, "guess")
      assert.deepStrictEqual([wrong.status, wrong.json["error"]], [401, "invalid_client"])
      const waiting = yield* register()
      const early = yield* refresh(waiting.agent_id, waiting.client_secret)
      assert.deepStrictEqual([early.status, early.json["code"]], [400, "challenge_pending"])
      yield* claimBy(agentId, secret)
      const late = yield* refresh(agentId, secret)
      assert.deepStrictEqual([late.status, late.json["code"]], [400, "already_claimed"])
      assert.include(late.json["detail"], "already claimed")
    })
  )

  it.effect("A claimed agent has its plan from its owner, which administrators set and see", () =>
    Effect.gen(function* () {
      const { agentId, secret, token } = yield* onboard({ name: "Ada" })
      const owner = `/api/v1/admin/owners/${yield* claimBy(agentId, secret)}`
      const shown = yield* get(owner, admin)
      assert.deepStrictEqual([shown.status, shown.json["plan"]], [200, "free"])
      assert.deepInclude(member(shown.json, "agents", 0), {
        agent_id: agentId,
        name: "Ada",
        status: "active"
      })
      const changed = yield* send("PATCH", owner, { ...admin, json: { plan: "pro" } })
      assert.deepStrictEqual([changed.status, changed.json["plan"]], [200, "pro"])
      const profile = yield* get("/api/v1/agent/profile/self", { token })
      assert.strictEqual(member(profile.json, "owner", "plan"), "pro")
    })
  )

  it.effect("No link, code, secret or address of a claim is logged or traced", () =>
    Effect.gen(function* () {
      const { lines, spans } = yield* TelemetryRecorder
      const { agentId, secret } = yield* onboard({ operator_contact: "quiet@example.org" })
      const [mail] = yield* newMails
      const answer = yield* refresh(agentId, secret)
      yield* claimBy(agentId, secret)
      const code = String(answer.json["pairing_code"])
      const output = [...lines, ...spans.map(spanText)].join("\n")
      assert.isNotEmpty(output)
      for (const hidden of [secret, code, "quiet@example.org", String(mail?.text)]) {
        assert.notInclude(output, hidden)
      }
      assert.notMatch(output, /aus_(cl|mc|si|ss|cs)_[\w-]{43}/)
    })
  )
})
