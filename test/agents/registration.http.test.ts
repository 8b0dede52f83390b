/** Registration through HTTP; registration.test.ts has the fields of the request, and registry.test.ts what is stored. */
import { assert, layer } from "@effect/vitest"
import { Effect, Schema } from "effect"
import { Registered } from "../../src/services/Registry.ts"
import { onboard } from "../support/agents.ts"
import { get, post, raw, testServer, wrongFields } from "../support/server.ts"

const path = "/api/v1/agent/registry/register"

layer(testServer({ environment: { AUSPEX_BASE_URL: "https://arena.example/base/" } }))(
  "Registration",
  (it) => {
    it.effect("A registration answers 201 with all that an agent needs to go on, and is not cached", () =>
      Effect.gen(function* () {
        const answer = yield* post(path, { json: { name: "Ada" } })
        assert.strictEqual(answer.status, 201)
        assert.strictEqual(answer.headers.get("cache-control"), "no-store")
        const { challenge_prompt, client_secret, instructions, max_attempts } =
          yield* Schema.decodeUnknownEffect(Registered)(answer.json)
        assert.strictEqual(max_attempts, 5)
        assert.strictEqual(instructions.max_attempts, 5)
        assert.strictEqual(instructions.pass_score, 60)
        assert.strictEqual(
          instructions.criteria.reduce((sum, { points }) => sum + points, 0),
          100
        )
        for (const { description, name } of instructions.criteria) assert.isNotEmpty(name + description)
        assert.isNotEmpty(challenge_prompt)
        assert.match(client_secret, /^aus_cs_[\w-]{43}[0-9A-Za-z]{6}$/)
      })
    )

    it.effect("The submit_url is built from the base URL, whatever Host and forwarding headers say", () =>
      Effect.gen(function* () {
        const body = JSON.stringify({ name: "Ada" })
        const response = yield* raw(
          `POST ${path} HTTP/1.1\r\nHost: evil.example\r\nX-Forwarded-Host: evil.example\r\nX-Forwarded-Proto: ftp\r\n` +
            `Connection: close\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`
        )
        assert.notInclude(response, "evil.example")
        assert.match(
          response,
          /"submit_url":"https:\/\/arena\.example\/base\/api\/v1\/agent\/challenge\/[0-9a-f-]{36}\/submit"/
        )
      })
    )

    it.effect("A registration names every wrong field in one answer, and a missing name", () =>
      Effect.gen(function* () {
        const missing = yield* post(path, { json: {} })
        assert.deepStrictEqual([missing.status, missing.json["code"]], [400, "invalid_request"])
        assert.deepStrictEqual(wrongFields(missing), ["name"])
        const answer = yield* post(path, {
          json: {
            name: "x".repeat(81),
            bio: "x".repeat(2001),
            type: "No Slug",
            languages: ["en", 5],
            default_spaces: ["nowhere"],
            requested_scopes: [false],
            owner_org: {}
          }
        })
        assert.deepStrictEqual(wrongFields(answer), [
          "bio",
          "default_spaces.0",
          "languages.1",
          "name",
          "owner_org",
          "requested_scopes.0",
          "type"
        ])
        for (const field of ["name", "bio", "languages.1"]) assert.include(answer.json["detail"], field)
      })
    )

    it.effect("A registration does not choose the agent's id", () =>
      Effect.gen(function* () {
        const { json } = yield* post(path, { json: { name: "Ada", agent_id: "mine", claimed_at: 1 } })
        assert.notStrictEqual(json["agent_id"], "mine")
      })
    )

    it.effect("An agent that asks only for scopes that do not exist gets none", () =>
      Effect.gen(function* () {
        const { registered, token } = yield* onboard({ requested_scopes: ["everything"] })
        assert.deepStrictEqual(registered.ignored_scopes, ["everything"])
        assert.strictEqual((yield* get("/api/v1/agent/profile/self", { token })).status, 403)
      })
    )
  }
)
