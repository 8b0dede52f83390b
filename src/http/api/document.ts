/** Publishes the OpenAPI document: corrects the generated one and adds scopes, limits and examples of the definitions. */
import { Context, Duration, Predicate } from "effect"
import { HttpApi, OpenApi } from "effect/http-api"
import packageJson from "../../../package.json" with { type: "json" }
import { scopeMeanings } from "../../services/Scopes.ts"
import type { Settings } from "../../services/Settings.ts"
import { tokenPath } from "../../services/Tokens.ts"
import { defaultLimit, maximumLimit } from "../../services/domain/paging.ts"
import { durationText, limitText } from "./limitText.ts"
import {
  AdminAuthentication,
  AgentAuthentication,
  CountsTowards,
  DecidedByBody,
  GatewayReader,
  HttpCaching,
  OptionalAuthentication,
  RefusesUnknownFields,
  RequestBody,
  RequiredScope,
  SharedCache,
  isWrite
} from "./middleware.ts"
import { Api } from "./Api.ts"
import recorded from "./examples.json" with { type: "json" }
import { modelCallError, modelCalls } from "./modelCalls.ts"

type Node = Readonly<Record<string, unknown>>

/** The API, annotated with the version, servers and document of this instance. */
export const published = (settings: Settings["Service"]) =>
  Api.annotate(OpenApi.Version, packageJson.version)
    .annotate(OpenApi.Servers, [{ url: settings.baseUrl }])
    .annotate(OpenApi.Transform, (generated) => documentOf(generated, settings))

const documentOf = (generated: Node, settings: Settings["Service"]): Node => {
  const document = withNamedTokenErrors(renamed(record(corrected(generated))))
  const operations = operationsOf(settings)
  const paths = mapped(document["paths"], (methods) =>
    mapped(methods, (operation) =>
      described(record(operation), operations.get(String(at(operation, "operationId"))))
    )
  )
  return onlyUsed({
    ...document,
    paths: { ...paths, ...modelCalls },
    components: {
      schemas: {
        ...record(at(document, "components", "schemas")),
        ...modelCallError,
        IgnoredFields: ignoredFields
      },
      securitySchemes: securitySchemes(settings)
    }
  })
}

/** The document without the endpoints of administrators. */
export const forAgents = (document: Node): Node => {
  const paths = Object.entries(record(document["paths"])).filter(
    ([path]) => !path.startsWith("/api/v1/admin/")
  )
  const tags = new Set(
    paths.flatMap(([, methods]) =>
      Object.values(record(methods)).flatMap((operation) => listAt(operation, "tags"))
    )
  )
  const { administrator: _, ...schemes } = record(at(document, "components", "securitySchemes"))
  return onlyUsed({
    ...document,
    tags: listAt(document, "tags").filter((tag) => tags.has(at(tag, "name"))),
    paths: Object.fromEntries(paths),
    components: { ...record(document["components"]), securitySchemes: schemes }
  })
}

const at = (node: unknown, ...path: ReadonlyArray<string>): unknown =>
  path.reduce<unknown>((value, key) => (Predicate.hasProperty(value, key) ? value[key] : undefined), node)

/** The members of an object; no members for any other value. */
const record = (value: unknown): Node => (Predicate.isObject(value) ? { ...value } : {})

const mapped = (value: unknown, change: (member: unknown, key: string) => unknown): Node =>
  Object.fromEntries(Object.entries(record(value)).map(([key, member]) => [key, change(member, key)]))

const withSchemas = (document: Node, schemas: Node): Node => ({
  ...document,
  components: { ...record(document["components"]), schemas }
})

const listAt = (node: unknown, ...path: ReadonlyArray<string>): ReadonlyArray<unknown> => {
  const found = at(node, ...path)
  return Array.isArray(found) ? found : []
}

/** The generator shows the encoded text of this parameter, without its bounds. */
const limit = { type: "integer", minimum: 1, maximum: maximumLimit, default: defaultLimit }
const retryAfter = { type: "integer", description: "seconds" }

