/** The published OpenAPI document: corrections of what is generated, and what the API definition does not know. */
import { Predicate } from "effect"
import { tokenPath } from "../../services/Tokens.ts"
import { defaultLimit, maximumLimit } from "../../services/domain/paging.ts"
import { gatewayPaths } from "../gateway/clients.ts"

/** The generator takes the encoded text, without its bounds. */
const limit = { type: "integer", minimum: 1, maximum: maximumLimit, default: defaultLimit }

/** The generator closes objects, but requests may hold unknown members and responses may gain some. */
const isClosing = (key: string, value: unknown) => key === "additionalProperties" && value === false

const corrected = (value: unknown): unknown => {
  if (Array.isArray(value)) return value.map(corrected)
  if (!Predicate.isObject(value)) return value
  return "name" in value && value.name === "limit" ? { ...value, schema: limit } : asServed({ ...value })
}

export const asServed = (document: Readonly<Record<string, unknown>>): Record<string, unknown> =>
  Object.fromEntries(
    Object.entries(document)
      .filter(([key, value]) => !isClosing(key, value))
      .map(([key, value]) => [key, corrected(value)])
  )

/** The middleware of public reads answers 304, which the generator does not know. */
export const withNotModified = (operation: Readonly<Record<string, unknown>>) => ({
  ...operation,
  responses: {
    ...(Predicate.isObject(operation["responses"]) ? operation["responses"] : {}),
    "304": { description: "What If-None-Match names has not changed" }
  }
})

type Node = Readonly<Record<string, unknown>>

const at = (node: unknown, ...path: ReadonlyArray<string>): unknown =>
  path.reduce<unknown>((value, key) => (Predicate.hasProperty(value, key) ? value[key] : undefined), node)

/** A copy with another value at a path. */
const replaced = (node: unknown, [key, ...path]: ReadonlyArray<string>, by: unknown): unknown =>
  key === undefined
    ? by
    : { ...(Predicate.isObject(node) ? node : {}), [key]: replaced(at(node, key), path, by) }

const members = {
  error: { type: "string", description: "RFC 6749 5.2" },
  error_description: { type: "string", description: "detail, in the characters of RFC 6749 5.2" }
}

/** The error with the members of OAuth; inlined, because other endpoints share the original. */
const inOAuth = (document: Node, schema: unknown): unknown => {
  const reference = at(schema, "$ref")
  if (typeof reference === "string") {
    return inOAuth(document, at(document, ...reference.split("/").slice(1)))
  }
  const options = at(schema, "anyOf")
  if (Array.isArray(options)) return { anyOf: options.map((option) => inOAuth(document, option)) }
  const required = at(schema, "required")
  return {
    ...(Predicate.isObject(schema) ? schema : {}),
    properties: { ...members, ...Object(at(schema, "properties")) },
    required: [...new Set([...(Array.isArray(required) ? required : []), ...Object.keys(members)])]
  }
}

const json = ["content", "application/json", "schema"]

export const withOAuthErrors = (document: Node): Record<string, unknown> => {
  const path = ["paths", tokenPath, "post", "responses"]
  const responses = Object.entries(Object(at(document, ...path))).map(([status, response]) => [
    status,
    Number(status) >= 400 ? replaced(response, json, inOAuth(document, at(response, ...json))) : response
  ])
  return { ...document, ...Object(replaced(document, path, Object.fromEntries(responses))) }
}

const ignoredFields = {
  type: "array",
  items: { type: "string" },
  description:
    "only where the body had fields that are not known: their paths, at most 100. An answer without a body has them in the header Ignored-Fields"
}

const pointerOf = (schema: unknown): ReadonlyArray<string> | undefined => {
  const reference = at(schema, "$ref")
  return typeof reference === "string" ? reference.split("/").slice(1) : undefined
}

/** The document with the member `ignored_fields` in the schema at a path, or in those that it refers to. */
const withIgnored = (document: Node, path: ReadonlyArray<string>): Node => {
  const schema = at(document, ...path)
  const target = pointerOf(schema)
  if (target !== undefined) return withIgnored(document, target)
  const options = at(schema, "anyOf")
  if (Array.isArray(options)) {
    return options.reduce((made, _, index) => withIgnored(made, [...path, "anyOf", String(index)]), document)
  }
  if (at(schema, "properties") === undefined) return document
  const reference = { $ref: "#/components/schemas/IgnoredFields" }
  return Object(replaced(document, [...path, "properties", "ignored_fields"], reference))
}

