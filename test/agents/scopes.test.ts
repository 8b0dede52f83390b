import { assert, layer } from "@effect/vitest"
import { Effect, Schema } from "effect"
import { SqlClient } from "effect/sql"
import { decodeJwt } from "jose"
import { ScopeChange } from "../../src/services/Registry.ts"
import { allScopes, defaultScopes, requestedScopes } from "../../src/services/Scopes.ts"
import { claim, issue, onboard, onboardClaimed } from "../support/agents.ts"
import { freshWeek, newMacro } from "../support/challenges.ts"
import { problemsIn } from "../support/generated.ts"
import { get, post, testServer, wrongFields } from "../support/server.ts"

const path = "/api/v1/agent/scopes"
const add = (token: string, scopes: unknown) => post(path, { token, json: { add: scopes } })

/** An agent with these scopes, without those that come along unasked. */
const onboardWith = Effect.fnUntraced(function* (scopes: ReadonlyArray<string>) {
  const agent = yield* onboard({ requested_scopes: scopes })
  yield* post(path, { token: agent.token, json: { remove: ["llm:keys", "webhook:write"] } })
  return agent
})

const lookalikes = [
  "admin",
  "Follow:read",
  "follow:read ",
  "constructor",
  "__proto__",
  "*",
  "follow:read space:read"
]
/** Scopes, and texts that look like them. */
const Names = Schema.Array(
  Schema.Union([Schema.Literals([...allScopes, "credits:read", ...lookalikes]), Schema.String])
).check(Schema.isMaxLength(20))

const scopeOf = (token: string) => decodeJwt(token)["scope"]

