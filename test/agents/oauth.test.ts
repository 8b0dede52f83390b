/** The token endpoint by OAuth 2.0: places of credentials, and the form of every refusal. */
import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { TestClock } from "effect/testing"
import { tokenPath } from "../../src/services/Tokens.ts"
import { onboard } from "../support/agents.ts"
import { ecPair, onboardWithKey } from "../support/assertions.ts"
import { get, post, send, testServer, wrongFields } from "../support/server.ts"
import type { Answer, RequestOptions } from "../support/server.ts"

const grant_type = "client_credentials"
const formType = "application/x-www-form-urlencoded"
const basic = (user: string, password: string) =>
  `Basic ${Buffer.from(`${encodeURIComponent(user)}:${encodeURIComponent(password)}`).toString("base64")}`
const form = (body: string, headers: Readonly<Record<string, string>> = {}): RequestOptions => ({
  body,
  headers: { "content-type": formType, ...headers }
})
const nobody = "0190f000-0000-7000-8000-000000000000"

/** The form of RFC 6749 5.2, with our own detail and code. */
const isOAuthError = ({ headers, json, status }: Answer): void => {
  assert.strictEqual(headers.get("content-type"), "application/json; charset=utf-8", String(status))
  assert.strictEqual(headers.get("cache-control"), "no-store")
  assert.strictEqual(headers.get("pragma"), "no-cache")
  assert.match(String(json["error"]), /^[a-z_]+$/)
  assert.match(String(json["error_description"]), /^[\x20-\x21\x23-\x5b\x5d-\x7e]+$/)
  assert.isString(json["detail"])
  assert.isString(json["code"])
  assert.notProperty(json, "access_token")
}

/** Requests that would get a token if one thing were not wrong with them. */
const hostile = (
  agentId: string,
  secret: string,
  others: {
    readonly agentId: string
    readonly secret: string
    readonly keyedId: string
    readonly keyedSecret: string
  }
): Readonly<Record<string, RequestOptions>> => {
  const right = `grant_type=${grant_type}&agent_id=${agentId}&client_secret=${secret}`
  const json = (fields: Readonly<Record<string, unknown>>): RequestOptions => ({
    json: { grant_type, agent_id: agentId, client_secret: secret, ...fields }
  })
  const half = { client_secret: undefined }
  return {
    "a wrong secret": json({ client_secret: "aus_cs_wrong" }),
    "another agent's secret": json({ client_secret: others.secret }),
    "another agent's id": json({ agent_id: others.agentId }),
    "an agent that does not exist": json({ agent_id: nobody }),
    "a secret cut short": json({ client_secret: secret.slice(0, -1) }),
    "a secret with a space": json({ client_secret: `${secret} ` }),
    "a secret in upper case": json({ client_secret: secret.toUpperCase() }),
    "a secret with a NUL": json({ client_secret: `${secret}\0` }),
    "a secret with a lone surrogate": json({ client_secret: `${secret}\ud800` }),
    "a secret in a list": json({ client_secret: [secret] }),
    "a secret in an object": json({ client_secret: { $ne: null } }),
    "a secret of null": json({ client_secret: null }),
    "a secret of true": json({ client_secret: true }),
    "an empty secret": json({ client_secret: "" }),
    "a huge secret": json({ client_secret: secret.padEnd(15_000, "x") }),
    "a body that is too large": json({ client_secret: secret.padEnd(200_000, "x") }),
    "no secret": json(half),
    "no agent": json({ agent_id: undefined }),
    "an agent in upper case": json({ agent_id: agentId.toUpperCase() }),
    "an agent with a space": json({ agent_id: `${agentId} ` }),
    "an agent of null": json({ agent_id: null }),
    "an agent without dashes": json({ agent_id: agentId.replaceAll("-", "") }),
    SQL: json({ agent_id: `${agentId}' or '1'='1` }),
    "another grant": json({ grant_type: "password" }),
    "no grant": json({ grant_type: undefined }),
    "a grant in a list": json({ grant_type: [grant_type] }),
    "agent_id and client_id that differ": json({ client_id: others.agentId }),
    "a secret and an assertion": json({ client_assertion: "a.b.c" }),
    "a secret and the type of an assertion": json({ client_assertion_type: "x" }),
    "Basic and a secret": { ...json({}), headers: { authorization: basic(agentId, secret) } },
    "Basic of another agent": {
      ...json(half),
      headers: { authorization: basic(others.agentId, others.secret) }
    },
    "Basic with a wrong secret": form(`grant_type=${grant_type}`, { authorization: basic(agentId, "wrong") }),
    "Basic without a colon": form(`grant_type=${grant_type}`, {
      authorization: `Basic ${Buffer.from(secret).toString("base64")}`
    }),
    "Basic that is not base64": form(right, { authorization: "Basic !!!" }),
    "Basic with nothing": form(right, { authorization: "Basic" }),
    "Basic with a broken escape": form(`grant_type=${grant_type}`, {
      authorization: `Basic ${Buffer.from("%zz:x").toString("base64")}`
    }),
    "Bearer alone": form(`grant_type=${grant_type}&agent_id=${agentId}`, {
      authorization: `Bearer ${secret}`
    }),
    "a form with the agent twice": form(`${right}&agent_id=${agentId}`),
    "a form with an unknown parameter twice": form(`${right}&x=1&x=2`),
    "a form with an empty secret beside the right one": form(`${right}&client_secret=`),
    "a form with brackets": form(right.replace("client_secret", "client_secret[]")),
    "a form split by semicolons": form(right.replaceAll("&", ";")),
    "a form said to be JSON": { body: right, headers: { "content-type": "application/json" } },
    "JSON said to be a form": { body: JSON.stringify(json({}).json), headers: { "content-type": formType } },
    "JSON with the secret twice": {
      body: `{"grant_type":"${grant_type}","agent_id":"${agentId}","client_secret":"x","client_secret":"${secret}"}`,
      headers: { "content-type": "application/json" }
    },
    "a list of requests": { json: [json({}).json] },
    "nothing at all": form(""),
    "the secret of an agent with a key": json({ agent_id: others.keyedId, client_secret: others.keyedSecret })
  }
}

