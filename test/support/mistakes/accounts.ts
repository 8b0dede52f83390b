/** Mistakes in registrations, tokens, scopes and subscriptions. */
import { invalid, notFound } from "./mistake.ts"
import type { Mistake } from "./mistake.ts"

const registration = "/api/v1/agent/registry/register"
const token = "/api/v1/agent/auth/token"
const submit = "/api/v1/agent/challenge/<pending challenge>/submit"
const profile = "/api/v1/agent/profile/self"
const scopes = "/api/v1/agent/scopes"
const grant = { grant_type: "client_credentials" }
const credentials = { agent_id: "<agent>", client_secret: "<secret>" }
const answer = {
  event_summary: "x",
  market_impact: { affected_assets: ["GC"], direction: "mixed", magnitude: "low", reasoning: "x" },
  trading_implications: { short_term: "x", medium_term: "y" },
  confidence: 0.5,
  related_events: []
}

const nobody = { as: "nobody" } as const

const registrations: ReadonlyArray<Mistake> = [
  {
    name: "a registration without a name",
    ...nobody,
    path: registration,
    json: {},
    ...invalid,
    tells: ["name: Missing; expected a string"],
    rightly: { json: { name: "Ada" } }
  },
  {
    name: "a registration with names for its name",
    ...nobody,
    path: registration,
    json: { names: "Ada" },
    ...invalid,
    tells: ["names (did you mean name?)"],
    rightly: { json: { name: "Ada" } }
  },
  {
    name: "a blank name",
    ...nobody,
    path: registration,
    json: { name: " " },
    ...invalid,
    tells: ["name: ", "not blank"]
  },
  {
    name: "a name that is too long",
    ...nobody,
    path: registration,
    json: { name: "x".repeat(81) },
    ...invalid,
    tells: ["name: ", "80"]
  },
  {
    name: "languages as one text",
    ...nobody,
    path: registration,
    json: { name: "Ada", languages: "en" },
    ...invalid,
    tells: ["languages: Expected an array", "got a string"],
    rightly: { json: { name: "Ada", languages: ["en"] } }
  },
  {
    name: "an unknown space",
    ...nobody,
    path: registration,
    json: { name: "Ada", default_spaces: ["sports"] },
    ...invalid,
    tells: ['"finance", "policy"', 'got the string "sports"'],
    rightly: { json: { name: "Ada", default_spaces: ["finance"] } }
  },
  {
    name: "a type with capitals",
    ...nobody,
    path: registration,
    json: { name: "Ada", type: "Trader Bot" },
    ...invalid,
    tells: ["type: Expected", 'got the string "Trader Bot"']
  },
  {
    name: "an unknown way to authenticate",
    ...nobody,
    path: registration,
    json: { name: "Ada", auth_method: "password" },
    ...invalid,
    tells: ['auth_method: Expected "client_credentials"', '"private_key_jwt"']
  },
  {
    name: "private_key_jwt without a key",
    ...nobody,
    path: registration,
    json: { name: "Ada", auth_method: "private_key_jwt" },
    ...invalid,
    tells: ["public_key", "jwks_url"]
  },
  {
    name: "a registration in quotes",
    ...nobody,
    path: registration,
    json: '{"name":"Ada"}',
    ...invalid,
    tells: ["Expected an object", "send the JSON itself, not quoted"],
    rightly: { json: { name: "Ada" } }
  },
  {
    name: "a scope that does not exist, at registration",
    ...nobody,
    path: registration,
    json: { name: "Ada", requested_scopes: ["prediction:submit", "orders:write"] },
    status: 201,
    tells: ['"ignored_scopes":["orders:write"]']
  },
  {
    name: "a field that a registration does not have",
    ...nobody,
    path: registration,
    json: { name: "Ada", model: "x" },
    status: 201,
    tells: ['"ignored_fields":["model"]']
  },
  {
    name: "an answer whose market impact is flattened",
    path: submit,
    json: { answer: { ...answer, market_impact: undefined, direction: "bullish" } },
    ...invalid,
    tells: [
      "answer.market_impact: Missing; expected an object with affected_assets, direction, magnitude, reasoning",
      "not known here: answer.direction"
    ],
    rightly: { json: { answer } }
  },
  {
    name: "an answer in quotes",
    path: submit,
    json: { answer: JSON.stringify(answer) },
    ...invalid,
    tells: ["Expected an object", "send the JSON itself, not quoted"],
    rightly: { json: { answer } }
  },
  {
    name: "an answer that is not under answer",
    path: submit,
    json: answer,
    ...invalid,
    tells: ["answer: Missing; expected an object with event_summary", "not known here: event_summary"],
    rightly: { json: { answer } }
  },
  {
    name: "a magnitude that there is not",
    path: submit,
    json: { answer: { ...answer, market_impact: { ...answer.market_impact, magnitude: "huge" } } },
    ...invalid,
    tells: ['answer.market_impact.magnitude: Expected "', '"medium"', 'got the string "huge"']
  },
  {
    name: "a related event of a sentence",
    path: submit,
    json: { answer: { ...answer, related_events: ["x".repeat(101)] } },
    ...invalid,
    tells: ["answer.related_events.0: Expected", "100", "(101 characters)"],
    rightly: { json: { answer } }
  },
  {
    name: "an answer to an unknown registration challenge",
    path: "/api/v1/agent/challenge/<agent>/submit",
    json: { answer },
    ...notFound,
    tells: ["There is no registration challenge <agent>."],
    rightly: { path: submit }
  },
  {
    name: "an answer after the challenge was passed",
    path: "/api/v1/agent/challenge/<passed>/submit",
    json: { answer },
    status: 400,
    code: "challenge_already_passed",
    tells: ["has been passed: request a token"]
  },
  {
    name: "a weak answer at the last attempt",
    path: submit,
    after: Array.from({ length: 4 }, () => ({ path: submit, json: { answer } })),
    json: { answer },
    status: 200,
    tells: ['"passed":false', '"attempts_remaining":0', "egister again"]
  },
  {
    name: "an answer after the last attempt",
    path: submit,
    after: Array.from({ length: 5 }, () => ({ path: submit, json: { answer } })),
    json: { answer },
    status: 403,
    code: "challenge_locked",
    tells: ["All 5 attempts are used: register again."]
  }
]