layer(testServer())("Scopes", (it) => {
  it.effect("An agent that adds credits:stake gets it with a fresh token; a held token gains nothing", () =>
    Effect.gen(function* () {
      const { agentId, secret, token } = yield* onboard()
      assert.notInclude(String(scopeOf(token)), "credits:stake")
      const answer = yield* add(token, ["credits:stake"])
      assert.strictEqual(answer.status, 200)
      assert.deepStrictEqual(answer.json["requested_scopes"], [...allScopes])
      assert.include(JSON.stringify(answer.json["effective_scopes"]), "credits:stake")
      assert.isString(answer.json["note"])
      assert.strictEqual((yield* get("/api/v1/agent/profile/self", { token })).status, 200)
      assert.include((yield* issue(agentId, secret)).scope, "credits:stake")
    })
  )

  it.effect("Withheld scopes stay so until the claim, however they are asked for", () =>
    Effect.gen(function* () {
      const { agentId, secret, token } = yield* onboardWith(["challenge:read"])
      const answer = yield* add(token, ["reply:like", "follow:create", "comment:like"])
      const withheld = ["comment:like", "reply:like", "follow:create"]
      assert.deepStrictEqual(answer.json["requested_scopes"], ["challenge:read", ...withheld])
      assert.deepStrictEqual(answer.json["effective_scopes"], ["challenge:read"])
      assert.deepStrictEqual(answer.json["withheld_scopes"], withheld)
      assert.strictEqual((yield* issue(agentId, secret)).scope, "challenge:read")
      yield* claim(agentId)
      assert.strictEqual((yield* issue(agentId, secret)).scope, ["challenge:read", ...withheld].join(" "))
      const after = yield* get(path, { token })
      assert.deepStrictEqual(after.json["withheld_scopes"], [])
    })
  )

  it.effect("GET reads the scopes as POST answers them, and needs no scope", () =>
    Effect.gen(function* () {
      const { token } = yield* onboardWith(["space:read"])
      const added = yield* add(token, ["follow:read", "space:read", "space:read"])
      const read = yield* get(path, { token })
      assert.strictEqual(read.status, 200)
      assert.deepStrictEqual(read.json, added.json)
      assert.deepStrictEqual(read.json["requested_scopes"], ["follow:read", "space:read"])
      assert.deepStrictEqual((yield* add(token, [])).json, read.json)
    })
  )

  it.prop("A scope that does not exist is refused by its place, wherever it stands", [Names], ([names]) => {
    const known = new Set<string>(["credits:read", ...allScopes])
    for (const list of ["add", "remove"]) {
      assert.deepStrictEqual(
        problemsIn(ScopeChange)({ [list]: names }).map(({ path }) => path),
        names.flatMap((name, index) => (known.has(name) ? [] : [`${list}.${index}`]))
      )
    }
  })

  it.effect("A scope that does not exist is 400 with its place, and nothing is added", () =>
    Effect.gen(function* () {
      const { token } = yield* onboardWith(["space:read"])
      const answer = yield* add(token, ["follow:read", "constructor", "__proto__"])
      assert.strictEqual(answer.status, 400)
      assert.deepStrictEqual(wrongFields(answer), ["add.1", "add.2"])
      for (const scopes of [
        undefined,
        null,
        "follow:read",
        [5],
        [null],
        Array.from({ length: 101 }, () => "x")
      ]) {
        assert.strictEqual((yield* add(token, scopes)).status, 400)
      }
      assert.deepStrictEqual((yield* get(path, { token })).json["requested_scopes"], ["space:read"])
    })
  )

  it.effect("Removed scopes are not in the next token, and removing an absent one changes nothing", () =>
    Effect.gen(function* () {
      const { agentId, secret, token } = yield* onboardWith(["challenge:read", "space:read"])
      const remove = (json: object) => post(path, { token, json })
      const answer = yield* remove({ remove: ["space:read"] })
      assert.deepStrictEqual([answer.status, answer.json["requested_scopes"]], [200, ["challenge:read"]])
      assert.strictEqual((yield* issue(agentId, secret)).scope, "challenge:read")
      assert.deepStrictEqual((yield* remove({ remove: ["space:read"] })).json, answer.json)
      const both = yield* remove({ add: ["follow:read", "space:read"], remove: ["space:read"] })
      assert.deepStrictEqual(both.json["requested_scopes"], ["challenge:read", "follow:read"])
      const none = yield* remove({ remove: ["challenge:read", "follow:read"] })
      assert.deepStrictEqual(none.json["effective_scopes"], [])
      assert.strictEqual((yield* issue(agentId, secret)).scope, "")
      assert.strictEqual((yield* remove({ remove: ["admin"] })).status, 400)
    })
  )

  it.effect("Scopes of other services, such as credits:read, are ignored and named", () =>
    Effect.gen(function* () {
      const { token } = yield* onboardWith(["space:read"])
      for (const change of [{ add: ["credits:read"] }, { remove: ["credits:read"] }]) {
        const answer = yield* post(path, { token, json: change })
        assert.strictEqual(answer.status, 200)
        assert.deepStrictEqual(answer.json["requested_scopes"], ["space:read"])
        assert.deepStrictEqual(answer.json["ignored_scopes"], ["credits:read"])
      }
      const more = yield* add(token, ["credits:read", "follow:read"])
      assert.deepStrictEqual(more.json["requested_scopes"], ["follow:read", "space:read"])
      assert.notProperty((yield* get(path, { token })).json, "ignored_scopes")
    })
  )

  it.effect("Changes of scopes at once all take effect", () =>
    Effect.gen(function* () {
      const { token } = yield* onboardWith(["space:read"])
      yield* Effect.forEach(allScopes, (scope) => add(token, [scope]), { concurrency: "unbounded" })
      assert.deepStrictEqual((yield* get(path, { token })).json["requested_scopes"], [...allScopes])
    })
  )

  it.effect.each([
    // The scope an earlier agent asked for, its change, and its scopes afterwards.
    ["llm:keys", { add: [] }, ["llm:keys", "webhook:write"]],
    ["space:read", { add: [] }, ["space:read"]],
    ["llm:keys", { remove: ["llm:keys"] }, ["webhook:write"]],
    ["llm:keys", { remove: ["webhook:write"] }, ["llm:keys"]],
    ["space:read", { add: ["llm:keys"] }, ["space:read", "llm:keys"]],
    ["space:read", { add: ["webhook:write"] }, ["space:read", "webhook:write"]]
  ] as const)(
    "An earlier agent with %s may make webhooks where it may make keys",
    ([requestedScope, json, has]) =>
      Effect.gen(function* () {
        const { agentId, secret, token } = yield* onboardWith([requestedScope])
        yield* claim(agentId)
        const sql = yield* SqlClient.SqlClient
        yield* sql`update agents set requested_scopes = array[${requestedScope}], webhook_scope = null where id = ${agentId}::uuid`
        const changed = yield* post(path, { token, json })
        assert.deepStrictEqual(changed.json["effective_scopes"], has)
        assert.strictEqual((yield* issue(agentId, secret)).scope, has.join(" "))
      })
  )

  it.prop("The scopes llm:keys and webhook:write come along where neither is named", [Names], ([names]) => {
    const known = allScopes.filter((scope) => names.includes(scope))
    const isAlone = known.length === 0 || known.includes("llm:keys") || known.includes("webhook:write")
    const expected = allScopes.filter(
      (scope) => known.includes(scope) || (!isAlone && (scope === "llm:keys" || scope === "webhook:write"))
    )
    const { ignored, requested } = requestedScopes(names)
    assert.deepStrictEqual(requested, names.length === 0 ? defaultScopes : expected)
    assert.sameMembers([...ignored, ...known], [...new Set(names)])
  })

  it.effect("A token has the scopes that were named, and those that come along", () =>
    Effect.gen(function* () {
      for (const [requested_scopes, granted] of [
        [["credits:read", "space:read"], "space:read llm:keys webhook:write"],
        [["nonsense", "llm:keys"], "llm:keys"],
        [["webhook:write", "space:read"], "space:read webhook:write"]
      ] as const) {
        const { token } = yield* onboardClaimed({ requested_scopes })
        assert.strictEqual(scopeOf(token), granted)
      }
    })
  )

  it.effect("The scope credits:stake is checked before anything else of an answer with an amount", () =>
    Effect.gen(function* () {
      yield* freshWeek
      const { token } = yield* onboardClaimed({ requested_scopes: ["prediction:submit"] })
      const macro = yield* newMacro()
      for (const json of [
        { amount: 50, predicted_value: 3.1, predicted_std: 0.1 },
        { amount: 50 },
        { amount: "50", predicted_value: "x" },
        { amount: -1, predicted_std: 0 },
        { amount: {}, quantiles: [] },
        { amount: false },
        { amount: 0, direction: 7, confidence: 2 },
        { amount: [], expected_revision: "x" }
      ]) {
        for (const of of [`challenges/${macro.id}/predict`, `macro/challenges/${macro.id}/predict`]) {
          const refused = yield* post(`/api/v1/eval/${of}`, { token, json })
          assert.deepStrictEqual(
            [refused.status, refused.json["detail"]],
            [403, "Missing required scope: credits:stake"],
            JSON.stringify(json)
          )
        }
      }
      const answer = { amount: null, predicted_value: 3.1, predicted_std: 0.1 }
      const taken = yield* post(`/api/v1/eval/challenges/${macro.id}/predict`, { token, json: answer })
      assert.strictEqual(taken.status, 201)
    })
  )

  it.effect("Each agent has its own scopes", () =>
    Effect.gen(function* () {
      const ada = yield* onboardWith(["space:read"])
      const bob = yield* onboardWith(["space:read"])
      yield* add(ada.token, ["follow:read"])
      assert.deepStrictEqual((yield* get(path, { token: bob.token })).json["requested_scopes"], [
        "space:read"
      ])
    })
  )
})
