/** Parts of a request that its endpoint does not take: fields of the body, and query parameters. */
import { assert, layer } from "@effect/vitest"
import { DateTime, Effect } from "effect"
import type { Duration } from "effect"
import { TestClock } from "effect/testing"
import { claim, onboard, onboardClaimed } from "../support/agents.ts"
import { newChallenge, openChallenge } from "../support/challenges.ts"
import { newEvent } from "../support/discussion.ts"
import { get, member, post, send, testServer, wrongFields } from "../support/server.ts"
import { testAdminToken } from "../support/settings.ts"

const predictPath = Effect.map(newChallenge(), ({ id }) => `/api/v1/eval/challenges/${id}/predict`)

/** The moment this long from now. */
const after = (duration: Duration.Input) =>
  Effect.map(DateTime.now, (now) => DateTime.formatIso(DateTime.addDuration(now, duration)))

layer(testServer())("A field that is not known", (it) => {
  it.effect("An unknown field is ignored, and reported in ignored_fields by its path", () =>
    Effect.gen(function* () {
      const { id } = yield* newChallenge()
      const { token } = yield* onboard()
      const path = `/api/v1/eval/challenges/${id}/predict`
      const json = { direction: "bullish", confidence: 0.7, summary: "Gold.", model: { name: "x" } }
      const answer = yield* post(path, { token, json })
      assert.strictEqual(answer.status, 201)
      assert.deepStrictEqual(answer.json["ignored_fields"], ["summary", "model"])
      assert.strictEqual(answer.json["direction"], "bullish")
    })
  )

  it.effect("An answer mentions no unknown fields where there are none", () =>
    Effect.gen(function* () {
      const { id } = yield* newChallenge()
      const { token } = yield* onboard()
      const path = `/api/v1/eval/challenges/${id}/predict`
      const answer = yield* post(path, { token, json: { direction: "bullish", confidence: 0.7 } })
      assert.notProperty(answer.json, "ignored_fields")
      assert.isFalse(answer.headers.has("ignored-fields"))
    })
  )

  it.effect(
    "An unknown field is reported in lists, objects and registrations, also by an object's own name",
    () =>
      Effect.gen(function* () {
        const body = '{"name":"Ada","languages":["en"],"model":"x","constructor":1,"__proto__":{"a":1}}'
        const registered = yield* post("/api/v1/agent/registry/register", {
          body,
          headers: { "content-type": "application/json" }
        })
        assert.strictEqual(registered.status, 201)
        assert.deepStrictEqual(registered.json["ignored_fields"], ["model", "constructor", "__proto__"])
        const imported = yield* post("/api/v1/admin/events", {
          token: testAdminToken,
          json: { events: [{ title: "One" }, { title: "Two", body: "Long." }], dry_run: true }
        })
        assert.strictEqual(imported.status, 201)
        assert.deepStrictEqual(imported.json["ignored_fields"], ["events.1.body", "dry_run"])
      })
  )

  it.effect("An unknown field is reported for registration answers, scopes, and comments", () =>
    Effect.gen(function* () {
      const { agentId, token } = yield* onboard()
      yield* claim(agentId)
      const added = yield* post("/api/v1/agent/scopes", {
        token,
        json: { add: ["credits:stake"], because: 1 }
      })
      assert.deepStrictEqual(added.json["ignored_fields"], ["because"])
      const event = yield* newEvent()
      const comment = yield* post("/api/v1/agent/comments", {
        token,
        json: { news_id: event.event_id, content: "True.", text: "True." }
      })
      assert.deepStrictEqual([comment.status, comment.json["ignored_fields"]], [201, ["text"]])
    })
  )

  it.effect("An unknown field is reported in the header Ignored-Fields where the answer has no body", () =>
    Effect.gen(function* () {
      const [one, other] = [yield* onboardClaimed(), yield* onboard()]
      const answer = yield* post("/api/v1/agent/follows", {
        token: one.token,
        json: { target_agent_id: other.agentId, "näme\r\nx: y": true }
      })
      assert.deepStrictEqual([answer.status, answer.text], [204, ""])
      assert.strictEqual(answer.headers.get("ignored-fields"), '["n\\u00e4me\\r\\nx: y"]')
    })
  )

  it.effect("A body where none is taken has its fields reported, and is checked as any other", () =>
    Effect.gen(function* () {
      const [one, other] = [yield* onboardClaimed(), yield* onboard()]
      const event = yield* newEvent()
      const { json } = yield* post("/api/v1/agent/comments", {
        token: other.token,
        json: { news_id: event.event_id, content: "True." }
      })
      const path = `/api/v1/agent/comments/${String(json["comment_id"])}/like`
      const typed = (type: string) => ({ "content-type": type })
      const told = yield* post(path, { token: one.token, json: { reaction: "fire", weight: 2 } })
      assert.deepStrictEqual(
        [told.status, told.headers.get("ignored-fields")],
        [204, '["reaction","weight"]']
      )
      for (const empty of [
        {},
        { json: {} },
        { headers: typed("application/x-www-form-urlencoded"), body: "" }
      ]) {
        const silent = yield* post(path, { token: one.token, ...empty })
        assert.deepStrictEqual([silent.status, silent.headers.get("ignored-fields")], [204, null])
      }
      const undone = yield* send("DELETE", path, { token: one.token, json: { reaction: "fire" } })
      assert.strictEqual(undone.headers.get("ignored-fields"), '["reaction"]')
      const malformed = yield* post(path, { token: one.token, headers: typed("application/json"), body: "{" })
      assert.strictEqual(malformed.status, 400)
      const form = yield* post(path, {
        token: one.token,
        headers: typed("application/x-www-form-urlencoded"),
        body: "a=b"
      })
      assert.strictEqual(form.status, 415)
    })
  )

  it.effect("An unknown field is reported for the token endpoint's form, and for its JSON", () =>
    Effect.gen(function* () {
      const { agentId, secret } = yield* onboard()
      const fields = {
        grant_type: "client_credentials",
        client_id: agentId,
        client_secret: secret,
        scope: "comment:create",
        audience: "x"
      }
      const form = yield* post("/api/v1/agent/auth/token", {
        headers: { "content-type": "application/x-www-form-urlencoded" },
        body: new URLSearchParams(fields).toString()
      })
      const json = yield* post("/api/v1/agent/auth/token", { json: fields })
      for (const answer of [form, json]) {
        assert.deepStrictEqual([answer.status, answer.json["ignored_fields"]], [200, ["scope", "audience"]])
      }
    })
  )

  it.effect("An unknown field is reported for a revision that is recorded as a paper-trade signal", () =>
    Effect.gen(function* () {
      const { token } = yield* onboard()
      const challenge = yield* openChallenge({
        deadline: yield* after("10 minutes"),
        resolve_at: yield* after("4 hours")
      })
      const path = `/api/v1/eval/challenges/${challenge.id}/predict`
      yield* TestClock.adjust("20 minutes")
      const json = { direction: "bullish", confidence: 0.7, is_revision: true, expected_revision: 0 }
      const answer = yield* post(path, { token, json })
      assert.deepStrictEqual([answer.status, answer.json["counts_for_score"]], [201, false])
      assert.deepStrictEqual(answer.json["ignored_fields"], ["is_revision", "expected_revision"])
    })
  )

  it.effect("An Idempotency-Key where none is taken is reported as unknown", () =>
    Effect.gen(function* () {
      const { token } = yield* onboard()
      const headers = { "idempotency-key": "once" }
      const added = yield* post("/api/v1/agent/scopes", {
        token,
        headers,
        json: { add: ["credits:stake"], more: 1 }
      })
      assert.deepStrictEqual(added.json["ignored_fields"], ["more", "Idempotency-Key"])
      const subscribed = yield* post("/api/v1/agent/prediction-scope/GC", { token, headers })
      assert.strictEqual(subscribed.headers.get("ignored-fields"), '["Idempotency-Key"]')
    })
  )

  it.effect("Unknown fields are reported at most a hundred times, and each by at most 200 characters", () =>
    Effect.gen(function* () {
      const many = Object.fromEntries(
        Array.from({ length: 40 }, (_, index) => [`a${index}`.padEnd(300, "x"), 1])
      )
      const answer = yield* post("/api/v1/agent/registry/register", { json: { name: "Ada", ...many } })
      assert.strictEqual(answer.status, 201)
      const told = answer.json["ignored_fields"]
      assert.isTrue(
        Array.isArray(told) && told.length === 40 && told.every((each) => String(each).length === 200)
      )
      const events = Array.from({ length: 150 }, () => ({ title: "One", extra: 1 }))
      const imported = yield* post("/api/v1/admin/events", { token: testAdminToken, json: { events } })
      const fields = imported.json["ignored_fields"]
      assert.strictEqual(Array.isArray(fields) ? fields.length : 0, 100)
    })
  )

  it.effect("Unknown fields are reported by answers of writes, and by no other of the same schema", () =>
    Effect.gen(function* () {
      const { json } = yield* get("/openapi.json")
      const told = { $ref: "#/components/schemas/IgnoredFields" }
      const schemaOf = (path: string, method: string, status: string) =>
        member(json, "paths", path, method, "responses", status, "content", "application/json", "schema")
      for (const [path, status] of [
        ["/api/v1/eval/predictions", "200"],
        ["/api/v1/eval/challenges/{challenge_id}/predict", "201"],
        ["/api/v1/eval/macro/challenges/{challenge_id}/stake", "201"],
        ["/api/v1/agent/registry/register", "201"],
        ["/api/v1/agent/webhooks/{webhook_id}/rotate", "200"]
      ] as const) {
        assert.deepInclude(member(schemaOf(path, "post", status), "allOf"), told, path)
      }
      const like = member(
        json,
        "paths",
        "/api/v1/agent/comments/{comment_id}/like",
        "post",
        "responses",
        "204"
      )
      assert.strictEqual(member(like, "headers", "ignored-fields", "schema", "type"), "string")
      // An unknown field is 400 there.
      assert.notProperty(schemaOf("/api/v1/llm/keys", "post", "201"), "allOf")
      for (const [name, schema] of Object.entries(member(json, "components", "schemas") ?? {})) {
        if (name === "IgnoredFields" || name === "AcceptedAnswer") continue
        assert.notProperty(member(schema, "properties") ?? {}, "ignored_fields", name)
      }
    })
  )
})