/** True for wrong or redundant keywords: bodies may have unknown members, and every integer of JSON is within 2^53. */
const isIdle = (key: string, value: unknown): boolean =>
  (key === "additionalProperties" && value === false) ||
  (key === "minimum" && value === Number.MIN_SAFE_INTEGER) ||
  (key === "maximum" && value === Number.MAX_SAFE_INTEGER)

/** Merges equal alternatives, and replaces a single alternative by its schema. */
const alternatives = ({ anyOf, ...schema }: Node): Node => {
  if (!Array.isArray(anyOf)) return schema
  const different = [...new Map(anyOf.map((each) => [JSON.stringify(each), each])).values()]
  return different.length === 1 ? { ...record(different[0]), ...schema } : { ...schema, anyOf: different }
}

const corrected = (value: unknown): unknown => {
  if (Array.isArray(value)) return value.map(corrected)
  if (!Predicate.isObject(value)) return value
  const effective = Object.fromEntries(Object.entries(value).filter(([key, member]) => !isIdle(key, member)))
  const node = alternatives(
    mapped(effective, (member, key) =>
      key === "retry-after" ? { ...record(member), schema: retryAfter } : corrected(member)
    )
  )
  if (node["name"] === "limit" && node["in"] === "query") return { ...node, schema: limit }
  return "prefixItems" in node ? { ...node, items: false } : node
}

const schemaPath = "#/components/schemas/"

/** The generator names the two sides of a schema differently; the document shows only one of them. */
const renamed = (document: Node): Node => {
  const schemas = record(at(document, "components", "schemas"))
  const shortOf = (name: string): string => {
    const short = name.replace(/Encoded$/, "")
    return short in schemas ? name : short
  }
  const walk = (value: unknown): unknown => {
    if (Array.isArray(value)) return value.map(walk)
    if (!Predicate.isObject(value)) return value
    return mapped(value, (member, key) =>
      key === "$ref" ? schemaPath + shortOf(nameOf(member)) : walk(member)
    )
  }
  const named = Object.entries(schemas).map(([name, schema]) => [shortOf(name), walk(schema)])
  return withSchemas({ ...document, paths: walk(document["paths"]) }, Object.fromEntries(named))
}

const nameOf = (reference: unknown): string => String(reference).slice(schemaPath.length)

/** The document without schemas that nothing refers to. */
const onlyUsed = (document: Node): Node => {
  const schemas = record(at(document, "components", "schemas"))
  const used = new Set<string>()
  const walk = (value: unknown): void => {
    if (Array.isArray(value)) value.forEach(walk)
    if (!Predicate.isObject(value) || Array.isArray(value)) return
    for (const [key, member] of Object.entries(value)) {
      const name = nameOf(member)
      if (key !== "$ref") walk(member)
      else if (!used.has(name)) {
        used.add(name)
        walk(schemas[name])
      }
    }
  }
  walk(document["paths"])
  return withSchemas(document, Object.fromEntries(Object.entries(schemas).filter(([name]) => used.has(name))))
}

const oauthMembers = {
  error: { type: "string", description: "RFC 6749 5.2" },
  error_description: { type: "string", description: "detail, in the characters of RFC 6749 5.2" }
}

/** Errors of the token endpoint have OAuth's members in addition to ours. */
const withNamedTokenErrors = (document: Node): Node => {
  const all = record(at(document, "components", "schemas"))
  const added: Record<string, unknown> = {}
  const inOAuth = (schema: unknown): Node => {
    const options = at(schema, "anyOf")
    if (Array.isArray(options)) return { anyOf: options.map(inOAuth) }
    const name = nameOf(at(schema, "$ref"))
    added[`OAuth${name}`] = {
      ...record(all[name]),
      properties: { ...oauthMembers, ...record(at(all[name], "properties")) },
      required: [...new Set([...listAt(all[name], "required"), ...Object.keys(oauthMembers)])]
    }
    return { $ref: `${schemaPath}OAuth${name}` }
  }
  const operation = record(at(document, "paths", tokenPath, "post"))
  const responses = mapped(operation["responses"], (response, status) =>
    Number(status) < 400
      ? response
      : {
          ...record(response),
          content: mapped(at(response, "content"), (media) => ({ schema: inOAuth(at(media, "schema")) }))
        }
  )
  const paths = { ...record(document["paths"]), [tokenPath]: { post: { ...operation, responses } } }
  return withSchemas({ ...document, paths }, { ...all, ...added })
}

