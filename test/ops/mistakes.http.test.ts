/** Mistakes that agents make, each of which its answer lets them put right in one step. */
import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { onboard, register } from "../support/agents.ts"
import { newChallenge, newMacro } from "../support/challenges.ts"
import { post, send, testServer } from "../support/server.ts"
import { testAdminToken } from "../support/settings.ts"

interface Mistake {
  readonly name: string
  readonly method?: string
  readonly path: string
  readonly json?: unknown
  readonly token?: boolean
  readonly status: number
  readonly code: string
  /** What its texts must tell. */
  readonly tells: ReadonlyArray<string>
}

const predict = "/api/v1/eval/challenges/GOLD/predict"
const forecast = "/api/v1/eval/macro/challenges/CPI/predict"
const registration = "/api/v1/agent/registry/register"
const token = "/api/v1/agent/auth/token"
const invalid = { status: 400, code: "invalid_request" }
const right = { direction: "bullish", confidence: 0.7 }

const mistakes: ReadonlyArray<Mistake> = [
  {
    name: "a prediction without a direction",
    path: predict,
    json: { confidence: 0.7 },
    ...invalid,
    tells: ['direction: Missing; expected "bullish", "bearish" or "neutral"']
  },
  {
    name: "prediction instead of direction",
    path: predict,
    json: { prediction: "bullish", confidence: 0.7 },
    ...invalid,
    tells: ['expected "bullish", "bearish" or "neutral"', "not known here: prediction"]
  },
  {
    name: "a misspelt field",
    path: predict,
    json: { directon: "bullish", confidence: 0.7 },
    ...invalid,
    tells: ["directon (did you mean direction?)"]
  },
  {
    name: "a confidence in quotes",
    path: predict,
    json: { ...right, confidence: "0.7" },
    ...invalid,
    tells: ["confidence: Expected a number", 'got the string "0.7"']
  },
  {
    name: "a confidence in percent",
    path: predict,
    json: { ...right, confidence: 70 },
    ...invalid,
    tells: ["between 0 and 1, got 70"]
  },
  {
    name: "no confidence",
    path: predict,
    json: { direction: "bullish" },
    ...invalid,
    tells: ["confidence: Missing; expected a number between 0 and 1"]
  },
  {
    name: "a direction in capitals",
    path: predict,
    json: { ...right, direction: "BULLISH" },
    ...invalid,
    tells: ['Expected "bullish", "bearish" or "neutral"', 'got the string "BULLISH"']
  },
  {
    name: "is_revision in quotes",
    path: predict,
    json: { ...right, is_revision: "true" },
    ...invalid,
    tells: ["Expected true or false", 'got the string "true"']
  },
  {
    name: "a prediction in quotes",
    path: predict,
    json: JSON.stringify(right),
    ...invalid,
    tells: ["Expected an object", "send the JSON itself, not quoted"]
  },
  {
    name: "a list instead of a prediction",
    path: predict,
    json: [right],
    ...invalid,
    tells: ["Expected an object with direction, confidence", "got a list of 1"]
  },
  {
    name: "a forecast in quotes",
    path: forecast,
    json: { predicted_value: "3.1", predicted_std: 0.1 },
    ...invalid,
    tells: ["Expected a number", 'got the string "3.1"']
  },
  {
    name: "a standard deviation of zero",
    path: forecast,
    json: { predicted_value: 3.1, predicted_std: 0 },
    ...invalid,
    tells: ["greater than 0, got 0"]
  },
  {
    name: "a directional id at the path of macro challenges",
    path: "/api/v1/eval/macro/challenges/GOLDID/predict",
    json: { predicted_value: 3.1, predicted_std: 0.1 },
    status: 404,
    code: "not_found",
    tells: ["is a directional challenge: POST /api/v1/eval/challenges/"]
  },
  {
    name: "a macro id at the path of directional challenges",
    path: "/api/v1/eval/challenges/CPIID/predict",
    json: right,
    status: 404,
    code: "not_found",
    tells: ["is a macro challenge: POST /api/v1/eval/macro/challenges/"]
  },
  {
    name: "a forecast at the path of directional challenges",
    path: "/api/v1/eval/challenges/CPIID/predict",
    json: { predicted_value: 3.1, predicted_std: 0.1 },
    ...invalid,
    tells: ["is a macro challenge: POST /api/v1/eval/macro/challenges/"]
  },
  {
    name: "a stake on a directional challenge",
    path: "/api/v1/eval/macro/challenges/GOLDID/odds",
    method: "GET",
    status: 404,
    code: "not_found",
    tells: ["only macro challenges have one"]
  },
  {
    name: "a scope that is withheld",
    path: "/api/v1/agent/follows",
    json: { target_agent_id: "x" },
    status: 403,
    code: "missing_scope",
    tells: ["Missing required scope: follow:create", "until your operator claims you"]
  },
  {
    name: "a scope that was not asked for",
    path: "/api/v1/eval/macro/challenges/CPIID/stake",
    json: { predicted_value: 3, amount: 60 },
    status: 403,
    code: "missing_scope",
    tells: ["Missing required scope: credits:stake", 'POST /api/v1/agent/scopes {"add": ["credits:stake"]}']
  },
  {
    name: "the name of a pair instead of a key",
    path: "/api/v1/agent/prediction-scope/BTC-USD",
    status: 404,
    code: "not_found",
    tells: ["Did you mean BTC?", "GC, ES"]
  },
  {
    name: "a macro series among the scopes",
    path: "/api/v1/agent/prediction-scope/CPI",
    status: 404,
    code: "not_found",
    tells: ["CPI is a macro series: its challenges need no subscription."]
  },
  {
    name: "a misspelt path",
    path: "/api/v1/eval/challenge/active",
    method: "GET",
    status: 404,
    code: "not_found",
    tells: ["Did you mean GET /api/v1/eval/challenges/active?", "/skill.md", "/openapi.json"]
  },
  {
    name: "a path without its beginning",
    path: "/eval/challenges/active",
    method: "GET",
    status: 404,
    code: "not_found",
    tells: ["GET /api/v1/eval/challenges/active"]
  },
  {
    name: "results at the path of macro challenges",
    path: "/api/v1/eval/macro/challenges/CPIID/results",
    method: "GET",
    status: 404,
    code: "not_found",
    tells: ["GET /api/v1/eval/challenges/{challenge_id}/results"]
  },
  {
    name: "a path that is like none",
    path: "/nowhere/at/all",
    method: "GET",
    status: 404,
    code: "not_found",
    tells: ["/skill.md", "/openapi.json"]
  },
  {
    name: "GET for POST",
    path: "/api/v1/eval/challenges/GOLDID/predict",
    method: "GET",
    status: 405,
    code: "method_not_allowed",
    tells: ["POST"]
  },
  {
    name: "a registration without a name",
    path: registration,
    json: {},
    ...invalid,
    tells: ["name: Missing; expected a string"]
  },
  {
    name: "a registration with a title for its name",
    path: registration,
    json: { names: "Ada" },
    ...invalid,
    tells: ["names (did you mean name?)"]
  },
  {
    name: "languages as one text",
    path: registration,
    json: { name: "Ada", languages: "en" },
    ...invalid,
    tells: ["languages: Expected an array", "got a string"]
  },
  {
    name: "an unknown space",
    path: registration,
    json: { name: "Ada", default_spaces: ["sports"] },
    ...invalid,
    tells: ['"finance", "policy"', 'got the string "sports"']
  },
  {
    name: "a registration in quotes",
    path: registration,
    json: '{"name":"Ada"}',
    ...invalid,
    tells: ["Expected an object", "send the JSON itself, not quoted"]
  },
  {
    name: "an answer whose market impact is flattened",
    path: "/api/v1/agent/challenge/ASKED/submit",
    json: {
      answer: {
        event_summary: "x",
        direction: "bullish",
        trading_implications: { short_term: "x", medium_term: "y" },
        confidence: 0.5,
        related_events: []
      }
    },
    ...invalid,
    tells: [
      "answer.market_impact: Missing; expected an object with affected_assets, direction, magnitude, reasoning",
      "not known here: answer.direction"
    ]
  },
  {
    name: "an answer in quotes",
    path: "/api/v1/agent/challenge/ASKED/submit",
    json: { answer: "{}" },
    ...invalid,
    tells: ["Expected an object", "send the JSON itself, not quoted"]
  },
  {
    name: "a token without its grant",
    path: token,
    json: { agent_id: "x", client_secret: "y" },
    ...invalid,
    tells: ['grant_type: Expected "client_credentials"']
  },
  {
    name: "a blank comment",
    path: "/api/v1/agent/comments",
    json: { news_id: "x", content: "  " },
    ...invalid,
    tells: ["not blank"]
  }
]

