/** Validates a value against a schema of the document, for the keywords of `JsonSchema`. */
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
const dateTime =
  /^(\d{4})-(\d{2})-(\d{2})T([01]\d|2[0-3]):[0-5]\d(:[0-5]\d(\.\d+)?)?(Z|[+-]([01]\d|2[0-3]):[0-5]\d)$/

const daysIn = (year: number, month: number): number => {
  const leap = year % 4 === 0 && (year % 100 !== 0 || year % 400 === 0)
  return [31, leap ? 29 : 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31][month - 1] ?? 0
}

/** RFC 3339, but the seconds are optional; the day must exist. */
const isDateTime = (text: string): boolean => {
  const [, year, month, day] = dateTime.exec(text) ?? []
  return Number(day) >= 1 && Number(day) <= daysIn(Number(year), Number(month))
}

export interface Problem {
  /** The field as a 400 names it: `events.0.title`, empty for the whole. */
  readonly path: string
  readonly message: string
}

/**
 * Members that the schema does not list: wrong in an answer, ignored in a request. An optional null member of a request counts as
 * absent.
 */
export type Undocumented = "wrong" | "ignored"

/** True for a multiple of a step like 0.000001, if the value is the nearest double of a decimal multiple. */
const isMultiple = (value: number, step: number | undefined): boolean =>
  step === undefined || Math.round(value * (1 / step)) / (1 / step) === value

const rangeProblems = (schema: JsonSchema, value: number): ReadonlyArray<string> => [
  ...(value < (schema.minimum ?? -Infinity) ? [`expected at least ${schema.minimum}`] : []),
  ...(value > (schema.maximum ?? Infinity) ? [`expected at most ${schema.maximum}`] : []),
  ...(value <= (schema.exclusiveMinimum ?? -Infinity)
    ? [`expected more than ${schema.exclusiveMinimum}`]
    : []),
  ...(value >= (schema.exclusiveMaximum ?? Infinity)
    ? [`expected less than ${schema.exclusiveMaximum}`]
    : []),
  ...(isMultiple(value, schema.multipleOf) ? [] : [`expected a multiple of ${schema.multipleOf}`])
]

const countProblems = (
  least: number | undefined,
  most: number | undefined,
  count: number
): ReadonlyArray<string> => [
  ...(count < (least ?? 0) ? [`expected at least ${least} of them`] : []),
  ...(count > (most ?? Infinity) ? [`expected at most ${most} of them`] : [])
]

const textProblems = (schema: JsonSchema, value: string): ReadonlyArray<string> => {
  const misshapen = schema.pattern !== undefined && !new RegExp(schema.pattern, "u").test(value)
  return [
    ...countProblems(schema.minLength, schema.maxLength, codePoints(value)),
    ...(misshapen ? [`expected ${schema.pattern}`] : []),
    ...(schema.format === "date-time" && !isDateTime(value) ? ["expected a date-time"] : [])
  ]
}

/** The value as one part of an `allOf` describes it: without the members of its other parts. */
const withoutMembers = (value: Json, names: ReadonlySet<string>): Json =>
  isRecord(value) ? Object.fromEntries(Object.entries(value).filter(([name]) => !names.has(name))) : value

/** The problems of a value; none if it conforms. */
export const makeValidator = (document: Document, undocumented: Undocumented) => {
  const membersOf = (written: JsonSchema): ReadonlyArray<string> => {
    const { anyOf = [], oneOf = [], properties = {} } = resolve(document, written)
    return [...Object.keys(properties), ...[...anyOf, ...oneOf].flatMap(membersOf)]
  }
  const problems = (written: JsonSchema, value: Json, at = ""): ReadonlyArray<Problem> => {
    const schema = resolve(document, written)
    const below = (step: string | number) => (at === "" ? `${step}` : `${at}.${step}`)
    const here = (messages: ReadonlyArray<string>): ReadonlyArray<Problem> =>
      messages.map((message) => ({ path: at, message: `${message}, got ${shown(value)}` }))

    if (schema.type !== undefined && !isType(value, schema.type)) return here([`expected ${schema.type}`])
    const foreign = schema.enum?.every((allowed) => allowed !== value) === true
    const found = [...here(foreign ? [`expected one of ${schema.enum?.join(", ")}`] : [])]
    if (typeof value === "string") found.push(...here(textProblems(schema, value)))
    if (typeof value === "number") found.push(...here(rangeProblems(schema, value)))
    if (isList(value)) {
      const miscounted = countProblems(schema.minItems, schema.maxItems, value.length)
      // The items of a list with a wrong length are not checked.
      if (miscounted.length > 0) return here(miscounted)
      value.forEach((item, index) => {
        const itemSchema = schema.prefixItems?.[index] ?? schema.items
        if (itemSchema === false) found.push(...here([`expected no item ${index}`]))
        else if (itemSchema !== undefined) found.push(...problems(itemSchema, item, below(index)))
      })
    }
    if (isRecord(value)) {
      const missing = (schema.required ?? []).filter((name) => !(name in value))
      found.push(...missing.map((name) => ({ path: below(name), message: "is missing" })))
      for (const [name, member] of Object.entries(value)) {
        if (undocumented === "ignored" && member === null && schema.required?.includes(name) !== true)
          continue
        const known = schema.properties?.[name] ?? schema.additionalProperties
        if (typeof known === "object") found.push(...problems(known, member, below(name)))
        else if (undocumented === "wrong" && schema.properties !== undefined)
          found.push({ path: below(name), message: "is not documented" })
      }
    }
    for (const part of schema.allOf ?? []) {
      const others = (schema.allOf ?? []).filter((other) => other !== part)
      const listed = new Set(others.flatMap(membersOf))
      found.push(...problems(part, withoutMembers(value, listed), at))
    }
    for (const options of [schema.anyOf, schema.oneOf]) {
      const outcomes = options?.map((option) => problems(option, value, at)) ?? []
      if (outcomes.some((outcome) => outcome.length === 0)) continue
      // The problems of the closest alternative are the most helpful.
      found.push(...(outcomes.toSorted((a, b) => a.length - b.length)[0] ?? []))
    }
    return found
  }
  return problems
}

export type Validator = ReturnType<typeof makeValidator>

export const printed = ({ message, path }: Problem): string => `${path === "" ? "(root)" : path}: ${message}`
