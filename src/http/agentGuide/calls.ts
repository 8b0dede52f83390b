/** The calls of agents and the public, read from the API definition; the guide for agents is generated from them. */
import { Context, Option, Predicate } from "effect"
import { HttpApi, OpenApi } from "effect/http-api"
import type { Scope } from "../../services/Scopes.ts"
import type { LimitName } from "../../services/Settings.ts"
import { Api } from "../api/Api.ts"
import { modelCalls } from "../api/modelCalls.ts"
import {
  CountsTowards,
  DecidedByBody,
  RequiredScope,
  AdminAuthentication,
  AgentAuthentication,
  GatewayReader,
  OptionalAuthentication
} from "../api/middleware.ts"

export interface Call {
  /** The operation id, for example `arena.predict`. */
  readonly id: string
  readonly group: string
  readonly method: string
  /** The path, with `{names}` for parameters. */
  readonly path: string
  readonly credential: "none" | "token or none" | "token" | "token or key" | "key"
  /** The scope; where the body decides, that of an empty body. */
  readonly scope: Scope | undefined
  readonly limit: LimitName | undefined
  readonly summary: string
  /** The successful answers. The shape of an answer without a JSON body is empty. */
  readonly answers: ReadonlyArray<{ readonly status: string; readonly shape: string }>
}

const at = (value: unknown, ...path: ReadonlyArray<string>): unknown =>
  path.reduce<unknown>((inner, key) => (Predicate.hasProperty(inner, key) ? inner[key] : undefined), value)

const answersOf = (document: unknown, operation: unknown): Call["answers"] =>
  Object.entries(at(operation, "responses") ?? {})
    .filter(([status]) => status.startsWith("2"))
    .map(([status, response]) => ({
      status,
      shape: shapeOf(document, at(response, "content", "application/json", "schema"))
    }))

/** The names of the model groups end with this. */
export const languageModels = "language models"

/** All calls in the order of the API, without administration and health checks; then the calls of models. */
export const readCalls = (document: OpenApi.OpenAPISpec): ReadonlyMap<string, Call> => {
  const calls = new Map<string, Call>()
  HttpApi.reflect(Api, {
    onGroup: () => {},
    onEndpoint: ({ endpoint, group, middleware: applied }) => {
      const middleware: ReadonlySet<unknown> = applied
      if (middleware.has(AdminAuthentication) || group.identifier === "health") return
      const path = endpoint.path.replaceAll(/:([a-z_]+)/g, "{$1}")
      const operation = at(document, "paths", path, endpoint.method.toLowerCase())
      const id = String(at(operation, "operationId"))
      calls.set(id, {
        id,
        group: Option.getOrElse(Context.getOption(group.annotations, OpenApi.Title), () => group.identifier),
        method: endpoint.method,
        path,
        credential: credentialOf(middleware),
        scope:
          Context.get(endpoint.annotations, RequiredScope) ??
          Context.get(endpoint.annotations, DecidedByBody)?.({})[0]?.scope,
        limit: Context.get(endpoint.annotations, CountsTowards)?.limit,
        summary: String(at(operation, "summary") ?? ""),
        answers: answersOf(document, operation)
      })
    }
  })
  for (const [path, methods] of Object.entries(modelCalls)) {
    for (const [method, { operationId: id, summary }] of Object.entries(methods)) {
      calls.set(id, {
        id,
        group: "Language models",
        method: method.toUpperCase(),
        path,
        credential: method === "get" ? "token or key" : "key",
        scope: undefined,
        limit: undefined,
        summary,
        answers: [{ status: "200", shape: "" }]
      })
    }
  }
  return calls
}

const credentialOf = (middleware: ReadonlySet<unknown>): Call["credential"] => {
  if (middleware.has(GatewayReader)) return "token or key"
  if (middleware.has(OptionalAuthentication)) return "token or none"
  return middleware.has(AgentAuthentication) ? "token" : "none"
}

/** Deeper members are written `...`. */
const maxDepth = 3

const member = (value: unknown, key: string): unknown =>
  Predicate.hasProperty(value, key) ? value[key] : undefined

const resolved = (document: unknown, schema: unknown): unknown => {
  const reference = member(schema, "$ref")
  if (typeof reference !== "string") return schema
  const path = reference.replace(/^#\//, "").split("/")
  return resolved(
    document,
    path.reduce<unknown>((inner, key) => member(inner, key), document)
  )
}

/** Joins choices into one schema: objects become one object with all members, optional where some choice lacks them. */
const joined = (document: unknown, choices: ReadonlyArray<unknown>): unknown => {
  const known = choices.map((choice) => resolved(document, choice))
  const objects = known.filter((choice) => member(choice, "properties") !== undefined)
  if (objects.length < 2) return objects[0] ?? known.find((choice) => member(choice, "type") !== "null")
  const isRequired = (key: string) =>
    objects.every((choice) => {
      const required = member(choice, "required")
      return Array.isArray(required) && required.includes(key)
    })
  const properties = Object.assign({}, ...objects.toReversed().map((choice) => member(choice, "properties")))
  return { properties, required: Object.keys(properties).filter(isRequired) }
}

const shapeWithin = (document: unknown, given: unknown, depth: number): string => {
  // The answer of a write is its own schema plus the members of every write.
  const parts = member(given, "allOf")
  const schema = resolved(document, Array.isArray(parts) ? parts[0] : given)
  const choices = member(schema, "anyOf") ?? member(schema, "oneOf")
  if (Array.isArray(choices)) return shapeWithin(document, joined(document, choices), depth)
  const items = member(schema, "items")
  if (items !== undefined) {
    const item = shapeWithin(document, items, depth)
    return item === "" ? "[]" : `[${item}]`
  }
  const properties = Object.entries(member(schema, "properties") ?? {})
  if (properties.length === 0) return ""
  if (depth === maxDepth) return "{ ... }"
  const required = member(schema, "required")
  const members = properties.map(([key, property]) => {
    const shape = shapeWithin(document, property, depth + 1)
    const name = Array.isArray(required) && required.includes(key) ? key : `${key}?`
    return shape === "" ? name : `${name}: ${shape}`
  })
  return `{ ${members.join(", ")} }`
}

const shapeOf = (document: unknown, schema: unknown): string => shapeWithin(document, schema, 0)
