/**
 * Client authentication as in OAuth 2.0 (RFC 6749 2.3, RFC 7521 4.2): a secret or an assertion among the parameters, or
 * HTTP Basic; exactly one of them. Errors name every wrong parameter.
 */
import { Effect, Option, Predicate, Result, Schema } from "effect"
import { HttpServerRequest, HttpBody, HttpServerResponse } from "effect/http"
import type { HttpApiEndpoint } from "effect/http-api"
import type { PresentedCredentials } from "../services/Tokens.ts"
import { InvalidRequest } from "../services/domain/errors.ts"
import type { FieldProblem } from "../services/domain/errors.ts"
import { UnsupportedGrantType } from "./errors.ts"
import { assertion, assertionType, id, secret } from "./api/agents.ts"
import { CurrentRequest } from "./CurrentRequest.ts"
import { detailOf, problemsOf } from "./fieldProblems.ts"
import { formType, mediaType } from "./bodyText.ts"
import { sentBody } from "./middleware/requestBody.ts"

type Sent = Readonly<Record<string, unknown>>

const Parameters = Schema.Struct({
  agent_id: Schema.optionalKey(id),
  client_id: Schema.optionalKey(id),
  client_secret: Schema.optionalKey(secret),
  client_assertion: Schema.optionalKey(assertion)
})
const decodeParameters = Schema.decodeUnknownResult(Parameters, { errors: "all" })

interface Read {
  readonly sent: Sent
  readonly problems: ReadonlyArray<FieldProblem>
}

/** An empty parameter counts as missing, and none may be sent twice (RFC 6749 3.2). */
const ofForm = (text: string): Read => {
  const sent = new Map<string, string>()
  const repeated = new Set<string>()
  for (const [name, value] of new URLSearchParams(text)) {
    if (sent.has(name)) repeated.add(name.slice(0, 200))
    sent.set(name, value)
  }
  const problems = [...repeated]
    .slice(0, 100)
    .map((path) => ({ path, message: "Expected each parameter once" }))
  return { sent: Object.fromEntries([...sent].filter(([, value]) => value !== "")), problems }
}

const ofJson = (body: unknown): Read =>
  Predicate.isReadonlyObject(body) && !Array.isArray(body)
    ? { sent: { ...body }, problems: [] }
    : { sent: {}, problems: [{ path: "", message: "Expected an object" }] }

interface Basic {
  readonly user: string
  readonly password: string
}

const basicShape = /^basic +([A-Za-z0-9+/_=-]+) *$/i
const unescaped = Option.liftThrowable((text: string) => decodeURIComponent(text.replaceAll("+", " ")))

/** HTTP Basic, whose parts are form-encoded (RFC 6749 2.3.1); other schemes are ignored. */
const basicOf = (header: string): Option.Option<Basic> => {
  const [user, ...password] = Buffer.from(basicShape.exec(header)?.[1] ?? "", "base64")
    .toString("utf8")
    .split(":")
  return password.length === 0
    ? Option.none()
    : Option.all({ user: unescaped(user ?? ""), password: unescaped(password.join(":")) })
}

const usesBasic = (header: string | undefined): header is string => /^basic\b/i.test(header ?? "")

const one = "Expected exactly one of client_secret, client_assertion and HTTP Basic"

/** Problems of the parameters taken together. */
const contradictions = (sent: Sent, basic: Basic | undefined): ReadonlyArray<FieldProblem> => {
  const { agent_id, client_assertion, client_assertion_type, client_id, client_secret } = sent
  const problems: Array<FieldProblem> = []
  const wrong = (path: string, message: string) => problems.push({ path, message })
  const mechanisms = [client_secret, client_assertion, basic].filter((each) => each !== undefined)
  if (mechanisms.length === 0) wrong("client_secret", one)
  if (mechanisms.length > 1) wrong(client_assertion === undefined ? "client_secret" : "client_assertion", one)
  const names = new Set([agent_id, client_id, basic?.user].filter((name) => name !== undefined))
  if (names.size > 1)
    wrong(client_id === undefined ? "agent_id" : "client_id", "Expected the same agent wherever it is named")
  if (names.size === 0 && client_assertion === undefined)
    wrong("agent_id", "Expected the agent's id, as agent_id or client_id")
  if (client_assertion !== undefined && client_assertion_type !== assertionType)
    wrong("client_assertion_type", `Expected ${assertionType}`)
  if (client_assertion === undefined && client_assertion_type !== undefined)
    wrong("client_assertion", "Expected with client_assertion_type")
  return problems
}

