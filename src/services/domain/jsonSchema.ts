/** JSON Schemas (2020-12) in answers of the API. */
import { Predicate, Schema } from "effect"

/** A schema of ours, which is not checked again for every answer that has it. */
export const JsonSchema = Schema.declare(
  (value): value is { readonly [keyword: string]: Schema.Json } => Predicate.isObject(value),
  { expected: "object", toCodecJson: () => undefined }
).check(
  Schema.makeFilter(() => undefined, {
    representation: { id: "auspex/json-schema", payload: null },
    toJsonSchema: () => ({ type: "object" })
  })
)
export type JsonSchema = typeof JsonSchema.Type

const decode = Schema.decodeUnknownSync(Schema.Record(Schema.String, Schema.Json))

/** A schema without the keywords that allow everything. */
const withoutIdle = (value: unknown): unknown => {
  if (Array.isArray(value)) return value.map(withoutIdle)
  if (!Predicate.isObject(value)) return value
  return Object.fromEntries(
    Object.entries(value)
      .filter(([keyword, each]) => !(keyword === "additionalProperties" && each === true))
      .map(([keyword, each]) => [keyword, withoutIdle(each)])
  )
}

/** The JSON Schema of a schema's encoded side, without definitions. */
export const jsonSchemaOf = (schema: Schema.Top): JsonSchema => ({
  $schema: "https://json-schema.org/draft/2020-12/schema",
  ...decode(withoutIdle(Schema.toJsonSchemaDocument(schema).schema))
})