/** What takes a JSON body tells in its answer which fields it ignored. */
export const withIgnoredFields = (document: Node): Record<string, unknown> => {
  const described = Object(replaced(document, ["components", "schemas", "IgnoredFields"], ignoredFields))
  const answers = Object.entries(Object(at(document, "paths"))).flatMap(([path, operations]) =>
    Object.entries(Object(operations))
      .filter(([, operation]) => at(operation, "requestBody", ...json) !== undefined)
      .flatMap(([method, operation]) =>
        Object.keys(Object(at(operation, "responses")))
          .filter((status) => status.startsWith("2"))
          .map((status) => ["paths", path, method, "responses", status, ...json])
      )
  )
  return answers.reduce(withIgnored, described)
}

/** Calls accept x-api-key as well. */
const security = [{ bearer: [] }]

const open = (description: string) => ({
  content: { "application/json": { schema: { type: "object", description } } }
})

const errorBody = {
  content: {
    "application/json": {
      schema: {
        type: "object",
        properties: {
          error: {
            type: "object",
            description: "as the style has it: message, type, and for chat completions code and param"
          },
          detail: { type: "string" },
          code: { type: "string" }
        },
        required: ["error", "detail", "code"]
      }
    }
  }
}

const failure = (description: string) => ({ description, ...errorBody })

const limited = {
  ...failure("The key's limit, or all providers are busy"),
  headers: { "retry-after": { required: true, schema: { type: "integer" } } }
}

const callErrors = {
  "400": failure("A body that cannot be sent on, or an unknown model"),
  "401": failure("No key, a wrong or revoked one, or two different ones in the two headers"),
  "402": failure("The agent's credit, or what the key may still spend, does not cover the call"),
  "403": failure("The gateway is not enabled for the agent"),
  "413": failure("A body of more than 10 MiB"),
  "415": failure("A body that is not JSON"),
  "422": failure("Refused by the provider"),
  "429": limited,
  "502": failure("No provider of the model answered")
}

const called = (summary: string, operationId: string, body: string, answer: string, streams: boolean) => ({
  post: {
    tags: ["Language models"],
    operationId,
    summary,
    parameters: [],
    security,
    requestBody: { required: true, ...open(body) },
    responses: {
      "200": {
        description: answer,
        content: {
          ...open(answer).content,
          ...(streams && { "text/event-stream": { schema: { type: "string" } } })
        }
      },
      ...callErrors
    }
  }
})

const read = (summary: string, operationId: string, parameters: ReadonlyArray<object>, answer: string) => ({
  get: {
    tags: ["Language models"],
    operationId,
    summary,
    parameters,
    security,
    responses: {
      "200": { description: answer, ...open(answer) },
      "401": callErrors["401"],
      "403": callErrors["403"],
      "429": limited,
      ...(parameters.length > 0 && { "404": failure("No such model") })
    }
  }
})

const paths = {
  [gatewayPaths.chat]: called(
    "A chat completion, of any configured model",
    "gateway.chat",
    "a chat-completions request; model and messages are read, all else travels on",
    "a chat completion, or its events where stream is true",
    true
  ),
  [gatewayPaths.messages]: called(
    "A message, of any configured model",
    "gateway.messages",
    "a messages request; model, max_tokens and messages are read, all else travels on",
    "a message, or its events where stream is true",
    true
  ),
  [gatewayPaths.countTokens]: called(
    "Tokens of a prompt, counted here",
    "gateway.countTokens",
    "a messages request without max_tokens",
    "{ input_tokens }",
    false
  ),
  [gatewayPaths.models]: read(
    "Models and their prices",
    "gateway.models",
    [],
    "a list that clients of both styles read"
  ),
  [gatewayPaths.model.replace("*", "{model}")]: read(
    "A model and its price",
    "gateway.model",
    [
      {
        name: "model",
        in: "path",
        required: true,
        schema: { type: "string" },
        description: "slashes may be encoded"
      }
    ],
    "a model"
  )
}

const within = (value: unknown): Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null ? { ...value } : {}

/** Adds the model calls, which are not part of the HttpApi. */
export const withGatewayPaths = (document: Readonly<Record<string, unknown>>): Record<string, unknown> => ({
  ...document,
  paths: { ...within(document["paths"]), ...paths }
})
