/** Where the generated document says something else than the service does. */
import { Predicate } from "effect"
import { defaultLimit, maximumLimit } from "../../services/paging.ts"

/** Generated as the text that travels, without its bounds. */
const limit = { type: "integer", minimum: 1, maximum: maximumLimit, default: defaultLimit }

/** Generated as closed; but unknown members are ignored, and an answer may have more of them later. */
const isClosing = (key: string, value: unknown) => key === "additionalProperties" && value === false

const corrected = (value: unknown): unknown => {
  if (Array.isArray(value)) return value.map(corrected)
  if (!Predicate.isObject(value)) return value
  return "name" in value && value.name === "limit" ? { ...value, schema: limit } : asServed({ ...value })
}

/** The document with its corrections. */
export const asServed = (document: Readonly<Record<string, unknown>>): Record<string, unknown> =>
  Object.fromEntries(
    Object.entries(document)
      .filter(([key, value]) => !isClosing(key, value))
      .map(([key, value]) => [key, corrected(value)])
  )

/** A middleware answers it, whatever the endpoint: the generator does not know. */
export const withNotModified = (operation: Readonly<Record<string, unknown>>) => ({
  ...operation,
  responses: {
    ...(Predicate.isObject(operation["responses"]) ? operation["responses"] : {}),
    "304": { description: "What If-None-Match names has not changed" }
  }
})