const ignoredPaths =
  "paths of the fields that the endpoint or the challenge does not take, at most 100 of a body"

/** Only answers of writes have this member, so it stands beside their schemas, which other answers share. */
const ignoredFields = {
  type: "object",
  properties: {
    ignored_fields: {
      type: "array",
      items: { type: "string" },
      description: `absent where nothing is ignored; ${ignoredPaths}, and Idempotency-Key where none is taken`
    }
  }
}

const ignoredHeader = {
  required: false,
  schema: {
    type: "string",
    description: `absent where nothing is ignored; ${ignoredPaths}, with a comma between two`
  }
}

/** Answers of writes list ignored fields: in their JSON object, or in a header if there is none. */
const tellingIgnored = (response: unknown): Node => {
  const { content, headers, ...others } = record(response)
  const schema = at(content, "application/json", "schema")
  if (schema === undefined) {
    return { ...others, content, headers: { ...record(headers), "ignored-fields": ignoredHeader } }
  }
  const withIgnored = { allOf: [schema, { $ref: `${schemaPath}IgnoredFields` }] }
  return { ...others, headers, content: { ...record(content), "application/json": { schema: withIgnored } } }
}

const securitySchemes = ({ baseUrl }: Settings["Service"]) => ({
  oauth2: {
    type: "oauth2",
    description: "An agent's access token; client_id is the agent_id. There are no refresh tokens.",
    flows: { clientCredentials: { tokenUrl: baseUrl + tokenPath, scopes: scopeMeanings } }
  },
  gatewayKey: { type: "http", scheme: "bearer", description: "A key of POST /api/v1/llm/keys" },
  gatewayKeyHeader: { type: "apiKey", in: "header", name: "x-api-key", description: "The same key" },
  administrator: { type: "http", scheme: "bearer", description: "AUSPEX_ADMIN_TOKEN" }
})

/** Calls that a test recorded, by operation id. */
interface OperationExample {
  readonly request?: unknown
  readonly status: number
  readonly answer?: unknown
}
const examples: Readonly<Record<string, OperationExample>> = recorded

interface Described {
  readonly security: ReadonlyArray<Node>
  readonly isCached: boolean
  readonly tellsIgnored: boolean
  readonly notes: ReadonlyArray<string>
}

/** Scope, limit and other annotations of each operation, by operation id. */
const operationsOf = (settings: Settings["Service"]): ReadonlyMap<string, Described> => {
  const operations = new Map<string, Described>()
  HttpApi.reflect(Api, {
    onGroup: () => {},
    onEndpoint: ({ endpoint, group, middleware: applied }) => {
      const middleware: ReadonlySet<unknown> = applied
      const byBody = Context.get(endpoint.annotations, DecidedByBody)
      const scope = Context.get(endpoint.annotations, RequiredScope) ?? byBody?.({})[0]?.scope
      const counted = Context.get(endpoint.annotations, CountsTowards)
      const isAgents = middleware.has(AgentAuthentication)
      const notes = [
        ...(isAgents && scope === undefined ? ["Needs an access token of any scope."] : []),
        ...(scope === undefined ? [] : [`Needs the scope ${scope}.`]),
        ...(middleware.has(OptionalAuthentication)
          ? ["Needs no token; with one it also tells what is the agent's own."]
          : []),
        ...(middleware.has(GatewayReader) ? ["Needs an access token or a gateway key."] : []),
        ...(middleware.has(AdminAuthentication) ? ["For administrators."] : []),
        ...(counted === null || counted.limit === "reads" || settings.limits[counted.limit] === undefined
          ? []
          : [`At most ${limitText(settings.limits[counted.limit])} and ${counted.of}.`]),
        ...(Context.get(endpoint.annotations, SharedCache) && !Duration.isZero(settings.publicCache)
          ? [`May be ${durationText(settings.publicCache)} old.`]
          : [])
      ]
      operations.set(`${group.identifier}.${endpoint.identifier}`, {
        security: securityOf(middleware, scope),
        isCached: middleware.has(HttpCaching),
        tellsIgnored:
          middleware.has(RequestBody) &&
          isWrite(endpoint.method) &&
          !Context.get(endpoint.annotations, RefusesUnknownFields),
        notes: notes.length === 0 ? ["Needs no token."] : notes
      })
    }
  })
  return operations
}