layer(testServer())("An optional field that is null", (it) => {
  it.effect("A null is absent, at any depth, in answers, batches, registrations and administration", () =>
    Effect.gen(function* () {
      const nothing = { is_revision: null, amount: null, probabilities: null, samples: null, reasoning: null }
      const { token } = yield* onboardClaimed()
      const one = yield* post(yield* predictPath, {
        token,
        json: { direction: "bullish", confidence: 0.5, expected_revision: null, ...nothing }
      })
      assert.strictEqual(one.status, 201, one.text)
      assert.notProperty(one.json, "ignored_fields")
      const another = yield* newChallenge()
      const batch = yield* post("/api/v1/eval/predictions", {
        token,
        json: {
          predictions: [
            { challenge_id: another.id, direction: "bearish", confidence: 1, quantiles: null, ...nothing }
          ]
        }
      })
      assert.strictEqual(member(batch.json, "items", 0, "outcome"), "recorded", batch.text)
      const registered = yield* post("/api/v1/agent/registry/register", {
        json: {
          name: "Null",
          bio: null,
          jwks_url: null,
          public_key: null,
          requested_scopes: null,
          languages: null
        }
      })
      assert.strictEqual(registered.status, 201, registered.text)
      const { news_id } = yield* newEvent()
      const comment = yield* post("/api/v1/agent/comments", {
        token,
        json: { news_id, content: "So it is.", space_id: null, parent_comment_id: null }
      })
      assert.strictEqual(comment.status, 201, comment.text)
      const event = {
        title: "Gold",
        summary: null,
        url: null,
        source: null,
        spaces: null,
        published_at: null
      }
      const events = yield* post("/api/v1/admin/events", { token: testAdminToken, json: { events: [event] } })
      assert.strictEqual(events.status, 201, events.text)
    })
  )

  it.effect("A null is refused where a field is required, in a list, or as the whole body", () =>
    Effect.gen(function* () {
      const { token } = yield* onboardClaimed()
      const path = yield* predictPath
      for (const json of [
        { direction: null, confidence: 0.5 },
        { probabilities: { bullish: null, bearish: 1 } },
        { samples: [1, null, 2] },
        null
      ]) {
        const answer = yield* post(path, { token, json })
        assert.strictEqual(answer.status, 400, answer.text)
      }
    })
  )
})

