/** Checks that the document is a valid OpenAPI 3.1 document, and describes the served operations. */
import { HttpApi } from "effect/http-api"
import { Api } from "../../../src/http/api/Api.ts"
import { documents } from "../../../src/http/routes.ts"
import type { Header } from "./client.ts"
import { knowsIds } from "./document.ts"
import type { Document, JsonSchema, Operation } from "./document.ts"

const repeated = (values: ReadonlyArray<string>): ReadonlyArray<string> =>
  values.filter((value, index) => values.indexOf(value) !== index)

/** Every schema in the document, at any place. */
const schemasOf = (document: Document, operations: ReadonlyArray<Operation>): ReadonlyArray<JsonSchema> => {
  const within = (schema: JsonSchema): ReadonlyArray<JsonSchema> => {
    const parts = [
      ...Object.values(schema.properties ?? {}),
      ...(schema.prefixItems ?? []),
      ...(schema.anyOf ?? []),
      ...(schema.oneOf ?? []),
      ...(schema.allOf ?? []),
      ...(typeof schema.items === "object" ? [schema.items] : []),
      ...(typeof schema.additionalProperties === "object" ? [schema.additionalProperties] : [])
    ]
    return [schema, ...parts.flatMap(within)]
  }
  const written = operations.flatMap((operation) => [
    ...operation.parameters.map(({ schema }) => schema),
    ...Object.values(operation.requestBody?.content ?? {}).map(({ schema }) => schema),
    ...Object.values(operation.responses).flatMap(({ content, headers }) =>
      [...Object.values(content ?? {}), ...Object.values(headers ?? {})].map(({ schema }) => schema)
    )
  ])
  return [...written, ...Object.values(document.components.schemas)].flatMap(within)
}

const isPattern = (text: string): boolean => {
  try {
    return new RegExp(text, "u").unicode
  } catch {
    return false
  }
}

const isReference = (document: Document, reference: string | undefined): boolean =>
  reference === undefined ||
  Object.keys(document.components.schemas).some((name) => reference === `#/components/schemas/${name}`)

const statusesOwed = (operation: Operation): ReadonlyArray<number> => [
  ...(operation.path.startsWith("/api/") ? [400] : []),
  ...(operation.secured ? [401] : []),
  ...(operation.secured && !operation.path.startsWith("/api/v1/admin/") ? [403] : []),
  ...(knowsIds(operation) ? [404] : []),
  ...(operation.requestBody === undefined ? [] : [413, 415])
]

/** The faults of the document by itself. */
export const faultsOf = (document: Document, operations: ReadonlyArray<Operation>): ReadonlyArray<string> => {
  const tags = new Set(document.tags.map(({ name }) => name))
  const schemes = new Set(Object.keys(document.components.securitySchemes))
  const ofSchemas = schemasOf(document, operations).flatMap((schema) => [
    ...(isPattern(schema.pattern ?? "") ? [] : [`the pattern ${schema.pattern} is none`]),
    ...(isReference(document, schema.$ref) ? [] : [`${schema.$ref} resolves to nothing`]),
    ...(schema.required ?? [])
      .filter((name) => schema.properties?.[name] === undefined)
      .map((name) => `${name} is required and not described`)
  ])
  const ofOperations = operations.flatMap((operation) => {
    const inPath = [...operation.path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name ?? "").sort()
    const declared = operation.parameters.filter((each) => each.in === "path")
    const names = declared.map(({ name }) => name).sort()
    const wrong = [
      ...(inPath.join() === names.join() ? [] : [`declares the path parameters ${names.join()}`]),
      ...declared.filter(({ required }) => !required).map(({ name }) => `leaves ${name} out`),
      ...repeated(operation.parameters.map((each) => `${each.in} ${each.name}`)).map(
        (name) => `has ${name} twice`
      ),
      ...operation.tags.filter((tag) => !tags.has(tag)).map((tag) => `has the unknown tag ${tag}`),
      ...operation.security
        .flatMap((each) => Object.keys(each))
        .filter((name) => !schemes.has(name))
        .map((name) => `asks for the unknown ${name}`),
      ...(operation.summary.trim() === "" ? ["has no summary"] : []),
      ...(Object.keys(operation.responses).some((status) => status.startsWith("2"))
        ? []
        : ["never succeeds"]),
      ...statusesOwed(operation)
        .filter((status) => operation.responses[`${status}`] === undefined)
        .map((status) => `does not list ${status}`),
      ...(["GET", "DELETE"].includes(operation.method) && operation.requestBody !== undefined
        ? ["has a body"]
        : [])
    ]
    return wrong.map((what) => `${operation.operationId} ${what}`)
  })
  return [
    ...repeated(operations.map(({ operationId }) => operationId)).map(
      (id) => `${id} is the id of two operations`
    ),
    ...ofSchemas,
    ...ofOperations
  ]
}