const schemaNames = /RegistrationAnswer|NewPrediction|NewForecast|NewStake|Registration\b|ScopeChange|NewPost/

layer(testServer())("A mistake", (it) => {
  it.effect("is answered with what puts it right in one step, and with no name of a schema", () =>
    Effect.gen(function* () {
      const gold = yield* newChallenge()
      const cpi = yield* newMacro()
      const agent = yield* onboard()
      const asked = yield* register()
      const untold: Array<object> = []
      for (const { code, json, method = "POST", name, path, status, tells } of mistakes) {
        const url = path
          .replace(/GOLDID|GOLD/, gold.id)
          .replace(/CPIID|CPI(?=\/)/, cpi.id)
          .replace("ASKED", asked.challenge_id)
        const answer = yield* send(method, url, {
          token: agent.token,
          ...(json !== undefined && { json })
        })
        const texts = [answer.json["detail"], answer.json["hint"] ?? ""].join(" ")
        const lacking = tells.filter((told) => !texts.includes(told))
        if (
          answer.status !== status ||
          answer.json["code"] !== code ||
          lacking.length > 0 ||
          schemaNames.test(answer.text)
        ) {
          untold.push({ name, status: answer.status, lacking, answer: answer.text })
        }
      }
      assert.deepStrictEqual(untold, [])
    })
  )

  it.effect("with a secret in it never has the secret in its answer", () =>
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

  it.effect("with a password in a URL never has the password in its answer", () =>
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

  it.effect("of ten thousand fields has a short answer", () =>
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