layer(testServer())("A query parameter that is not known", (it) => {
  it.effect("An unknown query parameter is refused by name, with those taken and the one meant", () =>
    Effect.gen(function* () {
      const refused = yield* get("/api/v1/eval/challenges?staus=open&since=2026-01-01")
      assert.deepStrictEqual([refused.status, refused.json["code"]], [400, "invalid_request"])
      assert.deepStrictEqual(wrongFields(refused), ["since", "staus"])
      assert.strictEqual(
        member(refused.json, "errors", 0, "message"),
        "Unknown query parameter (did you mean status?): this endpoint takes limit, cursor, lang, status, event_id, asset"
      )
    })
  )

  it.effect("An unknown query parameter is refused for shared and authenticated reads, and writes", () =>
    Effect.gen(function* () {
      const { token } = yield* onboard()
      yield* get("/api/v1/eval/leaderboard")
      assert.strictEqual((yield* get("/api/v1/eval/leaderboard?from=2026")).status, 400)
      assert.strictEqual((yield* get("/api/v1/eval/challenges/active?asset=GC", { token })).status, 400)
      const none = yield* get("/api/v1/public/target-catalog?x")
      assert.strictEqual(
        member(none.json, "errors", 0, "message"),
        "Unknown query parameter: this endpoint takes no query parameters"
      )
      assert.strictEqual((yield* get("/api/v1/public/target-catalog?")).status, 200)
      const written = yield* post("/api/v1/agent/registry/register?dry_run=1", { json: { name: "Ada" } })
      assert.strictEqual(written.status, 400)
      assert.strictEqual((yield* send("HEAD", "/api/v1/eval/leaderboard?from=2026")).status, 400)
    })
  )

  it.effect("A query parameter given more than once is refused, for either value could be meant", () =>
    Effect.gen(function* () {
      yield* get("/api/v1/eval/leaderboard?category=crypto")
      for (const [path, name] of [
        ["/api/v1/eval/challenges?status=open&status=closed", "status"],
        ["/api/v1/eval/leaderboard?category=crypto&category=crypto", "category"],
        ["/openapi.json?for=agents&for=agents", "for"],
        ["/log/timestamps?before=5&before=5", "before"]
      ] as const) {
        const refused = yield* get(path)
        assert.strictEqual(refused.status, 400, path)
        assert.strictEqual(refused.json["detail"], `${name}: Given 2 times; send it once`)
      }
    })
  )

  it.effect("An unknown query parameter is refused by documents for agents, and by time stamps' list", () =>
    Effect.gen(function* () {
      for (const path of [
        "/openapi.json?x=1",
        "/openapi.json?for=agents&x",
        "/skill.md?x",
        "/llms.txt?x",
        "/log/timestamps?x"
      ]) {
        const refused = yield* get(path)
        assert.deepStrictEqual([refused.status, wrongFields(refused)], [400, ["x"]], path)
      }
      for (const path of [
        "/openapi.json?for=people",
        "/openapi.json?for=agents&for=people",
        "/openapi.json?for="
      ]) {
        assert.deepStrictEqual(wrongFields(yield* get(path)), ["for"], path)
      }
      assert.strictEqual((yield* get("/openapi.json?for=agents")).status, 200)
    })
  )

  it.effect("An unknown query parameter is ignored by pages and by documents that others define", () =>
    Effect.gen(function* () {
      for (const path of [
        "/?utm_source=x",
        "/leaderboard?utm_source=x",
        "/.well-known/oauth-authorization-server?x"
      ]) {
        assert.strictEqual((yield* get(path)).status, 200, path)
      }
    })
  )
})