/** The server's endpoints, as `GET /path/{parameter}`. */
export const servedOperations = (): ReadonlyArray<string> => {
  const served: Array<string> = []
  HttpApi.reflect(Api, {
    onGroup: () => {},
    onEndpoint: ({ endpoint }) =>
      served.push(`${endpoint.method} ${endpoint.path.replaceAll(/:(\w+)/g, "{$1}")}`)
  })
  return served.sort()
}

/** Documents that are served beside the API, each with its type. */
export const servedDocuments: ReadonlyArray<
  readonly [path: string, type: string, headers: ReadonlyArray<Header>]
> = [
  [documents.openapi, "application/json", []],
  [documents.docs, "text/html", []]
]

const range = (low: unknown, high: unknown): string =>
  low === undefined && high === undefined ? "" : ` ${String(low ?? "")}..${String(high ?? "")}`

/** A schema in few words: `string 1..80`, `{ name, bio? }`, `Challenge[]`. */
const wordsOf = (schema: JsonSchema, separator = ", "): string => {
  const { exclusiveMaximum, exclusiveMinimum, maximum, minimum } = schema
  const options = schema.anyOf ?? schema.oneOf
  if (schema.$ref !== undefined) return schema.$ref.slice(schema.$ref.lastIndexOf("/") + 1)
  if (options !== undefined) return options.map((option) => wordsOf(option)).join(" | ")
  if (schema.allOf !== undefined) return schema.allOf.map((part) => wordsOf(part)).join(" & ")
  if (schema.enum !== undefined) return schema.enum.map((value) => JSON.stringify(value)).join(" | ")
  const shape = [schema.format, schema.pattern].filter((part) => part !== undefined).map((part) => ` ${part}`)
  switch (schema.type) {
    case "string":
      return `string${range(schema.minLength, schema.maxLength)}${shape.join("")}`
    case "integer":
    case "number": {
      const open = range(exclusiveMinimum, exclusiveMaximum)
      return `${schema.type}${range(minimum, maximum)}${open === "" ? "" : ` within${open}`}`
    }
    case "array": {
      const items =
        typeof schema.items === "object"
          ? wordsOf(schema.items)
          : (schema.prefixItems ?? []).map((item) => wordsOf(item)).join()
      return `[${items}]${range(schema.minItems, schema.maxItems)}`
    }
    case "object": {
      const required = new Set(schema.required)
      const members = Object.entries(schema.properties ?? {}).map(
        ([name, member]) => `${name}${required.has(name) ? "" : "?"}: ${wordsOf(member)}`
      )
      return `{ ${members.join(separator)} }`
    }
    default:
      return schema.type ?? "anything"
  }
}

const needed = (requirement: Readonly<Record<string, ReadonlyArray<string>>>): string =>
  Object.entries(requirement)
    .map(([scheme, scopes]) => [scheme, ...scopes].join(" "))
    .join(" and ")

/** Each operation: method, path, id, security, request, answers; then the schemas. A change of it is a change of the contract. */
export const shapeOf = (document: Document, operations: ReadonlyArray<Operation>): string => {
  const lines = operations.map((operation) => {
    const parameters = operation.parameters
      .filter((parameter) => parameter.in !== "path")
      .map(({ name, required, schema }) => `${name}${required ? "" : "?"}: ${wordsOf(schema)}`)
    const bodies = Object.entries(operation.requestBody?.content ?? {}).map(
      ([type, { schema }]) => `${type} ${wordsOf(schema)}`
    )
    const answers = Object.entries(operation.responses).map(([status, { content }]) => {
      const schema = content?.["application/json"]?.schema
      return `${status}${schema === undefined ? "" : ` ${wordsOf(schema)}`}`
    })
    return [
      `${operation.method} ${operation.path}`,
      `  ${operation.operationId}, ${operation.secured ? operation.security.map(needed).join(" or ") : "public"}`,
      ...parameters.map((parameter) => `  ?${parameter}`),
      ...bodies.map((body) => `  < ${body}`),
      ...answers.map((answer) => `  > ${answer}`)
    ].join("\n")
  })
  const schemas = Object.entries(document.components.schemas)
    .map(([name, schema]) => `${name} = ${wordsOf(schema, ",\n  ")}`)
    .sort()
  return `${[...lines, ...schemas].join("\n\n")}\n`
}