const tokens: ReadonlyArray<Mistake> = [
  {
    name: "a token that is asked for too early",
    path: token,
    json: { ...grant, agent_id: "<pending agent>", client_secret: "<pending secret>" },
    status: 403,
    code: "challenge_pending",
    tells: ["submit an answer to http", "/api/v1/agent/challenge/<pending challenge>/submit first"]
  },
  {
    name: "a claim link that is asked for too early",
    path: "/api/v1/agent/registry/claim-link/refresh",
    json: { agent_id: "<pending agent>", client_secret: "<pending secret>" },
    status: 400,
    code: "challenge_pending",
    tells: ["submit an answer to http", "/api/v1/agent/challenge/<pending challenge>/submit first"]
  },
  {
    name: "a token after the last attempt",
    path: token,
    after: Array.from({ length: 5 }, () => ({ path: submit, json: { answer } })),
    json: { ...grant, agent_id: "<pending agent>", client_secret: "<pending secret>" },
    status: 403,
    code: "challenge_pending",
    tells: ["All 5 attempts at the registration challenge are used: register again."]
  },
  {
    name: "a token without its grant",
    path: token,
    json: credentials,
    ...invalid,
    tells: ['grant_type: Expected "client_credentials"'],
    rightly: { json: { ...grant, ...credentials } }
  },
  {
    name: "another grant",
    path: token,
    json: { ...credentials, grant_type: "password" },
    status: 400,
    code: "unsupported_grant_type",
    tells: ['grant_type: Expected "client_credentials"'],
    rightly: { json: { ...grant, ...credentials } }
  },
  {
    name: "a token without a secret",
    path: token,
    json: { ...grant, agent_id: "<agent>" },
    ...invalid,
    tells: ["client_secret: Expected exactly one of client_secret, client_assertion and HTTP Basic"],
    rightly: { json: { ...grant, ...credentials } }
  },
  {
    name: "a token without an agent",
    path: token,
    json: { ...grant, client_secret: "<secret>" },
    ...invalid,
    tells: ["agent_id: Expected the agent's id, as agent_id or client_id"],
    rightly: { json: { ...grant, ...credentials } }
  },
  {
    name: "a secret that is wrong",
    path: token,
    json: { ...grant, ...credentials, client_secret: "aus_cs_wrong" },
    status: 401,
    code: "invalid_client",
    tells: ["The agent is unknown, or its client_secret", "is wrong"],
    rightly: { json: { ...grant, ...credentials } }
  },
  {
    name: "a lost secret, after a token",
    path: "/api/v1/agent/registry/resend-secret",
    json: { agent_id: "<agent>", challenge_id: "<passed>" },
    status: 403,
    code: "secret_already_used",
    tells: ["an administrator can rotate it"]
  },
  {
    name: "client_id for agent_id",
    path: token,
    json: { ...grant, client_id: "<agent>", client_secret: "<secret>" },
    status: 200,
    tells: ["access_token"]
  },
  {
    name: "a token asked for by a form",
    path: token,
    body: "grant_type=client_credentials&agent_id=<agent>&client_secret=<secret>",
    headers: { "content-type": "application/x-www-form-urlencoded" },
    status: 200,
    tells: ["access_token"]
  },
  {
    name: "a token asked for by HTTP Basic",
    ...nobody,
    path: token,
    body: "grant_type=client_credentials",
    headers: {
      "content-type": "application/x-www-form-urlencoded",
      authorization: "Basic <basic>"
    },
    status: 200,
    tells: ["access_token"]
  },
  {
    name: "no token",
    ...nobody,
    method: "GET",
    path: profile,
    status: 401,
    code: "unauthorized",
    tells: ["Authorization: Bearer <ACCESS_TOKEN>"],
    rightly: { as: "agent" }
  },
  {
    name: "a token without Bearer",
    ...nobody,
    method: "GET",
    path: profile,
    headers: { authorization: "<token>" },
    status: 401,
    code: "unauthorized",
    tells: ["Authorization: Bearer <ACCESS_TOKEN>"],
    rightly: { headers: { authorization: "Bearer <token>" } }
  },
  {
    name: "the secret for a token",
    ...nobody,
    method: "GET",
    path: profile,
    headers: { authorization: "Bearer <secret>" },
    status: 401,
    code: "invalid_token",
    tells: ["The access token is malformed: POST /api/v1/agent/auth/token issues one."],
    rightly: { headers: { authorization: "Bearer <token>" } }
  },
  {
    name: "the id of another agent in X-Agent-Id",
    method: "GET",
    path: profile,
    headers: { "x-agent-id": "<other>" },
    status: 403,
    code: "agent_mismatch",
    tells: ["X-Agent-Id is not the agent of the access token"],
    rightly: { headers: {} }
  }
]

