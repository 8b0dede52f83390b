/** The OpenAPI document as the server publishes it. No check looks at a keyword that is not listed here. */
import { Effect, Schema } from "effect"

/** The keywords of JSON Schema 2020-12 that our document uses. */
export interface JsonSchema {
  readonly $ref?: string
  readonly type?: "string" | "number" | "integer" | "boolean" | "null" | "array" | "object"
  readonly enum?: ReadonlyArray<Schema.Json>
  readonly default?: Schema.Json
  readonly description?: string
  readonly properties?: Readonly<Record<string, JsonSchema>>
  readonly required?: ReadonlyArray<string>
  readonly additionalProperties?: boolean | JsonSchema
  readonly items?: JsonSchema | false
  readonly prefixItems?: ReadonlyArray<JsonSchema>
  readonly minItems?: number
  readonly minProperties?: number
  readonly maxItems?: number
  readonly minLength?: number
  readonly maxLength?: number
  readonly pattern?: string
  readonly format?: string
  readonly minimum?: number
  readonly maximum?: number
  readonly exclusiveMinimum?: number
  readonly exclusiveMaximum?: number
  readonly multipleOf?: number
  readonly anyOf?: ReadonlyArray<JsonSchema>
  readonly oneOf?: ReadonlyArray<JsonSchema>
  readonly allOf?: ReadonlyArray<JsonSchema>
}

const optional = Schema.optionalKey
const self = Schema.suspend((): Schema.Codec<JsonSchema> => JsonSchema)

export const JsonSchema: Schema.Codec<JsonSchema> = Schema.Struct({
  $ref: optional(Schema.String),
  type: optional(Schema.Literals(["string", "number", "integer", "boolean", "null", "array", "object"])),
  enum: optional(Schema.Array(Schema.Json)),
  description: optional(Schema.String),
  default: optional(Schema.Json),
  properties: optional(Schema.Record(Schema.String, self)),
  required: optional(Schema.Array(Schema.String)),
  additionalProperties: optional(Schema.Union([Schema.Boolean, self])),
  items: optional(Schema.Union([Schema.Literal(false), self])),
  prefixItems: optional(Schema.Array(self)),
  minItems: optional(Schema.Finite),
  minProperties: optional(Schema.Finite),
  maxItems: optional(Schema.Finite),
  minLength: optional(Schema.Finite),
  maxLength: optional(Schema.Finite),
  pattern: optional(Schema.String),
  format: optional(Schema.String),
  minimum: optional(Schema.Finite),
  maximum: optional(Schema.Finite),
  exclusiveMinimum: optional(Schema.Finite),
  exclusiveMaximum: optional(Schema.Finite),
  multipleOf: optional(Schema.Finite),
  anyOf: optional(Schema.Array(self)),
  oneOf: optional(Schema.Array(self)),
  allOf: optional(Schema.Array(self)),
  example: optional(Schema.Json)
})

const Content = Schema.Record(
  Schema.String,
  Schema.Struct({ schema: JsonSchema, example: optional(Schema.Json) })
)

const Parameter = Schema.Struct({
  name: Schema.String,
  in: Schema.Literals(["path", "query", "header"]),
  required: Schema.Boolean,
  description: Schema.String,
  schema: JsonSchema
})

const Response = Schema.Struct({
  description: Schema.String,
  content: optional(Content),
  headers: optional(
    Schema.Record(Schema.String, Schema.Struct({ schema: JsonSchema, required: Schema.Boolean }))
  )
})
export type Response = typeof Response.Type

const PathOperation = Schema.Struct({
  tags: Schema.Array(Schema.String),
  operationId: Schema.String,
  summary: Schema.String,
  description: Schema.String,
  parameters: Schema.Array(Parameter),
  security: Schema.Array(Schema.Record(Schema.String, Schema.Array(Schema.String))),
  requestBody: optional(Schema.Struct({ content: Content, required: Schema.Literal(true) })),
  responses: Schema.Record(Schema.String, Response)
})

const Document = Schema.Struct({
  openapi: Schema.Literal("3.1.0"),
  info: Schema.Struct({
    title: Schema.String,
    version: Schema.String,
    description: Schema.String,
    license: Schema.Struct({ name: Schema.String, identifier: Schema.String })
  }),
  servers: Schema.Array(Schema.Struct({ url: Schema.String })),
  paths: Schema.Record(Schema.String, Schema.Record(Schema.String, PathOperation)),
  components: Schema.Struct({
    schemas: Schema.Record(Schema.String, JsonSchema),
    securitySchemes: Schema.Record(
      Schema.String,
      Schema.StructWithRest(Schema.Struct({ type: Schema.String }), [
        Schema.Record(Schema.String, Schema.Json)
      ])
    )
  }),
  security: Schema.Array(Schema.Json),
  tags: Schema.Array(Schema.Struct({ name: Schema.String, description: optional(Schema.String) }))
})
export type Document = typeof Document.Type

export interface Operation extends Schema.Schema.Type<typeof PathOperation> {
  readonly method: string
  /** The path, with `{name}` for each parameter. */
  readonly path: string
  readonly secured: boolean
}

/** Deletes of unknown things are no error, so these operations take any id. */
const takesAnything: ReadonlySet<string> = new Set([
  "discussion.unlikeComment",
  "discussion.unlikeReply",
  "social.unfollow"
])

export const knowsIds = (operation: Operation): boolean =>
  operation.parameters.some((parameter) => parameter.in === "path") &&
  !takesAnything.has(operation.operationId)

export const parseDocument = (text: string) =>
  Schema.decodeEffect(Schema.fromJsonString(Document), { onExcessProperty: "error" })(text).pipe(Effect.orDie)

/** Other standards describe the bodies of model calls; they have tests of their own. */
const described = (document: Document) =>
  Object.entries(document.paths).filter(([path]) => !path.startsWith("/api/v1/llm/v1/"))

export const operationsOf = (document: Document): ReadonlyArray<Operation> =>
  described(document).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({
      ...operation,
      method: method.toUpperCase(),
      path,
      // If one alternative has no scheme, a credential is optional.
      secured:
        operation.security.length > 0 && operation.security.every((scheme) => Object.keys(scheme).length > 0)
    }))
  )

/** The schema that a reference names. */
export const resolve = (document: Document, schema: JsonSchema): JsonSchema => {
  if (schema.$ref === undefined) return schema
  const name = /^#\/components\/schemas\/(.+)$/.exec(schema.$ref)?.[1] ?? ""
  const found = document.components.schemas[name]
  if (found === undefined) throw new Error(`${schema.$ref} resolves to nothing`)
  return resolve(document, found)
}
