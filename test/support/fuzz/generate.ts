/** Values that a schema of the document allows. Hints supply values that no schema describes (an existing id, a future time). */
import type { Schema } from "effect"
import { resolve } from "./document.ts"
import type { Document, JsonSchema } from "./document.ts"
import { isList, isRecord, makeValidator } from "./validate.ts"

type Json = Schema.Json

export type Step = string | number

/** Values by the path of their field, `*` for any item of a list: `events.*.assets`. */
export type Hints = Readonly<Record<string, Json>>

export const hintFor = (hints: Hints, path: ReadonlyArray<Step>): Json | undefined =>
  hints[path.map((step) => (typeof step === "number" ? "*" : step)).join(".")]

/** True if the value at this path, or one that it is a part of, is hinted. */
const isHinted = (hints: Hints, path: ReadonlyArray<Step>): boolean =>
  path.some((_, index) => hintFor(hints, path.slice(0, index + 1)) !== undefined)

/** Candidates for a pattern, in their order. */
const candidates = ["plain", "2031-05-06T07:08:09Z", "GC", "1", "0190b0a0-0000-7000-8000-000000000000"]

const stringFor = (schema: JsonSchema): string => {
  const { format, maxLength = Infinity, minLength = 0, pattern } = schema
  if (format === "date-time") return "2031-05-06T07:08:09Z"
  const fit = candidates.find(
    (text) => (pattern === undefined || new RegExp(pattern, "u").test(text)) && text.length <= maxLength
  )
  if (fit === undefined) throw new Error(`no candidate fits ${JSON.stringify(schema)}`)
  return fit.padEnd(minLength, "x")
}

const numberFor = (schema: JsonSchema): number => {
  const { exclusiveMaximum, exclusiveMinimum, maximum, minimum, multipleOf = 1e-9 } = schema
  const low = minimum ?? exclusiveMinimum ?? -1e6
  const high = maximum ?? exclusiveMaximum ?? 1e6
  const middle = (Math.max(low, -1e6) + Math.min(high, 1e6)) / 2
  const steps = 1 / multipleOf
  return schema.type === "integer" ? Math.ceil(middle) : Math.round(middle * steps) / steps
}

/** The alternatives of a union, or the schema alone. */
export const alternatives = (document: Document, written: JsonSchema): ReadonlyArray<JsonSchema> => {
  const schema = resolve(document, written)
  const options = schema.anyOf ?? schema.oneOf
  return options === undefined ? [schema] : options.flatMap((option) => alternatives(document, option))
}

/** One value: with every optional field, or with none. */
export const generate = (
  document: Document,
  written: JsonSchema,
  hints: Hints,
  fields: "all" | "required",
  path: ReadonlyArray<Step> = []
): Json => {
  const hinted = hintFor(hints, path)
  if (hinted !== undefined) return hinted
  const [schema = {}] = alternatives(document, written)
  const below = (member: JsonSchema, step: Step) => generate(document, member, hints, fields, [...path, step])
  if (schema.enum !== undefined) return schema.enum[0] ?? null
  switch (schema.type) {
    case "string":
      return stringFor(schema)
    case "integer":
    case "number":
      return numberFor(schema)
    case "boolean":
      return true
    case "array": {
      const count = fields === "all" ? Math.max(1, schema.minItems ?? 0) : (schema.minItems ?? 0)
      const item = schema.items
      return item === undefined || item === false
        ? []
        : Array.from({ length: count }, (_, index) => below(item, index))
    }
    case "object": {
      const required = new Set(schema.required)
      const wanted = Object.entries(schema.properties ?? {}).filter(
        ([name], index) => fields === "all" || required.has(name) || index < (schema.minProperties ?? 0)
      )
      return Object.fromEntries(wanted.map(([name, member]) => [name, below(member, name)]))
    }
    default:
      return null
  }
}

export const replaceAt = (value: Json, path: ReadonlyArray<Step>, by: Json): Json => {
  const [step, ...rest] = path
  if (step === undefined) return by
  if (isList(value)) return value.map((item, index) => (index === step ? replaceAt(item, rest, by) : item))
  if (isRecord(value)) return { ...value, [step]: replaceAt(value[step] ?? null, rest, by) }
  return value
}

/** Every place in a value, with the schema it is under; the root comes first. */
export interface Place {
  readonly path: ReadonlyArray<Step>
  readonly schema: JsonSchema
  readonly value: Json
}

export const places = (
  document: Document,
  written: JsonSchema,
  value: Json,
  path: ReadonlyArray<Step> = []
): ReadonlyArray<Place> => {
  const options = alternatives(document, written)
  const problems = makeValidator(document, "ignored")
  const schema = options.find((option) => problems(option, value).length === 0) ?? options[0] ?? {}
  const here: Place = { path, schema, value }
  if (isList(value)) {
    const { items } = schema
    const [first] = value
    if (items === undefined || items === false || first === undefined) return [here]
    return [here, ...places(document, items, first, [...path, 0])]
  }
  if (!isRecord(value)) return [here]
  const members = Object.entries(value).flatMap(([name, member]) =>
    places(document, schema.properties?.[name] ?? {}, member, [...path, name])
  )
  return [here, ...members]
}

const longest = 5000

/** Astral characters are included: a length in UTF-16 units would reject them. */
const fullStrings = (length: number) => ["x".repeat(length), "\u{1d54f}".repeat(length)]

const extremes = ({ schema, value }: Place): ReadonlyArray<Json> => {
  if (schema.enum !== undefined) return schema.enum
  switch (schema.type) {
    case "string": {
      if (schema.pattern !== undefined || schema.format !== undefined) return []
      const { maxLength, minLength } = schema
      const full = maxLength === undefined || maxLength > longest ? [] : fullStrings(maxLength)
      return [...full, "x".repeat(minLength ?? 0), "tab\tand\nlines\r\nand e\u0301 \u{1f600} <b>'\"\\"]
    }
    case "integer":
    case "number":
      return [schema.minimum, schema.maximum, 0, -0, 1].filter((bound) => bound !== undefined)
    case "boolean":
      return [true, false]
    case "array": {
      const [first] = isList(value) ? value : []
      const fill = (count: number) =>
        first === undefined ? [] : [Array.from({ length: count }, () => first)]
      const { maxItems } = schema
      return [
        ...fill(schema.minItems ?? 0),
        ...(maxItems === undefined || maxItems > longest ? [] : fill(maxItems))
      ]
    }
    default:
      return []
  }
}

export interface Variant {
  readonly label: string
  /** The value is made on demand: some are large. */
  readonly value: () => Json
}

/** The value with one field after the other at each of its limits, all of them allowed. Hinted fields stay. */
export const variants = (
  document: Document,
  schema: JsonSchema,
  base: Json,
  hints: Hints
): ReadonlyArray<Variant> => {
  const problems = makeValidator(document, "ignored")
  return places(document, schema, base)
    .filter((place) => !isHinted(hints, place.path))
    .flatMap((place) =>
      extremes(place)
        .filter((extreme) => isList(extreme) || problems(place.schema, extreme).length === 0)
        .map((extreme) => ({
          label: `${place.path.join(".")} = ${JSON.stringify(extreme).slice(0, 40)}`,
          value: () => replaceAt(base, place.path, extreme)
        }))
    )
}