/** The credentials, or all problems, one a field. */
const read = Effect.fnUntraced(function* (endpoint: HttpApiEndpoint.Top) {
  const request = yield* HttpServerRequest.HttpServerRequest
  const { address } = yield* CurrentRequest
  // The middleware has read and checked the body.
  const { problems, sent } =
    mediaType(request.headers["content-type"]) === formType
      ? ofForm(yield* Effect.orDie(request.text))
      : ofJson(yield* Effect.orDie(sentBody(endpoint)))
  const { authorization } = request.headers
  const basic = usesBasic(authorization) ? basicOf(authorization) : Option.none()
  const broken = { path: "authorization", message: "Expected HTTP Basic with agent_id and client_secret" }
  const parameters = {
    ...sent,
    ...Option.match(basic, {
      onNone: () => ({}),
      onSome: ({ password, user }) => ({ agent_id: user, client_secret: password })
    })
  }
  const decoded = decodeParameters(parameters)
  const all = [
    ...problems,
    ...(usesBasic(authorization) && Option.isNone(basic) ? [broken] : []),
    ...(Result.isFailure(decoded) ? problemsOf(decoded.failure.issue, parameters) : []),
    ...contradictions(sent, Option.getOrUndefined(basic))
  ]
  const errors = [...Map.groupBy(all, ({ path }) => path).values()].flatMap(([first]) => first ?? [])
  return {
    sent,
    errors,
    credentials: Result.map(decoded, (parameters) => credentialsOf(parameters, address))
  }
})

const credentialsOf = (parameters: typeof Parameters.Type, address: string): PresentedCredentials => {
  const { client_assertion, client_id, agent_id = client_id, client_secret = "" } = parameters
  return client_assertion === undefined
    ? { agentId: agent_id ?? "", clientSecret: client_secret, address }
    : { ...(agent_id !== undefined && { agentId: agent_id }), clientAssertion: client_assertion, address }
}

const invalid = (errors: ReadonlyArray<FieldProblem>) =>
  new InvalidRequest({ detail: detailOf(errors), errors })

/** The client of the current request. */
export const presented = Effect.fnUntraced(function* (endpoint: HttpApiEndpoint.Top) {
  const { credentials, errors } = yield* read(endpoint)
  return Result.isFailure(credentials) || errors.length > 0 ? yield* invalid(errors) : credentials.success
})

/** The client of a token request, which also names its grant. */
export const presentedForToken = Effect.fnUntraced(function* (endpoint: HttpApiEndpoint.Top) {
  const { credentials, errors, sent } = yield* read(endpoint)
  if (sent["grant_type"] !== "client_credentials") {
    const all = [{ path: "grant_type", message: 'Expected "client_credentials"' }, ...errors]
    return typeof sent["grant_type"] === "string" && errors.length === 0
      ? yield* new UnsupportedGrantType({ detail: detailOf(all), errors: all })
      : yield* invalid(all)
  }
  return Result.isFailure(credentials) || errors.length > 0 ? yield* invalid(errors) : credentials.success
})

const ErrorBody = Schema.fromJsonString(
  Schema.StructWithRest(
    Schema.Struct({ detail: Schema.String, code: Schema.String, error: Schema.optionalKey(Schema.String) }),
    [Schema.Record(Schema.String, Schema.Json)]
  )
)
const decodeError = Schema.decodeUnknownOption(ErrorBody)

/** Codes of ours that OAuth defines, too. */
const shared: ReadonlySet<string> = new Set(["invalid_client", "unsupported_grant_type"])

const errorOf = (code: string, status: number): string => {
  if (shared.has(code)) return code
  if (status === 429 || status === 503) return "temporarily_unavailable"
  return status >= 500 ? "server_error" : "invalid_request"
}

/** The characters that RFC 6749 5.2 allows in error_description. */
const described = (detail: string): string =>
  detail.replaceAll('"', "'").replaceAll(/[^\x20-\x21\x23-\x5b\x5d-\x7e]+/g, " ")

const withMembers = (
  response: HttpServerResponse.HttpServerResponse
): HttpServerResponse.HttpServerResponse => {
  const { body, status } = response
  if (status < 400 || body._tag !== "Uint8Array") return response
  return Option.match(decodeError(new TextDecoder().decode(body.body)), {
    onNone: () => response,
    onSome: (json) =>
      HttpServerResponse.setBody(
        response,
        HttpBody.jsonUnsafe({
          ...json,
          error: json.error ?? errorOf(json.code, status),
          error_description: described(json.detail)
        })
      )
  })
}

/**
 * Adds `error` and `error_description` (RFC 6749 5.2) to errors of the token endpoint, those of the edge included.
 * WWW-Authenticate: Basic is sent only to clients that used it.
 */
export const asOAuth = (
  response: HttpServerResponse.HttpServerResponse,
  { headers }: HttpServerRequest.HttpServerRequest
): HttpServerResponse.HttpServerResponse => {
  const answer = HttpServerResponse.setHeader(withMembers(response), "pragma", "no-cache")
  return response.status === 401 && usesBasic(headers["authorization"])
    ? HttpServerResponse.setHeader(answer, "www-authenticate", 'Basic realm="auspex", charset="UTF-8"')
    : answer
}