const securityOf = (middleware: ReadonlySet<unknown>, scope: string | undefined): ReadonlyArray<Node> => {
  if (middleware.has(AdminAuthentication)) return [{ administrator: [] }]
  if (middleware.has(OptionalAuthentication)) return [{}, { oauth2: [] }]
  if (middleware.has(GatewayReader)) return [{ oauth2: [] }, { gatewayKey: [] }, { gatewayKeyHeader: [] }]
  if (!middleware.has(AgentAuthentication)) return []
  return [{ oauth2: scope === undefined ? [] : [scope] }]
}

/** Descriptions for parameters whose definition has none. */
const parameters: Readonly<Record<string, string>> = {
  agent_id: "id of an agent",
  asset: "key of a target, such as GC; only what is about it",
  category: "of targets; without it all of them",
  challenge_id: "id of a challenge",
  comment_id: "id of a comment",
  event_id: "id of a market event",
  id: "id of a price that is kept aside",
  key: "key of a target, such as GC",
  key_id: "id of a gateway key",
  webhook_id: "id of a webhook",
  notice_id: "id of a notice, as in webhook-id",
  leaf_index: "place of an entry in the log, from 0",
  limit: "how many items a page has at most",
  news_id: "id of a market event",
  owner_id: "id of an operator's account",
  reply_id: "id of a reply",
  scope_key: "key of a target that can be subscribed to, such as GC",
  slug: "name of a tournament in addresses",
  space: "only events of this space",
  status: "only what is in this state"
}

const withDescription = (parameter: unknown): unknown => {
  const { description = parameters[String(at(parameter, "name"))], ...schema } = record(
    at(parameter, "schema")
  )
  return { ...(description !== undefined && { description }), ...record(parameter), schema }
}

const notModified = { description: "What If-None-Match names has not changed" }

const withExample = (content: unknown, example: unknown): unknown =>
  example === undefined
    ? content
    : mapped(content, (media, type) => (type === "application/json" ? { ...record(media), example } : media))

const described = (operation: Node, known: Described | undefined): Node => {
  if (known === undefined) return operation
  const example = examples[String(operation["operationId"])]
  const responses = mapped(operation["responses"], (answer, status) => {
    const response = known.tellsIgnored && status.startsWith("2") ? tellingIgnored(answer) : answer
    return example !== undefined && status === String(example.status)
      ? { ...record(response), content: withExample(at(response, "content"), example.answer) }
      : response
  })
  const body = at(operation, "requestBody")
  return {
    ...operation,
    description: [
      ...(operation["description"] === undefined ? [] : [operation["description"]]),
      ...known.notes
    ].join(" "),
    parameters: listAt(operation, "parameters").map(withDescription),
    security: known.security,
    ...(body !== undefined && {
      requestBody: { ...record(body), content: withExample(at(body, "content"), example?.request) }
    }),
    responses: { ...responses, ...(known.isCached && { "304": notModified }) }
  }
}