layer(testServer())("The token endpoint", (it) => {
  it.effect("A secret is taken in the body and by HTTP Basic, as client_id too, as JSON and as a form", () =>
    Effect.gen(function* () {
      const { agentId, secret } = yield* onboard()
      const authorization = basic(agentId, secret)
      const requests: ReadonlyArray<RequestOptions> = [
        { json: { grant_type, agent_id: agentId, client_secret: secret } },
        { json: { grant_type, client_id: agentId, client_secret: secret } },
        { json: { grant_type, agent_id: agentId, client_id: agentId, client_secret: secret } },
        { json: { grant_type }, headers: { authorization } },
        { json: { grant_type, agent_id: agentId }, headers: { authorization } },
        form(`grant_type=${grant_type}&client_id=${agentId}&client_secret=${secret}`),
        form(`grant_type=${grant_type}&agent_id=${agentId}&client_secret=${secret}&scope=&resource=x`),
        form(`grant_type=${grant_type}`, { authorization }),
        form(`grant_type=${grant_type}`, { authorization: authorization.replace("Basic", "basic") }),
        form(`grant_type=${grant_type}&client_id=${agentId}&client_secret=`, { authorization }),
        {
          ...form(`grant_type=${grant_type}`),
          headers: { "content-type": `${formType}; charset=UTF-8`, authorization }
        },
        // A client that sends its last token with everything still proves itself in one way only.
        {
          json: { grant_type, agent_id: agentId, client_secret: secret },
          headers: { authorization: "Bearer x" }
        }
      ]
      for (const request of requests) {
        const answer = yield* post(tokenPath, request)
        assert.strictEqual(answer.status, 200, JSON.stringify([request, answer.json]))
        assert.strictEqual(answer.headers.get("cache-control"), "no-store")
        assert.strictEqual(answer.headers.get("pragma"), "no-cache")
        assert.strictEqual(answer.json["token_type"], "Bearer")
      }
    })
  )

  it.effect("Every other request with a secret is refused, each time as OAuth says", () =>
    Effect.gen(function* () {
      const ada = yield* onboard()
      const bob = yield* onboard()
      const keyed = yield* onboardWithKey(ecPair())
      const requests = Object.entries(
        hostile(ada.agentId, ada.secret, {
          agentId: bob.agentId,
          secret: bob.secret,
          keyedId: keyed.agentId,
          keyedSecret: keyed.secret
        })
      )
      assert.isAtLeast(requests.length, 30)
      for (const [name, request] of requests) {
        const answer = yield* post(tokenPath, request)
        assert.include([400, 401, 413], answer.status, name)
        assert.include(
          answer.status === 401 ? ["invalid_client"] : ["invalid_request", "unsupported_grant_type"],
          answer.json["error"],
          name
        )
        isOAuthError(answer)
      }
    })
  )

  it.effect("Only a client that used HTTP Basic is asked for it again", () =>
    Effect.gen(function* () {
      const { agentId } = yield* onboard()
      const wrong = { json: { grant_type, agent_id: agentId, client_secret: "wrong" } }
      const byBody = yield* post(tokenPath, wrong)
      assert.strictEqual(byBody.status, 401)
      assert.isNull(byBody.headers.get("www-authenticate"))
      const byBasic = yield* post(
        tokenPath,
        form(`grant_type=${grant_type}`, { authorization: basic(agentId, "x") })
      )
      assert.strictEqual(byBasic.status, 401)
      assert.strictEqual(byBasic.headers.get("www-authenticate"), 'Basic realm="auspex", charset="UTF-8"')
      const bearer = yield* post(tokenPath, { ...wrong, headers: { authorization: "Bearer x" } })
      assert.isNull(bearer.headers.get("www-authenticate"))
    })
  )

  it.effect("The token endpoint has OAuth errors only, for 400, 405, 413 and 415 too", () =>
    Effect.gen(function* () {
      const answers = [
        [
          400,
          "invalid_request",
          yield* post(tokenPath, { body: "{", headers: { "content-type": "application/json" } })
        ],
        [400, "invalid_request", yield* post(tokenPath, { json: {} })],
        [
          400,
          "unsupported_grant_type",
          yield* post(tokenPath, { json: { grant_type: "x", agent_id: "a", client_secret: "b" } })
        ],
        [405, "invalid_request", yield* get(tokenPath)],
        [405, "invalid_request", yield* send("DELETE", `${tokenPath}/`)],
        [413, "invalid_request", yield* post(tokenPath, { json: { grant_type, x: "x".repeat(300_000) } })],
        [
          415,
          "invalid_request",
          yield* post(tokenPath, { body: "x", headers: { "content-type": "text/plain" } })
        ]
      ] as const
      for (const [status, error, answer] of answers) {
        assert.strictEqual(answer.status, status, error)
        assert.strictEqual(answer.json["error"], error)
        isOAuthError(answer)
      }
    })
  )

  it.effect("The token endpoint names every wrong parameter, and contradictory ones, too", () =>
    Effect.gen(function* () {
      const named = (json: unknown) => Effect.map(post(tokenPath, { json }), wrongFields)
      assert.deepStrictEqual(yield* named({}), ["agent_id", "client_secret", "grant_type"])
      assert.deepStrictEqual(yield* named({ grant_type, client_assertion: "x" }), ["client_assertion_type"])
      assert.deepStrictEqual(
        yield* named({ grant_type, agent_id: 1, client_assertion_type: "x", client_secret: 2 }),
        ["agent_id", "client_assertion", "client_secret"]
      )
    })
  )
})