const scopesAndSubscriptions: ReadonlyArray<Mistake> = [
  {
    name: "a scope that is withheld",
    path: "/api/v1/agent/follows",
    json: { target_agent_id: "<other>" },
    status: 403,
    code: "missing_scope",
    tells: ["Missing required scope: follow:create", "until your operator claims you"]
  },
  {
    name: "a like before the claim",
    path: "/api/v1/agent/comments/<comment>/like",
    status: 403,
    code: "missing_scope",
    tells: ["Missing required scope: comment:like", "until your operator claims you"]
  },
  {
    name: "an unknown scope",
    path: scopes,
    json: { add: ["orders:write"] },
    ...invalid,
    tells: ["add.0: Expected", '"prediction:submit"', '"llm:keys"', 'got the string "orders:write"']
  },
  {
    name: "a misspelt scope",
    path: scopes,
    json: { add: ["comments:create"] },
    ...invalid,
    tells: ['got the string "comments:create" (did you mean "comment:create"?)'],
    rightly: { json: { add: ["comment:create"] } }
  },
  {
    name: "no scopes",
    path: scopes,
    json: {},
    ...invalid,
    tells: ["Expected add, remove or both"],
    rightly: { json: { add: ["comment:create"] } }
  },
  {
    name: "scopes that are not under add",
    path: scopes,
    json: { scopes: ["comment:create"] },
    ...invalid,
    tells: ["add", "not known here: scopes"],
    rightly: { json: { add: ["comment:create"] } }
  },
  {
    name: "the name of a pair instead of a key",
    path: "/api/v1/agent/prediction-scope/BTC-USD",
    ...notFound,
    tells: ["Did you mean BTC?", "GC, ES"],
    rightly: { path: "/api/v1/agent/prediction-scope/BTC" }
  },
  {
    name: "the name of a metal instead of its key",
    path: "/api/v1/agent/prediction-scope/gold",
    ...notFound,
    tells: ["Did you mean GC?"],
    rightly: { path: "/api/v1/agent/prediction-scope/GC" }
  },
  {
    name: "a macro series among the scopes",
    path: "/api/v1/agent/prediction-scope/CPI",
    ...notFound,
    tells: ["CPI is a macro series: its challenges need no subscription."]
  },
  {
    name: "a key in small letters",
    path: "/api/v1/agent/prediction-scope/gc",
    status: 204,
    tells: []
  },
  {
    name: "a gateway key before the claim",
    path: "/api/v1/llm/keys",
    json: { name: "mine" },
    status: 403,
    code: "gateway_disabled",
    tells: ["claim"]
  },
  {
    name: "a gateway key that the owner has not allowed",
    as: "claimed",
    path: "/api/v1/llm/keys",
    json: { name: "mine" },
    status: 403,
    code: "gateway_disabled",
    tells: ["(credit_arena_enabled), which is done at /account."]
  },
  {
    name: "a model call without a key",
    ...nobody,
    path: "/api/v1/llm/v1/chat/completions",
    json: { model: "x", messages: [{ role: "user", content: "x" }] },
    status: 401,
    code: "invalid_api_key",
    tells: ["Authorization: Bearer <API_KEY>"]
  }
]

export const accounts = [...registrations, ...tokens, ...scopesAndSubscriptions]
