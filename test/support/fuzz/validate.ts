/** Whether a value is what a schema of the document says, for the keywords of `JsonSchema`. */
import type { Schema } from "effect"
import { resolve } from "./document.ts"
import type { Document, JsonSchema } from "./document.ts"

type Json = Schema.Json

export const isRecord = (value: Json): value is { readonly [member: string]: Json } =>
  typeof value === "object" && value !== null && !Array.isArray(value)

export const isList = (value: Json): value is ReadonlyArray<Json> => Array.isArray(value)

const isType = (value: Json, type: NonNullable<JsonSchema["type"]>): boolean => {
  switch (type) {
    case "null":
      return value === null
    case "integer":
      return Number.isInteger(value)
    case "number":
      return typeof value === "number" && Number.isFinite(value)
    case "array":
      return isList(value)
    case "object":
      return isRecord(value)
    case "string":
    case "boolean":
      return typeof value === type
  }
}

const shown = (value: Json): string => JSON.stringify(value).slice(0, 80)
const codePoints = (text: string): number => Array.from(text).length
const dateTime = /^(\d{4})-(\d{2})-(\d{2})T(\d{2}):(\d{2})(:\d{2}(\.\d+)?)?(Z|[+-]\d{2}:\d{2})$/

/** RFC 3339, with the seconds left out allowed; the day must exist. */
const isDateTime = (text: string): boolean => {
  const [, year, month, day, hour, minute] = dateTime.exec(text) ?? []
  if (day === undefined) return false
  const date = new Date(Date.UTC(Number(year), Number(month) - 1, Number(day)))
  return date.getUTCDate() === Number(day) && Number(hour) < 24 && Number(minute) < 60
}

/** What is wrong with the value, each with its path; nothing when it conforms. */
export const problems = (document: Document, written: JsonSchema, value: Json, at = ""): ReadonlyArray<string> => {
  const schema = resolve(document, written)
  const found: Array<string> = []
  const wrong = (what: string) => found.push(`${at === "" ? "(root)" : at}: ${what}, got ${shown(value)}`)
  const below = (step: string | number) => (at === "" ? `${step}` : `${at}.${step}`)

  if (schema.type !== undefined && !isType(value, schema.type)) {
    wrong(`expected ${schema.type}`)
    return found
  }
  if (schema.enum?.every((allowed) => allowed !== value)) wrong(`expected one of ${schema.enum.join(", ")}`)
  if (typeof value === "string") {
    const length = codePoints(value)
    if (length < (schema.minLength ?? 0)) wrong(`expected at least ${schema.minLength} characters`)
    if (length > (schema.maxLength ?? Infinity)) wrong(`expected at most ${schema.maxLength} characters`)
    if (schema.pattern !== undefined && !new RegExp(schema.pattern, "u").test(value)) wrong(`expected ${schema.pattern}`)
    if (schema.format === "date-time" && !isDateTime(value)) wrong("expected a date-time")
  }
  if (typeof value === "number") {
    if (value < (schema.minimum ?? -Infinity)) wrong(`expected at least ${schema.minimum}`)
    if (value > (schema.maximum ?? Infinity)) wrong(`expected at most ${schema.maximum}`)
    if (value <= (schema.exclusiveMinimum ?? -Infinity)) wrong(`expected more than ${schema.exclusiveMinimum}`)
    if (value >= (schema.exclusiveMaximum ?? Infinity)) wrong(`expected less than ${schema.exclusiveMaximum}`)
  }
  if (isList(value)) {
    if (value.length < (schema.minItems ?? 0)) wrong(`expected at least ${schema.minItems} items`)
    if (value.length > (schema.maxItems ?? Infinity)) wrong(`expected at most ${schema.maxItems} items`)
    value.forEach((item, index) => {
      const itemSchema = schema.prefixItems?.[index] ?? schema.items
      if (itemSchema === false) wrong(`expected no item ${index}`)
      else if (itemSchema !== undefined) found.push(...problems(document, itemSchema, item, below(index)))
    })
  }
  if (isRecord(value)) {
    for (const name of schema.required ?? []) if (!(name in value)) wrong(`expected ${name}`)
    for (const [name, member] of Object.entries(value)) {
      const known = schema.properties?.[name]
      const other = schema.additionalProperties
      if (known !== undefined) found.push(...problems(document, known, member, below(name)))
      else if (typeof other === "object") found.push(...problems(document, other, member, below(name)))
      else if (other === false || (other === undefined && schema.properties !== undefined)) wrong(`${name} is not documented`)
    }
  }
  const fits = (option: JsonSchema) => problems(document, option, value, at).length === 0
  for (const part of schema.allOf ?? []) found.push(...problems(document, part, value, at))
  if (schema.anyOf !== undefined && !schema.anyOf.some(fits)) {
    const nearest = schema.anyOf.map((option) => problems(document, option, value, at)).sort((a, b) => a.length - b.length)[0]
    wrong("fits none of the alternatives")
    found.push(...(nearest ?? []))
  }
  if (schema.oneOf !== undefined && schema.oneOf.filter(fits).length !== 1) wrong("expected to fit exactly one alternative")
  return found
}