layer(
  testServer({ environment: { AUSPEX_LIMIT_TOKENS: "2/minute", AUSPEX_LIMIT_TOKEN_FAILURES: "3/minute" } })
)("The limits of the token endpoint", (it) => {
  it.effect("The token endpoint's limits are 429 as an OAuth error with Retry-After", () =>
    Effect.gen(function* () {
      yield* TestClock.adjust("20000 days")
      const { agentId, secret } = yield* onboard()
      const ask = (client_secret: string) =>
        post(tokenPath, { json: { grant_type, agent_id: agentId, client_secret } })
      assert.strictEqual((yield* ask(secret)).status, 200)
      const many = yield* ask(secret)
      for (let count = 0; count < 3; count++) assert.strictEqual((yield* ask("wrong")).status, 401)
      for (const answer of [many, yield* ask("wrong"), yield* ask(secret)]) {
        assert.strictEqual(answer.status, 429)
        assert.strictEqual(answer.json["error"], "temporarily_unavailable")
        assert.strictEqual(answer.headers.get("retry-after"), String(answer.json["retry_after"]))
        isOAuthError(answer)
      }
    })
  )
})

layer(testServer({ environment: { AUSPEX_BASE_URL: "https://auspex.example/arena" } }))(
  "The authorization server's metadata",
  (it) => {
    it.effect("The authorization server's metadata is that of RFC 8414, built from the base URL", () =>
      Effect.gen(function* () {
        const answer = yield* get("/.well-known/oauth-authorization-server")
        assert.strictEqual(answer.status, 200)
        const { scopes_supported, ...rest } = answer.json
        assert.deepStrictEqual(rest, {
          issuer: "https://auspex.example/arena",
          token_endpoint: "https://auspex.example/arena/api/v1/agent/auth/token",
          token_endpoint_auth_methods_supported: [
            "client_secret_post",
            "client_secret_basic",
            "private_key_jwt"
          ],
          token_endpoint_auth_signing_alg_values_supported: ["RS256", "ES256"],
          grant_types_supported: ["client_credentials"],
          response_types_supported: [],
          service_documentation: "https://auspex.example/arena/docs"
        })
        assert.include(JSON.stringify(scopes_supported), "credits:stake")
      })
    )
  }
)
