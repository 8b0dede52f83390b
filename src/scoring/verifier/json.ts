/** Canonical JSON (RFC 8785): the log writes each value in one way, and every other way is rejected. */
import { Malformed } from "./bytes.ts"

export type Json = null | boolean | number | string | ReadonlyArray<Json> | { readonly [name: string]: Json }

export type JsonObject = { readonly [name: string]: Json }

/** The limit is far above the depth of any entry in the log. */
const maxDepth = 32

/** Writes numbers and strings as JavaScript does, and members in the order of their UTF-16 code units. */
const canonical = (value: Json, depth = 0): string => {
  if (depth > maxDepth) throw new Malformed("It is nested too deeply.")
  if (value === null || typeof value !== "object") return JSON.stringify(value)
  if (isList(value)) return `[${value.map((item) => canonical(item, depth + 1)).join(",")}]`
  const members = Object.keys(value)
    .sort()
    .map((name) => `${JSON.stringify(name)}:${canonical(value[name] ?? null, depth + 1)}`)
  return `{${members.join(",")}}`
}

const isList = (value: Json): value is ReadonlyArray<Json> => Array.isArray(value)

export const isObject = (value: Json | undefined): value is JsonObject =>
  typeof value === "object" && value !== null && !isList(value)

/** Reads JSON in any spelling, because people may have reformatted it. */
export const fromJson = (text: string, what: string): Json => {
  try {
    return JSON.parse(text)
  } catch {
    throw new Malformed(`${what} is not JSON.`)
  }
}

/** Reads an object in canonical form only, so that no reader can see another object in the same bytes. */
export const fromCanonicalJson = (text: string, what: string): JsonObject => {
  const value = fromJson(text, what)
  if (!isObject(value)) throw new Malformed(`${what} is not a JSON object.`)
  if (!text.isWellFormed() || canonical(value) !== text)
    throw new Malformed(`${what} is not canonical JSON (RFC 8785).`)
  return value
}

export const canonicalText = (value: Json): string => canonical(value)

/** The member with this name, which must be text. */
export const textIn = (object: JsonObject, name: string, what: string): string => {
  const value = object[name]
  if (typeof value !== "string") throw new Malformed(`${what} has no text "${name}".`)
  return value
}

/** The member with this name, which must be that many bytes in lower-case hex. */
export const hexIn = (object: JsonObject, name: string, bytes: number, what: string): string => {
  const value = textIn(object, name, what)
  if (value.length !== bytes * 2 || !/^[0-9a-f]*$/.test(value)) {
    throw new Malformed(`"${name}" of ${what} is not ${bytes} bytes in lower-case hex.`)
  }
  return value
}
