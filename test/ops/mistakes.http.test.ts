/** Agents' mistakes, each of which its answer lets them put right in one step. */
import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { TestClock } from "effect/testing"
import { issue, onboard, register } from "../support/agents.ts"
import { newChallenge } from "../support/challenges.ts"
import { oneIn } from "../support/breadth.ts"
import { accounts } from "../support/mistakes/accounts.ts"
import { faultsOf } from "../support/mistakes/mistake.ts"
import { others } from "../support/mistakes/others.ts"
import { overTheLimit, predictions } from "../support/mistakes/predictions.ts"
import { get, post, testServer } from "../support/server.ts"
import { testAdminToken } from "../support/settings.ts"

const registration = "/api/v1/agent/registry/register"
const token = "/api/v1/agent/auth/token"

const limits = { AUSPEX_PROVISIONAL_PREDICTION_LIMIT: "1", AUSPEX_LIMIT_COMMENTS: "1/minute" }

layer(testServer({ environment: limits }))("A caller over a limit", (it) => {
  it.effect("A caller over a limit reads the limit, and when or how there is more", () =>
    Effect.gen(function* () {
      assert.deepStrictEqual(yield* faultsOf(overTheLimit), [])
    })
  )
})

layer(testServer())("A mistake", (it) => {
  it.effect.each([
    { what: "predictions and stakes", mistakes: predictions },
    { what: "registrations, tokens and scopes", mistakes: accounts },
    { what: "reads, paths, comments and administration", mistakes: others }
  ])("The answer to a mistake in $what says what puts it right, and names no schema", ({ mistakes }) =>
    Effect.gen(function* () {
      assert.deepStrictEqual(yield* faultsOf(oneIn(8, mistakes)), [])
    })
  )

  it("A mistake of each kind is in the table once, and there are ninety-nine of them at least", () => {
    const names = [...predictions, ...accounts, ...others, ...overTheLimit].map(({ name }) => name)
    assert.strictEqual(new Set(names).size, names.length)
    assert.isAtLeast(names.length, 99)
  })

  it.effect("An Idempotency-Key in a wrong place makes neither a second revision nor a second agent", () =>
    Effect.gen(function* () {
      const gold = yield* newChallenge()
      const { token: bearer } = yield* onboard()
      const headers = { "idempotency-key": "0197f000-0000-7000-8000-0000000000aa" }
      const predict = () =>
        post(`/api/v1/eval/challenges/${gold.id}/predict`, {
          token: bearer,
          headers,
          json: { direction: "bullish", confidence: 0.7, is_revision: true }
        })
      const [first, again] = [yield* predict(), yield* predict()]
      assert.deepStrictEqual(again.json, first.json)
      assert.strictEqual(first.json["revision_count"], 0)
      const registered = () => post(registration, { headers, json: { name: "Ada" } })
      const [agent, same] = [yield* registered(), yield* registered()]
      assert.strictEqual(agent.status, 201)
      assert.strictEqual(same.json["agent_id"], agent.json["agent_id"])
    })
  )

  it.effect("An expired token's answer says so, and where a new one is issued", () =>
    Effect.gen(function* () {
      const { agentId, secret, token: old } = yield* onboard()
      yield* TestClock.adjust("61 minutes")
      const late = yield* get("/api/v1/agent/profile/self", { token: old })
      assert.strictEqual(late.status, 401)
      assert.strictEqual(late.json["code"], "invalid_token")
      assert.include(
        late.json["detail"],
        "has expired or is not valid yet: POST /api/v1/agent/auth/token issues"
      )
      const { access_token } = yield* issue(agentId, secret)
      assert.strictEqual((yield* get("/api/v1/agent/profile/self", { token: access_token })).status, 200)
    })
  )

  it.effect("A mistake with a secret in it never has the secret in its answer", () =>
    Effect.gen(function* () {
      const { challenge_id, client_secret } = yield* register()
      const jwt = "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiJ4In0.abc"
      for (const json of [
        { name: 3, auth_method: client_secret, default_spaces: [jwt] },
        { name: "Ada", type: `A ${client_secret}`, [client_secret]: 1, public_key: ["PEM"], [jwt]: 2 },
        `name=${client_secret}`
      ]) {
        const answer = yield* post(registration, { json })
        assert.strictEqual(answer.status, 400)
        assert.notInclude(answer.text, client_secret.slice(8))
        assert.notInclude(answer.text, jwt.slice(4, 20))
      }
      const refused = yield* post(token, {
        json: {
          grant_type: "client_credentials",
          agent_id: challenge_id,
          client_secret: ["hunter2-hunter2"],
          client_assertion: 7
        }
      })
      assert.strictEqual(refused.status, 400)
      assert.notInclude(refused.text, "hunter2")
    })
  )

  it.effect("A mistake with a password in a URL never has the password in its answer", () =>
    Effect.gen(function* () {
      const url = "https://user:hunter2@example.org/"
      const refused = yield* post("/api/v1/admin/events", {
        token: testAdminToken,
        json: { events: [{ title: "One", url }] }
      })
      assert.strictEqual(refused.status, 400)
      assert.notInclude(refused.text, "hunter2")
      assert.include(refused.text, "//<redacted>@example.org/")
    })
  )

  it.effect("A mistake of ten thousand fields has a short answer", () =>
    Effect.gen(function* () {
      const many = Object.fromEntries(Array.from({ length: 1000 }, (_, index) => [`field${index}`, 1]))
      const answer = yield* post(registration, { json: { ...many, type: "x".repeat(1000) } })
      assert.strictEqual(answer.status, 400)
      assert.isBelow(answer.text.length, 3000)
      const agent = yield* onboard()
      const added = yield* post("/api/v1/agent/scopes", {
        token: agent.token,
        json: { add: Array.from({ length: 10_000 }, () => "y".repeat(10)), ...many }
      })
      assert.strictEqual(added.status, 400)
      assert.isBelow(added.text.length, 3000)
    })
  )
})
